"""From a prepared job to a folder of results. The command line is a thin door on `job` and this."""

import os
import shlex
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from taichimd.app.bond_file import BondFile
from taichimd.app.job import Job, same_path
from taichimd.app.notes import after_run, faster_runtime
from taichimd.app.outputs import (
    CheckpointKeeper,
    OutputFolder,
    RunFiles,
    ThermoTable,
    TrajectoryFile,
    cut_trajectory,
    dropped_from,
)
from taichimd.app.profile import profile_of
from taichimd.app.progress import ProgressObserver
from taichimd.app.protocols import EngineLike, ThermoLike
from taichimd.app.restart import (
    changes_of_machine,
    check_same_potential,
    continue_clock,
    counted_from,
    first_energy,
    ramp_of,
    resume,
)
from taichimd.app.saving import state_of
from taichimd.app.setting_types import DRAW, parts_of
from taichimd.app.simulation import Observer, RunResult, Simulation
from taichimd.app.summary import print_header, print_stopped, print_summary
from taichimd.app.supervised import to_the_end
from taichimd.core.signals import StopRequest
from taichimd.io.checkpoint import Checkpoint
from taichimd.io.lock import locked
from taichimd.io.plots import plot_run, title_of
from taichimd.io.report import (
    energy_drift,
    host,
    pressure_and_volume,
    read_report,
    segments,
    versions,
    write_report,
)
from taichimd.io.structures import has_velocities
from taichimd.io.thermo import CELL_COLUMNS, TERM, lacks, read_thermo
from taichimd.observables import observing
from taichimd.observables.bonds import Bonds
from taichimd.program.results import require_finite
from taichimd.system.velocities import maxwell_boltzmann


def run_job(job: Job, console: Console) -> int:
    """Run a prepared job, write its files, show its progress.

    Returns:
        Exit code: 0 when finished, 130, 143 or 129 when stopped by Ctrl-C, SIGTERM or SIGHUP.

    Raises:
        TaichimdError: anything that stops the run; after the start the message says where the last good
            checkpoint is.
    """
    output = job.settings.output
    observed = observing.files_of(job.plan, output.plot_format)
    folder = OutputFolder(Path(output.folder), observed, output.frames, output.plot_format)
    with locked(folder.path):
        return _run_in(folder, job, console)


def _run_in(folder: OutputFolder, job: Job, console: Console) -> int:
    """`run_job` in a folder that is ours."""
    settings = job.settings
    restart = Path(str(settings.system.restart))
    appending = job.checkpoint is not None and same_path(restart.parent, folder.path)
    folder.check(overwrite=settings.output.overwrite or appending)
    if appending and job.checkpoint is not None:
        folder.check_format()
        job.notes.extend(folder.gap_in_frames(job.checkpoint.settings.get("frames"), job.checkpoint.step))
    earlier = read_report(folder.report) if appending else {}
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
    simulation, before = _start(job, console)
    if not appending:
        folder.clear()
    folder.clear_other_pictures()
    return _Run(job, folder, simulation, before, console, appending, earlier).execute()


def _start(job: Job, console: Console) -> tuple[Simulation, dict[str, float]]:
    """Simulation with compiled kernels, and seconds for setup and compiling."""
    from taichimd.core.runtime import info
    from taichimd.program.engine import Engine

    begin = time.perf_counter()
    settings, checkpoint, forcefield = job.settings, job.checkpoint, job.forcefield
    forcefield.check_bounded()
    if checkpoint is not None:
        record = forcefield.describe(job.atoms.get_chemical_symbols())
        job.notes.extend(check_same_potential(settings, checkpoint, record))
    bath, compute = settings.ensemble, settings.compute
    ensemble = bath.make(ramp_of(settings, checkpoint, job.steps))
    engine: EngineLike = Engine(
        job.atoms,
        forcefield,
        backend=compute.backend,
        precision=compute.precision,
        decomposition=compute.decomposition,
        ensemble=ensemble,
        fixed=job.fixed,
    )
    if checkpoint is not None:
        resume(engine, checkpoint, ensemble)
    elif has_velocities(job.atoms):
        engine.set_state(velocities=job.atoms.get_velocities())
    else:
        engine.set_state(
            velocities=maxwell_boltzmann(engine.masses, bath.temperature, bath.seed, engine.fixed)
        )
    if checkpoint is not None:
        job.notes.extend(changes_of_machine(checkpoint, engine))
    job.notes.extend(faster_runtime(info()))
    print_header(console, job, forcefield, engine.decomposition)
    if console.is_terminal:
        with console.status("compiling"):
            seconds = engine.warm_up()
    else:
        seconds = engine.warm_up()
    console.print(f"compiled in {seconds:.1f} s", highlight=False)
    first = engine.evaluate()
    require_finite(first.energy, first.forces, engine.symbols)
    simulation = Simulation.from_engine(engine, timestep=settings.run.timestep)
    if checkpoint is not None:
        continue_clock(simulation, checkpoint)
    return simulation, {"setup": time.perf_counter() - begin - seconds, "compile": seconds}


