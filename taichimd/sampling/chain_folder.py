"""One Markov chain of a run with its folder: table, frames, checkpoints, report."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taichimd.app.checkpoint_keeper import CheckpointKeeper
from taichimd.app.job import same_path
from taichimd.app.loop import RunResult, Watched
from taichimd.app.output_folder import OutputFolder
from taichimd.app.outputs import GrowingFile, RunFiles, TrajectoryFile, dropped_from
from taichimd.app.restart import changes_of_machine
from taichimd.app.saving import state_of
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.app.simulation import Simulation
from taichimd.app.supervised import Supervised
from taichimd.core.errors import CheckpointError, OutputError, TaichimdWarning
from taichimd.io.checkpoint import Checkpoint
from taichimd.io.files import AppendedFile
from taichimd.io.potential import differences
from taichimd.io.report import circumstances, read_report, segments, write_report
from taichimd.io.thermo import offset_of_row
from taichimd.program.results import require_finite
from taichimd.sampling.averages import conditions_since, production_of, rhythm
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.prepare import ChainJob, MCJob
from taichimd.settings.types import each
from taichimd.system.constraints import check_fixed, fixed_atoms


class ChainFolder:
    """One chain and what it writes.

    Args:
        job: of which it is one.
        own: what it starts from.
        folder: its files.
        appending: whether it continues with those that are there.

    Attributes:
        chain: the chain. settings: its own. first_step, last_step: sweeps at which the run starts and ends.
        files, keeper: that grow with the run, and checkpoints, once it is `prepare`d.
    """

    files: RunFiles
    keeper: CheckpointKeeper

    def __init__(self, job: MCJob, own: ChainJob, folder: OutputFolder, appending: bool) -> None:
        self.job, self.own, self.folder, self.appending = job, own, folder, appending
        self.settings = own.settings
        self.earlier = read_report(folder.report) if appending else {}
        self.potential = job.forcefield.describe(own.atoms.get_chemical_symbols())
        self.started, self.clock = time.time(), time.perf_counter()
        self.chain = chain = _chain_of(own, job.forcefield)
        if (checkpoint := own.checkpoint) is not None:
            if checkpoint.potential_hash != self.potential["fingerprint"]:
                raise CheckpointError(
                    f"checkpoint {self.settings.restart} was made with a different potential than "
                    f"{' + '.join(each(self.settings.potential or ''))}: "
                    f"{differences(checkpoint.potential, self.potential)}; give the same one or none, or "
                    f"start a new run from it: taichimd mc {self.settings.restart}, with --potential, "
                    "--sweeps and --output"
                )
            chain.set_state(step=checkpoint.step, bath=checkpoint.bath)
            job.notes.extend(
                note for note in changes_of_machine(checkpoint, chain.system) if note not in job.notes
            )
        self.first_step, self.last_step = chain.step, chain.step + job.steps

    def prepare(self) -> None:
        """Compile, look at the first energy, and open the files."""
        first = self.chain.evaluate()
        require_finite(first.energy, first.forces, self.chain)
        self.compiling = self.chain.warm_up()
        engine: Any = self.chain
        self.simulation = Simulation.from_engine(engine, timestep=1.0)
        if not self.appending:
            self.folder.clear()
        self.files = self._files()
        self.keeper = CheckpointKeeper(
            self.folder.checkpoint, self._checkpoint, self.files.sync, self.settings.checkpoint_interval,
            self.first_step if self.appending else None,
        )  # fmt: skip

    def open(self, finish: Callable[[str, RunResult], Any]) -> Supervised:
        """Write the first report, and a checkpoint where an older one was chosen; the run, to be ended so."""
        self.write_report("running")
        self.void_newer()
        return Supervised(self.simulation, self.files, self.keeper, finish, self.fail)

    def watched(self) -> Watched:
        """The chain with what looks at it."""
        return Watched(self.simulation, (*self.files.observers, self.keeper))

    def fail(self, reason: str) -> None:
        """Write run.json of a run that an error has ended; without room for a checkpoint nothing is left."""
        if self.keeper.saved_step is None and reason.startswith(OutputError.__name__):
            self.folder.clear()
            return
        self.write_report(reason)

    def _files(self) -> RunFiles:
        settings, path, frames = self.settings, self.folder.trajectory, None
        if path is not None:
            every = settings.frames_every or settings.every or 1
            frames = SweepFrames(path, every, drop_from=self._dropped_from("frames_every"))
        elif self.appending:
            self.folder.drop_frames(self.first_step + 1)
        files = RunFiles(SweepTable(self.folder.thermo, drop_from=self._dropped_from("every")), frames)
        files.open(self.simulation)
        return files

    def _dropped_from(self, rhythm: str) -> int | None:
        return dropped_from(self.own.checkpoint if self.appending else None, rhythm, self.job.steps)

    def void_newer(self) -> None:
        """Where an older checkpoint was chosen the newer one is void now."""
        if self.appending and not same_path(Path(str(self.settings.restart)), self.keeper.path):
            self.keeper.save(self.simulation)

    def _checkpoint(self, simulation: SimulatedSystem) -> Checkpoint:
        self.chain.compare()
        return Checkpoint(
            **state_of(simulation),
            pbc=self.own.atoms.pbc,
            numbers=self.own.atoms.numbers,
            settings=self.settings.record(),
            potential_hash=self.potential["fingerprint"],
            potential=self.potential,
            last_step=self.last_step,
            first_total=None,
        )

    def write_report(self, reason: str, result: RunResult | None = None, chains: int = 1) -> dict[str, Any]:
        """Write run.json, with the reason of the end and the result of a run of so many chains, if known."""
        chain, atoms = self.chain, self.own.atoms
        report: dict[str, Any] = {
            "exit_reason": reason,
            "settings": self.settings.record(),
            "n_atoms": chain.n_atoms,
            "n_fixed": 0 if chain.fixed is None else int(chain.fixed.sum()),
            "formula": atoms.get_chemical_formula(),
            "decomposition": chain.decomposition,
            "potential": self.potential,
            "first_step": self.first_step,
            "last_step": chain.step,
            "planned_last_step": self.last_step,
            "wall_seconds": time.perf_counter() - self.clock,
            "compile_seconds": self.compiling,
            **circumstances(self.started),
            "notes": self.job.notes,
        }
        if result is not None:
            sweeps = chains * (result.last_step - result.first_step)
            rates = {name: getattr(chain, name) for name in ("moves", "volume_moves", "exchanges")}
            report |= {
                "seconds_per_sweep": result.stepping_seconds / sweeps if sweeps else None,
                **{name: vars(rate) | {"acceptance": rate.acceptance} for name, rate in rates.items()},
                "energy_check": {
                    "comparisons": chain.check.times,
                    "largest_difference_eV": chain.check.largest,
                },
                "last_cell_A": chain.cell,
                "statistics": chain.statistics(),
            }
        report["segments"] = of_folder = segments(self.earlier, report)
        if result is not None:
            since, every = conditions_since(of_folder), rhythm(of_folder)
            report |= production_of(
                self.folder.thermo, self.settings.equilibration or 0, since, every, chain
            ).record()
        write_report(self.folder.report, report)
        return report


@contextmanager
def nothing_left(chains: Sequence[ChainFolder]) -> Iterator[None]:
    """Where first files cannot be written, chains leave none; those of an earlier part stay."""
    try:
        yield
    except OutputError:
        for one in chains:
            if not one.appending:
                one.folder.clear()
        raise


def _chain_of(own: ChainJob, forcefield: Any) -> MonteCarlo:
    settings = own.settings
    with warnings.catch_warnings():
        # The job has noted it.
        warnings.filterwarnings("ignore", "atoms? .* Å apart", TaichimdWarning)
        return MonteCarlo(
            own.atoms,
            forcefield,
            temperature=settings.temperatures[0],
            pressure=settings.pressure if settings.moves_volume else None,
            kind=settings.moves,
            move=settings.move,
            volume_move=settings.volume_move,
            equilibration=settings.equilibration or 0,
            seed=settings.seed,
            backend=settings.backend,
            precision=settings.precision,
            decomposition=settings.decomposition,
            fixed=check_fixed(fixed_atoms(own.atoms, "Monte Carlo"), len(own.atoms)),
        )


COLUMNS = {
    "sweep": "step", "potential_eV": "potential", "pressure_GPa": "pressure", "volume_A3": "volume",
    "acceptance": "acceptance", "volume_acceptance": "volume_acceptance", "move_A": "move",
}  # fmt: skip
"""Columns of thermo.csv, with the attributes of `Sampled` that they hold."""


class SweepTable(GrowingFile):
    """Writes a row per report: thermo.csv of `taichimd mc`; `drop_from`: a sweep, from which rows go."""

    def _make(self, simulation: SimulatedSystem) -> AppendedFile:
        since = self._drop_from
        keep = None if since is None else lambda: offset_of_row(self.path, since)
        return AppendedFile(self.path, keep, ",".join(COLUMNS) + "\n")

    def _write(self, simulation: SimulatedSystem, thermo: Any) -> None:
        first, *values = (getattr(thermo, name) for name in COLUMNS.values())
        fields = ["" if value is None else repr(float(value)) for value in values]
        self._writer.append(",".join([str(first), *fields]) + "\n")


class SweepFrames(TrajectoryFile):
    """Writes a frame per report, without time or momenta: a Markov chain has none."""

    def _write(self, simulation: SimulatedSystem, thermo: Any) -> None:
        self._put(simulation, thermo, None)
