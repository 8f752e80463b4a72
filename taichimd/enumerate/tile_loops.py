"""Loops over third atoms for the pairs of a tile (`triple_tiles`): what the threads of a block do.

On CUDA the pairs with third atoms are computed by the block together and lie in shared memory; elsewhere a
thread computes its own.
"""

from dataclasses import dataclass

from taichimd.core.arguments import View
from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.terms import TripletFunction
from taichimd.enumerate.triple_items import ITEM, Tiling

VECTOR = 3
"""Sums of a vector, after those of slopes and energies."""


class Tile(View):
    """The pairs of a thread, as one argument of device functions.

    Attributes:
        i, j: first atoms of the pairs. own: of each pair the constants, then the squared distance. item:
            tiles I and J, first tile K, how many. span: first and last atom of the system. placed, strengths:
            as of kernels.
    """


@dataclass(frozen=True)
class TileLoops:
    """What of a sum over third atoms kernels are compiled for."""

    function: TripletFunction  # the energy of a triple
    shared: bool  # whether a block shares what belongs to pairs (CUDA)
    n_kinds: int  # species
    tiling: Tiling  # how a block shares a tile
    once: bool  # sums of energies, each triple once; else of slopes, each pair with all third atoms
    everything: bool = False  # besides slopes, energies and vectors

    @property
    def pairs(self) -> int:
        """Pairs of a thread."""
        return self.tiling.each**2

    @property
    def columns(self) -> int:
        """Sums of a pair."""
        return 2 + VECTOR if self.everything else 1


@ti.func
def span_of(item, items: ti.template(), spans: ti.template()):
    """First and last atom of the system of an item. Read again after long loops, which need the registers."""
    system = items[ITEM * item + 4]
    return ti.Vector([spans.begins[system], spans.begins[system + 1]])


@ti.func
def differ(tiles):
    """Whether three tiles have no atom in common."""
    return tiles[0] != tiles[1] and tiles[2] != tiles[0] and tiles[2] != tiles[1]


def pair_function(of: TileLoops) -> DeviceFunction:
    """Device function of a pair of positions: squared distance, and what is computed once for each pair."""
    function = of.function

    @ti.func
    def pair_of(x, y):
        d = y - x
        d2 = d.dot(d)
        return d2, function.pair(d2)

    return pair_of


def tile_after(side: int) -> DeviceFunction:
    """Device function: of the ring of tiles, the three of an item."""

    @ti.func
    def tiles_of(item, number, span):
        tile, tiles = item[2] + number, (span[1] - span[0] + side - 1) // side
        if tile >= tiles:
            tile -= tiles
        return ti.Vector([item[0], item[1], tile])

    return tiles_of


