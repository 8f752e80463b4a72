"""Metropolis Monte Carlo of one system."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.errors import TaichimdWarning
from taichimd.core.matrix3 import determinant
from taichimd.forcefields.base import ForceField
from taichimd.program.energies import Energy
from taichimd.program.engine import Engine
from taichimd.program.results import NotCopied, Thermo
from taichimd.program.totals import stress_of
from taichimd.sampling.best_moves import best_moves
from taichimd.sampling.conditions import check_ensemble, refused
from taichimd.sampling.kinds import ALL, first_move, largest_move
from taichimd.sampling.metropolis import Metropolis
from taichimd.sampling.rates import Rate
from taichimd.sampling.sweep import ChainGroup
from taichimd.system.overlaps import notes_on_overlap

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taichimd.program.options import EngineOptions


@dataclass(frozen=True)
class Sampled(Thermo):
    """Totals at one sweep.

    The kinetic energy is its mean 3NkT/2. The pressure is NkT/V plus the virial term.

    Attributes:
        acceptance, volume_acceptance: accepted fractions of the trial moves since the step sizes last
            changed; None before the first trial move.
        move: largest displacement along an axis, angstrom.
    """

    acceptance: float | None = None
    volume_acceptance: float | None = None
    move: float = 0.0

    def facts(self) -> list[tuple[str, str]]:
        """Names and values with units, for a table."""
        own = [("sweep" if name == "step" else name, value) for name, value in super().facts()]
        if self.acceptance is not None:
            own.append(("accepted moves", f"{100 * self.acceptance:.1f} %, up to {self.move:.4g} Å"))
        if self.volume_acceptance is not None:
            own.append(("accepted volume moves", f"{100 * self.volume_acceptance:.1f} %"))
        return own


class MonteCarlo(Metropolis, NotCopied):
    """Metropolis Monte Carlo: samples the canonical or the isothermal-isobaric ensemble.

    `Simulation.from_engine` runs a chain with observers, as it runs an engine.

        >>> from ase.build import bulk
        >>> from taichimd.sampling.chain import MonteCarlo
        >>> argon = MonteCarlo(bulk("Ar", cubic=True, a=5.4) * 4, "Ar.lj", temperature=80.0)
        >>> argon.advance(10)
        >>> argon.kind, argon.step, argon.moves.tried
        ('single', 10, 2560)

    Args:
        atoms: the structure; velocities are ignored.
        forcefield: as for `Engine`, but without charges or other states of the atoms.
        temperature: K.
        pressure: GPa, of the isothermal-isobaric ensemble; None: the volume is constant. Without periodicity
            the faces of the cell are hard walls.
        kind: trial moves: "all": all atoms together; "single": one atom after the other; None: "single" if
            the move of one atom needs no full evaluation (`best_moves`), else "all".
        move: largest displacement along an axis, angstrom; None: 0.3, or 0.3/sqrt(N) for all N atoms
            together.
        volume_move: largest change of ln V.
        equilibration: sweeps at the start, in which step sizes are tuned. Later sweeps keep the step sizes.
        seed: of all random numbers.
        fixed: (n,) bool, True where an atom stays in place; None: all move.
        **of_engine: `backend`, `precision`, `skin`, `decomposition`: as for `Engine`.

    Raises:
        SettingsError: a force field whose energy is not a function of the positions alone, a pressure without
            a volume or with fixed atoms.
        StructureError, MissingParameterError, BackendError, CapacityError: as for `Engine`.

    Attributes:
        system: the `System` of the atoms; the chain has all its methods except `advance`.
        group, number: group of systems on the same device, and the number of this one; see
            `tempering.Chains`.
        moves, volume_moves, exchanges, check, step: as for `Metropolis`.
        free: number of atoms that move.
    """

    def __init__(
        self,
        atoms: Atoms,
        forcefield: ForceField | str | Sequence[Any],
        *,
        temperature: float,
        pressure: float | None = None,
        kind: str | None = None,
        move: float | None = None,
        volume_move: float = 0.01,
        equilibration: int = 0,
        seed: int = 1,
        fixed: NDArray[np.bool_] | None = None,
        **of_engine: "Unpack[EngineOptions]",
    ) -> None:
        from taichimd.forcefields.load import load_forcefield

        potential = load_forcefield(forcefield)
        potential.check_bounded()
        if kind is None:
            kind, _ = best_moves(potential, atoms, pressure)
        check_ensemble(potential, atoms, pressure, fixed, moves_all=kind == ALL)
        self._options = of_engine
        engine = Engine(atoms, potential, fixed=fixed, **of_engine)
        for note in notes_on_overlap(atoms):
            warnings.warn(note, TaichimdWarning, stacklevel=2)
        if engine.atom_states():
            raise refused(potential)
        super().__init__(
            n_atoms=engine.n_atoms,
            free=engine.n_atoms if engine.fixed is None else int((~engine.fixed).sum()),
            temperature=temperature,
            pressure=None if pressure is None else pressure * units.GPA,
            walls=pressure is not None and not atoms.pbc.any(),
            kind=kind,
            moves=Rate(first_move(kind, len(atoms)) if move is None else move),
            volume_moves=Rate(volume_move),
            most_move=largest_move(potential, engine.frame.heights[engine.pbc]),
            equilibration=equilibration,
            seed=seed,
        )
        self.join(ChainGroup(engine.members, kind), 0)

    def __getattr__(self, name: str) -> Any:
        if name == "system":
            raise AttributeError(name)
        return getattr(self.system, name)

    def _repr_html_(self) -> str:
        """What a notebook shows: totals now."""
        return self.thermo()._repr_html_()

    def join(self, group: ChainGroup, number: int) -> None:
        """Make the chain use the system with this number in a group."""
        self.group, self.number, self.system = group, number, group.members[number]

    def leave(self) -> None:
        """Give the chain an engine of its own, in a group of one."""
        system = self.system
        engine = Engine(system_atoms(self), system.forcefield, fixed=system.fixed, **self._options)
        engine.set_state(velocities=system.velocities())
        self.join(ChainGroup(engine.members, self.kind), 0)

    @property
    def volume(self) -> float | None:
        """Volume, angstrom^3, as for `Engine`; between hard walls the volume of the cell."""
        volume: float | None = self.system.volume
        return abs(determinant(self.system.cell)) if self.walls else volume

    @property
    def enthalpy(self) -> float:
        """Energy plus pressure times volume, eV; the energy alone at constant volume."""
        return self.energy if self.pressure is None else self.energy + self.pressure * (self.volume or 0.0)

    def advance(self, n_steps: int, timestep: float = 1.0) -> None:
        """Make `n_steps` sweeps: a trial move of all atoms together, or of each atom; then one of the volume.

        `timestep` is ignored: Monte Carlo has no time.
        """
        if len(self.group.members) > 1:
            self.leave()
        self.group.advance([self], n_steps)

    def thermo(self) -> Sampled:
        """Totals of the present configuration."""
        energy = self.energy
        _, virial = self.group.totals(self.number)
        kinetic, volume, pressure = 1.5 * self.free * self.kt, self.volume, None
        if volume is not None:
            pressure = (2.0 * kinetic + float(np.trace(virial))) / (3.0 * volume) / units.GPA
        stress = stress_of(virial, self.system.cell) if self.system.pbc.all() else None
        return Sampled(
            self.step, energy, kinetic, self.temperature, pressure, volume, stress, None, None,
            acceptance=self.moves.acceptance, volume_acceptance=self.volume_moves.acceptance,
            move=self.moves.size,
        )  # fmt: skip

    def compare(self) -> float:
        """Running energy minus the energy of a full evaluation, eV."""
        evaluated, _ = self.group.totals(self.number)
        difference = self.energy - evaluated
        self.check.times += 1
        self.check.largest = max(self.check.largest, abs(difference))
        return difference

    def set_state(self, *, step: int | None = None, bath: dict[str, Any] | None = None, **state: Any) -> None:
        """As `Engine.set_state`; `bath` is what `bath_state` returned."""
        self.system.set_state(**state)
        self.step = self.step if step is None else step
        self.known = None
        if bath is not None:
            self.restore(bath)

    def swap(self, other: "MonteCarlo") -> None:
        """Exchange configurations with another chain of the same atoms: positions, cell and energy."""
        places = [(one.positions(), one.cell, one.running()) for one in (self, other)]
        for one, (positions, cell, energy) in zip((other, self), places, strict=True):
            one.set_state(positions=positions, cell=cell)
            one.known = energy

    def find_energy(self) -> Energy:
        """Evaluate the energy of the present configuration."""
        return self.group.systems.energies()[self.number]

    def warm_up(self) -> float:
        """Compile what a full evaluation needs; returns the seconds it took."""
        begin = time.perf_counter()
        self.running()
        return time.perf_counter() - begin


def system_atoms(chain: MonteCarlo) -> Atoms:
    """The atoms of a chain where they are, without velocities."""
    system = chain.system
    return Atoms(system.symbols, system.positions(), masses=system.masses, cell=system.cell, pbc=system.pbc)
