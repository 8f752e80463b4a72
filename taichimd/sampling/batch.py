"""What a batch of trial moves changes of an energy of all triples, each move as if the others of the batch were not there yet.

Moves come one after the other, but most of what they change does not depend on which of the moves before were accepted: that of
the triples of a moving atom with two others that are not in the batch. So a thread goes through pairs of these others once for
the whole batch. What the two atoms of such a pair share is computed once.

Places of all atoms are cut into tiles of `TILE`, on a ring of an odd number of tiles. Each thread of a warp has `EACH` atoms j of
a tile. All meet the same third atoms k: those behind j in the own tile, then those of the next tiles, to half of the ring. Each
pair comes once. The ways of all tiles, one behind the other, are cut into equal parts, one for each warp, which are summed in
order. What a part is depends on the number of atoms alone. What belongs to j and a moving atom is taken out of the sum over k.

All this is summed while the batch before is decided. So triples with an atom of that one are left out; they are added when its
atoms have their places.

Triples with two moving atoms are summed apart for each of the states that the two may be in. Those with three moving atoms are
so few that they wait for the decision.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.all_triples import later
from taichimd.enumerate.reproducible_sum import with_term
from taichimd.enumerate.triple_tiles import TripletFunction
from taichimd.neighbours.rows import WARP

BATCH = 8
"""Moves of a batch."""
PAIRS = BATCH * (BATCH - 1) // 2
"""Pairs of its atoms."""
ENTRIES = BATCH + 3 * PAIRS
"""Sums: one for each move, then three for each pair (s, t) with s < t: s moves, t has not; t moves, s has not; t moves, s has."""
WIDTH = 4 * BATCH + 3
"""Numbers that are kept of each atom: of each moving atom r^2 from it and what that gives, before and behind its move; x, y, z."""
EACH = 2
"""Atoms j of a thread."""
TILE = WARP * EACH
FULL = 33_760
"""Threads that a large GPU has at a time, with many registers, less a warp that decides."""
SHORTEST = 16
"""Third atoms that a thread meets, at least."""
DEEP = 8
"""Third atoms that a thread meets where two atoms move."""
DEEP_DECIDED = 2
"""Third atoms that a thread meets with one of the batch before; each of them with all moves."""


SYSTEM, BEGIN, END, FIRST, LAST, KEPT = range(6)
"""What a thread works for, a vector: its system, the places at which that begins and ends, those of the batch, and where in the
tally it is kept: each system has room for two batches.

On a board (`board`) FIRST and LAST are the cells of a colour.
"""


@ti.func
def side_of(j, work):
    """Where an atom's numbers for a batch begin among those that are kept."""
    return (2 * j + work[KEPT] % 2) * WIDTH


