"""The energy of triples alone, without forces: what the host queues, and the numbers that it finds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import literals, ti
from taichimd.enumerate.terms import TripletFunction
from taichimd.enumerate.triple_items import TILING, Spans, energy_items, of_systems
from taichimd.enumerate.triple_tiles import LOST, SPREAD, UNIT, Placed, tile_kernels

Whole = tuple[int, int]
"""An energy in multiples of `enumerate.triple_tiles.UNIT` and of its square: their sums have no order."""


class WholeEnergy:
    """Where kernels leave the energy of the triples of each system as whole numbers."""

    def __init__(self, systems: int = 1) -> None:
        self._systems, self._whole = systems, ti.ndarray(ti.i64, (LOST + 1) * systems)

    def queue(self, kernel: Any, *given: Any) -> None:
        """Queue a kernel whose last argument the numbers are."""
        self._whole.fill(0)
        with literals(ti.f64):
            kernel(*given, self._whole)

    def found(self) -> list[tuple[Whole, int]]:
        """Return, for each system, the energy, and how many sums are not energies of atoms that repel."""
        whole = self._whole.to_numpy().reshape(self._systems, LOST + 1)
        one, two = whole[:, :SPREAD].sum(axis=1), whole[:, SPREAD:LOST].sum(axis=1)
        lost = whole[:, LOST].tolist()
        return [((a, b), c) for a, b, c in zip(one.tolist(), two.tolist(), lost, strict=True)]


def in_ev(*parts: Whole) -> float:
    """The energy (eV) of all parts together, rounded once."""
    per_unit = round(1.0 / UNIT)
    # A whole number becomes a float64 with one rounding, and a power of two changes no digit.
    return float(sum(one * per_unit + two for one, two in parts)) * UNIT * UNIT


class EnergyTiles(WholeEnergy):
    """The energy of all triples of the atoms of each system in tiles, each triple once."""

    def __init__(
        self,
        function: TripletFunction,
        backend: str,
        n_kinds: int,
        sizes: Sequence[int],
        tiling: Any = TILING,
    ) -> None:
        super().__init__(len(sizes))
        self._kernel = tile_kernels(function, backend, n_kinds, tiling)[0]
        self.table = of_systems(energy_items, sizes, tiling)
        self._items, self._spans = integers(self.table), spans_of(sizes)

    def place(self, placed: Placed, nu: Any, first: int = 0, last: int | None = None) -> None:
        """Queue a part of the tiles, or all."""
        end = len(self.table) if last is None else last
        self.queue(self._kernel, first, end, self._items, self._spans, placed, nu)


def spans_of(sizes: Sequence[int], system: Any = None) -> Spans:
    """Where systems of so many atoms lie; `system`: that of each place."""
    squares = np.cumsum([n * n for n in sizes]) - np.square(sizes)
    return Spans(system, integers(np.cumsum([0, *sizes])), integers(squares))


def placed_atoms(n: int) -> Placed:
    """Room for n atoms in the order of the user's numbers."""
    return Placed(ti.ndarray(ti.types.vector(3, ti.f64), n), ti.ndarray(ti.i32, n))


def integers(table: NDArray[np.integer[Any]]) -> Any:
    """A table of whole numbers on the device, flat, of 32 bits."""
    array = ti.ndarray(ti.i32, table.size)
    array.from_numpy(np.ascontiguousarray(table, np.int32).reshape(-1))
    return array
