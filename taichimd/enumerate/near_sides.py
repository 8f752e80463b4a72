"""The sides of triangles at each atom: entries of a near list within a cutoff, in the order of user numbers.

A pair belongs to the atom with the lower number, a pair of images of one atom to one of the two. An atom's
own entries are the last ones of its row. The other atom has the opposite entry, which a search in its row
finds.

An entry's place is the number of those that come before it. On a GPU a warp finds the entries of an atom, and
then a thread for each counts. A list of all own entries, in any order, gives each thread a pair. On a CPU
`RUN` entries are computed in each turn of a loop, by vector instructions: the compilers make them of a loop
over vectors of a function's own, not over arrays.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, Selection
from taichimd.core.runtime import WARPS, DeviceFunction, ti
from taichimd.enumerate.queued import goes
from taichimd.enumerate.terms import TripletFunction
from taichimd.neighbours import rows
from taichimd.neighbours.entries import key_of, vector_to
from taichimd.neighbours.masks import how_many_below
from taichimd.neighbours.rows import CHUNK, row_layout, slot, those

RUN = CHUNK
"""Entries that a CPU computes side by side."""
NO_KEY = 2**31 - 1
"""Behind the last key of a row, on a CPU."""


class Limits(Bundle):
    """Which triangles count."""

    side2: Any = Number("f64", "square that each side is below, angstrom^2")
    product2: Any = Number("f64", "square that the product of the sides is below, angstrom^6")


class Sides(Bundle):
    """Entries of each atom within the cutoff, in the order of the user's numbers, and sums of each entry."""

    width: Any = Number("i32", "slots of a row")
    count: Any = ArrayField("i32", "n", "entries of an atom")
    keys: Any = ArrayField("i32", "n width", "user's number << shift_bits | code of the image")
    kind: Any = ArrayField("i32", "n width", "species")
    known: Any = ArrayField(
        "f64", "5 n width", "r_j - r_i, its square, `TripletFunction.pair` of that; angstrom"
    )
    sums: Any = ArrayField("f64", "columns n width", "over k of slope; of u, and of slope times r_k - r_i")
    found: Any = ArrayField("i32", "n width", "keys in the order of the list")
    vectors: Any = ArrayField("f64", "3 n width", "on a CPU: r_j - r_i in the order of the list, angstrom")
    turn: Any = ArrayField(
        "i32", "n width", "on a GPU: which of its atom's own entries each of those is, or -1"
    )
    first: Any = ArrayField("i32", "n", "where own entries begin: in an atom's row, on a GPU in `pairs`")
    pairs: Any = ArrayField("i32", "n width", "on a GPU: places of own entries in `keys`")
    total: Any = ArrayField("i32", "1", "on a GPU: number of `pairs`")


def sides_of(backend: str) -> Selection:
    """What a backend has of `Sides`."""
    own = ("turn", "pairs", "total") if backend == "cuda" else ("vectors",)
    return Sides.only("width", "count", "keys", "kind", "known", "sums", "found", "first", *own)


def in_warps(backend: str) -> bool:
    """Whether the threads of a warp go through a row of the near list together."""
    return backend == "cuda" and WARPS


def threads_of_search(backend: str) -> int:
    """Threads that go through a row of the near list together."""
    return rows.WARP if in_warps(backend) else 1


@ti.func
def votes(condition, warps: ti.template()):
    """Mask of the threads that go through a row for which a condition holds. All of them must ask."""
    mask = ti.cast(condition, ti.i32)
    if ti.static(warps):
        mask = those(condition)
    return mask


@dataclass(frozen=True)
class SideFunctions:
    """Device functions of entries, and those that fill `Sides`."""

    at: DeviceFunction  # place of a slot
    opposite: DeviceFunction  # place of the entry seen from the other atom
    sort: DeviceFunction  # does all for an atom, on a CPU
    collect: DeviceFunction  # first half on a GPU; all threads of `threads_of_search` call it
    rank: DeviceFunction  # second half on a GPU


