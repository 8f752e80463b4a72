"""Sums over all triples of n atoms, for an energy symmetric in its atoms: tiles, as in a product of matrices.

A block of threads has a tile of pairs (i, j), 64 by 64, and goes through third atoms k. What belongs to the
pairs (i, k) and (j, k), the squared distance and one number more, is computed once for the whole tile; on
CUDA it lies in shared memory. So a triple costs little more than the few operations that join three pairs.

Energy: each triple once. Tiles take the place of atoms in the balanced order of `all_triples`, so blocks have
equally much to do: tiles (I, I + D, I + D + E), and triples with two or three atoms of one tile. Forces: each
pair of atoms meets all k, which gives the slope of the energy to its squared distance; F_i = 2 sum_j slope_ij
(r_j - r_i). So a triple is visited three times, and no two threads write to one number. Virials of atoms need
the sum over k of slopes times r_k - r_i, too.

Sums over k run in order, in runs whose length depends on n alone. Runs are added as whole numbers. So results
have the same bits on CPU and CUDA, and whatever number of threads or processes shares the tiles.
"""

from dataclasses import replace
from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Kernel, Number, Selection, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.enumerate.queued import goes
from taichimd.enumerate.terms import TripletFunction
from taichimd.enumerate.tile_loops import VECTOR, TileLoops, span_of, thread_function
from taichimd.enumerate.triple_items import ITEM, ITEMS, TILING, Spans, Tiling
from taichimd.neighbours.control import CONTROL

SPREAD = 256
"""Places that threads add to, so that few wait for each other."""
UNIT = 2.0**-36
"""eV: of the first whole number of an energy. That of the second is its square."""
MAX_ENERGY = 2.0**26
"""eV: sums of a run beyond it are no energies of atoms that repel each other."""
LOST = 2 * SPREAD
"""Where it is counted how many were beyond."""


class Placed(Bundle):
    """Atoms in the order of the user's numbers."""

    pos: Any = ArrayField("double_vec", "n", "positions, angstrom")
    kind: Any = ArrayField("i32", "n", "number of the species")


STRENGTHS = ArrayField("f64", "kinds^3", "strength by kinds")
WHOLE = ArrayField(
    "i64",
    "(2 SPREAD + 1) systems",
    "of each system: energies in multiples of UNIT, then of UNIT^2; how many were lost",
)


class PairSums(Bundle):
    """Sums over third atoms k of each pair (i, j), system by system."""

    slope: Any = ArrayField("f64", "sum of n^2", "of du/d(r_ij^2), eV/angstrom^2")
    energy: Any = ArrayField("f64", "sum of n^2", "of u, eV")
    x: Any = ArrayField("f64", "sum of n^2", "of slope times the x of r_k - r_i, eV/angstrom")
    y: Any = ArrayField("f64", "sum of n^2", "likewise")
    z: Any = ArrayField("f64", "sum of n^2", "likewise")


def columns_of(everything: bool) -> type[PairSums] | Selection:
    """The sums that forces need, or those that energies and virials need, too."""
    return PairSums if everything else PairSums.only("slope")


@ti.func
def in_units(u):
    """An energy (eV) as two whole numbers, of UNIT and of its square, and whether it is lost."""
    found = ti.Vector.zero(ti.i64, 3)
    if ti.abs(u) < MAX_ENERGY:
        units = ti.floor(u * (1.0 / UNIT) + 0.5)
        found[0] = ti.cast(units, ti.i64)
        found[1] = ti.cast(ti.floor((u - units * UNIT) * (1.0 / UNIT / UNIT) + 0.5), ti.i64)
    else:
        found[2] = 1
    return found


@ti.func
def store_whole(system, lane, sums, whole: ti.template()):
    """Add whole numbers of a system where few other threads do."""
    first = system * (LOST + 1)
    ti.atomic_add(whole[first + lane], sums[0])
    ti.atomic_add(whole[first + SPREAD + lane], sums[1])
    if sums[2] > 0:
        ti.atomic_add(whole[first + LOST], sums[2])


@ti.func
def put(column: ti.template(), at, opposite, both, here, there):
    """Store a number of a pair, and one of its opposite, if no other thread has that pair."""
    column[at] = here
    if both:
        column[opposite] = there


