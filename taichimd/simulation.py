"""The loop: steps on the device, cut into pieces short enough to stay responsive, and reports in between.

    from taichimd import Simulation
    simulation = Simulation(atoms, "Si.tersoff", timestep=1.0, temperature=300, seed=1)
    simulation.run(1000)
    print(simulation.thermo().temperature)

`taichimd.driver` adds the files; nothing here writes any.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ase import Atoms

from taichimd.constraints import fix, fixed_atoms
from taichimd.dynamics.ensembles import Ensemble, Thermostat
from taichimd.errors import SettingsError
from taichimd.io.structures import has_velocities, remarks
from taichimd.protocols import Array, EngineLike, ThermoLike
from taichimd.scalars import is_number
from taichimd.units import FS
from taichimd.velocities import maxwell_boltzmann

TARGET_SECONDS = 0.2
"""Wall-clock length aimed at for one call of the engine: several a second, so that Ctrl-C feels immediate,
and yet long against the host's part of a call (well below a millisecond)."""
_MAX_GROWTH = 10


class Observer:
    """Looks at a running simulation; both hooks may be left out. Observers change nothing.

    Attributes:
        every: steps between reports to this observer; None: those of `Simulation.run`.
    """

    every: int | None = None

    def report(self, simulation: "Simulation", thermo: ThermoLike) -> None:
        """Called at the first step, at each multiple of `every`, and at the last step."""

    def tick(self, simulation: "Simulation") -> None:
        """Called after each piece of steps, a few times a second."""


class Sampler:
    """Takes a sample at every multiple of `every` of the step counter, on the device; changes nothing.

    Unlike an `Observer` it costs no totals, and may come every few steps.
    """

    every: int = 1

    def sample(self, simulation: "Simulation") -> None:
        """Called when it is time; at the first step of a run, too, if that is a multiple."""


@dataclass(frozen=True)
class RunResult:
    """What one call of `Simulation.run` did.

    Attributes:
        first_step: step counter before.
        last_step: step counter after.
        stepping_seconds: wall-clock seconds in the stepping loop alone: no compilation, reports or files.
        finished: False when `should_stop` ended it early.
        sampling_seconds: in samplers; what they leave the device to do may count with the next steps.
        output_seconds: in totals and observers: rows, frames, checkpoints, what a user sees.
    """

    first_step: int
    last_step: int
    stepping_seconds: float
    finished: bool
    sampling_seconds: float = 0.0
    output_seconds: float = 0.0


class Pace:
    """Chooses how many steps to hand to the engine at once, from the speed seen so far."""

    def __init__(self, target_seconds: float = TARGET_SECONDS) -> None:
        self._target = target_seconds
        self._steps = 1

    def next(self) -> int:
        """Steps for the next piece; starts with one, because a step of a huge system may take seconds."""
        return self._steps

    def record(self, steps: int, seconds: float) -> None:
        """Learn from a piece of `steps` that took `seconds`."""
        if steps < self._steps and seconds < self._target:
            return  # cut short by a report; says nothing against the present length
        per_step = max(seconds / steps, 1e-9)
        self._steps = max(1, min(int(self._target / per_step), self._steps * _MAX_GROWTH))


