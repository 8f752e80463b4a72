"""`taichimd sweep`: runs of all combinations of settings, in this process, in several, or a part of them."""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from taichimd.app.batch_table import show_table, teller
from taichimd.app.run_set import FILE, RunSet, spread
from taichimd.app.several import run_all
from taichimd.core.errors import SettingsError
from taichimd.core.processes import same_module
from taichimd.core.signals import StopRequest
from taichimd.io.files import open_own, writing
from taichimd.io.lock import locked
from taichimd.settings.axes import values_of
from taichimd.settings.config import make_settings

_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Sweep:
    """Settings of `taichimd sweep`."""

    job_file: Path  # TOML job file
    sets: Sequence[str] = ()  # texts such as "temperature=300,400"
    seeds: int = 1  # runs of each combination
    output: str | None = None  # folder of the folders; None: that of the job file
    part: str | None = None  # such as "2/8"; None: all
    processes: int = 1  # on this machine
    at_once: int | None = None  # most runs in one launch
    overwrite: bool = False  # whether earlier runs are replaced
    common_noise: bool = False  # as of `spread`

    @property
    def axes(self) -> dict[str, list[Any]]:
        """Values of the settings that differ, or a SettingsError."""
        found: dict[str, list[Any]] = {}
        for text in self.sets:
            key, equal, values = text.partition("=")
            key = key.strip().replace("-", "_")
            if not (equal and values.strip()):
                raise SettingsError(f"--set {text}: expected a setting and its values, temperature=300,400")
            if key in found:
                raise SettingsError(f"--set {text}: {key} is set twice; give all values at once")
            if key in ("output", "overwrite", "restart"):
                raise SettingsError(f"--set {text}: {key} cannot differ between the runs of a sweep")
            found[key] = values_of(key, values)
        return found

    def numbers(self, n: int) -> range:
        """Which of n runs are those of this part."""
        if self.part is None:
            return range(n)
        match = re.fullmatch(r"([0-9]+)/([0-9]+)", self.part)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise SettingsError(f"part = {self.part!r}: expected k/n, such as 1/4, with k from 1 to n")
        return range(int(match[1]) - 1, n, int(match[2]))


def run_sweep(sweep: Sweep, console: Console) -> int:
    """Run what is missing of a sweep; then a table and a picture of all runs; exit code as `run_all`."""
    flags = {} if sweep.output is None else {"output": sweep.output}
    axes = sweep.axes
    output = make_settings(flags, sweep.job_file).output
    folder = Path(output.folder)
    own = spread(
        flags, axes, sweep.job_file, seeds=sweep.seeds, numbered=False, common_noise=sweep.common_noise
    )
    mine = sweep.numbers(len(own))
    if not sweep.sets and sweep.seeds == 1:
        raise SettingsError(
            "a sweep needs values of a setting, such as --set temperature=300,400, or --seeds 4; taichimd "
            "run runs a job once"
        )
    with locked(folder, tell=teller(console)):
        RunSet(folder, own).begin(overwrite=sweep.overwrite, go_on=True)
        names = {one.name for one in own}
        there = RunSet.read(folder).runs if (folder / FILE).exists() else []
        kept = [] if sweep.overwrite else [one for one in there if one.name not in names]
        all_of = RunSet(folder, [*own, *kept])
    if sweep.processes > 1:
        return _in_processes(sweep, min(sweep.processes, len(own)), all_of, console)
    return run_all(all_of, {}, console, numbers=mine, at_once=sweep.at_once, command="the same command")


def _in_processes(sweep: Sweep, n: int, all_of: RunSet, console: Console) -> int:
    """Each of n parts in a process of its own, whose words go to a file."""
    logs = [all_of.folder / f"part-{k + 1}.log" for k in range(n)]
    with locked(all_of.folder, tell=teller(console)):
        all_of.write()
    console.print(f"{n} processes; their output is in {all_of.folder}/part-*.log", highlight=False)
    children = [_start(replace(sweep, part=f"{k + 1}/{n}"), k, n, log) for k, log in enumerate(logs)]
    stopped = None
    with StopRequest() as stop:
        while any(child.poll() is None for child in children):
            if stop() and stopped is None:
                stopped = stop.received
                for child in children:
                    child.send_signal(stopped or 0)
            time.sleep(_LOOK_SECONDS)
    show_table(console, all_of)
    for child, log in zip(children, logs, strict=True):
        if child.returncode and stopped is None:
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            console.print(f"{log}: {''.join(last)}", highlight=False, markup=False)
    if stopped is not None:
        console.print("stopped; to continue: the same command", highlight=False)
        return 128 + stopped
    return max(abs(child.returncode) for child in children)


def _start(sweep: Sweep, number: int, n: int, log: Path) -> "subprocess.Popen[bytes]":
    command = [*same_module("taichimd"), "sweep", str(sweep.job_file), "--part", str(sweep.part)]
    command += [word for text in sweep.sets for word in ("--set", text)]
    command += ["--seeds", str(sweep.seeds)]
    for name, value in (("--output", sweep.output), ("--at-once", sweep.at_once)):
        command += [] if value is None else [name, str(value)]
    command += ["--common-noise"] * sweep.common_noise
    # As MPI would say it, so that processes share devices and processors (`core.processes`).
    own = {"MPI_LOCALRANKID": str(number), "MPI_LOCALNRANKS": str(n)}
    with writing(log), os.fdopen(open_own(log, "w"), "wb") as words:
        # A session of its own: Ctrl-C comes from here, once.
        return subprocess.Popen(
            command, stdout=words, stderr=subprocess.STDOUT, env=os.environ | own, start_new_session=True
        )
