"""Four threads share an atom in sums of moments, on a GPU: a crystal with four bonds takes one turn.

The threads look for live entries side by side. Then each of them computes one neighbour, and all add what the
four have found, in the order of the row: the bits are those of one thread (`moments`). Of the moments, thread
x of the first three has row x of M and component x of m, and the last one has W. A thread that has no
neighbour adds zero, which changes no sum that begins with zero.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.core.warps import shuffle
from taichimd.enumerate.live import BITS, following
from taichimd.enumerate.terms import MOMENTS
from taichimd.neighbours.entries import neighbour, vector_to
from taichimd.neighbours.rows import SLOT_MAJOR, WARP, is_left, slot, those

LANES = 4
"""Threads that share an atom."""
AHEAD = 4
"""Entries whose distances a thread computes at a time: their latencies pass together."""


@dataclass(frozen=True)
class MomentParts:
    """Device functions of `moments` that both ways of sharing the work take."""

    look: Any  # `Access`
    read: DeviceFunction  # the moments of an atom
    reach2: DeviceFunction  # square of the longest distance of two kinds
    weigh: DeviceFunction  # weight and slope of a neighbour
    contribution: DeviceFunction  # of an entry to the force on its atom
    types: tuple[Any, Any, Any]  # of a vector, of numbers computed from distances, and of atoms


@dataclass(frozen=True)
class SharedMoments:
    """Device functions of an atom that `LANES` threads share. All threads of a warp must call them."""

    partials: DeviceFunction  # stores moments and which entries are live
    gather: DeviceFunction  # then, the force, in each of the threads


def shared_moments(parts: MomentParts, kinds: int) -> SharedMoments:
    """The functions for so many species."""
    look, read, reach2, weigh, contribution = (
        parts.look,
        parts.read,
        parts.reach2,
        parts.weigh,
        parts.contribution,
    )
    vec, term, real = parts.types
    # Of each kind: three components of a row of M, then one of m, or W.
    each = 4

    @ti.func
    def entry_at(i, s, m, n, width, rows: ti.template()):
        """Entry s of atom i; what is not there reads as the first atom."""
        entry = rows.entries[slot(i, ti.max(ti.min(s, m - 1), 0), n, width, SLOT_MAJOR)]
        return ti.select(s < m, entry, 0)

    @ti.func
    def next_live(lane, mask, s, m):
        """Slots of the neighbours of four threads, of which the first has s, and the next; m: none."""
        mine, then = s, s
        for k in ti.static(range(LANES)):
            mine = ti.select(lane == k, then, mine)
            then = following(mask, then + 1, m)
        return mine, then

    @ti.func
    def live_entries(i, lane, first, m, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """Mask of the live entries of atom i, found by four threads."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        mask, base = 0, 0
        while is_left(base < ti.min(m, BITS), True):
            near = [
                is_near(i, base + LANES * k + lane, m, x, a, shared, n, width, shift_bits, rows, kept)
                for k in ti.static(range(AHEAD))
            ]
            for k in ti.static(range(AHEAD)):
                votes = (those(near[k]) >> first) & (2**LANES - 1)
                if base + LANES * k < BITS:
                    mask |= votes << (base + LANES * k)
            base += LANES * AHEAD
        return mask

    @ti.func
    def is_near(
        i, s, m, x, a, shared, n, width, shift_bits, rows: ti.template(), kept: ti.template()
    ):  # fmt: skip
        """Whether there is an entry s, and its atom is within reach."""
        entry = entry_at(i, s, m, n, width, rows)
        d = ti.cast(vector_to(entry, shift_bits, x, rows.pos, rows.shifts), term)
        b = look.kind_of(rows.kind, neighbour(entry, shift_bits))
        return s < m and d.dot(d) < reach2(kept.pair_table, kept.body_table, shared, a, b)

    @computed_in(term)
    def partials(thread, does, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """What `moments.partials` does without energies."""
        i, lane, first = ti.min(thread // LANES, n - 1), thread % LANES, thread % WARP // LANES * LANES
        m = ti.select(does, rows.count[i], 0)
        mask = live_entries(i, lane, first, m, n, width, shift_bits, rows, kept)
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        sums = ti.Vector.zero(term, ti.static(each * kinds))
        s = following(mask, 0, m)
        while is_left(s < m, True):
            mine, then = next_live(lane, mask, s, m)
            entry = entry_at(i, mine, m, n, width, rows)
            d = ti.cast(vector_to(entry, shift_bits, x, rows.pos, rows.shifts), term)
            b = look.kind_of(rows.kind, neighbour(entry, shift_bits))
            w, e = ti.cast(0.0, term), vec(0.0)
            if mine < m:
                r = ti.sqrt(d.dot(d))
                w, _dw, _p = weigh(r, a, b, kept.body_table, shared)
                e = (1.0 / r) * d
            for k in ti.static(range(LANES)):
                w_k, b_k = shuffle(w, first + k), b
                e_k = ti.Vector([shuffle(e[c], first + k) for c in ti.static(range(3))])
                if ti.static(kinds > 1):
                    b_k = shuffle(b, first + k)
                along = ti.select(lane == 0, e_k[0], ti.select(lane == 1, e_k[1], e_k[2]))
                factor = ti.select(lane == 3, w_k, w_k * along)
                for c in ti.static(range(kinds)):
                    if b_k == c:
                        for y in ti.static(range(3)):
                            sums[each * c + y] += factor * e_k[y]
                        sums[each * c + 3] += factor
            s = then
        if does:
            if lane == 0:
                kept.live[i] = mask
            row = ti.select(lane == 0, 0, lane + 1)
            for c in ti.static(range(kinds)):
                at = MOMENTS * (kinds * i + c)
                for y in ti.static(range(3)):
                    if lane <= y:
                        kept.moments[at + row + y] = sums[each * c + y]
                kept.moments[at + 6 + lane] = sums[each * c + 3]

    @computed_in(term)
    def gather(thread, does, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """The force of `moments.gather`."""
        i, lane, first = ti.min(thread // LANES, n - 1), thread % LANES, thread % WARP // LANES * LANES
        m = ti.select(does, rows.count[i], 0)
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        own = read(i, kept.moments)
        force = ti.Vector.zero(real, 3)
        mask = kept.live[i]
        s = following(mask, 0, m)
        while is_left(s < m, True):
            mine, then = next_live(lane, mask, s, m)
            part = ti.Vector.zero(real, 3)
            entry = entry_at(i, mine, m, n, width, rows)
            if mine < m:
                d = ti.cast(vector_to(entry, shift_bits, x, rows.pos, rows.shifts), term)
                part, _theirs = contribution(neighbour(entry, shift_bits), d, own, a, shared, rows, kept)
            for k in ti.static(range(LANES)):
                for c in ti.static(range(3)):
                    force[c] += shuffle(part[c], first + k)
            s = then
        return force

    return SharedMoments(partials, gather)
