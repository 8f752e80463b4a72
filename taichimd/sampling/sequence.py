"""Trial moves of single atoms, one after the other, in batches: for energies without a cutoff.

A batch has three parallel loops. The first one keeps what atoms give to triples with moving ones, and finds what is between two
moving atoms and what moves change of pairs with atoms of no batch; the second one goes through all other triples (`batch`). In
the third one a warp decides on the moves, one after the other. It adds those parts that belong to what has moved by then, and
computes what moving atoms do to each other.

Parts are added as multiples of 2^-36 and 2^-72 eV (`enumerate.reproducible_sum`): as whole numbers they have no order. What a
part is depends on the number of atoms alone.
"""

from functools import cache
from typing import Any

import numpy as np

from taichimd.core.arguments import Array, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import QUICK_COMPILE, WARPS, blocks_for, grid, in_double, literals, ti
from taichimd.enumerate.all_triples import later
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.triple_tiles import Placed
from taichimd.neighbours.rows import WARP, NearRows, VerletRows, row_layout
from taichimd.program.device import Device
from taichimd.sampling.batch import (
    BATCH,
    ENTRIES,
    PAIRS,
    TILE,
    WIDTH,
    batch_end,
    batch_functions,
    depth,
    shares,
)
from taichimd.sampling.local_energy import NOBODY, THE_BATCH, Local, change_function, pair_change
from taichimd.sampling.proposals import Trials, trial_move
from taichimd.sampling.tally import ACCEPTED, ROUGH, SLOTS, Tally, tally_functions
from taichimd.system.state import Atoms

UNROLL = 1 if QUICK_COMPILE else 2
"""Batches of one call."""
BLOCK = 128
"""Threads of a block of the large loop."""


class Order(Bundle):
    """Atoms with trial moves by the user's numbers, then the others."""

    number_at: Any = Array("i32", "n", "the user's number of the atom at a place")
    place_of: Any = Array("i32", "n", "place of each user's number")
    sorted_of: Any = Array("i32", "n", "place of each user's number in memory")


class Share(Bundle):
    """What a call does, and how threads share it."""

    first: Any = Number("i32", "place of the first atom that moves")
    free: Any = Number("i32", "atoms with trial moves")
    sides: Any = Number("i32", "threads, whole warps: for each atom and each position of a batch")
    depth: Any = Number("i32", "threads, whole warps, of each pair of a batch")
    near: Any = Number("i32", "threads, whole warps, of pairs within a cutoff")
    threads: Any = Number("i32", "threads, whole warps, of triples with one moving atom")
    parts: Any = Number("i32", "of each of their atoms")


class _Given(View):
    """What sums read."""


