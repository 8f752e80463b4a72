"""Rows of lists written in whole chunks by the threads of a warp, each of which fills a row of its own.

Entries that threads write one by one go to memory one by one, each as a request of its own, and a GPU takes
so many requests at a time: a search was kept waiting by that more than by all it computes. So a thread puts
what it finds into a ring in shared memory; where it has a chunk together, as many threads as it has entries
write it at once, for four rows at a time.
"""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import ti
from taichimd.core.warps import shuffle, sync
from taichimd.neighbours.masks import lowest, without_lowest
from taichimd.neighbours.pages import write
from taichimd.neighbours.rows import CHUNK, WARP, those

RING = 16
"""Entries that a thread may have found and not written yet."""
BLOCK = 128
"""Threads of a block."""


class Outbox(Bundle):
    """What the threads of a block have found, as one argument of device functions."""

    ring: Any = ArrayField("i32", "RING BLOCK", "in shared memory, an entry of all threads after the other")
    thread: Any = Number("i32", "number of this thread")
    row: Any = Number("i32", "the row that it fills")


@ti.func
def place_in_ring(thread, s):
    """Where entry s of a thread's row is kept."""
    return (s & (RING - 1)) * BLOCK + thread % BLOCK


@ti.func
def put(box: ti.template(), s, entry):
    """Keep entry s of this thread's row; there must be room."""
    box.ring[place_in_ring(box.thread, s)] = entry


@ti.func
def send(box: ti.template(), found, written, least, n, width, entries: ti.template(), layout: ti.template()):
    """Write chunks of at least so many found entries; how many are written. All 32 of a warp call it."""
    lane = box.thread % WARP
    done = written
    sync()
    # What is left to another search sends nothing.
    full = those(found - done >= least)
    while full != 0:
        mine, rest = full, full
        for group in ti.static(range(WARP // CHUNK)):
            if lane // CHUNK > group:
                mine = without_lowest(mine)
            rest = without_lowest(rest)
        owner = ti.min(lowest(mine), WARP - 1)
        s = shuffle(done, owner) + lane % CHUNK
        end = ti.min(shuffle(found, owner), width)
        row = shuffle(box.row, owner)
        if mine != 0 and s < end:
            write(entries, row, s, n, width, layout, box.ring[place_in_ring(box.thread - lane + owner, s)])
        if ((full & ~rest) >> lane) & 1 == 1:
            done = ti.min(done + CHUNK, found)
        full = those(found - done >= least)
    sync()
    return done
