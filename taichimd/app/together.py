"""Several runs: those that one batch can serve step together, the others one after the other."""

import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from taichimd.app.batch_table import print_batch, show_table, teller
from taichimd.app.driver import (
    check_folder,
    clear_folder,
    compiled,
    ensemble_of,
    folder_of,
    put_state,
    run_job,
    simulation_of,
)
from taichimd.app.job import Job
from taichimd.app.loop import RunResult
from taichimd.app.members import FILE, Members, spread, values_of
from taichimd.app.notes import faster_runtime
from taichimd.app.observer import Observer
from taichimd.app.progress import ProgressObserver
from taichimd.app.run import Run
from taichimd.app.simulations import run_together
from taichimd.app.supervised import Supervised, to_the_end
from taichimd.app.trust import more_to_go_on
from taichimd.core.errors import BlowUpError, SettingsError, TaichimdError
from taichimd.core.signals import StopRequest
from taichimd.io.files import allow_open_files
from taichimd.io.lock import locked
from taichimd.program.batch import Batch
from taichimd.program.batchable import errors_name, why_not_batchable
from taichimd.settings.config import make_settings

_FILES_OF_A_RUN = 4
"""Open ones: lock, table, trajectory, and one more for a moment."""
STOPPED = 128
"""Exit codes from here on are of signals."""


def start_several(
    flags: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    job_file: Path | None,
    replicas: int,
    console: Console,
    *,
    common_noise: bool = False,
) -> int:
    """Begin several runs, each in a folder of its own; the exit code.

    Args:
        flags: what all have, as for `prepare_job`.
        axes: values of the settings that differ.
        job_file: TOML job file that all have.
        replicas: runs of each combination, with seeds that count up.
        console: told how it goes.
        common_noise: as of `spread`.

    Raises:
        TaichimdError: as `spread`, `Members.begin` and `run_members`.
    """
    output = make_settings(flags, job_file).output
    each = spread(flags, axes, job_file, seeds=replicas, common_noise=common_noise)
    all_of = Members(Path(output.folder), each)
    all_of.begin(overwrite=output.overwrite, go_on=False)
    return run_members(all_of, {}, console, command=restart_command(all_of))


def restart_several(flags: Mapping[str, Any], console: Console, *, trust: bool = False) -> int:
    """Go on with all runs of the folder `restart`; the exit code.

    Args:
        flags: settings that win over those of the runs.
        console: told how it goes.
        trust: whether Python code that only the folder names may run (`taichimd.app.trust`).

    Raises:
        SettingsError: a setting that says where a run begins or writes.
        TaichimdError: as `run_members`.
    """
    all_of = replace(Members.read(Path(flags["restart"])), trust=trust)
    more = {key: value for key, value in flags.items() if key != "restart"}
    own = ("structure", "from_frame", "output", "overwrite", "velocities", "seed")
    for key in (*own, "replicas", "common_noise"):
        if key in more:
            raise SettingsError(
                f"{key} = {more[key]}: a restart of several runs goes on with each where it is; leave it out"
            )
    if "temperature" in more:
        values = values_of("temperature", more["temperature"])
        if len(values) > 1:
            raise SettingsError("a restart of several runs takes one temperature for all of them")
        more["temperature"] = values[0]
    return run_members(all_of, more, console, command=restart_command(all_of))


def restart_command(all_of: Members) -> str:
    """What goes on with several runs."""
    more = max((more_to_go_on(one.flags.get("potential")) for one in all_of.members), key=len, default="")
    return f"taichimd run --restart {shlex.quote(os.path.relpath(all_of.folder))}{more}"


@dataclass
class NamedJob:
    """A job with the name of its folder."""

    name: str
    job: Job


