"""A sum over triangles of atoms for one system: what the host queues to evaluate it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import memory
from taichimd.core.runtime import blocks_for, grid, literals, ti
from taichimd.enumerate.evaluator import ENERGY, REST, Evaluator
from taichimd.enumerate.near_sides import Limits, Sides, sides_of
from taichimd.enumerate.near_triangles import near_triangle_kernel
from taichimd.enumerate.near_triples import Later, near_energy_kernel, shares_of
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.enumerate.terms import TripletFunction
from taichimd.enumerate.triangles import triangle_kernel
from taichimd.enumerate.triple_forces import gather_kernel, place_kernel
from taichimd.enumerate.triple_items import Tiling, of_systems, slope_items
from taichimd.enumerate.triple_tiles import PairSums, tile_kernels
from taichimd.forcefields.triple_energies import (
    EnergyTiles,
    WholeEnergy,
    in_ev,
    integers,
    placed_atoms,
    spans_of,
)
from taichimd.neighbours.near_list import NearList
from taichimd.system.state import State


class TriangleEvaluator(Evaluator):
    """Evaluates a sum over triangles for one system, or for each of a batch.

    `nu`: (kinds, kinds, kinds) strengths; cutoffs of the sides and of their product's cube root, angstrom;
    `tiles`: the same energy by squared sides; None: each atom finds its own triangles. CapacityError: slopes
    of all pairs do not fit the memory.
    """

    def __init__(
        self,
        function: Any,
        nu: NDArray[np.float64],
        cutoff: float,
        product_cutoff: float,
        state: State,
        near: tuple[NearList],
        outputs: tuple[Outputs],
        backend: str,
        tiles: TripletFunction | None = None,
    ) -> None:
        self._state, self._near, self._outputs = state, near[0], outputs[0]
        self._made_for = function, state.real, backend, len(nu)
        self._nu = ti.ndarray(ti.f64, nu.size)
        self._nu.from_numpy(np.ascontiguousarray(nu, np.float64).reshape(-1))
        self._limits = Limits(cutoff**2, product_cutoff**6)
        self._sides, self._columns = Sides(width=0), 0
        self._has_product = bool(np.isfinite(product_cutoff))
        self._placed, self._tiles = None, tiles
        self._sizes = state.sizes.tolist()
        self._spans = spans_of(self._sizes, state.system)
        self._energy: WholeEnergy | None = None
        self._later = Later()
        self.energy_costs_less = tiles is not None
        self.degree = tiles.degree if tiles and np.isinf(cutoff) else 0
        if np.isinf(cutoff):
            self._placed = placed_atoms(state.n)
        if self._placed and tiles:
            table = of_systems(slope_items, self._sizes, OF_PAIRS)
            self._count, self._items = len(table), integers(table)
            self._sums = PairSums(self._column())

    def queue(self, call: Any, verlet: Any, control: Any, when: int, want: int) -> None:
        """See `Evaluator`."""
        if self._tiles and want in (ENERGY, REST):
            if want == ENERGY or not self.degree:
                self._queue_energy(self._tiles, call, verlet, control, when)
            self._outputs.energy.fill(0)
            return
        state, placed, outputs, everything = self._state, self._placed, self._outputs, want != FORCE
        if placed:
            call(place_kernel(state.real), state, placed)
        if placed and self._tiles:
            _, real, backend, n_kinds = self._made_for
            if everything and self._sums.energy is None:
                self._sums = PairSums(self._sums.slope, *(self._column() for _ in range(4)))
            gather = gather_kernel(real, backend, everything)
            of_pairs = tile_kernels(self._tiles, backend, n_kinds, OF_PAIRS, everything)[1]
            given = self._count, self._items, self._spans, placed, self._nu
            call(of_pairs, *given, control, when, self._sums)
            # Steps and evaluations have the same bits: their slopes are sums in the same order.
            call(gather, state, self._spans, placed, self._sums, control, outputs, when)
            return
        if placed:
            kernel = triangle_kernel(*self._made_for, everything)
            call(kernel, state, self._spans, placed, self._nu, control, outputs, when)
            return
        rows, (_, *made_for) = self._near.near, self._made_for
        self._make_room(rows.width, everything)
        # A thread for each pair, not for each atom.
        blocks = blocks_for(state.n * rows.width // 2)
        near = near_triangle_kernel(self._tiles, *made_for, self._has_product, everything, blocks)
        with literals(state.real), grid(blocks):
            near(
                state,
                verlet,
                rows,
                self._limits,
                self._nu,
                state.sorted_of,
                self._sides,
                control,
                outputs,
                when,
            )

    def _make_room(self, width: int, everything: bool) -> None:
        """Rows as wide as those of the list."""
        if self._sides.width == width and self._columns >= (5 if everything else 1):
            return
        n, self._columns = self._state.n, 5 if everything else 1
        lengths = {"1": 1, "n": n, "n width": n * width, "columns n width": self._columns * n * width}
        lengths |= {"3 n width": 3 * n * width, "5 n width": 5 * n * width}
        arrays = [(name, f.type, lengths[f.length]) for name, f in sides_of(self._made_for[2]).fields[1:]]
        size = sum(memory.bytes_of_number(_TYPES[kind]) * length for _, kind, length in arrays)
        memory.require(size, lengths["5 n width"], "sides of triangles", memory.FEWER)
        self._sides = Sides(
            width, **{name: ti.ndarray(_TYPES[kind], length) for name, kind, length in arrays}
        )

    def _column(self) -> Any:
        pairs = sum(n * n for n in self._sizes)
        memory.require(8 * pairs, pairs, "sums of all pairs of atoms", _CURE)
        return memory.array(ti.f64, pairs, "sums of all pairs of atoms", 8 * pairs, _CURE)

    def _queue_energy(
        self, function: TripletFunction, call: Any, verlet: Any, control: Any, when: int
    ) -> None:
        state, placed, (_, real, backend, n_kinds) = self._state, self._placed, self._made_for
        if placed:
            tiles = self._energy
            if not isinstance(tiles, EnergyTiles):
                self._energy = tiles = EnergyTiles(function, backend, n_kinds, self._sizes)
            call(place_kernel(real), state, placed)
            tiles.place(placed, self._nu)
        else:
            kernel = near_energy_kernel(function, real, backend, n_kinds, self._has_product)
            near, later = self._near.near, self._later_rows(backend)
            self._energy = self._energy or WholeEnergy(len(self._sizes))
            given = state, verlet, near, later, self._limits, self._nu, control, when, self._spans
            self._energy.queue(kernel, *given)

    def _later_rows(self, backend: str) -> Later:
        """Rows of triples as wide as those of the list."""
        later, n, width = self._later, self._state.n, self._near.near.width
        room = n * width
        if later.kind is None or later.kind.shape[0] != room:
            what = "rows of triples", 28 * room, memory.FEWER
            memory.require(28 * room, 3 * room, "rows of triples", memory.FEWER)
            later.shares, later.count = shares_of(backend, n, width), ti.ndarray(ti.i32, n)
            later.kind = memory.array(ti.i32, room, *what)
            later.vectors = memory.array(ti.f64, 3 * room, *what)
            later.parts = memory.array(ti.f64, 2 * n * later.shares, *what)
        return later

    def energies(self) -> list[float | None]:
        """See `Evaluator`."""
        assert self._energy is not None
        return [None if lost else in_ev(whole) for whole, lost in self._energy.found()]


_TYPES = {"i32": ti.i32, "f64": ti.f64}
OF_PAIRS = Tiling(32, 2, 16, 1)
"""Few pairs for each thread, which has up to five sums of each."""
_CURE = 'use fewer atoms, a cutoff, or enumeration="direct"'
