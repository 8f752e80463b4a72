"""From a prepared job to a folder of results. The command line is a thin door on `job` and this."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from taichimd.app import observing
from taichimd.app.job import Job, goes_on
from taichimd.app.notes import faster_runtime
from taichimd.app.outputs import OutputFolder
from taichimd.app.restart import changes_of_machine, check_same_potential, continue_clock, ramp_of, resume
from taichimd.app.run import Run
from taichimd.app.simulation import Simulation
from taichimd.app.summary import print_header
from taichimd.ensembles.registry import Ensemble
from taichimd.io.lock import locked
from taichimd.io.structures import has_velocities
from taichimd.io.thermo import CELL_COLUMNS, TERM, lacks
from taichimd.program.results import require_finite
from taichimd.system.velocities import maxwell_boltzmann

if TYPE_CHECKING:
    from taichimd.program.engine import Engine


def run_job(job: Job, console: Console) -> int:
    """Run a prepared job, write its files, show its progress.

    Returns:
        Exit code: 0 when finished, 130, 143 or 129 when stopped by Ctrl-C, SIGTERM or SIGHUP.

    Raises:
        TaichimdError: anything that stops the run; after the start the message says where the last good
            checkpoint is.
    """
    folder = folder_of(job)
    with locked(folder.path):
        appending = check_folder(folder, job)
        simulation, before = _start(job, console)
        clear_folder(folder, appending)
        return Run(job, folder, simulation, before, console, appending).execute()


def folder_of(job: Job) -> OutputFolder:
    """Where a job writes."""
    output = job.settings.output
    observed = observing.files_of(job.plan, output.plot_format)
    return OutputFolder(Path(output.folder), observed, output.frames, output.plot_format)


def check_folder(folder: OutputFolder, job: Job) -> bool:
    """Whether a run of this folder goes on; remarks go to the job's notes.

    Raises:
        OutputError: another run is there, or frames of another format.
    """
    settings = job.settings
    appending = goes_on(folder, job.checkpoint, settings.system.restart, settings.output.overwrite, job.notes)
    if appending and settings.output.terms and lacks(folder.thermo, TERM):
        job.notes.append(
            "thermo.csv was begun without terms and goes on without them: choose another --output for them; "
            "new frames have them"
        )
    if appending and settings.ensemble.kind.moves_cell and lacks(folder.thermo, CELL_COLUMNS[0]):
        job.notes.append(
            "thermo.csv was begun without a barostat and goes on without cell and stresses: choose another "
            "--output for them; cells are in the frames of the trajectory"
        )
    return appending


def clear_folder(folder: OutputFolder, appending: bool) -> None:
    """Remove what an earlier run has left, when the new one is known to start."""
    if not appending:
        folder.clear()
    folder.clear_other_pictures()


def ensemble_of(job: Job) -> Ensemble:
    """The ensemble, once the potential is known to be that of a checkpoint; remarks go to the job's notes.

    Raises:
        CheckpointError: another potential.
    """
    job.forcefield.check_bounded()
    if job.checkpoint is not None:
        job.notes.extend(check_same_potential(job.settings, job.checkpoint, job.forcefield))
    return job.settings.ensemble.make(ramp_of(job.settings, job.checkpoint, job.steps))


def put_state(engine: "Engine", job: Job) -> None:
    """Bring an engine, or a member of a batch, to where a job begins."""
    checkpoint, bath = job.checkpoint, job.settings.ensemble
    if checkpoint is not None:
        resume(engine, checkpoint, engine.ensemble)
        job.notes.extend(changes_of_machine(checkpoint, engine))
    elif has_velocities(job.atoms):
        engine.set_state(velocities=job.atoms.get_velocities())
    else:
        engine.set_state(
            velocities=maxwell_boltzmann(engine.masses, bath.temperature, bath.seed, engine.fixed)
        )


def compiled(engine: Any, console: Console) -> float:
    """Compile what a run needs; seconds it took."""
    if console.is_terminal:
        with console.status("compiling"):
            seconds = float(engine.warm_up())
    else:
        seconds = float(engine.warm_up())
    console.print(f"compiled in {seconds:.1f} s", highlight=False)
    return seconds


def simulation_of(engine: "Engine", job: Job) -> Simulation:
    """A simulation in the first state of a job.

    Raises:
        EvaluationError: a force or an energy that is not finite.
    """
    first = engine.evaluate()
    require_finite(first.energy, first.forces, engine)
    simulation = Simulation.from_engine(engine, timestep=job.settings.run.timestep)
    if job.checkpoint is not None:
        continue_clock(simulation, job.checkpoint)
    return simulation


def _start(job: Job, console: Console) -> tuple[Simulation, dict[str, float]]:
    """Simulation with compiled kernels, and seconds for setup and compiling."""
    from taichimd.core.runtime import info
    from taichimd.program.engine import Engine

    begin = time.perf_counter()
    how = job.settings.compute.record()
    engine = Engine(job.atoms, job.forcefield, ensemble=ensemble_of(job), fixed=job.fixed, **how)
    put_state(engine, job)
    job.notes.extend(faster_runtime(info()))
    print_header(console, job, job.forcefield, engine.decomposition)
    seconds = compiled(engine, console)
    simulation = simulation_of(engine, job)
    return simulation, {"setup": time.perf_counter() - begin - seconds, "compile": seconds}