def run_members(
    all_of: Members,
    more: dict[str, Any],
    console: Console,
    *,
    numbers: Sequence[int] | None = None,
    at_once: int | None = None,
    command: str = "",
) -> int:
    """Run what is left of several runs; then a table of all.

    Args:
        all_of: the runs, whose folder is ours.
        more: settings of a restart.
        console: told how it goes.
        numbers: of the runs that are this process's; None: all.
        at_once: most systems in a batch; None: all that go together.
        command: which goes on with it, shown if it is stopped.

    Returns:
        Exit code: 0 when all have finished, 130, 143 or 129 when stopped by a signal, else 2 if one exploded.

    Raises:
        TaichimdError: a run that cannot begin; nothing has been run then, but for runs of other kinds.
    """
    mine = [all_of.members[k] for k in (range(len(all_of.members)) if numbers is None else numbers)]
    jobs = []
    for member in mine:
        with errors_name(member.name):
            job = all_of.job(member, more)
            if job is not None:
                job.forcefield.bind(sorted(set(job.atoms.symbols)))
                jobs.append(NamedJob(member.name, job))
    with locked(all_of.folder, tell=teller(console)):
        # A part of a sweep leaves the list to those of the other parts.
        fresh = numbers is None and not (all_of.folder / FILE).exists()
        all_of.write()
    if len(jobs) < len(mine):
        console.print(f"{len(mine) - len(jobs)} of {len(mine)} runs have ended before", highlight=False)
    try:
        code, failed = _run_groups(groups_of(jobs, at_once), console, len(mine) == 1)
    except (TaichimdError, KeyboardInterrupt) as error:
        left = not (fresh and all_of.forget())
        if left and isinstance(error, KeyboardInterrupt):
            _print_command(console, command)
        raise
    show_table(console, all_of)
    if code >= STOPPED:
        _print_command(console, command)
        return code
    return BlowUpError.exit_code if failed else code


def _print_command(console: Console, command: str) -> None:
    """What goes on with runs that were stopped."""
    console.print("stopped; to go on:", highlight=False)
    console.print(command, highlight=False, markup=False, soft_wrap=True)


def _run_groups(groups: Sequence[Sequence[NamedJob]], console: Console, single: bool) -> tuple[int, bool]:
    """Exit code of the last one, and whether a system has exploded; none comes behind one that is stopped."""
    code, failed = 0, False
    if len(groups) > 1:
        jobs = [one.job for group in groups for one in group]
        reason = next((f": {why}" for job in jobs if (why := why_not_batchable(job.forcefield))), "")
        kinds = f"{len(jobs)} runs in {len(groups)} batches, one after the other"
        console.print(f"{kinds}{reason}", highlight=False, markup=False)
    for group in groups:
        try:
            code, exploded = _run_group(group, console)
            failed |= exploded
        except BlowUpError as error:
            if single:
                raise
            failed = True
            console.print(f"{group[0].name}: {error}", highlight=False, markup=False)
        if code >= STOPPED:
            break
    return code, failed


def groups_of(jobs: Sequence[NamedJob], at_once: int | None = None) -> list[list[NamedJob]]:
    """Runs that go together, in the order of the first of each.

    They have one step counter, so after a kill those whose checkpoints are of another step are another batch.
    Barostats of one batch act in the same steps, on the same axes.

    Args:
        jobs: the runs.
        at_once: most runs of a batch.
    """
    groups: dict[Any, list[NamedJob]] = {}
    for number, one in enumerate(jobs):
        job, settings = one.job, one.job.settings
        kind: Any = number
        if why_not_batchable(job.forcefield) is None:
            begin = None if job.checkpoint is None else job.checkpoint.step
            barostat = settings.ensemble.barostat if settings.ensemble.kind.moves_cell else ()
            kind = (
                settings.ensemble.name, *barostat, settings.run.timestep, settings.output.every, begin,
                job.steps, str(settings.potential.file), *settings.compute.record().values(),
            )  # fmt: skip
        groups.setdefault(kind, []).append(one)
    most = at_once or max(len(jobs), 1)
    return [group[k : k + most] for group in groups.values() for k in range(0, len(group), most)]


