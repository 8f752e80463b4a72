"""Several runs from one set of options: what differs, what each is called, what their folder keeps."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from taichimd.app.job import Job, prepare_job
from taichimd.app.output_folder import OutputFolder
from taichimd.app.trust import check_trusted, code_in, hashes_of
from taichimd.core.errors import CheckpointError, OutputError, SettingsError
from taichimd.core.seeds import derived_seed, short_names
from taichimd.io.checked import Batch, fault_of
from taichimd.io.files import lies_in, write_atomically
from taichimd.io.report import read_report
from taichimd.settings.config import make_settings
from taichimd.settings.types import absolute, of_each

FILE = "batch.json"


@dataclass(frozen=True)
class RunSpec:
    """One run of several."""

    name: str  # of its folder
    flags: dict[str, Any]  # its settings, as for `prepare_job`, without the folder
    # those of them that differ between the runs; `seed` is the number that counts up, from which the seed in
    # `flags` is derived
    varied: dict[str, Any]
    # SHA-256 of the Python files that its potential names
    python_files: dict[str, str | None] = field(default_factory=dict)


def is_several(restart: str) -> bool:
    """Whether a folder is that of several runs."""
    return (Path(restart) / FILE).exists()


def spread(
    flags: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    job_file: Path | None = None,
    *,
    seeds: int = 1,
    numbered: bool = True,
    common_noise: bool = False,
) -> list[RunSpec]:
    """All combinations of the values of each setting that differs.

    `seeds` count up from that of the settings.
    `numbered`: whether names begin with a number, and say of settings and seed only what differs.
    `common_noise`: whether runs with the same number of seed have the same seed, whatever else differs.
    Without it each seed is derived (`derived_seed`) from the number and all else that differs.
    """
    axes, common = dict(axes), make_settings(flags, job_file)
    if common.system.restart is not None or "restart" in axes:
        raise SettingsError("a restart continues with one run, or with the folder of several; give it alone")
    if seeds > 1 and "seed" in axes:
        raise SettingsError("seed is given several values: leave the number of seeds out")
    if seeds > 1 or not (numbered or "seed" in axes):
        first = common.ensemble.seed
        axes["seed"] = list(range(first, first + seeds))
    files = {
        key: dict(zip(axes[key], short_names(axes[key]), strict=True))
        for key in ("structure", "potential")
        if key in axes
    }
    found: list[RunSpec] = []
    for number, values in enumerate(product(*axes.values())):
        varied = dict(zip(axes, values, strict=True))
        settings = make_settings({**flags, **varied}, job_file)
        record = settings.record()
        own = {key: record[key] for key in sorted(settings.given - {"output", "overwrite"})}
        if own.get("structure"):
            own["structure"] = absolute(own["structure"], folder=True)
        if own.get("potential"):
            own["potential"] = of_each(own["potential"], absolute)
        several = {key: value for key, value in varied.items() if len(axes[key]) > 1 or not numbered}
        others = {key: files[key][v] if key in files else v for key, v in several.items() if key != "seed"}
        if others and not common_noise:
            own["seed"] = derived_seed(settings.ensemble.seed, others)
        parts = [f"{number:03d}"] if numbered else []
        name = "-".join([*parts, *(_part(key, value) for key, value in several.items())]) or "000"
        while name in {one.name for one in found}:
            name += f"-{number:03d}"
        found.append(RunSpec(name, own, several, hashes_of(own.get("potential"))))
    return found


def _part(key: str, value: Any) -> str:
    """What a folder's name says of a setting."""
    if key == "structure":
        text = Path(str(value)).stem
    elif key == "temperature":
        text = f"{value:g}K"
    else:
        text = f"{key}{value:g}" if isinstance(value, float) else f"{key}{value}"
    return re.sub(r"[^\w.+-]+", "_", text)


