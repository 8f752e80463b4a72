"""What the moves of a batch change of an energy of all triples, as if no other move of the batch were done.

`move_batch` says which triples are summed when. Here is how their pairs are shared by threads. Places of all
atoms are cut into tiles of `TILE`, on a ring of an odd number of tiles. Each thread of a warp has `EACH`
atoms j of a tile. All meet the same third atoms k: those after j in the own tile, then those of the next
tiles, to half of the ring. Each pair comes once, and what its two atoms share is computed once. The ways of
all tiles, one after the other, are cut into equal parts, one for each warp, which are summed in order. A part
depends on the number of atoms alone. What belongs to j and a moving atom is taken out of the sum over k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.all_triples import later
from taichimd.enumerate.reproducible_sum import with_term
from taichimd.enumerate.terms import TripletFunction
from taichimd.neighbours.rows import WARP
from taichimd.sampling.move_batch import EACH, HIGHER, HIGHER_AFTER, LOWER, MOVES, STATES, TILE, WIDTH, ring


@dataclass(frozen=True)
class MoveBatchFunctions:
    """Device functions of an energy of all triples.

    In their arguments `g` has the atoms, tables of parameters and what threads tell each other; `batch` is
    the `MoveBatch` that a thread works for.
    """

    store: Callable[..., Any]  # keeps what an atom gives to triples with a moving atom
    # changes with pairs of atoms that are neither in this batch nor in the one before
    bulk: Callable[..., Any]
    decided: Callable[..., Any]  # changes with pairs of which one or both atoms are of the batch before
    between: Callable[..., Any]  # the sums of a pair of atoms of the batch
    inside: Callable[..., Any]  # change of one triple, all of whose atoms are in the batch


@ti.func
def side_of(j, batch):
    """Where an atom's numbers for a batch begin among those that are kept."""
    return (2 * j + batch.kept % 2) * WIDTH


