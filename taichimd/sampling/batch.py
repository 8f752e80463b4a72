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
"""Threads that a large GPU has at a time, with many registers, but for a warp."""
SHORTEST = 16
"""Third atoms that a thread meets, at least."""
DEEP = 8
"""Third atoms that a thread meets where two atoms are given."""


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


@ti.func
def ring_of(n):
    """Tiles of the ring of n atoms; third atoms that each of them meets."""
    tiles = (n + TILE - 1) // TILE
    tiles += 1 - tiles % 2
    return tiles, TILE * ((tiles + 1) // 2)


def sharing(n: int) -> int:
    """Threads, in whole warps, that share the pairs of n atoms."""
    tiles = -(-n // TILE)
    tiles += 1 - tiles % 2
    met = tiles * TILE * ((tiles + 1) // 2)
    return WARP * max(1, min(FULL // WARP, met // SHORTEST))


def depth(n: int) -> int:
    """Threads, in whole warps, for third atoms of a pair."""
    return -(-n // (DEEP * WARP)) * WARP


@cache
def batch_functions(function: TripletFunction, n_kinds: int) -> Any:
    """Device functions of an energy of all triples.

    They are `store`, `bulk`, `between` and `inside`; `g` has the atoms, tables of parameters and what threads tell each other,
    `work` is what a thread works for (`SYSTEM` and so on).

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

    @computed_in(ti.f64)
    def bulk(thread, threads, work, g: ti.template(), term: ti.template()):
        """Changes by all moves with the pairs of a thread, of atoms that are neither in this batch nor in the one before."""
        begin, end, first, last = work[BEGIN], work[END], work[FIRST], work[LAST]
        left_out = first - BATCH
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
            j = begin + tile * TILE + lane
            x = ti.Matrix.zero(ti.f64, EACH, 3)
            own, sums = ti.Matrix.zero(ti.f64, EACH, 2 * BATCH), ti.Matrix.zero(ti.f64, EACH, 2 * BATCH)
            for e in ti.static(range(EACH)):
                i = ti.min(j + e * WARP, end - 1)
                for v in ti.static(range(3)):
                    x[e, v] = g.placed.pos[i][v]
                for m in ti.static(range(2 * BATCH)):
                    own[e, m] = g.tally.sides[side_of(i, work) + 2 * m]
            for t in range(from_t, to_t):
                k = begin + later(tile * TILE, t, tiles * TILE)
                if k < end and (k < left_out or k >= last):
                    side = side_of(k, work)
                    z = ti.Vector([g.tally.sides[side + 4 * BATCH + v] for v in ti.static(range(3))])
                    c, factor = ti.Vector.zero(ti.f64, EACH), ti.Vector.zero(ti.f64, EACH)
                    shared = ti.Matrix.zero(ti.f64, EACH, function.width)
                    for e in ti.static(range(EACH)):
                        c2, w_c = of_pair(ti.Vector([x[e, v] for v in ti.static(range(3))]), z)
                        counts = t > ti.select(t < TILE, lane + e * WARP, 0)
                        # A pair that does not count may be an atom with itself.
                        c[e] = ti.select(counts, c2, 1.0)
                        factor[e] = ti.select(counts, function.energy_factor(c2, w_c), 0.0)
                        constants = function.constants(c[e])
                        for v in ti.static(range(function.width)):
                            shared[e, v] = constants[v]
                    for m in ti.static(range(2 * BATCH)):
                        b, w_b = g.tally.sides[side + 2 * m], g.tally.sides[side + 2 * m + 1]
                        for e in ti.static(range(EACH)):
                            constants = ti.Vector([shared[e, v] for v in ti.static(range(function.width))])
                            f = function.energy(constants, c[e], own[e, m], b, factor[e], w_b)
                            if ti.static(n_kinds > 1):
                                moving, own_atom = first + m // 2, j + e * WARP
                                f *= strength(ti.min(moving, end - 1), ti.min(own_atom, end - 1), k, g, term)
                            sums[e, m] += f
            for e in ti.static(range(EACH)):
                i = j + e * WARP
                if i < end and (i < left_out or i >= last):
                    for s in ti.static(range(BATCH)):
                        side = side_of(i, work) + 4 * s + 1
                        run[s] += g.tally.sides[side + 2] * sums[e, 2 * s + 1]
                        run[s] -= g.tally.sides[side] * sums[e, 2 * s]
        if ti.static(n_kinds == 1):
            run *= g.tables[term][2]
        return run

    @computed_in(ti.f64)
    def between(
        sums: ti.template(),
        i,
        j,
        lane,
        many,
        ends,
        states: ti.template(),
        work,
        g: ti.template(),
        term: ti.template(),
    ):
        """Triples of atom i, which moves, and atom j. `ends` are positions of i before and behind its move, then those of j.

        With two `states` atom j is in the batch, too, and sums are three of `ENTRIES`. With one it is in the batch before.
        """
        both = ti.static(2 * states)
        shared, factor = ti.Matrix.zero(ti.f64, both, function.width + 1), ti.Vector.zero(ti.f64, both)
        for m in ti.static(range(both)):
            c, w_c = of_pair(
                ti.Vector([ends[m // states, v] for v in ti.static(range(3))]),
                ti.Vector([ends[2 + m % states, v] for v in ti.static(range(3))]),
            )
            constants = function.constants(c)
            for v in ti.static(range(function.width)):
                shared[m, v] = constants[v]
            shared[m, function.width] = c
            factor[m] = function.energy_factor(c, w_c)
        first, left_out = work[FIRST], work[FIRST] - BATCH * (2 - states)
        k = work[BEGIN] + lane
        while k < work[END]:
            # Two atoms of the batch before are a pair once.
            if k < left_out or (j < k and k < first) or k >= work[LAST]:
                z, u = g.placed.pos[k], ti.Vector.zero(ti.f64, both)
                sides = ti.Matrix.zero(ti.f64, 2 + states, 2)
                for m in ti.static(range(2 + states)):
                    d2, w = of_pair(ti.Vector([ends[m, v] for v in ti.static(range(3))]), z)
                    sides[m, 0] = d2
                    sides[m, 1] = w
                nu = strength(i, j, k, g, term)
                for m in ti.static(range(both)):
                    constants = ti.Vector([shared[m, v] for v in ti.static(range(function.width))])
                    a, w_a = sides[m // states, 0], sides[m // states, 1]
                    b, w_b = sides[2 + m % states, 0], sides[2 + m % states, 1]
                    f = function.energy(constants, shared[m, function.width], a, b, w_a, w_b)
                    u[m] = nu * (factor[m] * f)
                if ti.static(states == 1):
                    with_term(sums, 1, 0, u[1] - u[0])
                else:
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

    return SimpleNamespace(store=store, bulk=bulk, between=between, inside=inside)