@dataclass(frozen=True)
class RunSet:
    """The runs whose folders are in one folder, as its `batch.json` says."""

    folder: Path  # that one
    runs: list[RunSpec]  # what they are
    own: bool = True  # whether the present command says what they are, and not a file
    trust: bool = False  # whether Python code that only a file names may run

    @classmethod
    def read(cls, folder: Path) -> "RunSet":
        """What a folder has, or a CheckpointError."""
        file = folder / FILE
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            fault = fault_of(Batch, content)
        except (OSError, ValueError, RecursionError) as error:
            fault = str(error)
        if fault:
            raise CheckpointError(
                f"{file} cannot be read as the record of a batch: {fault}; restart its folders one by one"
            )
        runs = [RunSpec(**one) for one in content["members"]]
        for one in runs:
            if not lies_in(folder / one.name, folder):
                raise CheckpointError(
                    f"{folder / one.name} lies outside of {folder}, behind a link; restart it alone"
                )
        return cls(folder, runs, own=False)

    def write(self) -> None:
        """Say in the folder which runs it has."""
        content = {"members": [vars(one) for one in self.runs]}
        text = json.dumps(content, indent=1) + "\n"
        write_atomically(self.folder / FILE, lambda file: file.write(text.encode()))

    def forget(self) -> bool:
        """Remove the list of runs if none of them has begun; whether it is gone."""
        if any(self._output(one).checkpoint.exists() for one in self.runs):
            return False
        with suppress(OSError):
            (self.folder / FILE).unlink()
        return True

    def begin(self, *, overwrite: bool, go_on: bool) -> None:
        """Raise an OutputError unless the folder is free, may be made so, or has equal runs to go on with."""
        there = RunSet.read(self.folder).runs if (self.folder / FILE).exists() else []
        if overwrite:
            self._clear([*there, *self.runs])
            return
        if not there:
            OutputFolder(self.folder).check(overwrite=False)
        there = [one for one in there if self._output(one).checkpoint.exists()]
        if there and not go_on:
            raise OutputError(
                f"{self.folder} holds an earlier batch of {len(there)} runs; give --overwrite to replace it, "
                f"--restart {self.folder} to continue with it, or another --output"
            )
        mine = {one.name: one.flags for one in self.runs}
        for one in there:
            own = mine.get(one.name, one.flags)
            if own != one.flags and {**own, "seed": 0} == {**one.flags, "seed": 0}:
                common = one.flags.get("seed") == one.varied.get("seed")
                raise OutputError(
                    f"{self.folder} was begun with "
                    + (
                        "seeds that repeat at each value: give --common-noise to continue it"
                        if common
                        else "a seed of its own for each run: leave --common-noise out, and keep the job's "
                        "seed, to continue it"
                    )
                    + ", --overwrite to replace it, or another --output"
                )
            if own != one.flags:
                raise OutputError(
                    f"{self.folder / one.name} has a run with different settings; give --overwrite to "
                    "replace all runs there, or another --output"
                )

    def _output(self, spec: RunSpec) -> OutputFolder:
        return OutputFolder(self.folder / spec.name)

    def _clear(self, runs: Sequence[RunSpec]) -> None:
        for one in runs:
            if self._output(one).checkpoint.exists():
                self._output(one).clear()

    def job(self, spec: RunSpec, more: Mapping[str, Any]) -> Job | None:
        """What is left to do of a run; None if it is complete, or has exploded and nothing is changed."""
        folder = self._output(spec)
        if not folder.checkpoint.exists():
            own = dict(spec.flags)
            if not (self.own or "potential" in more):
                where = f"{self.folder / FILE}"
                check_trusted(where, own.get("potential"), spec.python_files, self.trust)
            if {"steps", "time"} & more.keys():
                own = {key: value for key, value in own.items() if key not in ("steps", "time")}
            # A seed that nobody asked for is in the way of no structure with velocities.
            asked = len({one.varied.get("seed") for one in self.runs}) > 1
            # The name of a run that has only begun is not in the way.
            return prepare_job(
                {**own, **more, "output": str(folder.path), "overwrite": True},
                derived=() if asked else ("seed",),
            )
        ended = str(read_report(folder.report).get("exit_reason", ""))
        if not more and (ended == "finished" or ended.startswith("BlowUpError")):
            return None
        more = {**more, "restart": str(folder.path)}
        if self.own and code_in(spec.flags.get("potential")):
            more = {"potential": spec.flags["potential"], **more}
        return prepare_job(more, trust=self.trust)