@ti.func
def entry_of(s, t, moved):
    """Which sum is that of move s with atom t of the batch; moved: 1 if t has moved, else 0."""
    low, high = ti.min(s, t), ti.max(s, t)
    entry = MOVES + STATES * (high * (high - 1) // 2 + low)
    if s > t:
        entry += ti.select(moved == 1, HIGHER_AFTER, HIGHER)
    return entry


@cache
def move_batch_functions(function: TripletFunction, n_kinds: int) -> MoveBatchFunctions:
    """Device functions of an energy of all triples."""

    @ti.func
    def strength(i, j, k, g: ti.template(), term: ti.template()):
        """Return the strength nu of three atoms, by their places."""
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
    def store(j, m, x_real, batch, tally: ti.template(), placed: ti.template()):
        """What atom j gives to triples with a moving atom; m: twice its number, plus 1 after its move."""
        x, z = ti.cast(x_real, ti.f64), placed.pos[j]
        d2, w = of_pair(x, z)
        at = side_of(j, batch)
        tally.sides[at + 2 * m] = d2
        tally.sides[at + 2 * m + 1] = w
        for v in ti.static(range(3)):
            if m == 0:
                tally.sides[at + 4 * MOVES + v] = z[v]
            if j == batch.begin:
                tally.ends[6 * MOVES * batch.kept + 3 * m + v] = x[v]

    @ti.func
    def place_and_sides(x: ti.template(), own: ti.template(), e: ti.template(), j, batch, g: ti.template()):
        """Position of atom j, and squares of its distances from moving atoms, to row e."""
        for v in ti.static(range(3)):
            x[e, v] = g.placed.pos[j][v]
        for m in ti.static(range(2 * MOVES)):
            own[e, m] = g.tally.sides[side_of(j, batch) + 2 * m]

    @computed_in(ti.f64)
    def meet(
        sums: ti.template(),
        k,
        x,
        own,
        places,
        counts,
        each: ti.template(),
        batch,
        g: ti.template(),
        term: ti.template(),
    ):
        """Triples of all moving atoms with k and each counted atom at `places`, less what the latter give."""
        side = side_of(k, batch)
        z = ti.Vector([g.tally.sides[side + 4 * MOVES + v] for v in ti.static(range(3))])
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
        for m in ti.static(range(2 * MOVES)):
            b, w_b = g.tally.sides[side + 2 * m], g.tally.sides[side + 2 * m + 1]
            for e in ti.static(range(each)):
                constants = ti.Vector([shared[e, v] for v in ti.static(range(function.width))])
                f = function.energy(constants, c[e], own[e, m], b, factor[e], w_b)
                if ti.static(n_kinds > 1):
                    most = batch.end - 1
                    f *= strength(ti.min(batch.first + m // 2, most), ti.min(places[e], most), k, g, term)
                sums[e, m] += f

    @computed_in(ti.f64)
    def changes_with(run: ti.template(), sums, e: ti.template(), j, batch, g: ti.template()):
        """Add the change by each move of what row e says about atom j."""
        for s in ti.static(range(MOVES)):
            side = side_of(j, batch) + 4 * s + 1
            run[s] += g.tally.sides[side + 2] * sums[e, 2 * s + 1] - g.tally.sides[side] * sums[e, 2 * s]

    @computed_in(ti.f64)
    def bulk(thread, threads, batch, g: ti.template(), term: ti.template()):
        """Changes by all moves with a thread's pairs of atoms, none of this batch or the one before."""
        begin, end, last = batch.begin, batch.end, batch.last
        left_out = batch.first - MOVES
        tiles, met = ring(end - begin)
        lane, warp, warps = thread % WARP, thread // WARP, threads // WARP
        share, more = tiles * met // warps, tiles * met % warps
        at = warp * share + ti.min(warp, more)
        stop = at + share + ti.select(warp < more, 1, 0)
        run = ti.Vector.zero(ti.f64, MOVES)
        while at < stop:
            tile = at // met
            from_t, to_t = at - tile * met, ti.min(stop - tile * met, met)
            at += to_t - from_t
            places = begin + tile * TILE + lane + ti.Vector([e * WARP for e in ti.static(range(EACH))])
            x = ti.Matrix.zero(ti.f64, EACH, 3)
            own, sums = ti.Matrix.zero(ti.f64, EACH, 2 * MOVES), ti.Matrix.zero(ti.f64, EACH, 2 * MOVES)
            for e in ti.static(range(EACH)):
                place_and_sides(x, own, e, ti.min(places[e], end - 1), batch, g)
            for t in range(from_t, to_t):
                k = begin + later(tile * TILE, t, tiles * TILE)
                if k < end and (k < left_out or k >= last):
                    counts = ti.Vector.zero(ti.i32, EACH)
                    for e in ti.static(range(EACH)):
                        counts[e] = t > ti.select(t < TILE, lane + e * WARP, 0)
                    meet(sums, k, x, own, places, counts, EACH, batch, g, term)
            for e in ti.static(range(EACH)):
                if places[e] < end and (places[e] < left_out or places[e] >= last):
                    changes_with(run, sums, e, places[e], batch, g)
        if ti.static(n_kinds == 1):
            run *= g.tables[term][2]
        return run

    @computed_in(ti.f64)
    def decided(thread, deep, batch, g: ti.template(), term: ti.template()):
        """Changes by all moves with pairs that have an atom of the batch before; `deep` threads share it."""
        first, j = batch.first, batch.first - MOVES + thread // deep
        run = ti.Vector.zero(ti.f64, MOVES)
        if j >= batch.begin:
            x, own = ti.Matrix.zero(ti.f64, 1, 3), ti.Matrix.zero(ti.f64, 1, 2 * MOVES)
            sums, counts = ti.Matrix.zero(ti.f64, 1, 2 * MOVES), ti.Vector.one(ti.i32, 1)
            place_and_sides(x, own, 0, j, batch, g)
            k = batch.begin + thread % deep
            while k < batch.end:
                # Two atoms of the batch before are a pair once.
                if k < first - MOVES or (j < k and k < first) or k >= batch.last:
                    meet(sums, k, x, own, ti.Vector([j]), counts, 1, batch, g, term)
                k += deep
            changes_with(run, sums, 0, j, batch, g)
        if ti.static(n_kinds == 1):
            run *= g.tables[term][2]
        return run

    @computed_in(ti.f64)
    def between(sums: ti.template(), i, j, lane, many, ends, batch, g: ti.template(), term: ti.template()):
        """The sums of a pair (i, j) of atoms of the batch; `ends` has their positions before and after."""
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
        k = batch.begin + lane
        while k < batch.end:
            if k < batch.first or k >= batch.last:
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
                # u[0]: neither has moved; u[1]: j has; u[2]: i has; u[3]: both have.
                with_term(sums, STATES, LOWER, u[2] - u[0])
                with_term(sums, STATES, HIGHER, u[1] - u[0])
                with_term(sums, STATES, HIGHER_AFTER, u[3] - u[2])
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

    return MoveBatchFunctions(store, bulk, decided, between, inside)
