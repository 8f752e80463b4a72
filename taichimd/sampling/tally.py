"""What threads tell each other about the moves of a batch: sums as whole numbers, and what is decided."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle
from taichimd.core.math import log
from taichimd.core.runtime import in_double, ti
from taichimd.core.warps import sum_of
from taichimd.enumerate.reproducible_sum import BITS, COARSE, FINE, RANGE
from taichimd.enumerate.row_sums import from_first
from taichimd.neighbours.rows import WARP
from taichimd.sampling.move_batch import MOVES, SUMS
from taichimd.sampling.move_batch_kernels import entry_of

SLOTS = 32
"""Places where threads add up each sum, so that not all wait for one."""
UP, DOWN = range(2)
"""Whether a sum is above or below all range."""
ACCEPTED, ROUGH = range(2)
"""Accepted moves; whether the change of the energy by one of them was below all range."""


class Tally(Bundle):
    """What threads tell each other, system by system; of each system two batches have sums and positions."""

    high: Any = ArrayField("i64", "2 SUMS SLOTS systems", "first parts of sums, in 2^-36 eV")
    low: Any = ArrayField("i64", "2 SUMS SLOTS systems", "second parts, in 2^-72 eV")
    marks: Any = ArrayField("i32", "4 SUMS systems", "UP and DOWN of each sum")
    counts: Any = ArrayField("i32", "2 systems", "ACCEPTED and ROUGH")
    gain: Any = ArrayField("f64", "systems", "change of the energy by accepted moves, eV")
    ends: Any = ArrayField(
        "f64", "12 MOVES systems", "positions of a batch, before and after each move, angstrom"
    )
    sides: Any = ArrayField("f64", "2 WIDTH n", "see `move_batch.WIDTH`; of each atom for two batches")


@dataclass(frozen=True)
class TallyFunctions:
    """Device functions of a tally."""

    leave: Callable[..., Any]  # adds what a thread has found to a sum
    found: Callable[..., Any]  # the change of the energy by a move, from all its sums
    log_of: Callable[..., Any]  # logarithm of the number that decides on a move
    accepts: Callable[..., Any]  # whether a move is accepted
    forget: Callable[..., Any]  # makes the sums of a batch empty


@cache
def tally_functions(warps: bool) -> TallyFunctions:
    """Device functions of a tally; `warps`: the threads of a warp work together, else one decides."""
    many = WARP if warps else 1

    @in_double
    def within_range(high, low):
        """Both parts of a sum, 0 where it is out of range, and whether it is above or below."""
        coarse, fine, up, down = high - COARSE, low - FINE, 0, 0
        if not coarse < RANGE:
            up = 1
        elif coarse <= -RANGE:
            down = 1
        if up + down > 0:
            coarse, fine = ti.cast(0.0, ti.f64), ti.cast(0.0, ti.f64)
        return coarse, fine, up, down

    @ti.func
    def _entry(s, t, moved, kept):
        """The part of move s with atom t, or of s alone where they are the same."""
        return SUMS * kept + ti.select(t == s, s, entry_of(s, t, (moved >> t) & 1))

    @in_double
    def leave(high, low, thread, entry, tally: ti.template()):
        """Add what a thread has found to a sum; those of batch `kept` begin at kept SUMS."""
        coarse, fine, up, down = within_range(high, low)
        if up == 1:
            tally.marks[2 * entry + UP] = 1
        if down == 1:
            tally.marks[2 * entry + DOWN] = 1
        if ti.static(warps):
            coarse = sum_of(coarse, 5)
            fine = sum_of(fine, 5)
        if ti.static(not warps) or thread % WARP == 0:
            slot = entry * SLOTS + thread // WARP % SLOTS
            ti.atomic_add(tally.high[slot], ti.cast(coarse * 2.0**BITS, ti.i64))
            ti.atomic_add(tally.low[slot], ti.cast(fine * 2.0 ** (2 * BITS), ti.i64))

    @in_double
    def found(high, low, lane, s, moved, kept, tally: ti.template()):
        """The change by move s, and how often a sum is above and below, in the first lane."""
        coarse, fine, up, down = within_range(high, low)
        above, below = ti.cast(coarse * 2.0**BITS, ti.i64), ti.cast(fine * 2.0 ** (2 * BITS), ti.i64)
        # Without a branch, all sums are asked for at once; those of atoms that the batch has not are 0.
        for t in ti.static(range(MOVES)):
            entry = _entry(s, t, moved, kept)
            for slot in ti.static(range(0, SLOTS, many)):
                above += tally.high[entry * SLOTS + slot + lane]
                below += tally.low[entry * SLOTS + slot + lane]
        for t in ti.static(range(0, MOVES, many)):
            mine = ti.min(t + lane, MOVES - 1)
            entry, counted = _entry(s, mine, moved, kept), ti.select(t + lane < MOVES, 1, 0)
            up += counted * tally.marks[2 * entry + UP]
            down += counted * tally.marks[2 * entry + DOWN]
        if ti.static(warps):
            above = sum_of(above, 5)
            below = sum_of(below, 5)
            up = sum_of(up, 5)
            down = sum_of(down, 5)
        return ti.cast(above, ti.f64) * 2.0**-BITS + ti.cast(below, ti.f64) * 2.0 ** (-2 * BITS), up, down

    @in_double
    def log_of(chance):
        return log(ti.cast(chance, ti.f64))

    @in_double
    def accepts(log_chance, change, up, down, beta):
        """Whether a move is accepted: 1 or 0; log_chance: logarithm of a random number between 0 and 1."""
        answer = 0
        if up == 0 and (down > 0 or log_chance < -beta * change):
            answer = 1
        if ti.static(warps):
            answer = from_first(answer)
        return answer

    @ti.func
    def forget(thread, threads, kept, tally: ti.template()):
        """What one of so many threads has to do to make all sums of a batch empty."""
        first, k = SUMS * kept, thread
        while k < SUMS * SLOTS:
            tally.high[first * SLOTS + k] = 0
            tally.low[first * SLOTS + k] = 0
            if k < 2 * SUMS:
                tally.marks[2 * first + k] = 0
            k += threads

    return TallyFunctions(leave, found, log_of, accepts, forget)