def join_function(of: TileLoops) -> DeviceFunction:
    """Device function that adds the triples of a thread's pairs with one third atom."""
    function, n_kinds, once, everything = of.function, of.n_kinds, of.once, of.everything
    width, each, all_pairs = function.width, of.tiling.each, of.pairs
    down_apart, right_apart = of.tiling.apart(of.shared)

    @ti.func
    def strength(a, b, c, strengths: ti.template()):
        return strengths[(a * n_kinds + b) * n_kinds + c]

    @ti.func
    def counted(f, factor, does, masked: ti.template()):
        if ti.static(n_kinds > 1):
            f *= factor
        if ti.static(masked):
            f = ti.select(does, f, 0.0)
        return f

    @ti.func
    def join(total: ti.template(), k, tiles, near, far, tile: ti.template(), masked: ti.template()):
        """Add to `total` the triples with k that count; `near`, `far`: squares, then what is of a pair."""
        for m in ti.static(range(all_pairs)):
            r, s = ti.static(m // each, m % each)
            x, y = tile.i + down_apart * r, tile.j + right_apart * s
            c = ti.Vector([tile.own[m, q] for q in ti.static(range(width))])
            a, b, o, w_b, w_c = tile.own[m, width], near[r], far[s], near[each + r], far[each + s]
            factor = ti.cast(1.0, ti.f64)
            if ti.static(n_kinds > 1):
                kind = ti.static(tile.placed.kind)
                factor = strength(kind[x], kind[y], kind[k], tile.strengths)
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
                    d = tile.placed.pos[k] - tile.placed.pos[ti.min(x, tile.span[1] - 1)]
                    for q in ti.static(range(VECTOR)):
                        total[(2 + q) * all_pairs + m] += f * d[q]

    return join


def shared_loop(of: TileLoops) -> DeviceFunction:
    """Device function of the loop over third atoms of an item; the block shares the work of their pairs."""
    tiling = of.tiling
    side, each, depth, threads = tiling.side, tiling.each, tiling.slab, tiling.threads
    high, wide, breadth = tiling.high, tiling.wide, tiling.breadth
    pair_of, tiles_of, join = pair_function(of), tile_after(side), join_function(of)

    @ti.func
    def shared_tiles(total: ti.template(), lane, tile: ti.template()):
        down, right = lane // wide, lane % wide
        near_d = ti.simt.block.SharedArray((depth, side), ti.f64)
        near_w = ti.simt.block.SharedArray((depth, side), ti.f64)
        far_d = ti.simt.block.SharedArray((depth, breadth), ti.f64)
        far_w = ti.simt.block.SharedArray((depth, breadth), ti.f64)
        mine, other = lane % side, lane % breadth
        pos = ti.static(tile.placed.pos)
        end = tile.span[1]
        x = pos[ti.min(tile.i - down + mine, end - 1)]
        y = pos[ti.min(tile.j - right + other, end - 1)]
        for slab in range(tile.item[3] * (side // depth)):
            tiles = tiles_of(tile.item, slab // (side // depth), tile.span)
            at = tile.span[0] + tiles[2] * side + slab % (side // depth) * depth
            ti.simt.block.sync()
            for q in ti.static(range(depth * side // threads)):
                t = lane // side + q * (threads // side)
                d2, w = pair_of(x, pos[ti.min(at + t, end - 1)])
                near_d[t, mine] = d2
                near_w[t, mine] = w
            for q in ti.static(range(depth * breadth // threads)):
                t = lane // breadth + q * (threads // breadth)
                d2, w = pair_of(y, pos[ti.min(at + t, end - 1)])
                far_d[t, other] = d2
                far_w[t, other] = w
            ti.simt.block.sync()
            for masked in ti.static((False, True)):
                if differ(tiles) != masked:
                    for t in range(ti.min(depth, end - at)):
                        near, far = ti.Vector.zero(ti.f64, 2 * each), ti.Vector.zero(ti.f64, 2 * each)
                        for r in ti.static(range(each)):
                            near[r] = near_d[t, down + r * high]
                            near[each + r] = near_w[t, down + r * high]
                            far[r] = far_d[t, right + r * wide]
                            far[each + r] = far_w[t, right + r * wide]
                        join(total, at + t, tiles, near, far, tile, masked)

    return shared_tiles


def own_loop(of: TileLoops) -> DeviceFunction:
    """The same; a thread computes its pairs with third atoms for itself."""
    side, each = of.tiling.side, of.tiling.each
    pair_of, tiles_of, join = pair_function(of), tile_after(side), join_function(of)

    @ti.func
    def own_tiles(total: ti.template(), lane, tile: ti.template()):
        pos = ti.static(tile.placed.pos)
        end = tile.span[1]
        for at in range(tile.item[3]):
            tiles = tiles_of(tile.item, at, tile.span)
            first = tile.span[0] + tiles[2] * side
            for masked in ti.static((False, True)):
                if differ(tiles) != masked:
                    for k in range(first, ti.min(first + side, end)):
                        near, far = ti.Vector.zero(ti.f64, 2 * each), ti.Vector.zero(ti.f64, 2 * each)
                        for r in ti.static(range(each)):
                            near[r], near[each + r] = pair_of(pos[ti.min(tile.i + r, end - 1)], pos[k])
                            far[r], far[each + r] = pair_of(pos[ti.min(tile.j + r, end - 1)], pos[k])
                        join(total, k, tiles, near, far, tile, masked)

    return own_tiles


def thread_function(of: TileLoops) -> DeviceFunction:
    """Device function `(thread, items, spans, placed, strengths)`: first i and j, their pairs and sums."""
    tiling, function, shared = of.tiling, of.function, of.shared
    side, each, threads, split = tiling.side, tiling.each, tiling.threads, tiling.split
    wide, breadth, all_pairs, columns, width = (
        tiling.wide,
        tiling.breadth,
        of.pairs,
        of.columns,
        function.width,
    )
    down_apart, right_apart = tiling.apart(shared)
    step = 1 if shared else each
    loop = shared_loop(of) if shared else own_loop(of)

    @computed_in(ti.f64)
    def of_thread(
        thread, items: ti.template(), spans: ti.template(), placed: ti.template(), strengths: ti.template()
    ):
        number, lane = thread // threads // split, thread % threads
        item = ti.Vector([items[ITEM * number + q] for q in ti.static(range(4))])
        span = span_of(number, items, spans)
        i = span[0] + item[0] * side + lane // wide * step
        j = span[0] + item[1] * side + thread // threads % split * breadth + lane % wide * step
        own = ti.Matrix.zero(ti.f64, all_pairs, width + 1)
        for m in ti.static(range(all_pairs)):
            x = ti.min(i + down_apart * (m // each), span[1] - 1)
            y = ti.min(j + right_apart * (m % each), span[1] - 1)
            d = placed.pos[y] - placed.pos[x]
            c = function.constants(d.dot(d))
            for q in ti.static(range(width)):
                own[m, q] = c[q]
            own[m, width] = d.dot(d)
        total = ti.Vector.zero(ti.f64, all_pairs * columns)
        tile = Tile(i=i, j=j, own=own, item=item, span=span, placed=placed, strengths=strengths)
        loop(total, lane, tile)
        return i, j, own, total

    return of_thread
