"""From prepared jobs to folders of results. The command line only calls `job` and this module."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from taichimd.app import observing
from taichimd.app.checkpoint_keeper import SavedTogether
from taichimd.app.exchanging import ExchangingSystems
from taichimd.app.job import Job, goes_on
from taichimd.app.loop import RunResult, run_loop
from taichimd.app.notes import faster_runtime
from taichimd.app.output_folder import OutputFolder
from taichimd.app.progress import ProgressObserver
from taichimd.app.restart import (
    changes_of_machine,
    check_same_potential,
    continue_clock,
    ramp_of,
    resume,
    set_first_velocities,
)
from taichimd.app.run import Run
from taichimd.app.simulation import Simulation
from taichimd.app.summary import print_header
from taichimd.app.supervised import to_the_end
from taichimd.core.signals import StopRequest
from taichimd.core.started import begin_of_command
from taichimd.ensembles.registry import Ensemble
from taichimd.exchange.ledger import N_ATOMS, Ledger
from taichimd.forcefields.term import BOND_ORDER
from taichimd.io.files import allow_open_files
from taichimd.io.lock import locked
from taichimd.io.thermo import CELL_COLUMNS, DEFORMATION_COLUMNS, TERM, lacks
from taichimd.program.batchable import errors_name
from taichimd.program.results import require_finite

if TYPE_CHECKING:
    from taichimd.program.system import System

_FILES_OF_A_RUN = 4
"""Open ones: lock, table, trajectory, and one more for a moment."""


def run_job(job: Job, console: Console) -> int:
    """Run one prepared job, write its files, show its progress.

    Exit code: 0 when finished, 130, 143 or 129 when stopped by Ctrl-C, SIGTERM or SIGHUP. An error after the
    start says where the last good checkpoint is.
    """
    return run_jobs({"": job}, console)[0]


def run_jobs(jobs: Mapping[str, Job], console: Console) -> tuple[int, bool]:
    """Run prepared jobs, by names for errors, that step together, each in its folder.

    The exit code, as of `run_job`, and whether one of several systems has exploded: that stops, and the
    others continue.
    """
    each, begun = list(jobs.values()), begin_of_command()
    allow_open_files(_FILES_OF_A_RUN * len(each))
    with ExitStack() as stack:
        folders = [folder_of(job) for job in each]
        for folder in folders:
            stack.enter_context(locked(folder.path))
        appending = [check_folder(*one) for one in zip(folders, each, strict=True)]
        engine, simulations, before = _start(jobs, console)
        runs = []
        for number, job in enumerate(each):
            clear_folder(folders[number], appending[number])
            batch = None
            if len(each) > 1:
                batch = {"systems": len(each), "number": number, "atoms": sum(len(one.atoms) for one in each)}
            runs.append(
                Run(
                    job,
                    folders[number],
                    simulations[number],
                    before,
                    console,
                    appending[number],
                    batch,
                    begun,
                )
            )
        return _together(runs, engine, console)


def _together(runs: Sequence[Run], engine: Any, console: Console) -> tuple[int, bool]:
    """Step, write, report to the last file; the exit code, and whether a system has exploded."""
    first = runs[0]
    if first.job.exchanges:
        jobs = [run.job for run in runs]
        engine = ExchangingSystems(
            engine,
            [run.simulation for run in runs],
            [job.exchanges for job in jobs],
            first.job.settings.compute.record(),
            [{} if job.checkpoint is None else job.checkpoint.exchange for job in jobs],
        )
    ends = [run.open() for run in runs]

    def stopped(number: int) -> None:
        error, end = engine.members[number].error, ends[number]
        end.fail(error)
        more = "; the other systems continue" if engine.alive else ""
        console.print(f"{error}; {end.keeper.note()}{more}", highlight=False, markup=False)

    def step(stop: StopRequest) -> RunResult:
        for run in runs:
            run.void_newer()
        if first.job.steps == 0:
            return RunResult(first.first_step, first.first_step, 0.0, True)
        saved = SavedTogether(lambda: [(runs[k].keeper, runs[k].simulation) for k in engine.alive])
        with ProgressObserver(console, first.first_step, first.last_step) as progress:
            return run_loop(
                engine,
                [run.watched() for run in runs],
                first.job.steps,
                every=first.job.settings.output.steps_between_rows,
                should_stop=stop,
                report_first=not first.appending,
                of_all=(saved, progress),
                stopped=stopped,
            )

    code = to_the_end(ends, console, step)
    return code, len(engine.alive) < len(runs)


def folder_of(job: Job) -> OutputFolder:
    """Where a job writes."""
    output = job.settings.output
    observed = observing.files_of(job.plan, output.plot_format)
    return OutputFolder(Path(output.folder), observed, output.frames, output.plot_format)


def check_folder(folder: OutputFolder, job: Job) -> bool:
    """Whether a run of this folder continues; remarks go to the job's notes."""
    settings = job.settings
    appending = goes_on(folder, job.checkpoint, settings.system.restart, settings.output.overwrite, job.notes)
    if appending and settings.output.terms and lacks(folder.thermo, TERM):
        job.notes.append(
            "thermo.csv was begun without terms and continues without them: choose another --output for "
            "them; new frames have them"
        )
    if appending and settings.ensemble.kind.moves_cell and lacks(folder.thermo, CELL_COLUMNS[0]):
        job.notes.append(
            "thermo.csv was begun without a barostat and continues without cell and stresses: choose another "
            "--output for them; cells are in the frames of the trajectory"
        )
    if appending and settings.ensemble.kind.deforms and lacks(folder.thermo, DEFORMATION_COLUMNS[0]):
        job.notes.append(
            "thermo.csv was begun without a deformation and continues without strains: choose another "
            "--output for them"
        )
    if appending and job.exchanges and lacks(folder.thermo, N_ATOMS):
        job.notes.append(
            "thermo.csv was begun without insertions and deletions and continues without their columns: "
            "choose another --output for them"
        )
    return appending