@cache
def tile_kernels(
    function: TripletFunction, backend: str, n_kinds: int, tiling: Tiling = TILING, everything: bool = False
) -> tuple[Kernel, Kernel]:
    """Kernels of the energy and of sums of pairs, which are all `PairSums` or slopes alone.

    They are `(first, last, items, spans, placed, nu, whole)` and `(count, items, spans, placed, nu, control,
    when, sums)`.
    """
    types = types_of(ti.f64)
    of = TileLoops(function, backend == "cuda", n_kinds, tiling, once=True)
    energies_of = thread_function(of)
    sums_of = thread_function(replace(of, once=False, everything=everything))
    each, width, all_pairs = tiling.each, function.width, of.pairs
    threads, block = tiling.threads, tiling.split * tiling.threads
    down_apart, right_apart = tiling.apart(of.shared)

    @kernel(
        types, first=Number("i32", "item"), last=Number("i32", "item behind the last"), items=ITEMS,
        spans=Spans.only("begins"), placed=Placed, nu=STRENGTHS, whole=WHOLE
    )  # fmt: skip
    def energy(first, last, items, spans, placed, nu, whole):
        ti.loop_config(block_dim=threads)
        for thread in range((last - first) * block):
            i, j, own, total = energies_of(thread + first * block, items, spans, placed, nu)
            item, sums = thread // block + first, ti.Vector.zero(ti.i64, 3)
            end, different = span_of(item, items, spans)[1], items[ITEM * item] != items[ITEM * item + 1]
            for m in ti.static(range(all_pairs)):
                x, y = i + down_apart * (m // each), j + right_apart * (m % each)
                if x < end and y < end and (x < y or different):
                    u = total[m] * function.energy_factor(own[m, width], function.pair(own[m, width]))
                    if ti.static(n_kinds == 1):
                        u *= nu[0]
                    sums += in_units(u)
            store_whole(items[ITEM * item + 4], thread % SPREAD, sums, whole)

    @ti.func
    def factors_of(x, y, d2, nu: ti.template()):
        """Factors of the slopes and of the energies of a pair; zero of an atom with itself."""
        w, of_slope, of_energy = function.pair(d2), ti.cast(0.0, ti.f64), ti.cast(0.0, ti.f64)
        if x != y:
            of_slope = function.slope_factor(d2, w)
            of_energy = function.energy_factor(d2, w)
        if ti.static(n_kinds == 1):
            of_slope, of_energy = of_slope * nu[0], of_energy * nu[0]
        return of_slope, of_energy

    @kernel(
        types, count=Number("i32", "items"), items=ITEMS, spans=Spans.only("begins", "squares"),
        placed=Placed, nu=STRENGTHS, control=CONTROL, when=Number("i32", "see `neighbours.control`"),
        sums=columns_of(everything)
    )  # fmt: skip
    def pair_sums(count, items, spans, placed, nu, control, when, sums):
        ti.loop_config(block_dim=threads)
        for thread in range(count * block):
            if goes(when, control) == 1:
                i, j, own, total = sums_of(thread, items, spans, placed, nu)
                item = thread // block
                both, span = items[ITEM * item] != items[ITEM * item + 1], span_of(item, items, spans)
                n, square = span[1] - span[0], spans.squares[items[ITEM * item + 4]]
                for m in ti.static(range(all_pairs)):
                    x, y = i + down_apart * (m // each), j + right_apart * (m % each)
                    if x < span[1] and y < span[1]:
                        of_slope, of_energy = factors_of(x, y, own[m, width], nu)
                        at = square + (x - span[0]) * n + y - span[0]
                        opposite = square + (y - span[0]) * n + x - span[0]
                        slope = of_slope * total[m]
                        put(sums.slope, at, opposite, both, slope, slope)
                        if ti.static(everything):
                            u = of_energy * total[all_pairs + m]
                            put(sums.energy, at, opposite, both, u, u)
                            f = of_slope * ti.Vector(
                                [total[(2 + q) * all_pairs + m] for q in ti.static(range(VECTOR))]
                            )
                            g = f - slope * (placed.pos[y] - placed.pos[x])
                            put(sums.x, at, opposite, both, f[0], g[0])
                            put(sums.y, at, opposite, both, f[1], g[1])
                            put(sums.z, at, opposite, both, f[2], g[2])

    return energy, pair_sums