class Simulation:
    """Molecular dynamics of one system, at constant energy or with a thermostat, and a barostat.

    Args:
        atoms: the structure; its velocities are used if it has any, otherwise they are drawn
            (Maxwell-Boltzmann, no net momentum). The object is left alone; see `atoms()`. Atoms that
            `FixAtoms` holds stay in place (docs/fixed-atoms.md); other constraints are refused.
        forcefield: a parameter file, a shipped name, "file.py:name" or a force-field object.
        timestep: fs.
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

    def __init__(
        self,
        atoms: Atoms,
        forcefield: Any,
        *,
        timestep: float = 1.0,
        temperature: float | None = None,
        seed: int = 1,
        ensemble: Ensemble | None = None,
        backend: str = "auto",
        precision: str = "float64",
        decomposition: str = "auto",
    ) -> None:
        from taichimd.engine import Engine
        from taichimd.forcefields.load import load_forcefield

        if temperature is None:
            temperature = ensemble.temperature if isinstance(ensemble, Thermostat) else 300.0
        _check_positive("temperature", temperature, "K")
        self._start(timestep)
        # What is no Atoms object the engine refuses.
        fixed = fixed_atoms(atoms) if isinstance(atoms, Atoms) else None
        potential = load_forcefield(forcefield)
        self.engine: EngineLike = Engine(
            atoms,
            potential,
            backend=backend,
            precision=precision,
            ensemble=ensemble,
            decomposition=decomposition,
            fixed=fixed,
        )
        for remark in remarks(atoms):
            warnings.warn(remark, stacklevel=2)
        if has_velocities(atoms):
            self.engine.set_state(velocities=atoms.get_velocities())
        else:
            self.engine.set_state(
                velocities=maxwell_boltzmann(self.engine.masses, temperature, seed, self.engine.fixed)
            )
        self._structure = atoms.copy()

    @classmethod
    def from_engine(cls, engine: EngineLike, *, timestep: float = 1.0) -> "Simulation":
        """A simulation of an engine whose state is already set.

        Args:
            engine: with positions and velocities.
            timestep: fs.
        """
        self = cls.__new__(cls)
        self._start(timestep)
        self.engine = engine
        self._structure = Atoms(
            engine.symbols, positions=engine.positions(), pbc=engine.pbc, masses=engine.masses
        )
        fix(self._structure, engine.fixed)
        return self

    def _start(self, timestep: float) -> None:
        _check_positive("timestep", timestep, "fs")
        self.timestep = float(timestep)
        self.origin_fs = 0.0
        self.origin_step = 0

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

    def thermo(self) -> ThermoLike:
        """Energies (eV), temperature (K) and pressure (eV/angstrom^3: divide by `taichimd.units.GPA`) now."""
        return self.engine.thermo()

    def atoms(self) -> Atoms:
        """A copy of the structure with its constraints and the present cell, positions and velocities."""
        atoms = self._structure.copy()
        # In a moving cell fixed atoms follow it, which ASE's FixAtoms would not let them do.
        atoms.set_cell(self.engine.cell, apply_constraint=False)
        atoms.positions = self.engine.positions()
        momenta = atoms.get_masses()[:, None] * self.engine.velocities()
        atoms.set_momenta(momenta, apply_constraint=False)
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
        for name, value in (("steps", steps), ("every", every)):
            if int(value) != value or value <= 0:
                raise SettingsError(f"{name} = {value}: expected a whole number above 0")
        first, last = self.engine.step, self.engine.step + int(steps)
        pace, seconds, ticked = Pace(), 0.0, 0.0
        output = self._report(observers) if report_first and observers else 0.0
        sampling = self._sample(samplers)
        while self.engine.step < last and not should_stop():
            now = self.engine.step
            rhythms = {observer.every or every for observer in observers}
            boundary = min([last, *((now // rhythm + 1) * rhythm for rhythm in rhythms)])
            stop = min([boundary, *((now // s.every + 1) * s.every for s in samplers)])
            piece = min(pace.next(), stop - now)
            started = time.perf_counter()
            self.engine.advance(piece, self.timestep * FS)
            elapsed = time.perf_counter() - started
            pace.record(piece, elapsed)
            seconds += elapsed
            sampling += self._sample(samplers)
            now = self.engine.step
            if now == boundary and observers:
                due = [o for o in observers if now == last or now % (o.every or every) == 0]
                output += self._report(due)
            # Samples may come thousands of times a second; ticks need not.
            if not samplers or self.engine.step == last or time.perf_counter() - ticked >= TARGET_SECONDS:
                ticked = time.perf_counter()
                for observer in observers:
                    observer.tick(self)
                output += time.perf_counter() - ticked
        return RunResult(first, self.engine.step, seconds, self.engine.step >= last, sampling, output)

    def _sample(self, samplers: Sequence[Sampler]) -> float:
        """Take samples that are due; the seconds it took."""
        begin = time.perf_counter()
        for sampler in samplers:
            if self.engine.step % sampler.every == 0:
                sampler.sample(self)
        return time.perf_counter() - begin

    def _report(self, observers: Sequence[Observer]) -> float:
        """Totals, and all observers told of them; the seconds it took."""
        begin = time.perf_counter()
        thermo = self.engine.thermo()
        for observer in observers:
            observer.report(self, thermo)
        return time.perf_counter() - begin


def _check_positive(name: str, value: float, unit: str) -> None:
    if not (is_number(value) and value > 0):
        raise SettingsError(f"{name} = {value}: expected a number above 0 ({unit})")
