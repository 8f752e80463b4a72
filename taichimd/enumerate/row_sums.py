"""Sums over a row whose bits depend neither on the order of its entries nor on the threads that share it.

They are those of `reproducible_sum`. On a GPU, where rows lie in chunks, each of eight threads
side by side has every eighth entry; elsewhere a thread has a row for itself.
"""

from taichimd.core.runtime import ti
from taichimd.core.warps import shuffle, sum_of
from taichimd.enumerate.reproducible_sum import empty_sums, total_of
from taichimd.neighbours import rows
from taichimd.neighbours.rows import CHUNKED

LANES = 8


def threads_of_row(layout: int) -> int:
    """Threads that share a row: `LANES`, or one."""
    return LANES if layout == CHUNKED and rows.CHUNK == LANES else 1


@ti.func
def whole_chunks(count):
    """Chunks of `LANES` entries that hold so many."""
    return (count + LANES - 1) // LANES


@ti.func
def together(sums, terms: ti.template(), log2: ti.template()):
    """Sums of 2^log2 neighbouring threads, in the first one; all 32 threads of a warp must call it."""
    empty = empty_sums(terms)
    total = empty
    for k in ti.static(range(2 * terms)):
        total[k] += sum_of(sums[k] - empty[k], log2)
    return total


@ti.func
def across(sums, terms: ti.template(), many: ti.template()):
    """Sum over `many` neighbouring threads, in the first of them. All 32 threads of a warp must call it."""
    total = sums
    if ti.static(many > 1):
        total = together(sums, terms, ti.static(many.bit_length() - 1))
    return ti.Vector([total_of(total[k], total[terms + k]) for k in ti.static(range(terms))])


@ti.func
def from_first(value):
    """The value of the first of 32 threads of a warp, for all: only the first has the sum of `across`."""
    return shuffle(value, 0)
