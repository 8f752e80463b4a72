"""Sums over a row whose bits depend neither on the order of its entries nor on the threads that share it.

They are those of `enumerate.reproducible_sum`, of any number of terms. On a GPU, where rows lie in chunks, each of eight threads
side by side has every eighth entry; elsewhere a thread has a row for itself.
"""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.reproducible_sum import COARSE, FINE, added, total_of
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
def empty(terms: ti.template()):
    """As many sums: first parts, then second ones."""
    return ti.Vector([ti.cast(start, ti.f64) for start in ti.static((COARSE,) * terms + (FINE,) * terms)])


@ti.func
def with_term(sums: ti.template(), terms: ti.template(), k: ti.template(), x):
    """Add x to sum k of so many."""
    coarse, fine = added(sums[k], sums[terms + k], x)
    sums[k] = coarse
    sums[terms + k] = fine


@ti.func
def across(sums, terms: ti.template(), many: ti.template()):
    """What `many` threads side by side have found together. All 32 threads of a warp must call it."""
    found = ti.Vector.zero(ti.f64, terms)
    for k in ti.static(range(terms)):
        coarse, fine = sums[k], sums[terms + k]
        if ti.static(many > 1):
            log2 = ti.static(many.bit_length() - 1)
            coarse = COARSE + ti.simt.subgroup.reduce_add_tiled(coarse - COARSE, log2)
            fine = FINE + ti.simt.subgroup.reduce_add_tiled(fine - FINE, log2)
        found[k] = total_of(coarse, fine)
    return found


def types_with_pairs(types: dict[str, Any], stored: Any) -> dict[str, Any]:
    """The types of kernels, with those of the two solutions side by side ("both") and of a stored matrix."""
    return types | {
        "both": ti.types.vector(2, ti.f64),
        "six": ti.types.vector(6, ti.f64),
        "stored": stored,
    }
