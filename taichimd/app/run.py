"""One run: its files, checkpoints, reports. `driver` starts it, alone or with others."""

import os
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from taichimd.app import observing
from taichimd.app.acting import Acting
from taichimd.app.averages import averages, energy_drift
from taichimd.app.bond_file import BondFile
from taichimd.app.checkpoint_keeper import CheckpointKeeper
from taichimd.app.job import Job, same_path
from taichimd.app.loop import RunResult, Watched
from taichimd.app.notes import after_run
from taichimd.app.observer import Observer
from taichimd.app.output_folder import OutputFolder
from taichimd.app.outputs import RunFiles, ThermoTable, TrajectoryFile, dropped_from
from taichimd.app.profile import profile_of
from taichimd.app.restart import counted_from, first_energy, ramp_of
from taichimd.app.saving import state_of
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.app.summary import print_stopped, print_summary
from taichimd.app.supervised import Supervised
from taichimd.app.trust import more_to_go_on
from taichimd.core.errors import OutputError
from taichimd.io.artist import draw
from taichimd.io.checkpoint import Checkpoint
from taichimd.io.plots import title_of
from taichimd.io.report import circumstances, read_report, segments, volumes, write_report
from taichimd.io.structures import formula_of, has_velocities
from taichimd.io.thermo import read_thermo
from taichimd.observables.bonds import Bonds
from taichimd.program.results import Thermo
from taichimd.settings.types import DRAW, parts_of


