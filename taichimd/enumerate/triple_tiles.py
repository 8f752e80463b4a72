"""Sums over all triples of n atoms, for an energy that is symmetric in its three atoms: in tiles, as a product of matrices.

A block of threads has a tile of pairs (i, j), 64 by 64, and goes through third atoms k. What belongs to the pairs (i, k) and
(j, k), the squared distance and one number more, is computed once for the whole tile; on CUDA it lies in shared memory. So a
triple costs little more than the few operations that join three pairs.

Energy: each triple once. Tiles take the place of atoms in the balanced order of `all_triples`, so blocks have equally much to do:
tiles (I, I + D, I + D + E), and triples with two or three atoms of one tile. Forces: each pair of atoms meets all k, which
gives the slope of the energy to its squared distance; F_i = 2 sum_j slope_ij (r_j - r_i). So a triple is visited three times,
and no two threads write to one number. Virials of atoms need the sum over k of slopes times r_k - r_i, too.

Sums over k run in order, in runs whose length depends on n alone. Runs are added as whole numbers. So results have the same
bits on CPU and CUDA, and whatever number of threads or processes shares the tiles.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.queued import goes
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


@dataclass(frozen=True)
class TripletFunction:
    """An energy u = strength * factor(a) * f(a, b, c) of squared sides a = r_ij^2, b = r_ik^2, c = r_jk^2, and du/da.

    Attributes:
        pair: `(r2) -> w`, what is computed once for each pair.
        constants: `(a) -> vector`, what is computed once for each pair (i, j), of `width` numbers.
        energy: `(constants, a, b, c, w_b, w_c) -> f`.
        slope: likewise, for du/da.
        energy_factor, slope_factor: `(a, w_a) -> factor`.
        alone: `(a, b, c) -> u / strength`, of a triple for itself.
        degree: see `Evaluator`.
    """

    pair: Any
    constants: Any
    width: int
    energy: Any
    slope: Any
    energy_factor: Any
    slope_factor: Any
    alone: Any
    degree: int = 0


class Placed(Bundle):
    """Atoms in the order of the user's numbers."""

    pos: Any = Array("double_vec", "n", "positions, angstrom")
    kind: Any = Array("i32", "n", "number of the species")


STRENGTHS = Array("f64", "kinds^3", "strength by kinds")
WHOLE = Array(
    "i64",
    "(2 SPREAD + 1) systems",
    "of each system: energies in multiples of UNIT, then of UNIT^2; how many were lost",
)


class PairSums(Bundle):
    """Sums over third atoms k of each pair (i, j), system by system."""

    slope: Any = Array("f64", "sum of n^2", "of du/d(r_ij^2), eV/angstrom^2")
    energy: Any = Array("f64", "sum of n^2", "of u, eV")
    x: Any = Array("f64", "sum of n^2", "of slope times the x of r_k - r_i, eV/angstrom")
    y: Any = Array("f64", "sum of n^2", "likewise")
    z: Any = Array("f64", "sum of n^2", "likewise")