class _FirstTotal(Observer):
    """Remembers the conserved energy of the first report; None where nothing is conserved."""

    def __init__(self, value: float | None) -> None:
        self.value = value

    def report(self, simulation: Simulation, thermo: ThermoLike) -> None:
        if self.value is None:
            self.value = thermo.conserved


class _Run:
    """One run from its first report to its last file."""

    def __init__(
        self,
        job: Job,
        folder: OutputFolder,
        simulation: Simulation,
        before: dict[str, float],
        console: Console,
        appending: bool,
        earlier: dict[str, Any],
    ) -> None:
        self.job, self.folder, self.simulation, self.console = job, folder, simulation, console
        self.before = before
        self.appending, self.earlier = appending, earlier
        self.observed: dict[str, Any] = {}
        self.first_step, self.first_ps = simulation.step, simulation.time_ps
        self.last_step = self.first_step + job.steps
        self.first_total = _FirstTotal(first_energy(job.settings, job.checkpoint))
        self.counted_from = counted_from(job.settings, job.checkpoint) if appending else 0
        self.potential = job.forcefield.describe(job.atoms.get_chemical_symbols())
        self.observations = observing.start(simulation, job.plan, job.checkpoint)
        self.started = time.time()
        self.clock = time.perf_counter()

    def execute(self) -> int:
        """Step, write, report; the exit code."""
        files = self._files()
        keeper = CheckpointKeeper(
            self.folder.checkpoint, self._checkpoint, files.sync,
            self.job.settings.output.checkpoint_interval, self.first_step if self.appending else None,
        )  # fmt: skip
        self._write_report("running", None)

        def step(stop: StopRequest) -> RunResult:
            if self.appending and not same_path(Path(str(self.job.settings.system.restart)), keeper.path):
                keeper.save(self.simulation)  # an older checkpoint was chosen: the newer one is void now
            return self._step(files, keeper, stop)

        return to_the_end(
            self.simulation, files, keeper, self.console, step=step,
            finish=lambda reason, result: self._finish(reason, result, keeper),
            failed=lambda reason: self._write_report(reason, None),
        )  # fmt: skip

    def _files(self) -> RunFiles:
        output, path = self.job.settings.output, self.folder.trajectory
        moving_cell = self.job.settings.ensemble.kind.moves_cell
        frames = None
        if path is not None:
            frames = TrajectoryFile(
                path,
                output.steps_between_frames,
                per_atom=parts_of(output.per_atom),
                terms=output.terms,
                drop_from=self._drop_from("frames_every"),
            )
        else:
            # Frames behind the checkpoint are of a run that is no longer this one.
            for file in self.folder.trajectories:
                if self.appending and file.exists():
                    cut_trajectory(file, self.first_step + 1)
        table = ThermoTable(
            self.folder.thermo,
            drop_from=self._drop_from("every"),
            moving_cell=moving_cell,
            terms=output.terms,
        )
        files = RunFiles(table, frames, self._bonds())
        files.open(self.simulation)
        return files

    def _bonds(self) -> BondFile | None:
        observe, plan = self.job.settings.observe, self.job.plan
        if plan is None or Bonds.name not in plan.kinds:
            return None
        (name,) = Bonds.files()
        return BondFile(
            self.folder.path / name, observe.every, bond_order=observe.bond_order,
            drop_from=self._drop_from("observe_every"),
        )  # fmt: skip

    def _step(self, files: RunFiles, keeper: CheckpointKeeper, stop: StopRequest) -> RunResult:
        if self.job.steps == 0:
            return RunResult(self.first_step, self.first_step, 0.0, True)
        with ProgressObserver(
            self.console, self.first_step, self.last_step, self.first_total.value
        ) as progress:
            return self.simulation.run(
                self.job.steps,
                every=self.job.settings.output.every,
                observers=(self.first_total, *files.observers, keeper, progress),
                should_stop=stop,
                report_first=not self.appending,
                samplers=() if self.observations is None else (self.observations,),
            )

    def _drop_from(self, rhythm: str) -> int | None:
        """`dropped_from` of rows ("every") or frames ("frames_every"); None of a new run."""
        if not self.appending or self.job.checkpoint is None:
            return None
        step, before = self.job.checkpoint.step, self.job.checkpoint.settings
        return dropped_from(step, before.get(rhythm) or before["every"], self.job.steps)

    def _checkpoint(self, simulation: Simulation) -> Checkpoint:
        if self.first_total.value is None:
            self.first_total.report(simulation, simulation.engine.thermo())
        return Checkpoint(
            **state_of(simulation),
            pbc=self.job.atoms.pbc,
            numbers=self.job.atoms.numbers,
            settings=self.job.settings.record(),
            potential_hash=self.potential["fingerprint"],
            potential=self.potential,
            last_step=self.last_step,
            first_total=self.first_total.value,
            counted_from=self.counted_from,
            ramp=ramp_of(self.job.settings, self.job.checkpoint, self.job.steps),
            observed={} if self.observations is None else self.observations.save(),
        )

    def _finish(self, reason: str, result: RunResult, keeper: CheckpointKeeper) -> None:
        title = title_of(self.job.atoms.get_chemical_formula(), len(self.job.atoms))
        rows, self.observed = observing.finish(
            self.observations, self.folder.path, title, self.job.settings.output.plot_format
        )
        report = self._write_report(reason, result)
        plot_run(self.folder.thermo, self.folder.plot, report)
        rows += [("note", note) for note in after_run(report)]
        print_summary(self.console, report, self.folder, rows)
        if reason != "finished":
            command = f"taichimd run --restart {shlex.quote(os.path.relpath(keeper.path))}"
            print_stopped(self.console, reason, result.last_step, self.last_step, command)

    def _write_report(self, reason: str, result: RunResult | None) -> dict[str, Any]:
        from taichimd.core.runtime import info

        engine, job = self.simulation.engine, self.job
        report: dict[str, Any] = {
            "exit_reason": reason,
            "settings": job.settings.record(),
            "n_atoms": engine.n_atoms,
            "n_fixed": 0 if engine.fixed is None else int(engine.fixed.sum()),
            "formula": job.atoms.get_chemical_formula(),
            "decomposition": engine.decomposition,
            "potential": self.potential,
            "first_step": self.first_step,
            "last_step": engine.step,
            "first_ps": self.first_ps,
            "conserved_from_step": self.counted_from,
            "planned_last_step": self.last_step,
            "simulated_ps": self.simulation.time_ps,
            "seed": job.settings.ensemble.seed,
            "velocities": _origin_of_velocities(job),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.started)),
            "wall_seconds": time.perf_counter() - self.clock,
            "compile_seconds": self.before["compile"],
            "versions": versions(),
            "runtime": info(),
            "host": host(),
            "notes": job.notes,
            **self.observed,
        }
        if result is not None:
            report |= self._figures(result)
            report["notes"] = [*job.notes, *after_run(report)]
        report["segments"] = segments(self.earlier, report)
        write_report(self.folder.report, report)
        return report

    def _figures(self, result: RunResult) -> dict[str, Any]:
        """Speed and physics of a run that ended."""
        engine, seconds = self.simulation.engine, result.stepping_seconds
        steps = result.last_step - result.first_step
        rows = read_thermo(self.folder.thermo)
        figures: dict[str, Any] = {
            "stepping_seconds": seconds,
            "atom_steps_per_second": engine.n_atoms * steps / seconds if seconds > 0 else None,
            "statistics": engine.statistics(),
        }
        if len(rows["step"]):
            figures["mean_temperature_K"] = float(rows["temperature_K"].mean())
            figures["last_temperature_K"] = float(rows["temperature_K"][-1])
            of_ensemble = rows["step"] >= self.counted_from
            figures["energy"] = energy_drift(
                rows["time_ps"][of_ensemble], rows["conserved_eV"][of_ensemble], engine.n_atoms
            )
            figures |= pressure_and_volume(rows)
        figures["last_cell_A"] = engine.cell
        if self.job.settings.output.profile:
            figures["profile"] = profile_of(self.before, result, time.perf_counter() - self.clock)
        return figures


def _origin_of_velocities(job: Job) -> str:
    if job.settings.system.velocities == DRAW or not has_velocities(job.atoms):
        return "Maxwell-Boltzmann"
    return "structure file" if job.checkpoint is None else "checkpoint"