def side_functions(function: TripletFunction, backend: str) -> SideFunctions:
    """The functions for the sides of the triples of a function, on a backend."""
    of_list, many, warps = row_layout(backend), threads_of_search(backend), in_warps(backend)
    on_gpu = backend == "cuda"

    @ti.func
    def at(i, s, g: ti.template()):
        return i * g.sides.width + s

    @ti.func
    def vector_of(entry, i, g: ti.template()):
        d = vector_to(entry, g.verlet.shift_bits, g.atoms.pos[i], g.atoms.pos, g.verlet.shifts)
        return ti.cast(d, ti.f64)

    @ti.func
    def opposite_key(i, key, g: ti.template()):
        """Key of the opposite entry: seen from the other atom, the image has the negative code."""
        mask = (1 << g.verlet.shift_bits) - 1
        return (g.atoms.ident[i] << g.verlet.shift_bits) | (-key & mask)

    @ti.func
    def is_own(i, key, g: ti.template()):
        return key > opposite_key(i, key, g)

    @ti.func
    def opposite(i, place, g: ti.template()):
        """Place of the entry (j, i) of an entry (i, j)."""
        key = g.sides.keys[place]
        j, wanted = g.places[key >> g.verlet.shift_bits], opposite_key(i, key, g)
        row, low = at(j, 0, g), 0
        if ti.static(on_gpu):
            high = g.sides.count[j] - 1
            while low < high:
                middle = (low + high) // 2
                if g.sides.keys[row + middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
        else:
            # Vector instructions, without a branch that takes a search to a new place each time.
            for s in range(g.sides.width):
                low += ti.cast(g.sides.keys[row + s] < wanted, ti.i32)
        return row + low

    @ti.func
    def keep(place, j, key, d, w, g: ti.template()):
        g.sides.keys[place], g.sides.kind[place] = key, g.atoms.kind[j]
        for q in ti.static(range(3)):
            g.sides.known[5 * place + q] = d[q]
        g.sides.known[5 * place + 3] = d.dot(d)
        g.sides.known[5 * place + 4] = w

    @ti.func
    def sort(i, g: ti.template()):
        begin, kept, others = at(i, 0, g), 0, 0
        for s in range(g.near.count[i]):
            entry = g.near.entries[slot(i, s, g.atoms.n, g.near.width, of_list)]
            d, place = vector_of(entry, i, g), begin + kept
            # Without a branch: the next one overwrites one that is too far.
            g.sides.found[place] = key_of(entry, g.verlet.shift_bits, g.atoms.ident)
            for q in ti.static(range(3)):
                g.sides.vectors[3 * place + q] = d[q]
            kept += ti.cast(d.dot(d) < g.limits.side2, ti.i32)
        for run in range((kept + RUN - 1) // RUN):
            others += sort_run(i, begin + run * RUN, begin + kept - 1, g)
        for place in range(begin + kept, begin + g.sides.width):
            g.sides.keys[place] = NO_KEY
        g.sides.count[i], g.sides.first[i] = kept, others

    @ti.func
    def found_vector(place, g: ti.template()):
        return ti.Vector([g.sides.vectors[3 * place + q] for q in ti.static(range(3))])

    @ti.func
    def sort_run(i, first, last, g: ti.template()):
        """Bring entries side by side to their places, the last repeated; how many are of other atoms."""
        begin, others, w = at(i, 0, g), 0, ti.Vector.zero(ti.f64, RUN)
        keys, there = ti.Vector.zero(ti.i32, RUN), ti.Vector.zero(ti.i32, RUN)
        for m in range(RUN):
            place = ti.min(first + m, last)
            d = found_vector(place, g)
            keys[m], there[m], w[m] = g.sides.found[place], begin, d.dot(d)
        for m in range(RUN):
            w[m] = function.pair(w[m])
            others += ti.cast(first + m <= last and not is_own(i, keys[m], g), ti.i32)
        for t in range(begin, last + 1):
            for m in range(RUN):
                there[m] += ti.cast(g.sides.found[t] < keys[m], ti.i32)
        for m in range(ti.min(RUN, last + 1 - first)):
            j = g.places[keys[m] >> g.verlet.shift_bits]
            keep(there[m], j, keys[m], found_vector(first + m, g), w[m], g)
        return others

    @ti.func
    def collect(i, lane, g: ti.template()):
        """Keys of an atom's entries within the cutoff, in the order of the list. Reserves room in `pairs`."""
        does, kept, own = goes(g.when, g.control) == 1, 0, 0
        count = ti.select(does, g.near.count[i], 0)
        for run in range((count + many - 1) // many):
            s = run * many + lane
            # Threads beyond the end of a row look at its last entry.
            entry = g.near.entries[slot(i, ti.min(s, count - 1), g.atoms.n, g.near.width, of_list)]
            d = vector_of(entry, i, g)
            key = key_of(entry, g.verlet.shift_bits, g.atoms.ident)
            near = s < count and d.dot(d) < g.limits.side2
            belongs = near and is_own(i, key, g)
            all_near, all_own = votes(near, warps), votes(belongs, warps)
            if near:
                place = at(i, kept + how_many_below(all_near, lane), g)
                g.sides.found[place] = key
                g.sides.turn[place] = ti.select(belongs, own + how_many_below(all_own, lane), -1)
            kept += ti.math.popcnt(all_near)
            own += ti.math.popcnt(all_own)
        if does and lane == 0:
            g.sides.count[i] = kept
            g.sides.first[i] = ti.atomic_add(g.sides.total[0], own)

    @ti.func
    def rank(place, g: ti.template()):
        """Bring what `collect` has left in a place to where it belongs."""
        i = place // g.sides.width
        count, begin = g.sides.count[i], at(i, 0, g)
        if place - begin < count:
            key, there = g.sides.found[place], begin
            for s in range(count):
                there += ti.cast(g.sides.found[begin + s] < key, ti.i32)
            bits = g.verlet.shift_bits
            j = g.places[key >> bits]
            d = vector_of((j << bits) | (key & ((1 << bits) - 1)), i, g)
            keep(there, j, key, d, function.pair(d.dot(d)), g)
            if g.sides.turn[place] >= 0:
                g.sides.pairs[g.sides.first[i] + g.sides.turn[place]] = there

    return SideFunctions(at, opposite, sort, collect, rank)