def columns_of(everything: bool) -> type[PairSums]:
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
) -> tuple[Any, Any]:
    """Kernels of the energy and of sums of pairs.

    They are `(first, last, items, spans, placed, nu, whole)` and `(count, items, spans, placed, nu, control, when, sums)`.

    Args:
        function: the energy of a triple.
        backend: "cuda" or "cpu".
        n_kinds: species.
        tiling: of the items, too.
        everything: all `PairSums`; else slopes alone.
    """
    types = types_of(ti.f64)
    shared, width = backend == "cuda", function.width
    side, each, depth, threads = tiling.side, tiling.each, tiling.slab, tiling.threads
    columns = 5 if everything else 1
    split, all_pairs = tiling.split, each * each
    # The rows of threads, and how many threads are in one; the atoms j of a block.
    high, wide, breadth = side // each, side // each // split, side // split
    # On CUDA threads side by side have atoms side by side; elsewhere a thread has four in a row.
    down_apart, right_apart = (high, wide) if shared else (1, 1)

    @ti.func
    def pair_of(x, y):
        d = y - x
        d2 = d.dot(d)
        return d2, function.pair(d2)

    @ti.func
    def strength(a, b, c, nu: ti.template()):
        factor = nu[0]
        if ti.static(n_kinds > 1):
            factor = nu[(a * n_kinds + b) * n_kinds + c]
        return factor

    @ti.func
    def join(total: ti.template(), i, j, k, tiles, own, near, far, placed: ti.template(), nu: ti.template(), once: ti.template(), masked: ti.template()):  # fmt: skip
        """Add the triples of a thread's pairs with atom k; masked: those that count, where tiles are the same."""
        for m in ti.static(range(all_pairs)):
            r, s = ti.static(m // each, m % each)
            x, y = i + down_apart * r, j + right_apart * s
            c = ti.Vector([own[m, q] for q in ti.static(range(width))])
            a, b, o, w_b, w_c = own[m, width], near[r], far[s], near[each + r], far[each + s]
            factor = ti.cast(1.0, ti.f64)
            if ti.static(n_kinds > 1):
                factor = strength(placed.kind[x], placed.kind[y], placed.kind[k], nu)
            does = True
            if ti.static(masked):
                does = x != y and k != x and k != y
                if ti.static(once):
                    does = (tiles[0] != tiles[1] or x < y) and (tiles[1] != tiles[2] or y < k)
            if ti.static(once):
                total[m] += counted(function.energy(c, a, b, o, w_b, w_c), factor, does, masked)
            else:
                f = counted(function.slope(c, a, b, o, w_b, w_c), factor, does, masked)
                total[m] += f
                if ti.static(everything):
                    total[all_pairs + m] += counted(
                        function.energy(c, a, b, o, w_b, w_c), factor, does, masked
                    )
                    d = placed.pos[k] - placed.pos[ti.min(x, tiles[3] - 1)]
                    for q in ti.static(range(3)):
                        total[(2 + q) * all_pairs + m] += f * d[q]

    @ti.func
    def counted(f, factor, does, masked: ti.template()):
        if ti.static(n_kinds > 1):
            f *= factor
        if ti.static(masked):
            f = ti.select(does, f, 0.0)
        return f

    @ti.func
    def apart(tiles):
        return tiles[0] != tiles[1] and tiles[2] != tiles[0] and tiles[2] != tiles[1]

    @ti.func
    def tile_after(item, number, span):
        """Of the ring of tiles: the three of an item, and the end of their system."""
        tile, tiles = item[2] + number, (span[1] - span[0] + side - 1) // side
        if tile >= tiles:
            tile -= tiles
        return ti.Vector([item[0], item[1], tile, span[1]])

    @ti.func
    def shared_tiles(total: ti.template(), lane, i, j, item, own, span, placed: ti.template(), nu: ti.template(), once: ti.template()):  # fmt: skip
        """Go through all k of an item; pairs with k are computed by the block together."""
        down, right = lane // wide, lane % wide
        near_d = ti.simt.block.SharedArray((depth, side), ti.f64)
        near_w = ti.simt.block.SharedArray((depth, side), ti.f64)
        far_d = ti.simt.block.SharedArray((depth, breadth), ti.f64)
        far_w = ti.simt.block.SharedArray((depth, breadth), ti.f64)
        mine, other = lane % side, lane % breadth
        end = span[1]
        x = placed.pos[ti.min(i - down + mine, end - 1)]
        y = placed.pos[ti.min(j - right + other, end - 1)]
        for slab in range(item[3] * (side // depth)):
            tiles = tile_after(item, slab // (side // depth), span)
            at = span[0] + tiles[2] * side + slab % (side // depth) * depth
            ti.simt.block.sync()
            for q in ti.static(range(depth * side // threads)):
                t = lane // side + q * (threads // side)
                d2, w = pair_of(x, placed.pos[ti.min(at + t, end - 1)])
                near_d[t, mine] = d2
                near_w[t, mine] = w
            for q in ti.static(range(depth * breadth // threads)):
                t = lane // breadth + q * (threads // breadth)
                d2, w = pair_of(y, placed.pos[ti.min(at + t, end - 1)])
                far_d[t, other] = d2
                far_w[t, other] = w
            ti.simt.block.sync()
            for masked in ti.static((False, True)):
                if apart(tiles) != masked:
                    for t in range(ti.min(depth, end - at)):
                        near, far = ti.Vector.zero(ti.f64, 2 * each), ti.Vector.zero(ti.f64, 2 * each)
                        for r in ti.static(range(each)):
                            near[r] = near_d[t, down + r * high]
                            near[each + r] = near_w[t, down + r * high]
                            far[r] = far_d[t, right + r * wide]
                            far[each + r] = far_w[t, right + r * wide]
                        join(total, i, j, at + t, tiles, own, near, far, placed, nu, once, masked)

    @ti.func
    def own_tiles(total: ti.template(), i, j, item, own, span, placed: ti.template(), nu: ti.template(), once: ti.template()):  # fmt: skip
        """The same; a thread computes its pairs with k for itself."""
        end = span[1]
        for at in range(item[3]):
            tiles = tile_after(item, at, span)
            first = span[0] + tiles[2] * side
            for masked in ti.static((False, True)):
                if apart(tiles) != masked:
                    for k in range(first, ti.min(first + side, end)):
                        near, far = ti.Vector.zero(ti.f64, 2 * each), ti.Vector.zero(ti.f64, 2 * each)
                        for r in ti.static(range(each)):
                            near[r], near[each + r] = pair_of(
                                placed.pos[ti.min(i + r, end - 1)], placed.pos[k]
                            )
                            far[r], far[each + r] = pair_of(placed.pos[ti.min(j + r, end - 1)], placed.pos[k])
                        join(total, i, j, k, tiles, own, near, far, placed, nu, once, masked)

    @ti.func
    def span_of(item, items: ti.template(), spans: ti.template()):
        """First and last atom of the system of an item; read again behind long loops, in which registers are few."""
        system = items[ITEM * item + 4]
        return ti.Vector([spans.begins[system], spans.begins[system + 1]])

    @computed_in(ti.f64)
    def of_thread(thread, items: ti.template(), spans: ti.template(), placed: ti.template(), nu: ti.template(), once: ti.template()):  # fmt: skip
        """What a thread has found: its first atoms i and j, what is known of its pairs, and their sums over k."""
        number, lane = thread // threads // split, thread % threads
        item = ti.Vector([items[ITEM * number + q] for q in ti.static(range(4))])
        span = span_of(number, items, spans)
        end = span[1]
        i, j = span[0] + item[0] * side, span[0] + item[1] * side + thread // threads % split * breadth
        if ti.static(shared):
            i, j = i + lane // wide, j + lane % wide
        else:
            i, j = i + lane // wide * each, j + lane % wide * each
        own = ti.Matrix.zero(ti.f64, all_pairs, width + 1)
        for m in ti.static(range(all_pairs)):
            x = ti.min(i + down_apart * (m // each), end - 1)
            y = ti.min(j + right_apart * (m % each), end - 1)
            d = placed.pos[y] - placed.pos[x]
            c = function.constants(d.dot(d))
            for q in ti.static(range(width)):
                own[m, q] = c[q]
            own[m, width] = d.dot(d)
        total = ti.Vector.zero(ti.f64, all_pairs * (1 if ti.static(once) else columns))
        if ti.static(shared):
            shared_tiles(total, lane, i, j, item, own, span, placed, nu, once)
        else:
            own_tiles(total, i, j, item, own, span, placed, nu, once)
        return i, j, own, total

    @kernel(types, first=Number("i32", "item"), last=Number("i32", "item behind the last"), items=ITEMS, spans=Spans.only("begins"), placed=Placed, nu=STRENGTHS, whole=WHOLE)  # fmt: skip
    def energy(first, last, items, spans, placed, nu, whole):
        ti.loop_config(block_dim=threads)
        for thread in range((last - first) * split * threads):
            i, j, own, total = of_thread(thread + first * split * threads, items, spans, placed, nu, True)
            item, sums = thread // (split * threads) + first, ti.Vector.zero(ti.i64, 3)
            end, different = span_of(item, items, spans)[1], items[ITEM * item] != items[ITEM * item + 1]
            for m in ti.static(range(all_pairs)):
                x, y = i + down_apart * (m // each), j + right_apart * (m % each)
                if x < end and y < end and (x < y or different):
                    u = total[m] * function.energy_factor(own[m, width], function.pair(own[m, width]))
                    if ti.static(n_kinds == 1):
                        u *= nu[0]
                    sums += in_units(u)
            store_whole(items[ITEM * item + 4], thread % SPREAD, sums, whole)

    @kernel(types, count=Number("i32", "items"), items=ITEMS, spans=Spans.only("begins", "squares"), placed=Placed, nu=STRENGTHS, control=CONTROL, when=Number("i32", "see `neighbours.control`"), sums=columns_of(everything))  # fmt: skip
    def pair_sums(count, items, spans, placed, nu, control, when, sums):
        ti.loop_config(block_dim=threads)
        for thread in range(count * split * threads):
            if goes(when, control) == 1:
                i, j, own, total = of_thread(thread, items, spans, placed, nu, False)
                item = thread // (split * threads)
                both, span = items[ITEM * item] != items[ITEM * item + 1], span_of(item, items, spans)
                n, square = span[1] - span[0], spans.squares[items[ITEM * item + 4]]
                for m in ti.static(range(all_pairs)):
                    x, y = i + down_apart * (m // each), j + right_apart * (m % each)
                    if x < span[1] and y < span[1]:
                        w, factor, of_u = (
                            function.pair(own[m, width]),
                            ti.cast(0.0, ti.f64),
                            ti.cast(0.0, ti.f64),
                        )
                        if x != y:
                            factor = function.slope_factor(own[m, width], w)
                            of_u = function.energy_factor(own[m, width], w)
                        if ti.static(n_kinds == 1):
                            factor, of_u = factor * nu[0], of_u * nu[0]
                        at = square + (x - span[0]) * n + y - span[0]
                        opposite = square + (y - span[0]) * n + x - span[0]
                        slope = factor * total[m]
                        put(sums.slope, at, opposite, both, slope, slope)
                        if ti.static(everything):
                            u = of_u * total[all_pairs + m]
                            put(sums.energy, at, opposite, both, u, u)
                            f = factor * ti.Vector(
                                [total[(2 + q) * all_pairs + m] for q in ti.static(range(3))]
                            )
                            g = f - slope * (placed.pos[y] - placed.pos[x])
                            put(sums.x, at, opposite, both, f[0], g[0])
                            put(sums.y, at, opposite, both, f[1], g[1])
                            put(sums.z, at, opposite, both, f[2], g[2])

    return energy, pair_sums
