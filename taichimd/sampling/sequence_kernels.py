"""Trial moves of single atoms, one after the other, in batches (`move_batch`), of one system or several.

There are two parallel loops, in turn. In the long one a warp decides on the moves of a batch, one after the
other: it adds those sums that belong to what has moved by then, and computes what moving atoms do to each
other. Meanwhile the other threads sum triples of the next batch that do not wait for this. In the short loop
threads find what the next batch lacks: triples with atoms of the batch before, or with two moving atoms;
pairs. They also keep what atoms give to triples of the batch after that. So the tally has room for two
batches of each system.

Parts are added as multiples of 2^-36 and 2^-72 eV (`enumerate.reproducible_sum`): as whole numbers they have
no order. A part depends on the number of atoms alone. Systems do the same at the same time, each with threads
and sums of its own.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import DEVICE_LOOPS, WARPS, in_double, ti
from taichimd.core.warps import shuffle
from taichimd.enumerate.all_triples import later
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.triple_tiles import Placed
from taichimd.neighbours.control import GOING_ON
from taichimd.neighbours.rows import WARP, NearRows, VerletRows, row_layout
from taichimd.sampling.local_energy import change_function, pair_change
from taichimd.sampling.local_terms import NOBODY, THE_BATCH, Local
from taichimd.sampling.move_batch import MOVES, PAIRS, STATES, SUMS, MoveBatch
from taichimd.sampling.move_batch_kernels import move_batch_functions
from taichimd.sampling.proposals import trial_move
from taichimd.sampling.tally import ACCEPTED, ROUGH, Tally, tally_functions
from taichimd.sampling.trials import SINGLE_MOVES, SWEEP
from taichimd.system.state import Atoms

BLOCK = 128
"""Threads of a block of the long loop."""


class Order(Bundle):
    """Atoms with trial moves by the user's numbers, then the others; system by system."""

    number_at: Any = ArrayField("i32", "n", "the user's number of the atom at a place")
    place_of: Any = ArrayField("i32", "n", "place of each user's number")
    sorted_of: Any = ArrayField("i32", "n", "place of each user's number in memory")


class Share(Bundle):
    """What a call does, and how threads share it."""

    batch: Any = ArrayField("i32", "1", "number of the batch that is decided; -1 comes before the first one")
    batches: Any = Number("i32", "how many")
    systems: Any = Number("i32", "how many")
    wide: Any = Number("i32", "threads of a system in the short loop, whole warps")
    all_wide: Any = Number(
        "i32", "threads of all systems: a loop that ends at a product costs a GPU a kernel more"
    )
    large: Any = Number("i32", "threads of a system in the long loop, whole warps")
    all_large: Any = Number("i32", "likewise, and those that decide, which come first")
    near: Any = Number("i32", "threads of a system, whole warps, of pairs within a cutoff")
    begins: Any = ArrayField(
        "i32", "systems + 1", "first place of each system; after the last one, all atoms"
    )
    free: Any = ArrayField("i32", "systems", "atoms with trial moves")
    pairs: Any = ArrayField("i32", "systems", "threads, whole warps, of each pair of a batch")
    decided: Any = ArrayField("i32", "systems", "threads, whole warps, of each atom of the batch before")
    bulk: Any = ArrayField("i32", "systems", "threads, whole warps, of triples with one moving atom")


class _Given(View):
    """What sums read."""