def clear_folder(folder: OutputFolder, appending: bool) -> None:
    """Remove what an earlier run has left, when the new one is known to start."""
    if not appending:
        folder.clear()
    folder.clear_other_pictures()


def ensemble_of(job: Job) -> Ensemble:
    """The ensemble, once the potential is known to be that of a checkpoint; remarks go to the job's notes."""
    job.forcefield.check_bounded()
    if job.checkpoint is not None:
        job.notes.extend(check_same_potential(job.settings, job.checkpoint, job.forcefield))
    return job.settings.ensemble.make(ramp_of(job.settings, job.checkpoint, job.steps))


def put_state(engine: "System", job: Job) -> None:
    """Bring an engine, or a system of several, to where a job begins."""
    checkpoint, bath = job.checkpoint, job.settings.ensemble
    if checkpoint is not None:
        resume(engine, checkpoint, engine.ensemble)
        job.notes.extend(changes_of_machine(checkpoint, engine))
    else:
        set_first_velocities(engine, job.atoms, bath.temperature, bath.seed)


_HOW_LONG = {
    (False, False): "up to 15 seconds",
    (False, True): "about half a minute",
    (True, False): "about half a minute",
    (True, True): "about a minute",
}
"""A first start, with bond orders or without, and with a moving cell or without (docs/howto/gpu.md)."""


def compiling(job: Job) -> str:
    """What is compiled before a run, how often, and how long it is likely to take."""
    ensemble = job.settings.ensemble
    slow = any(term.kind == BOND_ORDER for term in job.forcefield.terms)
    how_long = _HOW_LONG[slow, ensemble.kind.moves_cell]
    return (
        f"compiling the kernels of {job.forcefield.name} and {ensemble.name}: the first time on a machine "
        f"takes {how_long}, later runs take them from the cache"
    )


_PATIENCE = 3.0
"""Seconds of compiling after which a log says what is compiled; a terminal says it at once."""


@contextmanager
def _said(text: str, console: Console) -> Iterator[None]:
    """Say what is being compiled: a terminal shows it meanwhile, a log has a line if it takes long."""
    if console.is_terminal:
        with console.status(text):
            yield
        return
    late = threading.Timer(_PATIENCE, console.print, (text,), {"highlight": False})
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def compiled(engine: Any, console: Console) -> float:
    """Compile what a run needs; seconds it took."""
    seconds = float(engine.warm_up())
    console.print(f"compiled in {seconds:.1f} s", highlight=False)
    return seconds


def simulation_of(engine: "System", job: Job) -> Simulation:
    """A simulation in the first state of a job, where energy and forces are finite."""
    first = engine.evaluate()
    require_finite(first.energy, first.forces, engine)
    simulation = Simulation.from_engine(engine, timestep=job.settings.run.timestep)
    simulation.groups = {} if job.acting is None else dict(job.acting.groups)
    if job.checkpoint is not None and job.checkpoint.exchange:
        simulation.exchange = Ledger([], job.checkpoint.exchange)
    if job.checkpoint is not None:
        continue_clock(simulation, job.checkpoint)
    return simulation


def _engine_of(jobs: Mapping[str, Job]) -> Any:
    """An engine of one system, or a batch of several, in the first state of the jobs."""
    each = list(jobs.values())
    how, ensembles = each[0].settings.compute.record(), [ensemble_of(job) for job in each]
    acting = [[] if job.acting is None else job.acting.baths for job in each]
    engine: Any
    if len(each) == 1:
        from taichimd.program.engine import Engine

        engine = Engine(
            each[0].atoms,
            each[0].forcefield,
            ensemble=ensembles[0],
            fixed=each[0].fixed,
            acting=acting[0],
            **how,
        )
    else:
        from taichimd.program.batch import Batch

        atoms, fixed = [job.atoms for job in each], [job.fixed for job in each]
        engine = Batch(
            atoms,
            each[0].forcefield,
            ensembles=ensembles,
            fixed=fixed,
            names=list(jobs),
            acting=acting,
            **how,
        )
    for job, member in zip(each, engine.members, strict=True):
        put_state(member, job)
    return engine


def _start(jobs: Mapping[str, Job], console: Console) -> tuple[Any, list[Simulation], dict[str, float]]:
    """An engine or batch with compiled kernels, its systems, and seconds for setup and compiling."""
    from taichimd.core.runtime import info

    begin, first = time.perf_counter(), next(iter(jobs.values()))
    with _said(compiling(first), console):
        engine = _engine_of(jobs)
        first.notes.extend(faster_runtime(info()))
        print_header(console, jobs, engine.decomposition)
        seconds = compiled(engine, console)
    simulations = []
    for name, member in zip(jobs, engine.members, strict=True):
        with errors_name(name) if len(jobs) > 1 else nullcontext():
            simulations.append(simulation_of(member, jobs[name]))
    return engine, simulations, {"setup": time.perf_counter() - begin - seconds, "compile": seconds}