@ti.func
def entry_of(s, t, moved):
    """Where the part of move s with atom t of the batch is: `moved` says whether t has."""
    low, high = ti.min(s, t), ti.max(s, t)
    entry = BATCH + 3 * (high * (high - 1) // 2 + low)
    if s > t:
        entry += 1 + moved
    return entry


def ring(n):
    """Tiles of the ring of n atoms; third atoms that each of them meets."""
    tiles = (n + TILE - 1) // TILE
    tiles += 1 - tiles % 2
    return tiles, TILE * ((tiles + 1) // 2)


ring_of = ti.func(ring)
"""The same on the device."""


def sharing(n: int) -> int:
    """Threads, in whole warps, that share the pairs of n atoms."""
    tiles, met = ring(n)
    return WARP * max(1, min(FULL // WARP, tiles * met // SHORTEST))


def depth(n: int, deep: int) -> int:
    """Threads, in whole warps, that meet n third atoms, so many each."""
    return -(-n // (deep * WARP)) * WARP


@cache
def batch_functions(function: TripletFunction, n_kinds: int) -> Any:
    """Device functions of an energy of all triples.

    They are `store`, `bulk`, `decided`, `between` and `inside`; `g` has the atoms, tables of parameters and what threads tell
    each other, `work` is what a thread works for (`SYSTEM` and so on).

    Args:
        function: the energy of a triple.
        n_kinds: species.
    """

    @ti.func
    def strength(i, j, k, g: ti.template(), term: ti.template()):
        """Of three atoms by their places."""
        nu = g.tables[term][2]
        if ti.static(n_kinds > 1):
            row = (g.placed.kind[i] * n_kinds + g.placed.kind[j]) * n_kinds
            nu = g.tables[term][2 + row + g.placed.kind[k]]
        return nu

    @ti.func
    def of_pair(x, y):
        d = y - x
        d2 = d.dot(d)
        return d2, function.pair(d2)

    @computed_in(ti.f64)
    def store(j, m, x_real, work, tally: ti.template(), placed: ti.template()):
        """What atom j gives to triples with a moving atom; m: its number, twice, and 1 more behind its move."""
        x, z = ti.cast(x_real, ti.f64), placed.pos[j]
        d2, w = of_pair(x, z)
        at = side_of(j, work)
        tally.sides[at + 2 * m] = d2
        tally.sides[at + 2 * m + 1] = w
        for v in ti.static(range(3)):
            if m == 0:
                tally.sides[at + 4 * BATCH + v] = z[v]
            if j == work[BEGIN]:
                tally.ends[6 * BATCH * work[KEPT] + 3 * m + v] = x[v]

    @ti.func
    def place_and_sides(x: ti.template(), own: ti.template(), e: ti.template(), j, work, g: ti.template()):
        """Position of atom j, and squares of its distances from moving atoms, to row e."""
        for v in ti.static(range(3)):
            x[e, v] = g.placed.pos[j][v]
        for m in ti.static(range(2 * BATCH)):
            own[e, m] = g.tally.sides[side_of(j, work) + 2 * m]

    @computed_in(ti.f64)
    def meet(
        sums: ti.template(),
        k,
        x,
        own,
        places,
        counts,
        each: ti.template(),
        work,
        g: ti.template(),
        term: ti.template(),
    ):
        """Triples of all moving atoms with k and each of so many at `places`, if that counts, but for what belongs to these."""
        side = side_of(k, work)
        z = ti.Vector([g.tally.sides[side + 4 * BATCH + v] for v in ti.static(range(3))])
        c, factor = ti.Vector.zero(ti.f64, each), ti.Vector.zero(ti.f64, each)
        shared = ti.Matrix.zero(ti.f64, each, function.width)
        for e in ti.static(range(each)):
            c2, w_c = of_pair(ti.Vector([x[e, v] for v in ti.static(range(3))]), z)
            # A pair that does not count may be an atom with itself.
            c[e] = ti.select(counts[e] == 1, c2, 1.0)
            factor[e] = ti.select(counts[e] == 1, function.energy_factor(c2, w_c), 0.0)
            constants = function.constants(c[e])
            for v in ti.static(range(function.width)):
                shared[e, v] = constants[v]
        for m in ti.static(range(2 * BATCH)):
            b, w_b = g.tally.sides[side + 2 * m], g.tally.sides[side + 2 * m + 1]
            for e in ti.static(range(each)):
                constants = ti.Vector([shared[e, v] for v in ti.static(range(function.width))])
                f = function.energy(constants, c[e], own[e, m], b, factor[e], w_b)
                if ti.static(n_kinds > 1):
                    most = work[END] - 1
                    f *= strength(ti.min(work[FIRST] + m // 2, most), ti.min(places[e], most), k, g, term)
                sums[e, m] += f

    @computed_in(ti.f64)
    def changes_with(run: ti.template(), sums, e: ti.template(), j, work, g: ti.template()):
        """Add the change by each move of what row e says about atom j."""
        for s in ti.static(range(BATCH)):
            side = side_of(j, work) + 4 * s + 1
            run[s] += g.tally.sides[side + 2] * sums[e, 2 * s + 1] - g.tally.sides[side] * sums[e, 2 * s]

    @computed_in(ti.f64)
    def bulk(thread, threads, work, g: ti.template(), term: ti.template()):
        """Changes by all moves with the pairs of a thread, of atoms that are neither in this batch nor in the one before."""
        begin, end, last = work[BEGIN], work[END], work[LAST]
        left_out = work[FIRST] - BATCH
        tiles, met = ring_of(end - begin)
        lane, warp, warps = thread % WARP, thread // WARP, threads // WARP
        share, more = tiles * met // warps, tiles * met % warps
        at = warp * share + ti.min(warp, more)
        stop = at + share + ti.select(warp < more, 1, 0)
        run = ti.Vector.zero(ti.f64, BATCH)
        while at < stop:
            tile = at // met
            from_t, to_t = at - tile * met, ti.min(stop - tile * met, met)
            at += to_t - from_t
            places = begin + tile * TILE + lane + ti.Vector([e * WARP for e in ti.static(range(EACH))])
            x = ti.Matrix.zero(ti.f64, EACH, 3)
            own, sums = ti.Matrix.zero(ti.f64, EACH, 2 * BATCH), ti.Matrix.zero(ti.f64, EACH, 2 * BATCH)
            for e in ti.static(range(EACH)):
                place_and_sides(x, own, e, ti.min(places[e], end - 1), work, g)
            for t in range(from_t, to_t):
                k = begin + later(tile * TILE, t, tiles * TILE)
                if k < end and (k < left_out or k >= last):
                    counts = ti.Vector.zero(ti.i32, EACH)
                    for e in ti.static(range(EACH)):
                        counts[e] = t > ti.select(t < TILE, lane + e * WARP, 0)
                    meet(sums, k, x, own, places, counts, EACH, work, g, term)
            for e in ti.static(range(EACH)):
                if places[e] < end and (places[e] < left_out or places[e] >= last):
                    changes_with(run, sums, e, places[e], work, g)
        if ti.static(n_kinds == 1):
            run *= g.tables[term][2]
        return run

    @computed_in(ti.f64)
    def decided(thread, deep, work, g: ti.template(), term: ti.template()):
        """Changes by all moves with pairs of which one or both atoms are of the batch before; `deep` threads have such an atom."""
        first, j = work[FIRST], work[FIRST] - BATCH + thread // deep
        run = ti.Vector.zero(ti.f64, BATCH)
        if j >= work[BEGIN]:
            x, own = ti.Matrix.zero(ti.f64, 1, 3), ti.Matrix.zero(ti.f64, 1, 2 * BATCH)
            sums, counts = ti.Matrix.zero(ti.f64, 1, 2 * BATCH), ti.Vector.one(ti.i32, 1)
            place_and_sides(x, own, 0, j, work, g)
            k = work[BEGIN] + thread % deep
            while k < work[END]:
                # Two atoms of the batch before are a pair once.
                if k < first - BATCH or (j < k and k < first) or k >= work[LAST]:
                    meet(sums, k, x, own, ti.Vector([j]), counts, 1, work, g, term)
                k += deep
            changes_with(run, sums, 0, j, work, g)
        if ti.static(n_kinds == 1):
            run *= g.tables[term][2]
        return run

    @computed_in(ti.f64)
    def between(sums: ti.template(), i, j, lane, many, ends, work, g: ti.template(), term: ti.template()):
        """Three sums of triples of atoms i and j of the batch, `ends` their positions: those of `ENTRIES`."""
        shared, factor = ti.Matrix.zero(ti.f64, 4, function.width + 1), ti.Vector.zero(ti.f64, 4)
        for m in ti.static(range(4)):
            c, w_c = of_pair(
                ti.Vector([ends[m // 2, v] for v in ti.static(range(3))]),
                ti.Vector([ends[2 + m % 2, v] for v in ti.static(range(3))]),
            )
            constants = function.constants(c)
            for v in ti.static(range(function.width)):
                shared[m, v] = constants[v]
            shared[m, function.width] = c
            factor[m] = function.energy_factor(c, w_c)
        k = work[BEGIN] + lane
        while k < work[END]:
            if k < work[FIRST] or k >= work[LAST]:
                z, u = g.placed.pos[k], ti.Vector.zero(ti.f64, 4)
                sides = ti.Matrix.zero(ti.f64, 4, 2)
                for m in ti.static(range(4)):
                    d2, w = of_pair(ti.Vector([ends[m, v] for v in ti.static(range(3))]), z)
                    sides[m, 0] = d2
                    sides[m, 1] = w
                nu = strength(i, j, k, g, term)
                for m in ti.static(range(4)):
                    constants = ti.Vector([shared[m, v] for v in ti.static(range(function.width))])
                    a, w_a = sides[m // 2, 0], sides[m // 2, 1]
                    b, w_b = sides[2 + m % 2, 0], sides[2 + m % 2, 1]
                    f = function.energy(constants, shared[m, function.width], a, b, w_a, w_b)
                    u[m] = nu * (factor[m] * f)
                with_term(sums, 3, 0, u[2] - u[0])
                with_term(sums, 3, 1, u[1] - u[0])
                with_term(sums, 3, 2, u[3] - u[2])
            k += many

    @computed_in(ti.f64)
    def inside(i, j, k, x_real, y_real, g: ti.template(), term: ti.template()):
        """Change of one triple, by places, if atom i goes from x to y."""
        u, v = g.placed.pos[j], g.placed.pos[k]
        c, w_c = of_pair(u, v)
        constants, energies = function.constants(c), ti.Vector.zero(ti.f64, 2)
        for m in ti.static(range(2)):
            end = ti.cast(y_real if ti.static(m) else x_real, ti.f64)
            a, w_a = of_pair(end, u)
            b, w_b = of_pair(end, v)
            energies[m] = function.energy(constants, c, a, b, w_a, w_b)
        change = energies[1] - energies[0]
        return strength(i, j, k, g, term) * (function.energy_factor(c, w_c) * change)

    return SimpleNamespace(store=store, bulk=bulk, decided=decided, between=between, inside=inside)