@cache
def sequence_kernels(
    terms: tuple[Local, ...], n_kinds: int, real: Any, term: Any, backend: str
) -> tuple[Any, Any]:
    """Kernels that put atoms in order, and that move some, one after the other."""
    types, layout, number = types_of(real, term), row_layout(backend), len(terms)
    many = WARP if backend == "cuda" and WARPS else 1
    tallies = tally_functions(backend == "cuda" and WARPS)
    changes, pair_changes, wholes = [], [], []
    for one in terms:
        given = one, n_kinds, real, term, layout
        others = THE_BATCH if one.pair else NOBODY
        changes.append(None if one.everywhere else change_function(*given, others))
        pair_changes.append(pair_change(one, n_kinds, term) if one.pair else None)
        wholes.append(move_batch_functions(one.triple, n_kinds) if one.everywhere else None)
    everywhere = [k for k in range(number) if terms[k].everywhere]
    paired = [k for k in range(number) if terms[k].pair]
    within = [k for k in range(number) if k not in everywhere + paired]
    store = wholes[everywhere[0]].store
    rows = tuple(None if one.everywhere else NearRows.only("width", "count", "entries") for one in terms)
    tables = tuple(
        ArrayField("term" if one.pair else "f64", "numbers", "parameters of a term") for one in terms
    )

    @kernel(
        types, atoms=Atoms.only("n", "pos", "kind", "ident"), order=Order.only("place_of"), placed=Placed,
        tally=Tally.only("counts", "gain"), share=Share.only("systems", "batch")
    )  # fmt: skip
    def begin(atoms, order, placed, tally, share):
        for i in range(atoms.n):
            place = order.place_of[atoms.ident[i]]
            placed.pos[place] = ti.cast(atoms.pos[i], ti.f64)
            placed.kind[place] = atoms.kind[i]
        for system in range(share.systems):
            if system == 0:
                # Each call begins with the next one.
                share.batch[0] = -2
            tally.counts[2 * system + ACCEPTED] = 0
            tally.counts[2 * system + ROUGH] = 0
            tally.gain[system] = 0.0

    @ti.func
    def batch_of(system, a: ti.template(), share: ti.template()):
        """The batch of a system that is decided (a = 0), or the next one (1). It may be empty."""
        begin, end, number = share.begins[system], share.begins[system + 1], share.batch[0] + a
        first, kept = begin + number * MOVES, 2 * system + number % 2
        last = ti.select(number < 0, first, ti.min(first + MOVES, begin + share.free[system]))
        return MoveBatch(system=system, begin=begin, end=end, first=first, last=last, kept=kept)

    @ti.func
    def memory_of(place, g: ti.template()):
        """Where the atom at a place is in memory."""
        return g.order.sorted_of[g.order.number_at[place]]

    @ti.func
    def trial(place, batch, g: ti.template(), trials: ti.template()):
        """Return, for the atom at a place, where it is, where it is to go, and the number that decides."""
        atom, system = g.order.number_at[place], batch.system
        x = ti.cast(g.placed.pos[place], real)
        y, chance = trial_move(x, trials.most[system], trials.seeds[system], atom - batch.begin, g.sweep)
        return x, y, chance

    @ti.func
    def end_of(m, batch, g: ti.template()):
        """Where an atom of the batch is before its move (m even), or after it."""
        at = 6 * MOVES * batch.kept + 3 * m
        return ti.Vector([ti.cast(g.tally.ends[at + v], real) for v in ti.static(range(3))])

    @ti.func
    def keep(thread, batch, g: ti.template(), trials: ti.template()):
        """What one atom gives to triples with a moving one."""
        j, m = batch.begin + thread // (2 * MOVES), thread % (2 * MOVES)
        if j < batch.end:
            x, y, _ = trial(ti.min(batch.first + m // 2, batch.last - 1), batch, g, trials)
            store(j, m, ti.select(m % 2 == 1, y, x), batch, g.tally, g.placed)

    @in_double
    def two_moves(thread, deep, batch, g: ti.template()):
        """Triples with a third atom, of two of a batch; `deep` threads have a pair."""
        pair, first, t = thread // deep, batch.first, 1
        while t * (t + 1) // 2 <= pair:
            t += 1
        s = pair - t * (t - 1) // 2
        sums = empty_sums(STATES)
        if first + t < batch.last:
            x, y = end_of(2 * s, batch, g), end_of(2 * s + 1, batch, g)
            u, v = end_of(2 * t, batch, g), end_of(2 * t + 1, batch, g)
            ends = ti.Matrix.rows([ti.cast(end, ti.f64) for end in ti.static((x, y, u, v))])
            for k in ti.static(everywhere):
                wholes[k].between(sums, first + s, first + t, thread % deep, deep, ends, batch, g, k)
        for k in ti.static(range(STATES)):
            entry = SUMS * batch.kept + MOVES + STATES * pair + k
            tallies.leave(sums[k], sums[STATES + k], thread, entry, g.tally)

    @ti.func
    def near_pairs(thread, batch, g: ti.template()):
        """Pairs within a cutoff, with atoms that are not in the batch."""
        s, sums = thread // WARP, empty_sums(1)
        if batch.first + s < batch.last:
            i, x, y = memory_of(batch.first + s, g), end_of(2 * s, batch, g), end_of(2 * s + 1, batch, g)
            for k in ti.static(paired):
                changes[k](sums, i, thread % WARP, WARP, x, y, batch, g, k)
        tallies.leave(sums[0], sums[1], thread, SUMS * batch.kept + s, g.tally)

    @ti.func
    def leave_all(run, thread, batch, g: ti.template()):
        """Add what a thread has found of each move alone."""
        for s in ti.static(range(MOVES)):
            sums = empty_sums(1)
            with_term(sums, 1, 0, run[s])
            tallies.leave(sums[0], sums[1], thread, SUMS * batch.kept + s, g.tally)

    @ti.func
    def one_move(thread, batch, g: ti.template()):
        """Triples with two atoms that are neither in the batch nor in the one before."""
        for k in ti.static(everywhere):
            leave_all(wholes[k].bulk(thread, g.share.bulk[batch.system], batch, g, k), thread, batch, g)

    @ti.func
    def with_decided(thread, deep, batch, g: ti.template()):
        """Triples with one or two atoms of the batch before."""
        for k in ti.static(everywhere):
            leave_all(wholes[k].decided(thread, deep, batch, g, k), thread, batch, g)

    @ti.func
    def batch_changes(sums: ti.template(), lane, s, x, y, batch, g: ti.template()):
        """What a lane has of the change by move s with other atoms of the batch as they are by now."""
        first, others = batch.first, batch.last - batch.first - 1
        p = lane
        while p < others * (others + 1) // 2:
            # Each atom for itself, then pairs on a ring.
            t, r = p % others, later(p % others, p // others, others)
            j, k = first + ti.select(t >= s, t + 1, t), first + ti.select(r >= s, r + 1, r)
            if t != r:
                for m in ti.static(everywhere):
                    with_term(sums, 1, 0, wholes[m].inside(first + s, j, k, x, y, g, m))
            else:
                d = ti.cast(g.placed.pos[j], real) - x
                a, b = g.placed.kind[first + s], g.placed.kind[j]
                for m in ti.static(paired):
                    pair_changes[m](sums, d, d - (y - x), a, b, g.tables[m])
            p += many

    @ti.func
    def chance_of(place, batch, g: ti.template(), trials: ti.template()):
        """Return, for the atom at a place, its place in memory, and the log of the number that decides."""
        _, _, chance = trial(place, batch, g, trials)
        return memory_of(place, g), tallies.log_of(chance)

    @ti.func
    def decide(lane, batch, following, g: ti.template(), trials: ti.template()):
        """All moves of a batch, one after the other; keeps what its atoms give to the next batch."""
        system, first, size, moved = batch.system, batch.first, batch.last - batch.first, 0
        own, own_chance = 0, ti.cast(0.0, ti.f64)
        if ti.static(many > 1):
            # Lanes find what belongs to each move side by side.
            if lane < size:
                own, own_chance = chance_of(first + lane, batch, g, trials)
        for s in range(size):
            i, log_chance, sums = own, own_chance, empty_sums(1)
            if ti.static(many > 1):
                i, log_chance = shuffle(own, s), shuffle(own_chance, s)
            else:
                i, log_chance = chance_of(first + s, batch, g, trials)
            x, y = end_of(2 * s, batch, g), end_of(2 * s + 1, batch, g)
            batch_changes(sums, lane, s, x, y, batch, g)
            for k in ti.static(within):
                changes[k](sums, i, lane, many, x, y, batch, g, k)
            change, up, down = tallies.found(sums[0], sums[1], lane, s, moved, batch.kept, g.tally)
            if tallies.accepts(log_chance, change, up, down, trials.beta[system]) == 1:
                # All threads write the same: each finds it in the next move.
                moved |= 1 << s
                g.atoms.pos[i] = y
                g.placed.pos[first + s] = ti.cast(y, ti.f64)
                if lane == 0:
                    g.tally.counts[2 * system + ACCEPTED] += 1
                    if down > 0:
                        g.tally.counts[2 * system + ROUGH] = 1
                    else:
                        g.tally.gain[system] += change
        if following.first < following.last:
            p = lane
            while p < 2 * MOVES * size:
                m = p % (2 * MOVES)
                store(first + p // (2 * MOVES), m, end_of(m, following, g), following, g.tally, g.placed)
                p += many

    @ti.func
    def short(thread, batch, following, g: ti.template(), trials: ti.template()):
        """What a batch lacks, and what the following one needs."""
        of_pair, of_decided = g.share.pairs[batch.system], g.share.decided[batch.system]
        lacks, decided = batch.first < batch.last, thread - PAIRS * of_pair
        near = decided - MOVES * of_decided
        if near >= g.share.near:
            if following.first < following.last:
                keep(near - g.share.near, following, g, trials)
        elif lacks and decided < 0:
            two_moves(thread, of_pair, batch, g)
        elif lacks and near < 0:
            with_decided(decided, of_decided, batch, g)
        elif lacks:
            near_pairs(near, batch, g)
        tallies.forget(thread, g.share.wide, following.kept, g.tally)

    @ti.func
    def decide_one(g: ti.template(), share: ti.template(), trials: ti.template(), going: ti.template()):
        """Decide a batch. All that this begins with stands at the top: a GPU has one kernel for it."""
        wide, large = share.all_wide, share.all_large
        share.batch[0] += 1
        if ti.static(bool(going)):
            going[None] = ti.cast(share.batch[0] + 1 < share.batches, ti.i32)
        for thread in range(wide):
            system = thread // share.wide
            batch, following = batch_of(system, 0, share), batch_of(system, 1, share)
            short(thread % share.wide, batch, following, g, trials)
        ti.loop_config(block_dim=BLOCK)
        for thread in range(large):
            of_rest = thread - share.systems * many
            if of_rest < 0:
                system = thread // many
                decide(thread % many, batch_of(system, 0, share), batch_of(system, 1, share), g, trials)
            else:
                following, own = batch_of(of_rest // share.large, 1, share), of_rest % share.large
                if following.first < following.last and own < share.bulk[following.system]:
                    one_move(own, following, g)

    @kernel(
        types, graph=True, atoms=Atoms.only("n", "pos", "ident", "kind"), order=Order,
        verlet=VerletRows.only("shift_bits", "shifts"), rows=rows, tables=tables, placed=Placed, tally=Tally,
        share=Share, trials=SINGLE_MOVES, sweep=SWEEP, going=GOING_ON
    )  # fmt: skip
    def move(atoms, order, verlet, rows, tables, placed, tally, share, trials, sweep, going):
        g = _Given(
            atoms=atoms, order=order, verlet=verlet, rows=rows, tables=tables, placed=placed, tally=tally,
            share=share, sweep=sweep,
        )  # fmt: skip
        if ti.static(DEVICE_LOOPS):
            while ti.graph.do_while(going):
                decide_one(g, share, trials, going)
        else:
            decide_one(g, share, trials, None)

    return begin, move
