"""One system as a user of Python sees it; `loop` has the steps of a run.

    from taichimd import Simulation
    simulation = Simulation(atoms, "Si.tersoff", timestep=1.0, temperature=300, seed=1)
    simulation.run(1000)
    print(simulation.thermo().temperature)

`taichimd.app.driver` adds the files; here only `save` writes one.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.app.loop import Pace as Pace
from taichimd.app.loop import RunResult as RunResult
from taichimd.app.loop import Watched, check_length, run_loop
from taichimd.app.notes import REDRAW_IN_PYTHON, of_start, of_system
from taichimd.app.observer import Observer, Sampler
from taichimd.app.restart import continue_clock
from taichimd.app.saving import Account, named, start_from, to_checkpoint
from taichimd.core.arrays import Array
from taichimd.core.errors import PropertyError, StructureError, TaichimdWarning
from taichimd.core.printable import printable
from taichimd.ensembles.registry import Ensemble, Thermostat
from taichimd.io.checkpoint import write_checkpoint
from taichimd.io.structures import has_velocities, hold_results, remarks
from taichimd.program.results import NotCopied, Thermo
from taichimd.settings.run import SETTINGS
from taichimd.system.constraints import fix, fixed_atoms
from taichimd.system.overlaps import notes_on_overlap
from taichimd.system.velocities import maxwell_boltzmann

if TYPE_CHECKING:
    from taichimd.program.engine import Engine


class Asked(NamedTuple):
    """What a user has given that the engine does not tell; names are those of settings."""

    potential: str | list[str] | None
    temperature: float
    seed: int
    backend: str
    decomposition: str


def drawn_at(temperature: float | None, ensemble: Ensemble | None) -> float:
    """Temperature of velocities that are drawn, K.

    Raises:
        SettingsError: one that makes no sense.
    """
    if temperature is None:
        temperature = ensemble.temperature if isinstance(ensemble, Thermostat) else 300.0
    return float(SETTINGS["temperature"].read(temperature))


class Simulation(NotCopied):
    """Molecular dynamics of one system, at constant energy or with a thermostat, and a barostat.

        >>> from ase.build import bulk
        >>> from taichimd import Simulation
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", timestep=1.0, temperature=300)
        >>> result = simulation.run(20)
        >>> simulation.step, simulation.atoms().get_potential_energy() == simulation.energy()
        (20, True)

    Args:
        atoms: the structure, or a list of structures, which makes `Simulations`. Velocities are used if there
            are any, otherwise they are drawn (Maxwell-Boltzmann, no net momentum). The object is left alone;
            see `atoms()`. Atoms that `FixAtoms` holds stay in place (docs/fixed-atoms.md); other constraints
            are refused.
        forcefield: a parameter file, a shipped name, "file.py:name" or a force-field object; a list is their
            sum.
        timestep: fs; None: 0.25 with ReaxFF, else 1. One that is long for the potential is warned of.
        temperature: K, for drawing velocities; None: the ensemble's, in NVE 300.
        seed: of the draw; the noise of a thermostat has its own.
        ensemble: `Langevin`, `Berendsen`, `Bussi` or `NoseHoover` of `taichimd`, or, with a cell that moves,
            `BerendsenNPT`, `StochasticCellRescaling` or `MartynaTobiasKlein`; None is NVE.
        backend: auto, cuda or cpu.
        precision: float64, mixed (see `Engine`) or float32.
        decomposition: particle, tuple or auto (see `Engine`).

    Raises:
        SettingsError: a time step, temperature or seed that makes no sense, constraints other than fixed
            atoms.
        StructureError, MissingParameterError, ParameterFileError, BackendError, CapacityError: from engine
            and reader.
    """

    def __new__(cls, atoms: Any = None, *args: Any, **more: Any) -> Any:
        """A list of structures makes `Simulations`."""
        if isinstance(atoms, list | tuple):
            from taichimd.app.simulations import Simulations

            return Simulations(atoms, *args, **more)
        return super().__new__(cls)

    instead = "use save(path) and Simulation.load(path), or begin a new one from atoms()"

    def __init__(
        self,
        atoms: Atoms,
        forcefield: Any,
        *,
        timestep: float | None = None,
        temperature: float | None = None,
        seed: int = 1,
        ensemble: Ensemble | None = None,
        backend: str = "auto",
        precision: str = "float64",
        decomposition: str = "auto",
    ) -> None:
        from taichimd.forcefields.load import load_forcefield
        from taichimd.program.engine import Engine

        temperature = drawn_at(temperature, ensemble)
        potential = load_forcefield(forcefield)
        self._start(potential.timestep if timestep is None else timestep)
        # What is no Atoms object the engine refuses.
        fixed = fixed_atoms(atoms) if isinstance(atoms, Atoms) else None
        potential.check_bounded()
        engine = Engine(
            atoms,
            potential,
            backend=backend,
            precision=precision,
            ensemble=ensemble,
            decomposition=decomposition,
            fixed=fixed,
        )
        asked = Asked(named(forcefield), temperature, seed, backend, decomposition)
        for remark in self._begin(engine, atoms, asked):
            warnings.warn(printable(remark), TaichimdWarning, stacklevel=2)

    def _begin(self, engine: "Engine", atoms: Atoms, asked: Asked) -> list[str]:
        """Take an engine of these atoms, and give it velocities; remarks for the user."""
        self.engine = engine
        self._asked |= asked._asdict()
        if has_velocities(atoms):
            engine.set_state(velocities=atoms.get_velocities())
        else:
            drawn = maxwell_boltzmann(engine.masses, asked.temperature, asked.seed, engine.fixed)
            engine.set_state(velocities=drawn)
        self._structure = atoms.copy()
        return [
            *remarks(atoms),
            *of_start(atoms, REDRAW_IN_PYTHON),
            *notes_on_overlap(atoms),
            *of_system(atoms, engine.forcefield, engine.ensemble, self.timestep),
        ]

    @classmethod
    def from_engine(cls, engine: "Engine", *, timestep: float | None = None) -> "Simulation":
        """A simulation of an engine whose state is already set.

        Args:
            engine: with positions and velocities.
            timestep: fs; None: that of its force field.
        """
        self = cls.__new__(cls)
        self._start(engine.forcefield.timestep if timestep is None else timestep)
        self.engine = engine
        self._structure = Atoms(
            engine.symbols, positions=engine.positions(), pbc=engine.pbc, masses=engine.masses
        )
        fix(self._structure, engine.fixed)
        return self

    def _start(self, timestep: float) -> None:
        self.timestep: float = SETTINGS["timestep"].read(timestep)
        self.origin_fs = 0.0
        self.origin_step = self.last_step = 0
        self._asked: dict[str, Any] = {}
        self._account = Account()
        self._terms: Any = None

    @classmethod
    def load(
        cls,
        path: str | Path,
        forcefield: Any = None,
        *,
        timestep: float | None = None,
        ensemble: Ensemble | None = None,
        backend: str | None = None,
        precision: str | None = None,
        decomposition: str | None = None,
        trust: bool = False,
    ) -> "Simulation":
        """A simulation that goes on from a checkpoint of `save` or `taichimd run`, with the same bits.

        What is None is as it was saved. What begins anew with other settings is told in a warning.

        Args:
            path: the checkpoint, or the folder of a run.
            forcefield: the one of before; needed where that was an object, and where it was Python code,
                "file.py:name", unless the checkpoint is trusted.
            timestep: fs.
            ensemble: another one; `NVE()` for constant energy.
            backend: auto, cuda or cpu.
            precision: float64, mixed or float32.
            decomposition: particle, tuple or auto.
            trust: whether the Python code that the checkpoint names runs, if its files are unchanged; say so
                of checkpoints that are your own.

        Raises:
            CheckpointError: no checkpoint, one of another potential, or one whose potential is Python code.
            SettingsError: a value that makes no sense, or no potential.
            StructureError, MissingParameterError, ParameterFileError, BackendError, CapacityError: from
                engine and reader.
        """
        changes = {
            "timestep": timestep,
            "backend": backend,
            "precision": precision,
            "decomposition": decomposition,
        }
        engine, settings, checkpoint, account = start_from(path, forcefield, ensemble, changes, trust)
        self = cls.from_engine(engine, timestep=settings.run.timestep)
        continue_clock(self, checkpoint)
        record = settings.record()
        kept = {key: record[key] for key in ("temperature", "seed", "backend", "decomposition", "potential")}
        self._asked, self._account = kept, account
        return self

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, from which `load` and `taichimd run --restart` go on, with the same bits.

        `ase.io.read` knows a name that ends in checkpoint.npz; of others it needs to be told
        `format="taichimd-checkpoint"`.

        Args:
            path: the file; one that is there is replaced, completely or not at all.

        Raises:
            OutputError: it cannot be written, or positions or velocities are not finite numbers.
        """
        write_checkpoint(Path(path), to_checkpoint(self, self._asked, self._account))

    @property
    def step(self) -> int:
        """MD step counter."""
        return self.engine.step

    @property
    def time_ps(self) -> float:
        """Simulated time; a product, not a running sum, so that a restart gives the same digits."""
        return (self.origin_fs + (self.engine.step - self.origin_step) * self.timestep) / 1000.0

    def positions(self) -> Array:
        """(n, 3) Å, the user's order, not wrapped."""
        return self.engine.positions()

    def velocities(self) -> Array:
        """(n, 3), ASE's unit."""
        return self.engine.velocities()

    def thermo(self) -> Thermo:
        """Energies (eV), temperature (K), pressure (GPa) and volume (Å^3) now (`program.results.Thermo`)."""
        return self.engine.thermo()

    @property
    def numbers(self) -> NDArray[Any]:
        """(n,) atomic numbers."""
        return np.array(self._structure.numbers)

    def energy(self) -> float:
        """Potential energy, eV."""
        return self.engine.thermo().potential

    def energy_terms(self) -> dict[str, float]:
        """Potential energy (eV) of each potential of a sum, and of each term of ReaxFF, by name."""
        from taichimd.program.energy_terms import EnergyTerms

        if self._terms is None:
            self._terms = EnergyTerms(self.engine)
        found: dict[str, float] = self._terms.values()
        return found

    def forces(self) -> Array:
        """(n, 3) eV/Å, the user's order, of fixed atoms, too."""
        return self.engine.forces()

    def stress(self) -> Array:
        """(6,) eV/Å^3 as ASE has it: tension positive, xx yy zz yz xz xy, without the kinetic part.

        Raises:
            PropertyError: the cell vectors span no volume.
        """
        stress = self.engine.evaluate().stress
        if stress is None:
            raise PropertyError(
                "stress needs a cell whose three vectors span a volume; set the cell of the atoms before the "
                "simulation is made"
            )
        return stress

    def atoms(self) -> Atoms:
        """A copy of the structure with its constraints and the present cell, positions and velocities.

        Its calculator (ASE's `SinglePointCalculator`) holds energy, forces, and stress where there is a
        volume. It is left out where a run has ended in positions that cannot be evaluated.
        """
        atoms = self._structure.copy()
        # In a moving cell fixed atoms follow it, which ASE's FixAtoms would not let them do.
        atoms.set_cell(self.engine.cell, apply_constraint=False)
        atoms.positions = self.engine.positions()
        momenta = atoms.get_masses()[:, None] * self.engine.velocities()
        atoms.set_momenta(momenta, apply_constraint=False)
        try:
            now = self.engine.evaluate()
        except StructureError:
            return atoms
        hold_results(atoms, now.energy, now.forces, now.stress, now.charges)
        return atoms

    def run(
        self,
        steps: int,
        *,
        every: int = 100,
        observers: Sequence[Observer] = (),
        should_stop: Callable[[], bool] = lambda: False,
        report_first: bool = True,
        samplers: Sequence[Sampler] = (),
    ) -> RunResult:
        """Advance by `steps`, reporting at multiples of `every` of the step counter, or of an observer's own.

        Args:
            steps: steps of this call.
            every: steps between reports, counted from step 0, so that a restart keeps the rhythm.
            observers: told of reports and pieces.
            should_stop: asked after each piece; True ends the run after a whole step.
            report_first: whether to report before the first step (a restart that appends has that report).
            samplers: called at multiples of their own `every`; one that has seen a step already must know it.

        Raises:
            SettingsError: steps or every not above zero.
            BlowUpError: the trajectory left physics.
            CapacityError: lists that do not fit the memory.
        """
        check_length(steps, every)
        backend = self._asked.get("backend", "auto")
        for remark in self.engine.forcefield.remarks_on_time(self.engine.n_atoms, steps, backend):
            warnings.warn(remark, TaichimdWarning, stacklevel=2)
        watched = [Watched(self, observers, samplers)]
        return run_loop(
            self.engine, watched, steps, every=every, should_stop=should_stop, report_first=report_first
        )
