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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.errors import StructureError
from taichimd.core.matrix3 import determinant
from taichimd.core.philox import Stream, blocks, logarithm, uniforms
from taichimd.core.runtime import ti
from taichimd.core.streams import MC_MOVE, MC_SWEEP
from taichimd.forcefields.base import ForceField
from taichimd.io.checkpoint import METROPOLIS
from taichimd.program.engine import Engine
from taichimd.program.results import Array, Thermo
from taichimd.program.totals import stress_of
from taichimd.sampling.conditions import check_ensemble, outside, refused
from taichimd.sampling.local_energy import locals_of
from taichimd.sampling.proposals import Trials, proposals
from taichimd.sampling.rates import Check, Rate
from taichimd.sampling.singles import SingleMoves

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taichimd.program.options import EngineOptions

ALL, SINGLE = "all", "single"
RATES = ("moves", "volume_moves", "exchanges")
"""Attributes of a chain that a checkpoint has."""
WINDOW = {ALL: 40, SINGLE: 5}
"""Sweeps from one tuning of the displacements to the next; of volumes it is that of ALL."""
MOST_VOLUME_STEP = 0.3
MOVE, VOLUME, VOLUME_MOVE, BOARD = range(4)
"""Uniform numbers of a sweep: acceptance of the move of all atoms, change of ln V, its acceptance; the others
are of the board."""


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
        >>> argon = MonteCarlo(bulk("Ar", cubic=True, a=5.4) * 2, "Ar.lj", temperature=80.0, move=0.02)
        >>> argon.advance(10)
        >>> argon.step, argon.moves.tried
        (10, 10)

    Args:
        atoms: the structure; velocities play no part. Fixed atoms (`fixed`) stay in place.
        forcefield: as for `Engine`; not one with charges or other states of the atoms.
        temperature: K.
        pressure: GPa, of the isothermal-isobaric ensemble; None: the volume is constant. Without periodicity
            the faces of the cell are hard walls.
        kind: of moves: "all" atoms together, or "single" ones, one after the other.
        move: largest displacement along an axis, angstrom.
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
        changes: how often positions, cell or energy were changed, but for a sweep of several chains.
    """

    def __init__(
        self,
        atoms: Atoms,
        forcefield: ForceField | str | Sequence[Any],
        *,
        temperature: float,
        pressure: float | None = None,
        kind: str = ALL,
        move: float = 0.1,
        volume_move: float = 0.01,
        equilibration: int = 0,
        seed: int = 1,
        fixed: NDArray[np.bool_] | None = None,
        **of_engine: "Unpack[EngineOptions]",
    ) -> None:
        from taichimd.forcefields.load import load_forcefield

        potential = load_forcefield(forcefield)
        potential.check_bounded()
        check_ensemble(potential, atoms, pressure, fixed, together=kind == ALL)
        self._walls = pressure is not None and not atoms.pbc.any()
        super().__init__(atoms, potential, fixed=fixed, **of_engine)
        if self._state.carried:
            raise refused(potential)
        self.temperature, self.kind, self.seed = temperature, kind, seed
        self.pressure = None if pressure is None else pressure * units.GPA
        self.equilibration = equilibration
        self.moves, self.volume_moves, self.check = Rate(move), Rate(volume_move), Check()
        self.exchanges = Rate(0.0)
        self._free = self.n_atoms if self.fixed is None else int((~self.fixed).sum())
        self._before = ti.ndarray(self._state.vec, self.n_atoms)
        self._kernels = proposals(self._state.real)
        self.changes = 0
        self._energy: float | None = None
        self._homogeneous: float | None = None
        self._singles = self._single_moves() if kind == SINGLE else None
        heights = self.device.cell.frame.heights[self.pbc]
        self._most_move = 0.5 * min([self.forcefield.list_cutoff or np.inf, *heights, 10.0])

    @property
    def energy(self) -> float:
        """Running potential energy, eV: that of the start and all accepted changes."""
        if self._energy is None:
            self._energy, self._homogeneous = self._evaluated(), self.device.homogeneous
        return self._energy

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
            self._sweep(self.uniform())
            self.count_sweep()
        self.changes += 1

    def uniform(self) -> Array:
        """Uniform numbers of the next sweep."""
        return Stream(self.seed, self.step, MC_SWEEP).uniform(BOARD + 11)

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
        kinetic, volume, pressure = 1.5 * self._free * self._kt, self.volume, None
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
        energies = {"energy": self.energy, "homogeneous": self._homogeneous}
        return {"kind": METROPOLIS, **energies, **rates}

    def set_state(self, *, bath: dict[str, Any] | None = None, **state: Any) -> None:
        """As `Engine.set_state`; `bath` is what `bath_state` returned."""
        super().set_state(**state)
        self._energy = None
        self.changes += 1
        if bath is not None:
            self._energy, self._homogeneous = float(bath["energy"]), bath["homogeneous"]
            for name in RATES:
                setattr(self, name, Rate(**bath[name]))

    def go_to(self, positions: Array, cell: Array, energy: float) -> None:
        """Another configuration, (n, 3) angstrom, in a cell, (3, 3) angstrom, whose energy (eV) is known."""
        self.set_state(positions=positions, cell=cell)
        self._energy, self._homogeneous = energy, None

    def swap(self, other: "MonteCarlo") -> None:
        """Exchange configurations with another chain of the same atoms: positions, cell and energy."""
        mine, others = ((one.positions(), one.cell, one.energy, one._homogeneous) for one in (self, other))
        for one, (positions, cell, *energies) in ((self, others), (other, mine)):
            one.set_state(positions=positions, cell=cell)
            one._energy, one._homogeneous = energies

    def warm_up(self) -> float:
        """Compile what a full evaluation needs; returns the seconds it took."""
        begin = time.perf_counter()
        _ = self.energy
        self.compile_seconds += time.perf_counter() - begin
        return time.perf_counter() - begin

    def _single_moves(self) -> SingleMoves | None:
        bounds = self.forcefield.bind(sorted(set(self.symbols)))
        terms = locals_of(bounds)
        if terms is None or self._all_pairs:
            return None
        return SingleMoves(self.device, bounds, terms, self.forcefield.cutoff, self.backend)

    @property
    def _kt(self) -> float:
        return float(units.KB * self.temperature)

    def _evaluated(self) -> float:
        return self.device.energy()

    def _sweep(self, uniform: Array) -> None:
        if self.kind == ALL:
            self._move_all(float(uniform[MOVE]))
        elif (singles := self._incremental()) is not None:
            before, trials = self.energy, Trials(self.moves.size, 1.0 / self._kt, self.seed, self.step)
            change, accepted = singles.sweep(uniform[BOARD:], trials)
            self._energy, self._homogeneous = None if change is None else before + change, None
            self.moves.count(accepted, self._free)
        else:
            self._move_each()
        if self.pressure is not None:
            self._change_volume(float(uniform[VOLUME]), float(uniform[VOLUME_MOVE]))

    def _incremental(self) -> SingleMoves | None:
        """What knows the change of the energy with one atom; None where only a full evaluation tells.

        That is so where a term does not say it, and in a cell in which an atom is in range of its own image.
        """
        heights = self.device.cell.frame.heights[self.pbc]
        wide = not len(heights) or heights.min() > self.forcefield.cutoff
        return self._singles if wide else None

    def _move_each(self) -> None:
        """A trial move of each free atom, with a full evaluation each."""
        chances = uniforms(blocks(self.seed, np.arange(self.n_atoms), self.step, MC_MOVE, 1, 1))[:, 0, 1]
        for atom in range(self.n_atoms) if self.fixed is None else np.flatnonzero(~self.fixed).tolist():
            self._displace(float(chances[atom]), atom)

    def _move_all(self, uniform: float) -> None:
        self._displace(uniform, -1)

    def _displace(self, uniform: float, only: int) -> None:
        old = self.energy
        self._propose(self._kernels.displace, self.moves.size, self.seed, self.step, only)
        new = np.inf if self.leaves(self.positions, self.cell) else self._trial_energy()
        self._decide(self.accepts(uniform, new - old), new)

    def leaves(self, positions: Callable[[], Array], cell: Array) -> bool:
        """Whether atoms at (n, 3) positions are outside of a cell (3, 3) whose faces are walls."""
        return self._walls and len(outside(positions(), cell)) > 0

    def accepts(self, uniform: float, change: float) -> bool:
        """Whether a displacement that changes the energy (eV) so much is accepted; it is counted."""
        accepted = logarithm(uniform) < -change / self._kt
        self.moves.count(accepted)
        return accepted

    def _change_volume(self, change: float, uniform: float) -> None:
        old, cell, known = self.energy, self.cell, None
        log_ratio, factor = self.trial_volume(change)
        self._propose(self._kernels.scale, factor)
        self._set_cell(cell * factor)
        if self.device.degree and self._homogeneous is not None:
            known = self._homogeneous * _power(factor, self.device.degree)
        new = self._trial_energy(known)
        accepted = self.accepts_volume(uniform, new - old, log_ratio, (cell, cell * factor))
        if not accepted:
            self._set_cell(cell)
        self._decide(accepted, new)

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

    def _set_cell(self, cell: Array) -> None:
        self.device.cell.set(cell)
        self.device.lists.outdate()

    def _propose(self, kernel: Any, *numbers: Any) -> None:
        self.device.launch(kernel, self._state, self._before, *numbers)
        self.device.moved()

    def _trial_energy(self, known: float | None = None) -> float:
        """Of the trial configuration, eV; infinity where atoms are on top of each other.

        `known` is its homogeneous part, where that need not be computed.
        """
        try:
            return self._evaluated() if known is None else self.device.energy(known)
        except StructureError:
            self.device.lists.outdate()
            return np.inf

    def _decide(self, accepted: bool, energy: float) -> None:
        if accepted:
            self._energy, self._homogeneous = energy, self.device.homogeneous
        else:
            self.device.launch(self._kernels.restore, self._state, self._before)
            self.device.moved()

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


def _power(factor: float, degree: int) -> float:
    """To a negative whole power: that of the C library has other bits on each machine."""
    found = 1.0
    for _ in range(-degree):
        found *= factor
    return 1.0 / found