@cache
def sequence_kernels(
    terms: tuple[Local, ...], n_kinds: int, real: Any, term: Any, backend: str
) -> tuple[Any, Any]:
    """Kernels that put atoms in order, and that move some, one after the other.

    Args:
        terms: of the energy; one or more of all triples.
        n_kinds: species.
        real: type of positions.
        term: of what is computed from distances.
        backend: "cuda" or "cpu".
    """
    types, layout, number = types_of(real, term), row_layout(backend), len(terms)
    many = WARP if backend == "cuda" and WARPS else 1
    tallies = tally_functions(backend == "cuda" and WARPS)
    changes, pair_changes, wholes = [], [], []
    for one in terms:
        given = one, n_kinds, real, term, layout
        others = THE_BATCH if one.pair else NOBODY
        changes.append(None if one.everywhere else change_function(*given, others))
        pair_changes.append(pair_change(one, n_kinds, term) if one.pair else None)
        wholes.append(batch_functions(one.triple, n_kinds) if one.everywhere else None)
    everywhere = [k for k in range(number) if terms[k].everywhere]
    paired = [k for k in range(number) if terms[k].pair]
    within = [k for k in range(number) if k not in everywhere + paired]
    stores = [wholes[k].store for k in everywhere[:1]]
    rows = tuple(None if one.everywhere else NearRows.only("width", "count", "entries") for one in terms)
    tables = tuple(Array("term" if one.pair else "f64", "numbers", "parameters of a term") for one in terms)

    @kernel(types, atoms=Atoms.only("n", "pos", "kind", "ident"), order=Order.only("place_of"), placed=Placed, tally=Tally.only("high", "low", "marks", "counts", "gain"))  # fmt: skip
    def begin(atoms, order, placed, tally):
        for i in range(atoms.n):
            place = order.place_of[atoms.ident[i]]
            placed.pos[place] = ti.cast(atoms.pos[i], ti.f64)
            placed.kind[place] = atoms.kind[i]
        for k in range(2):
            tally.counts[k] = 0
            if k == 0:
                tally.gain[0] = 0.0
        for lane in range(many):
            tallies.forget(lane, tally)

    @ti.func
    def trial(place, g: ti.template(), trials: ti.template()):
        """Of the atom at a place: where it is in memory, where it is, where it is to go, and the number that decides."""
        atom = g.order.number_at[place]
        i = g.order.sorted_of[atom]
        x = g.atoms.pos[i]
        y, chance = trial_move(x, trials.most, trials.seed, atom, trials.sweep)
        return i, x, y, chance

    @ti.func
    def keep(thread, first, g: ti.template(), trials: ti.template()):
        """What one atom gives to triples with a moving one."""
        j, m = thread // (2 * BATCH), thread % (2 * BATCH)
        if j < g.atoms.n:
            place = ti.min(first + m // 2, batch_end(first, g.share.free) - 1)
            _, x, y, _ = trial(place, g, trials)
            for store in ti.static(stores):
                store(j, m, ti.select(m % 2 == 1, y, x), g.tally, g.placed)

    @in_double
    def two_moves(thread, first, g: ti.template(), trials: ti.template()):
        """Triples with a third atom, of two of a batch."""
        pair, last, t = thread // g.share.depth, batch_end(first, g.share.free), 1
        while t * (t + 1) // 2 <= pair:
            t += 1
        s = pair - t * (t - 1) // 2
        sums = empty_sums(3)
        if first + t < last:
            _, x, y, _ = trial(first + s, g, trials)
            _, u, v, _ = trial(first + t, g, trials)
            ends = ti.Matrix.rows([ti.cast(end, ti.f64) for end in ti.static((x, y, u, v))])
            for k in ti.static(everywhere):
                wholes[k].between(
                    sums, first + s, first + t, thread % g.share.depth, g.share.depth, ends, first, last, g, k
                )
        for k in ti.static(range(3)):
            tallies.leave(sums[k], sums[3 + k], thread, BATCH + 3 * pair + k, g.tally)

    @ti.func
    def near_pairs(thread, first, g: ti.template(), trials: ti.template()):
        """Pairs within a cutoff, with atoms that are not in the batch."""
        s, sums = thread // TILE, empty_sums(1)
        if first + s < batch_end(first, g.share.free):
            i, x, y, _ = trial(first + s, g, trials)
            for k in ti.static(paired):
                changes[k](sums, i, thread % TILE, TILE, x, y, first, g, k)
        tallies.leave(sums[0], sums[1], thread, s, g.tally)

    @ti.func
    def one_move(thread, first, g: ti.template()):
        """Triples with two atoms that are not in the batch."""
        last = batch_end(first, g.share.free)
        for k in ti.static(everywhere):
            run, counts = wholes[k].bulk(thread, first, last, g.share.parts, g, k)
            for s in ti.static(range(BATCH)):
                sums = empty_sums(1)
                if counts:
                    with_term(sums, 1, 0, run[s])
                tallies.leave(sums[0], sums[1], thread, s, g.tally)

    @ti.func
    def batch_changes(sums: ti.template(), lane, s, x, y, first, g: ti.template()):
        """What a lane has of the change by move s with other atoms of the batch as they are by now."""
        others = batch_end(first, g.share.free) - first - 1
        p = lane
        while p < others * (others + 1) // 2:
            # Each atom for itself, then pairs on a ring.
            t, r = p % others, later(p % others, p // others, others)
            j, k = first + ti.select(t >= s, t + 1, t), first + ti.select(r >= s, r + 1, r)
            if t != r:
                for m in ti.static(everywhere):
                    with_term(sums, 1, 0, wholes[m].inside(first + s, j, k, x, y, g, m))
            else:
                d = g.atoms.pos[g.order.sorted_of[g.order.number_at[j]]] - x
                a, b = g.placed.kind[first + s], g.placed.kind[j]
                for m in ti.static(paired):
                    pair_changes[m](sums, d, d - (y - x), a, b, g.tables[m])
            p += many

    @ti.func
    def decide(lane, first, g: ti.template(), trials: ti.template()):
        """All moves of a batch, one after the other; forgets their sums."""
        size, moved = batch_end(first, g.share.free) - first, 0
        for s in range(size):
            i, x, y, chance = trial(first + s, g, trials)
            sums = empty_sums(1)
            batch_changes(sums, lane, s, x, y, first, g)
            for k in ti.static(within):
                changes[k](sums, i, lane, many, x, y, 0, g, k)
            change, up, down = tallies.found(sums[0], sums[1], lane, s, moved, size, g.tally)
            if tallies.accepts(chance, change, up, down, trials.beta) == 1:
                # All threads write the same: each finds it in the next move.
                moved |= 1 << s
                g.atoms.pos[i] = y
                g.placed.pos[first + s] = ti.cast(y, ti.f64)
                if lane == 0:
                    g.tally.counts[ACCEPTED] += 1
                    if down > 0:
                        g.tally.counts[ROUGH] = 1
                    else:
                        g.tally.gain[0] += change
        if size > 0:
            tallies.forget(lane, g.tally)

    @kernel(types, graph=True, atoms=Atoms.only("n", "pos", "ident", "kind"), order=Order, verlet=VerletRows.only("shift_bits", "shifts"), rows=rows, tables=tables, placed=Placed, tally=Tally, share=Share, trials=Trials)  # fmt: skip
    def move(atoms, order, verlet, rows, tables, placed, tally, share, trials):
        g = _Given(
            atoms=atoms, order=order, verlet=verlet, rows=rows, tables=tables, placed=placed, tally=tally,
            share=share,
        )  # fmt: skip
        for a in ti.static(range(UNROLL)):
            for thread in range(share.sides + PAIRS * share.depth + share.near):
                first, of_pairs = share.first + a * BATCH, thread - share.sides
                if first < share.free:
                    if of_pairs < 0:
                        keep(thread, first, g, trials)
                    elif of_pairs < PAIRS * share.depth:
                        two_moves(of_pairs, first, g, trials)
                    else:
                        near_pairs(of_pairs - PAIRS * share.depth, first, g, trials)
            ti.loop_config(block_dim=BLOCK)
            for thread in range(share.threads):
                if share.first + a * BATCH < share.free:
                    one_move(thread, share.first + a * BATCH, g)
            for thread in range(many):
                decide(thread, share.first + a * BATCH, g, trials)

    return begin, move


class Sequence:
    """The arrays of sweeps of one system.

    Args:
        device: the system.
        terms: of the energy.
        n_kinds: species.
        backend: "cuda" or "cpu".
    """

    def __init__(self, device: Device, terms: tuple[Local, ...], n_kinds: int, backend: str) -> None:
        state = device.state
        n = state.n
        self._device = device
        self._begin, self._move = sequence_kernels(terms, n_kinds, state.real, state.term, backend)
        fixed = state.inverse_mass.to_numpy()[state.sorted_of.to_numpy()] == 0.0
        self._free = n - state.n_fixed
        order = np.argsort(fixed, kind="stable").astype(np.int32)
        self._order = Order(ti.ndarray(ti.i32, n), ti.ndarray(ti.i32, n), state.sorted_of)
        self._order.number_at.from_numpy(order)
        self._order.place_of.from_numpy(np.argsort(order).astype(np.int32))
        self._placed = Placed(ti.ndarray(ti.types.vector(3, ti.f64), n), ti.ndarray(ti.i32, n))
        integers = [ti.ndarray(ti.i64, ENTRIES * SLOTS) for _ in range(2)]
        integers += [ti.ndarray(ti.i32, size) for size in (2 * ENTRIES, 2)]
        self._tally = Tally(*integers, *(ti.ndarray(ti.f64, size) for size in (1, 6 * BATCH, WIDTH * n)))
        parts, threads = shares(n)
        sides, near = -(-2 * BATCH * n // WARP) * WARP, BATCH * TILE if any(one.pair for one in terms) else 0
        self._share = Share(0, self._free, sides, depth(n), near, threads, parts)
        self._blocks = blocks_for(max(threads, sides + PAIRS * depth(n) + near))

    def sweep(self, rows: Any, tables: Any, trials: Trials) -> tuple[float | None, int]:
        """A trial move of each free atom; the change of the energy, None if only an evaluation tells, and accepted moves."""
        device, state = self._device, self._device.state
        with literals(state.real), grid(self._blocks):
            self._begin(state, self._order, self._placed, self._tally)
            for first in range(0, self._free, UNROLL * BATCH):
                self._share.first = first
                self._move(
                    state, self._order, device.lists.verlet, rows, tables, self._placed, self._tally,
                    self._share, trials,
                )  # fmt: skip
        counts = self._tally.counts.to_numpy()
        gain = float(self._tally.gain.to_numpy()[0])
        return None if counts[ROUGH] else gain, int(counts[ACCEPTED])
