"""The energy of triples alone, without forces: what the host queues, and the numbers that it finds."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import literals, ti
from taichimd.enumerate.triple_tiles import (
    LOST,
    SPREAD,
    TILING,
    UNIT,
    Placed,
    TripletFunction,
    energy_items,
    tile_kernels,
)

Whole = tuple[int, int]
"""An energy in multiples of `enumerate.triple_tiles.UNIT` and of its square: their sums have no order."""


class WholeEnergy:
    """Where kernels leave the energy of triples as whole numbers."""

    def __init__(self) -> None:
        self._whole = ti.ndarray(ti.i64, LOST + 1)

    def queue(self, kernel: Any, *given: Any) -> None:
        """Queue a kernel whose last argument the numbers are."""
        self._whole.fill(0)
        with literals(ti.f64):
            kernel(*given, self._whole)

    def found(self) -> tuple[Whole, int]:
        """The energy, and how many sums are no energies of atoms that repel each other."""
        whole = self._whole.to_numpy()
        return (int(whole[:SPREAD].sum()), int(whole[SPREAD:LOST].sum())), int(whole[LOST])


def in_ev(*parts: Whole) -> float:
    """The energy (eV) of all parts together, rounded once."""
    unit = Fraction(UNIT)
    return float(sum(one * unit + two * unit * unit for one, two in parts))


class EnergyTiles(WholeEnergy):
    """The energy of all triples of n atoms in tiles, each triple once.

    Args:
        function, tiling: of `enumerate.triple_tiles`.
        backend: "cuda" or "cpu".
        n_kinds: species.
        n: atoms.
    """

    def __init__(
        self, function: TripletFunction, backend: str, n_kinds: int, n: int, tiling: Any = TILING
    ) -> None:
        super().__init__()
        self._kernel = tile_kernels(function, backend, n_kinds, tiling)[0]
        self.table = energy_items(n, tiling)
        self._items = integers(self.table)

    def place(self, placed: Placed, nu: Any, first: int = 0, last: int | None = None) -> None:
        """Queue a part of the tiles, or all."""
        end = len(self.table) if last is None else last
        self.queue(self._kernel, placed.kind.shape[0], first, end, self._items, placed, nu)


def placed_atoms(n: int) -> Placed:
    """Room for n atoms in the order of the user's numbers."""
    return Placed(ti.ndarray(ti.types.vector(3, ti.f64), n), ti.ndarray(ti.i32, n))


def integers(table: NDArray[np.int32]) -> Any:
    """A table of whole numbers on the device, flat."""
    array = ti.ndarray(ti.i32, table.size)
    array.from_numpy(np.ascontiguousarray(table).reshape(-1))
    return array
