"""What one Markov chain remembers, and how it decides.

A trial configuration x' is accepted with the probability min(1, exp(a)); else the old one x counts once more:

    displacement:  a = -(E' - E)/kT
    volume:        a = -(E' - E + p (V' - V))/kT + (N + 1) ln(V'/V), ln V' uniform, same fractions of the cell

N. Metropolis et al., J. Chem. Phys. 21, 1087 (1953), doi:10.1063/1.1699114; D. Frenkel and B. Smit,
Understanding Molecular Simulation, 2nd ed. (2002), sections 3.1 and 5.4.

Decisions on moves of the whole system are taken on the host, with random numbers and logarithms of
`core.philox`: they have the same bits everywhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.matrix3 import determinant
from taichimd.core.philox import logarithm
from taichimd.io.checkpoint import METROPOLIS
from taichimd.program.energies import Energy
from taichimd.sampling.conditions import outside
from taichimd.sampling.kinds import ALL, SINGLE
from taichimd.sampling.rates import Check, Rate

RATES = ("moves", "volume_moves", "exchanges")
"""Attributes of a chain that a checkpoint has."""
WINDOW = {ALL: 40, SINGLE: 5}
"""Sweeps from one tuning of the displacements to the next; of volumes it is that of ALL."""
MAX_VOLUME_STEP = 0.3


@dataclass(kw_only=True, eq=False)
class Metropolis:
    """A Markov chain of one system: its conditions, its counts and its running energy."""

    n_atoms: int  # atoms
    free: int  # atoms that move
    temperature: float  # K
    pressure: float | None  # eV/angstrom^3, or None
    walls: bool  # whether the faces of the cell are hard walls
    kind: str  # of moves
    most_move: float  # largest step size of displacements, angstrom
    equilibration: int  # sweeps in which step sizes are tuned
    seed: int  # of all random numbers
    moves: Rate  # of moves of atoms
    volume_moves: Rate  # of moves of the volume
    exchanges: Rate = field(default_factory=lambda: Rate(0.0))  # with the next chain (`tempering`)
    check: Check = field(default_factory=Check)  # of the energy against a full evaluation
    step: int = 0  # sweeps done
    known: Energy | None = None  # the running energy; None: it must be evaluated

    def find_energy(self) -> Energy:
        """Evaluate the energy of the present configuration."""
        raise NotImplementedError

    def running(self) -> Energy:
        """The running energy, and the part of it that is homogeneous in the positions; see `Energy`."""
        if self.known is None:
            self.known = self.find_energy()
        return self.known

    @property
    def energy(self) -> float:
        """Running potential energy, eV: the energy of the start plus all accepted changes."""
        return self.running()[0]

    @property
    def beta(self) -> float:
        """Inverse thermal energy 1/kT, 1/eV."""
        return 1.0 / self.kt

    @property
    def kt(self) -> float:
        """Thermal energy kT, eV."""
        return float(units.KB * self.temperature)

    def bath_state(self) -> dict[str, Any]:
        """State of the chain besides positions and cell, for a checkpoint."""
        rates = {name: dict(vars(getattr(self, name))) for name in RATES}
        energy, homogeneous = self.running()
        return {"kind": METROPOLIS, "energy": energy, "homogeneous": homogeneous, **rates}

    def restore(self, state: dict[str, Any]) -> None:
        """Set what `bath_state` returned."""
        self.known = float(state["energy"]), state["homogeneous"]
        for name in RATES:
            setattr(self, name, Rate(**state[name]))

    # What a sweep asks for.

    def leaves(self, positions: Callable[[], Array], cell: Array) -> bool:
        """Whether atoms at (n, 3) positions are outside of a cell (3, 3) whose faces are walls."""
        return self.walls and len(outside(positions(), cell)) > 0

    def accepts(self, uniform: float, change: float) -> bool:
        """Whether a displacement that changes the energy by `change` (eV) is accepted; it is counted."""
        accepted = logarithm(uniform) < -change / self.kt
        self.moves.count(accepted)
        return accepted

    def trial_volume(self, change: float) -> tuple[float, float]:
        """Logarithm of V'/V from a uniform random number, and the factor of all lengths."""
        log_ratio = self.volume_moves.size * (2.0 * change - 1.0)
        return log_ratio, exponential(log_ratio / 3.0)

    def accepts_volume(
        self, uniform: float, change: float, log_ratio: float, cells: tuple[Array, Array]
    ) -> bool:
        """Whether a move of the volume is accepted; the move is counted.

        Args:
            uniform: random number, uniform in [0, 1).
            change: of the energy, eV.
            log_ratio: ln V'/V.
            cells: (3, 3) angstrom, before and after.
        """
        before, after = (abs(determinant(cell)) for cell in cells)
        work = change + (self.pressure or 0.0) * (after - before)
        accepted = logarithm(uniform) < -work / self.kt + (self.n_atoms + 1) * log_ratio
        self.volume_moves.count(accepted)
        return accepted

    def count_sweep(self) -> None:
        """Count one sweep."""
        self.step += 1
        if self.step > self.equilibration:
            return
        last = self.step == self.equilibration
        if last or self.step % WINDOW[self.kind] == 0:
            self.moves.tune(self.most_move)
        if last or self.step % WINDOW[ALL] == 0:
            self.volume_moves.tune(MAX_VOLUME_STEP)


def exponential(x: float) -> float:
    """exp(x) of a small x in plain arithmetic, with the same bits on every processor."""
    total = 1.0
    for k in range(16, 0, -1):
        total = 1.0 + x / k * total
    return total