def _run_group(group: Sequence[NamedJob], console: Console) -> tuple[int, bool]:
    """Exit code, and whether a system has exploded."""
    if len(group) == 1:
        return run_job(group[0].job, console), False
    jobs = [one.job for one in group]
    allow_open_files(_FILES_OF_A_RUN * len(jobs))
    with ExitStack() as stack:
        folders = [folder_of(job) for job in jobs]
        for folder in folders:
            stack.enter_context(locked(folder.path))
        appending = [check_folder(folder, job) for folder, job in zip(folders, jobs, strict=True)]
        batch, before = _start(group, console)
        runs = []
        for number, (job, folder, goes_on) in enumerate(zip(jobs, folders, appending, strict=True)):
            clear_folder(folder, goes_on)
            with errors_name(group[number].name):
                simulation = simulation_of(batch.members[number], job)
            more = {"batch": {"systems": len(group), "number": number, "atoms": int(batch.device.state.n)}}
            runs.append(Run(job, folder, simulation, before, console, goes_on, more))
        return _Together(runs, [one.name for one in group], batch, console).execute()


def _start(group: Sequence[NamedJob], console: Console) -> tuple[Any, dict[str, float]]:
    """A batch in the first state of the jobs with compiled kernels, and seconds for setup and compiling."""
    from taichimd.core.runtime import info

    begin = time.perf_counter()
    first, jobs = group[0].job, [one.job for one in group]
    batch = Batch(
        [job.atoms for job in jobs],
        first.forcefield,
        ensembles=[ensemble_of(job) for job in jobs],
        fixed=[job.fixed for job in jobs],
        names=[one.name for one in group],
        **first.settings.compute.record(),
    )
    for job, member in zip(jobs, batch.members, strict=True):
        put_state(member, job)  # type: ignore[arg-type]
    first.notes.extend(faster_runtime(info()))
    print_batch(console, {one.name: one.job for one in group}, batch.decomposition)
    seconds = compiled(batch, console)
    return batch, {"setup": time.perf_counter() - begin - seconds, "compile": seconds}


class _Together:
    """Runs of one batch from their first report to their last file."""

    def __init__(self, runs: Sequence[Run], names: Sequence[str], batch: Any, console: Console) -> None:
        self._runs, self._names, self._batch, self._console = runs, names, batch, console
        self._ends: list[Supervised] = []

    def execute(self) -> tuple[int, bool]:
        """Step, write, report; the exit code, and whether a system has exploded."""
        # One clock for all: after a kill, checkpoints are of two steps at most.
        self._ends = [run.open(interval=float("inf")) for run in self._runs]
        code = to_the_end(self._ends, self._console, self._step)
        return code, len(self._batch.alive) < len(self._runs)

    def _step(self, stop: StopRequest) -> RunResult:
        runs, first = self._runs, self._runs[0]
        for run in runs:
            run.void_newer()
        steps, output = first.job.steps, first.job.settings.output
        if steps == 0:
            return RunResult(first.first_step, first.first_step, 0.0, True)
        keep = _KeepAll(self._keep, output.checkpoint_interval)
        with ProgressObserver(self._console, first.first_step, first.last_step) as progress:
            return run_together(
                self._batch, [run.watched() for run in runs], steps, together=(keep, progress),
                stopped=self._stopped, every=output.every, should_stop=stop, report_first=not first.appending,
            )  # fmt: skip

    def _keep(self) -> None:
        for number in self._batch.alive:
            self._runs[number].keeper.save(self._runs[number].simulation)

    def _stopped(self, number: int) -> None:
        error, end = self._batch.members[number].error, self._ends[number]
        end.fail(error)
        more = "" if not self._batch.alive else "; the other systems go on"
        self._console.print(f"{error}; {end.keeper.note()}{more}", highlight=False, markup=False)


class _KeepAll(Observer):
    """Checkpoints of all systems at once, whenever the interval has passed."""

    def __init__(self, keep: Callable[[], None], interval: float) -> None:
        self._keep, self._interval, self._kept = keep, interval, time.monotonic()

    def tick(self, simulation: Any) -> None:
        """Keep, if it is time."""
        if time.monotonic() - self._kept >= self._interval:
            self._keep()
            self._kept = time.monotonic()