class _FirstTotal(Observer):
    """Remembers the conserved energy of the first report; None where nothing is conserved."""

    totals_only = True

    def __init__(self, value: float | None) -> None:
        self.value = value

    def report(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        if self.value is None:
            self.value = thermo.conserved


class Run:
    """One run from its first report to its last file.

    Args:
        job: what is run.
        folder: where it writes.
        simulation: in its first state.
        before: seconds of the phases before the run.
        console: where summary and progress go.
        appending: whether a run of this folder continues.
        batch: entry of run.json of a run that steps together with others, or None.
        begun: when the command was entered, on the clock of `time.perf_counter`; None: now.

    Attributes:
        last_step: where it ends. report: run.json, once it has ended.
    """

    def __init__(
        self,
        job: Job,
        folder: OutputFolder,
        simulation: SimulatedSystem,
        before: dict[str, float],
        console: Console,
        appending: bool,
        batch: dict[str, Any] | None = None,
        begun: float | None = None,
    ) -> None:
        self.begun = time.perf_counter() if begun is None else begun
        self.job, self.folder, self.simulation, self.console = job, folder, simulation, console
        self.before, self.batch = before, batch
        self.appending = appending
        self.earlier = read_report(folder.report) if appending else {}
        self.report: dict[str, Any] = {}
        self.observed: dict[str, Any] = {}
        self.picture: Callable[[], None] = _no_picture
        self.first_step, self.first_ps = simulation.step, simulation.time_ps
        self.last_step = self.first_step + job.steps
        self.first_total = _FirstTotal(first_energy(job.settings, job.checkpoint))
        self.counted_from = counted_from(job.settings, job.checkpoint) if appending else 0
        self.equilibrate_from = _equilibrate_from(job)
        self.potential = job.forcefield.describe(job.atoms.get_chemical_symbols())
        self.observations = observing.start(simulation, job.plan, job.checkpoint)
        self.started = time.time()
        self.clock = time.perf_counter()

    def open(self) -> Supervised:
        """Open its files, and write the first report."""
        with self._nothing_left():
            self.files = self._files()
        self.keeper = CheckpointKeeper(
            self.folder.checkpoint,
            self._checkpoint,
            self.files.sync,
            self.job.settings.output.checkpoint_interval,
            self.first_step if self.appending else None,
        )
        with self._nothing_left():
            self._write_report("running", None)
        return Supervised(
            self.simulation, self.files, self.keeper, self.finish, self.fail, self.begin_picture
        )

    def watched(self) -> Watched:
        """The simulation, with all that looks at it."""
        observers = (self.first_total, *self.files.observers, self.keeper)
        return Watched(self.simulation, observers, () if self.observations is None else (self.observations,))

    def void_newer(self) -> None:
        """Replace the folder's checkpoint, if an older one was chosen: the newer one is void now."""
        if self.appending and not same_path(Path(str(self.job.settings.system.restart)), self.keeper.path):
            self.keeper.save(self.simulation)

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
        elif self.appending:
            self.folder.drop_frames(self.first_step + 1)
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

    def _drop_from(self, rhythm: str) -> int | None:
        return dropped_from(self.job.checkpoint if self.appending else None, rhythm, self.job.steps)

    def _checkpoint(self, simulation: SimulatedSystem) -> Checkpoint:
        if self.first_total.value is None:
            self.first_total.report(simulation, simulation.thermo())
        if simulation.exchange is not None:
            self.potential = self.job.forcefield.describe(simulation.engine.symbols)
        return Checkpoint(
            **state_of(simulation),
            pbc=self.job.atoms.pbc,
            numbers=simulation.numbers,
            settings=self.job.settings.record(),
            potential_hash=self.potential["fingerprint"],
            potential=self.potential,
            last_step=self.last_step,
            first_total=self.first_total.value,
            counted_from=self.counted_from,
            ramp=ramp_of(self.job.settings, self.job.checkpoint, self.job.steps),
            observed={} if self.observations is None else self.observations.save(),
        )

    def begin_picture(self) -> None:
        """All rows are written: have the picture of a single run drawn while its files are closed."""
        if self.batch is None:
            self.picture = draw(self.folder.thermo, self.folder.plot, self._record("finished"))

    def finish(self, reason: str, result: RunResult) -> None:
        """Write results and run.json; of a single run also the picture, and show them."""
        title = title_of(formula_of(self.job.atoms), len(self.job.atoms))
        rows, self.observed = observing.finish(
            self.observations, self.folder.path, title, self.job.settings.output.plot_format
        )
        self._write_report(reason, result)
        if self.batch is not None:
            # Half a second each: of many runs the table has a picture.
            return
        begin = time.perf_counter()
        self.picture()
        # Again, because the picture is part of what the user waits for.
        waited = time.perf_counter() - begin
        self.report |= self._since_enter(result)
        self.report["wall_seconds"] += waited
        if "profile" in self.report:
            self.report["profile"]["seconds"]["end"] += waited
        write_report(self.folder.report, self.report)
        rows += [("note", note) for note in after_run(self.report)]
        print_summary(self.console, self.report, self.folder, rows)
        if reason != "finished":
            command = f"taichimd run --restart {shlex.quote(os.path.relpath(self.keeper.path))}"
            command += more_to_go_on(self.job.settings.potential.file)
            print_stopped(self.console, reason, result.last_step, self.last_step, command)

    def fail(self, reason: str) -> None:
        """Write run.json of a run that an error has ended; without room for a checkpoint nothing is left."""
        if self.keeper.saved_step is None and reason.startswith(OutputError.__name__):
            self.folder.clear()
            return
        self._write_report(reason, None)

    @contextmanager
    def _nothing_left(self) -> Iterator[None]:
        """Where its first files cannot be written, a run leaves none; those of an earlier part stay."""
        try:
            yield
        except OutputError:
            if not self.appending:
                self.folder.clear()
            raise

    def _write_report(self, reason: str, result: RunResult | None) -> None:
        """Write run.json, with figures of a run that ended."""
        report = self._record(reason)
        if result is not None:
            report |= self._figures(result, report)
            report["notes"] = [*self.job.notes, *after_run(report)]
            report["segments"] = segments(self.earlier, report)
        write_report(self.folder.report, report)
        self.report = report

    def _record(self, reason: str) -> dict[str, Any]:
        """What run.json says of any run."""
        engine, job = self.simulation.engine, self.job
        report: dict[str, Any] = {
            "exit_reason": reason,
            "settings": job.settings.record(),
            "n_atoms": engine.n_atoms,
            "n_fixed": 0 if engine.fixed is None else int(engine.fixed.sum()),
            "formula": formula_of(job.atoms),
            "decomposition": engine.decomposition,
            "potential": self.potential,
            "first_step": self.first_step,
            "last_step": engine.step,
            "first_ps": self.first_ps,
            "conserved_from_step": self.counted_from,
            "ramp": ramp_of(job.settings, job.checkpoint, job.steps),
            "equilibrate_from_step": self.equilibrate_from,
            "planned_last_step": self.last_step,
            "simulated_ps": self.simulation.time_ps,
            "seed": job.settings.ensemble.seed,
            "velocities": _origin_of_velocities(job),
            "wall_seconds": time.perf_counter() - self.clock,
            "compile_seconds": self.before["compile"],
            **circumstances(self.started),
            "notes": job.notes,
            **self._exchange(),
            **(Acting() if job.acting is None else job.acting).record(),
            **self.observed,
            **({} if self.batch is None else {"batch": self.batch}),
        }
        report["segments"] = segments(self.earlier, report)
        return report

    def _exchange(self) -> dict[str, Any]:
        """What molecules were inserted and deleted."""
        ledger = self.simulation.exchange
        return {"exchange": {} if ledger is None else {**ledger.save(), "notes": ledger.notes()}}

    def _since_enter(self, result: RunResult) -> dict[str, Any]:
        """How long the user has waited, and the speed that this makes."""
        seconds, steps = time.perf_counter() - self.begun, result.last_step - result.first_step
        speed = self.simulation.engine.n_atoms * steps / seconds
        return {"seconds_since_enter": seconds, "atom_steps_per_second_since_enter": speed}

    def _figures(self, result: RunResult, report: dict[str, Any]) -> dict[str, Any]:
        """Speed and physics of a run that ended."""
        engine, seconds = self.simulation.engine, result.stepping_seconds
        steps = result.last_step - result.first_step
        rows = read_thermo(self.folder.thermo)
        figures: dict[str, Any] = {
            "stepping_seconds": seconds,
            "atom_steps_per_second": engine.n_atoms * steps / seconds if seconds > 0 else None,
            **self._since_enter(result),
            "output_seconds": result.output_seconds,
            "sampling_seconds": result.sampling_seconds,
            "statistics": engine.statistics(),
        }
        if len(rows["step"]):
            figures |= averages(report, rows)
            figures["last_temperature_K"] = float(rows["temperature_K"][-1])
            of_ensemble = rows["step"] >= self.counted_from
            figures["energy_drift"] = energy_drift(
                rows["time_ps"][of_ensemble], rows["conserved_eV"][of_ensemble], engine.n_atoms
            )
            figures |= volumes(rows)
        figures["last_cell_A"] = engine.cell
        if self.job.settings.output.profile:
            figures["profile"] = profile_of(self.before, result, time.perf_counter() - self.clock)
        return figures


def _no_picture() -> None:
    """Wait for nothing."""


def _equilibrate_from(job: Job) -> int | None:
    """The step from which `equilibrate` counts; None without it."""
    if job.settings.run.equilibrate is None:
        return None
    if job.checkpoint is None:
        return 0
    if "equilibrate" in job.given:
        return job.checkpoint.step
    # Given to an earlier run of the same conditions, which this one continues with.
    earlier = read_report(OutputFolder(Path(str(job.settings.system.restart)).parent).report)
    return earlier.get("equilibrate_from_step") or 0


def _origin_of_velocities(job: Job) -> str:
    if job.settings.system.velocities == DRAW or not has_velocities(job.atoms):
        return "Maxwell-Boltzmann"
    return "structure file" if job.checkpoint is None else "checkpoint"
