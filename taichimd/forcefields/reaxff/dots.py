"""Sums over all atoms in one order: that of the user's numbers, in pieces and lanes whose number is fixed.

There are `PIECES` pieces of consecutive atoms. Lane k of a piece adds up its atoms k, k + 32, k + 64, ...;
then the lanes are added, then the pieces, the first one first. On a CPU a thread does a piece, on a GPU a
warp does, with a thread for each lane. Both have the same bits.
"""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.core.warps import shuffle
from taichimd.neighbours.rows import WARP

PIECES = 64
LANES = 32
SUMS = 6
"""At a time."""


@ti.func
def piece_size(n):
    """Atoms of a piece."""
    return (n + PIECES * LANES - 1) // (PIECES * LANES) * LANES


@ti.func
def in_turn(part, thread, many: ti.template()):
    """Sum of what `many` threads side by side have, in their order. All 32 threads of a warp must call it."""
    total = part
    if ti.static(many > 1):
        first = thread % WARP // many * many
        for c in ti.static(range(part.n)):
            total[c] = shuffle(part[c], first)
            for k in ti.static(range(1, many)):
                total[c] += shuffle(part[c], first + k)
    return total


def piece_sums(value: Any, shared: bool, when: int) -> Any:
    """A device function that leaves the sums of pieces in `progress.partial`; it holds its own loop.

    Args:
        value: (i, g) -> six numbers of the atom at a place in memory.
        shared: whether a warp does a piece.
        when: status at which it does something.
    """
    many = LANES if shared else 1

    @ti.func
    def of_lane(first, last, g: ti.template()):
        total = ti.Vector.zero(ti.f64, SUMS)
        for step in range((last - first + LANES - 1) // LANES):
            total += value(g.atoms.sorted_of[first + step * LANES], g)
        return total

    @ti.func
    def run(g: ti.template()):
        for thread in range(ti.static(PIECES * many)):
            piece, n = thread // many, g.atoms.n
            first = piece * piece_size(n)
            last = ti.min(first + piece_size(n), n)
            if g.progress.flags[0] != when:
                last = first
            total = ti.Vector.zero(ti.f64, SUMS)
            if ti.static(shared):
                total = in_turn(of_lane(first + thread % many, last, g), thread, many)
            else:
                for lane in range(LANES):
                    total += of_lane(first + lane, last, g)
            if g.progress.flags[0] == when and thread % many == 0:
                g.progress.partial[piece] = total

    return run


@ti.func
def total_of(partial: ti.template()):
    """The six sums over all atoms."""
    total = ti.Vector.zero(ti.f64, SUMS)
    for group in range(ti.static(PIECES // 4)):
        read = [partial[4 * group + k] for k in ti.static(range(4))]
        for k in ti.static(range(4)):
            total += read[k]
    return total
