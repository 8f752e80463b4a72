"""Sums over a row in eight lanes: the order of additions that one thread and eight threads share.

Lane k adds up entries k, k + 8, k + 16, ... of a row. Then the lanes are added, the first one first. On a CPU, and wherever a
thread has a row for itself, it does one lane after the other. On a GPU, where rows lie in chunks, each of eight threads side by
side has a lane. Both have the same bits.
"""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.neighbours import rows
from taichimd.neighbours.rows import CHUNKED, WARP

LANES = 8


def threads_of_row(layout: int) -> int:
    """Threads that share a row: as many as lanes, or one."""
    return LANES if layout == CHUNKED and rows.CHUNK == LANES else 1


@ti.func
def whole_chunks(count):
    """Chunks of `LANES` entries that hold so many."""
    return (count + LANES - 1) // LANES


@ti.func
def across(part, thread, many: ti.template()):
    """Sum of what `many` threads side by side have, in their order. All 32 threads of a warp must call it."""
    total = part
    if ti.static(many > 1):
        first = ti.cast(thread % WARP // many * many, ti.u32)
        for c in ti.static(range(part.n)):
            total[c] = ti.simt.subgroup.shuffle(part[c], first)
            for k in ti.static(range(1, many)):
                total[c] += ti.simt.subgroup.shuffle(part[c], first + ti.cast(k, ti.u32))
    return total


def types_with_pairs(types: dict[str, Any], stored: Any) -> dict[str, Any]:
    """The types of kernels, with those of the two solutions side by side ("both") and of a stored matrix."""
    return types | {
        "both": ti.types.vector(2, ti.f64),
        "six": ti.types.vector(6, ti.f64),
        "stored": stored,
    }
