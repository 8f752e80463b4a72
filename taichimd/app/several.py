"""Several runs: those that one batch can serve step together, the others one after the other."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from taichimd.app.batch_table import show_table, teller
from taichimd.app.driver import run_jobs
from taichimd.app.job import Job
from taichimd.app.run_set import FILE, RunSet, spread
from taichimd.app.trust import more_to_go_on
from taichimd.core.errors import BlowUpError, ChargeError, SettingsError, TaichimdError
from taichimd.io.lock import locked
from taichimd.program.batchable import errors_name, why_not_batchable
from taichimd.settings.axes import values_of
from taichimd.settings.config import make_settings

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
    """Begin several runs, each in a folder of its own; the exit code. Arguments as of `spread`."""
    output = make_settings(flags, job_file).output
    each = spread(flags, axes, job_file, seeds=replicas, common_noise=common_noise)
    all_of = RunSet(Path(output.folder), each)
    all_of.begin(overwrite=output.overwrite, go_on=False)
    return run_all(all_of, {}, console, command=restart_command(all_of))


def restart_several(flags: Mapping[str, Any], console: Console, *, trust: bool = False) -> int:
    """Continue with all runs of the folder `restart`; the exit code."""
    all_of = replace(RunSet.read(Path(flags["restart"])), trust=trust)
    more = {key: value for key, value in flags.items() if key != "restart"}
    own = ("structure", "from_frame", "output", "overwrite", "velocities", "seed")
    for key in (*own, "replicas", "common_noise"):
        if key in more:
            raise SettingsError(
                f"{key} = {more[key]}: a restart of several runs continues with each where it is; leave it "
                "out"
            )
    if "temperature" in more:
        values = values_of("temperature", more["temperature"])
        if len(values) > 1:
            raise SettingsError("a restart of several runs takes one temperature for all of them")
        more["temperature"] = values[0]
    return run_all(all_of, more, console, command=restart_command(all_of))


def restart_command(all_of: RunSet) -> str:
    """What continues with several runs."""
    more = max((more_to_go_on(one.flags.get("potential")) for one in all_of.runs), key=len, default="")
    return f"taichimd run --restart {shlex.quote(os.path.relpath(all_of.folder))}{more}"


def run_all(
    all_of: RunSet,
    more: dict[str, Any],
    console: Console,
    *,
    numbers: Sequence[int] | None = None,
    at_once: int | None = None,
    command: str = "",
) -> int:
    """Run what is left of several runs, or of some `numbers`; then a table of all.

    Exit code: 0 when all have finished, 130, 143 or 129 when stopped by a signal, else 2 if one exploded. If
    a run cannot begin, nothing has been run, but for runs of other kinds. `at_once`: most systems in a batch;
    `command`: which continues with it, shown if it is stopped.
    """
    mine = [all_of.runs[k] for k in (range(len(all_of.runs)) if numbers is None else numbers)]
    jobs: dict[str, Job] = {}
    for spec in mine:
        with errors_name(spec.name):
            job = all_of.job(spec, more)
            if job is not None:
                job.forcefield.bind(sorted(set(job.atoms.symbols)))
                jobs[spec.name] = job
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
    """What continues with runs that were stopped."""
    console.print("stopped; to continue:", highlight=False)
    console.print(command, highlight=False, markup=False, soft_wrap=True)


def _run_groups(groups: Sequence[Mapping[str, Job]], console: Console, single: bool) -> tuple[int, bool]:
    """Exit code of the last one, and whether a system has exploded; none follows one that is stopped."""
    code, failed = 0, False
    if len(groups) > 1:
        jobs = [job for group in groups for job in group.values()]
        reason = next((f": {why}" for job in jobs if (why := why_not_batchable(job.forcefield))), "")
        kinds = f"{len(jobs)} runs in {len(groups)} batches, one after the other"
        console.print(f"{kinds}{reason}", highlight=False, markup=False)
    for group in groups:
        try:
            code, exploded = run_jobs(group, console)
            failed |= exploded
        except (BlowUpError, ChargeError) as error:
            if single:
                raise
            failed = True
            console.print(f"{next(iter(group))}: {error}", highlight=False, markup=False)
        if code >= STOPPED:
            break
    return code, failed


def groups_of(jobs: Mapping[str, Job], at_once: int | None = None) -> list[dict[str, Job]]:
    """Runs that go together, at most so many, in the order of the first of each.

    They have one step counter, so after a kill those whose checkpoints are of another step are another batch.
    Barostats of one batch act in the same steps, on the same axes. Insertions and deletions in one system
    replace the engine of all, so runs without them are another batch.
    """
    groups: dict[Any, list[str]] = {}
    for name, job in jobs.items():
        settings = job.settings
        kind: Any = name
        if why_not_batchable(job.forcefield) is None:
            begin = None if job.checkpoint is None else job.checkpoint.step
            barostat = settings.ensemble.barostat if settings.ensemble.kind.moves_cell else ()
            kind = (
                settings.ensemble.name, *barostat, settings.run.timestep, settings.output.every, begin,
                job.steps, repr(settings.potential), bool(job.exchanges), *settings.compute.record().values(),
            )  # fmt: skip
        groups.setdefault(kind, []).append(name)
    most = at_once or max(len(jobs), 1)
    parts = [names[k : k + most] for names in groups.values() for k in range(0, len(names), most)]
    return [{name: jobs[name] for name in names} for names in parts]
