"""A batch of trial moves of single atoms, one after the other, of an energy of all triples.

Which of the moves before were accepted does not matter to most of what a move changes: the triples of the
moving atom with two atoms that are not in the batch. So these triples are summed for all moves of a batch
at once, and each pair of other atoms is visited once for the whole batch. The atoms of a system stand in
places, those with trial moves first. Moves are decided from left to right:

      begin                first - MOVES      first            last                     end
        |  o  o  o  o  o  o  |  b  b  b  b  b  |  s  t  .  .  .  |  o  o  o  o  o  o  o  |
           decided            batch before      this batch          not moved yet, fixed

A triple has an atom s of this batch and a pair of other atoms. Who sums it, and when:

    pair     sums      when
    o, o     bulk      while the batch before is decided: the long loop (`sequence_kernels`)
    o, b     decided   when the batch before is decided: the short loop
    b, b     decided   likewise
    o, t     between   likewise, one sum for each state that s and t may be in
    b, t     between   likewise
    t, t'    inside    when s is decided: by the warp that decides

So a batch has `SUMS` sums. Sum s < `MOVES` is that of move s with atoms that are not in the batch. Each pair
s < t of its atoms has three more, because the warp that decides knows which of the two has moved:

    LOWER           s moves, t has not moved
    HIGHER          t moves, s has not moved
    HIGHER_AFTER    t moves, s has moved
"""

from typing import Any

from taichimd.core.arguments import View, device_helper
from taichimd.neighbours.rows import WARP

MOVES = 8
"""Moves of a batch."""
PAIRS = MOVES * (MOVES - 1) // 2
"""Pairs of its atoms."""
LOWER, HIGHER, HIGHER_AFTER = range(3)
"""The sums of a pair of atoms of the batch."""
STATES = 3
"""How many these are."""
SUMS = MOVES + STATES * PAIRS
"""Sums of a batch."""
WIDTH = 4 * MOVES + 3
"""Numbers that are kept of each atom: of each moving atom r^2 from it and what that gives, before and after
its move; x, y, z."""
EACH = 2
"""Atoms j of a thread."""
TILE = WARP * EACH
"""Atoms j of a warp."""
FULL = 33_760
"""Threads that a large GPU has at a time, with many registers, less a warp that decides."""
SHORTEST = 16
"""Third atoms that a thread meets, at least."""
DEEP = 8
"""Third atoms that a thread meets where two atoms move."""
DEEP_DECIDED = 2
"""Third atoms that a thread meets with one of the batch before; each of them with all moves."""


class MoveBatch(View):
    """The batch that a thread works for, as device functions take it: whole numbers on the device.

    Attributes:
        system: its number. begin, end: places of its first atom, and after its last one.
        first, last: places of the first atom of the batch, and after its last one; equal in an empty batch.
        kept: where the tally keeps it: each system has room for two batches.
    """


@device_helper
def ring(n: Any) -> tuple[Any, Any]:
    """Tiles of the ring of n atoms, an odd number, and third atoms that each meets; for kernels, too."""
    tiles = (n + TILE - 1) // TILE // 2 * 2 + 1
    return tiles, TILE * ((tiles + 1) // 2)


def sharing(n: int) -> int:
    """Threads, in whole warps, that share the pairs of n atoms."""
    tiles, met = ring(n)
    return WARP * max(1, min(FULL // WARP, tiles * met // SHORTEST))


def depth(n: int, deep: int) -> int:
    """Threads, in whole warps, that meet n third atoms, so many each."""
    return -(-n // (deep * WARP)) * WARP
