"""Metropolis Monte Carlo of one system.

A trial configuration x' is accepted with the probability min(1, exp(a)); else the old one x counts once more:

    displacement:  a = -(E' - E)/kT
    volume:        a = -(E' - E + p (V' - V))/kT + (N + 1) ln(V'/V), ln V' uniform, same fractions of the cell

N. Metropolis et al., J. Chem. Phys. 21, 1087 (1953), doi:10.1063/1.1699114; D. Frenkel and B. Smit,
Understanding Molecular Simulation, 2nd ed. (2002), sections 3.1 and 5.4.

Decisions on moves of the whole system are taken on the host, with random numbers and logarithms of
`core.philox`: they have the same bits everywhere.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import TaichimdWarning
from taichimd.core.matrix3 import determinant
from taichimd.core.philox import logarithm
from taichimd.forcefields.base import ForceField
from taichimd.io.checkpoint import METROPOLIS
from taichimd.program.device import Energy
from taichimd.program.engine import Engine
from taichimd.program.results import Thermo
from taichimd.program.totals import stress_of
from taichimd.sampling.best_moves import best_moves
from taichimd.sampling.conditions import check_ensemble, outside, refused
from taichimd.sampling.kinds import ALL, SINGLE, first_move
from taichimd.sampling.rates import Check, Rate
from taichimd.sampling.singles import singles_for
from taichimd.sampling.sweep import Sweep
from taichimd.system.frame import Frame
from taichimd.system.overlaps import notes_on_overlap

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taichimd.program.options import EngineOptions

RATES = ("moves", "volume_moves", "exchanges")
"""Attributes of a chain that a checkpoint has."""
WINDOW = {ALL: 40, SINGLE: 5}
"""Sweeps from one tuning of the displacements to the next; of volumes it is that of ALL."""
MOST_VOLUME_STEP = 0.3


@dataclass(frozen=True)
class Sampled(Thermo):
    """Totals at one sweep.

    The kinetic energy is its mean 3NkT/2; the pressure is NkT/V and the part of the virial.

    Attributes:
        acceptance, volume_acceptance: accepted parts of the trial moves since their sizes last changed; None
            before the first.
        move: largest displacement along an axis, angstrom.
    """

    acceptance: float | None = None
    volume_acceptance: float | None = None
    move: float = 0.0


class MonteCarlo(Engine):
    """Samples the canonical or the isothermal-isobaric ensemble.

    `Simulation.from_engine` runs it as it does an engine.

        >>> from ase.build import bulk
        >>> from taichimd.sampling.chain import MonteCarlo
        >>> argon = MonteCarlo(bulk("Ar", cubic=True, a=5.4) * 4, "Ar.lj", temperature=80.0)
        >>> argon.advance(10)
        >>> argon.kind, argon.step, argon.moves.tried
        ('single', 10, 2560)

    Args:
        atoms: the structure; velocities play no part. Fixed atoms (`fixed`) stay in place.
        forcefield: as for `Engine`; not one with charges or other states of the atoms.
        temperature: K.
        pressure: GPa, of the isothermal-isobaric ensemble; None: the volume is constant. Without periodicity
            the faces of the cell are hard walls.
        kind: of moves: "all" atoms together, or "single" ones, one after the other; None: single ones where
            the move of one atom needs no full evaluation (`best_moves`).
        move: largest displacement along an axis, angstrom; None: 0.3, of N atoms together 0.3/sqrt(N).
        volume_move: largest change of ln V.
        equilibration: sweeps at the start in which step sizes are tuned.
        seed: of all random numbers.
        fixed: (n,) bool, True where an atom stays in place; None: all move.
        **of_engine: `backend`, `precision`, `skin`, `decomposition`: as for `Engine`.

    Raises:
        SettingsError: a force field whose energy is no function of the positions, a pressure without a volume
            or with fixed atoms.
        StructureError, MissingParameterError, BackendError, CapacityError: as for `Engine`.

    Attributes:
        moves, volume_moves: `Rate`. exchanges: with the next chain (`tempering`).
        check: `Check`.
        free: number of atoms that move.
        apart: whether moves of single atoms have a full evaluation each.
        changes: how often positions, cell or energy were changed, but for a sweep of several chains.
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
        self._walls = pressure is not None and not atoms.pbc.any()
        super().__init__(atoms, potential, fixed=fixed, **of_engine)
        for note in notes_on_overlap(atoms):
            warnings.warn(note, TaichimdWarning, stacklevel=2)
        if self._state.carried:
            raise refused(potential)
        self.temperature, self.kind, self.seed = temperature, kind, seed
        self.pressure = None if pressure is None else pressure * units.GPA
        self.equilibration = equilibration
        self.moves = Rate(first_move(kind, len(atoms)) if move is None else move)
        self.volume_moves, self.check = Rate(volume_move), Check()
        self.exchanges = Rate(0.0)
        self.free = self.n_atoms if self.fixed is None else int((~self.fixed).sum())
        self.changes = 0
        self._known: Energy | None = None
        singles = None
        if kind == SINGLE:
            singles = singles_for(self.device, self.forcefield, set(self.symbols), self.backend)
        self.apart = singles is None and kind == SINGLE
        self._sweep = Sweep(self._state, singles)
        heights = self.device.cell.frame.heights[self.pbc]
        self._most_move = 0.5 * min([self.forcefield.list_cutoff or np.inf, *heights, 10.0])

    @property
    def energy(self) -> float:
        """Running potential energy, eV: that of the start and all accepted changes."""
        return self._found[0]

    @property
    def homogeneous(self) -> float | None:
        """The part of it that is homogeneous in the positions, eV; None: not known."""
        return self._found[1]

    @property
    def _found(self) -> Energy:
        if self._known is None:
            self._known = self.energies()[0]
        return self._known

    @property
    def volume(self) -> float | None:
        """As of `Engine`; between walls that of the cell."""
        return abs(determinant(self.cell)) if self._walls else super().volume

    @property
    def enthalpy(self) -> float:
        """The energy, and pressure times volume where that changes, eV."""
        return self.energy if self.pressure is None else self.energy + self.pressure * (self.volume or 0.0)

    def advance(self, n_steps: int, timestep: float = 1.0) -> None:
        """So many sweeps: a trial move of all atoms together, or of each; then one of the volume.

        There is no time.
        """
        for _ in range(n_steps):
            self._sweep([self], self)
            self.count_sweep()
        self.changes += 1

    def count_sweep(self) -> None:
        """A sweep is over."""
        self.step += 1
        if self.step <= self.equilibration:
            self._tune()

    def thermo(self) -> Sampled:
        """Totals of the present configuration."""
        energy = self.energy
        self.device.need_outputs()
        _, _, virial = self.device.totals()
        kinetic, volume, pressure = 1.5 * self.free * self._kt, self.volume, None
        if volume is not None:
            pressure = (2.0 * kinetic + float(np.trace(virial))) / (3.0 * volume) / units.GPA
        stress = stress_of(virial, self.cell) if self.pbc.all() else None
        return Sampled(
            self.step, energy, kinetic, self.temperature, pressure, volume, stress, None, None,
            self.moves.acceptance, self.volume_moves.acceptance, self.moves.size,
        )  # fmt: skip

    def compare(self) -> float:
        """Running energy less that of a full evaluation, eV."""
        difference = self.energy - self.device.evaluate()[0]
        self.check.times += 1
        self.check.largest = max(self.check.largest, abs(difference))
        return difference

    def bath_state(self) -> dict[str, Any]:
        """What the chain remembers besides positions and cell, for a checkpoint."""
        rates = {name: dict(vars(getattr(self, name))) for name in RATES}
        energies = {"energy": self.energy, "homogeneous": self.homogeneous}
        return {"kind": METROPOLIS, **energies, **rates}

    def set_state(self, *, bath: dict[str, Any] | None = None, **state: Any) -> None:
        """As `Engine.set_state`; `bath` is what `bath_state` returned."""
        super().set_state(**state)
        self._known = None
        self.changes += 1
        if bath is not None:
            self._known = float(bath["energy"]), bath["homogeneous"]
            for name in RATES:
                setattr(self, name, Rate(**bath[name]))

    def go_to(self, positions: Array, cell: Array, energy: Energy) -> None:
        """Another configuration, (n, 3) angstrom, in a cell, (3, 3) angstrom, whose energy is known."""
        self.set_state(positions=positions, cell=cell)
        self._known = energy

    def swap(self, other: "MonteCarlo") -> None:
        """Exchange configurations with another chain of the same atoms: positions, cell and energy."""
        mine, others = ((one.positions(), one.cell, one._found) for one in (self, other))
        self.go_to(*others)
        other.go_to(*mine)

    def warm_up(self) -> float:
        """Compile what a full evaluation needs; returns the seconds it took."""
        begin = time.perf_counter()
        _ = self.energy
        self.compile_seconds += time.perf_counter() - begin
        return time.perf_counter() - begin

    @property
    def _kt(self) -> float:
        return float(units.KB * self.temperature)

    # What a sweep asks for.

    @property
    def beta(self) -> float:
        """1/kT, 1/eV."""
        return 1.0 / self._kt

    def take_energy(self, energy: Energy) -> None:
        """Atoms have gone where it is this one."""
        self._known = energy

    def leaves(self, positions: Callable[[], Array], cell: Array) -> bool:
        """Whether atoms at (n, 3) positions are outside of a cell (3, 3) whose faces are walls."""
        return self._walls and len(outside(positions(), cell)) > 0

    def accepts(self, uniform: float, change: float) -> bool:
        """Whether a displacement that changes the energy (eV) so much is accepted; it is counted."""
        accepted = logarithm(uniform) < -change / self._kt
        self.moves.count(accepted)
        return accepted

    def trial_volume(self, change: float) -> tuple[float, float]:
        """Ln V'/V of a uniform number, and the factor of all lengths."""
        log_ratio = self.volume_moves.size * (2.0 * change - 1.0)
        return log_ratio, _exponential(log_ratio / 3.0)

    def accepts_volume(
        self, uniform: float, change: float, log_ratio: float, cells: tuple[Array, Array]
    ) -> bool:
        """Whether a move of the volume is accepted; it is counted.

        Args:
            uniform: number.
            change: of the energy, eV.
            log_ratio: ln V'/V.
            cells: (3, 3) angstrom, before and after.
        """
        before, after = (abs(determinant(cell)) for cell in cells)
        work = change + (self.pressure or 0.0) * (after - before)
        accepted = logarithm(uniform) < -work / self._kt + (self.n_atoms + 1) * log_ratio
        self.volume_moves.count(accepted)
        return accepted

    # A chain's system, as `sampling.sweep.Systems`.

    @property
    def frame(self) -> Frame:
        """The lattice."""
        return self.device.cell.frame

    def energies(self, known: Sequence[float | None] | None = None) -> list[Energy]:
        """Of the present positions, as `Device.energies`."""
        return self.device.energies(known)

    def set_cells(self, cells: dict[int, Array]) -> None:
        """Another cell."""
        self.device.cell.set(cells[0])
        self.device.lists.outdate()

    def system_of(self, atom: int) -> int:
        """Number of the system."""
        return 0

    def forget(self) -> None:
        """Nothing is kept."""

    def _tune(self) -> None:
        last = self.step == self.equilibration
        if last or self.step % WINDOW[self.kind] == 0:
            self.moves.tune(self._most_move)
        if last or self.step % WINDOW[ALL] == 0:
            self.volume_moves.tune(MOST_VOLUME_STEP)


def _exponential(x: float) -> float:
    """exp(x) of a small x in plain arithmetic, with the same bits on every processor."""
    total = 1.0
    for k in range(16, 0, -1):
        total = 1.0 + x / k * total
    return total
