"""Room for what the threads of a block of a GPU tell each other (`block_moves`)."""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import WARPS, ti
from taichimd.neighbours.rows import WARP
from taichimd.sampling.local_terms import Local

BLOCK = 256
"""Threads of a block."""
MAX_BLOCKS = 1024
"""More than a large GPU has at a time."""


class Room(Bundle):
    """What the threads of a block tell each other, block by block."""

    width: Any = Number("i32", "neighbours that there is room for")
    vectors: Any = ArrayField("f64", "6 width blocks", "to neighbours before a move, and after it, angstrom")
    kinds: Any = ArrayField("i32", "width blocks", "their species")
    kept: Any = ArrayField("i32", "2 blocks", "how many; for one sum, and for the next one")
    parts: Any = ArrayField("f64", "2 warps blocks", "both parts of the sums of warps")


def in_blocks(terms: tuple[Local, ...], backend: str) -> bool:
    """Whether the threads of a block share a move."""
    return backend == "cuda" and WARPS and any(one.triple for one in terms)


def threads_of_cell(terms: tuple[Local, ...], backend: str) -> int:
    """Threads that have a cell together: a block, a warp, or one."""
    return BLOCK if in_blocks(terms, backend) else WARP if backend == "cuda" and WARPS else 1


def room_for(width: int, blocks: int) -> Room:
    """Room for so many neighbours in each of so many blocks."""
    return Room(
        width,
        ti.ndarray(ti.f64, 6 * width * blocks),
        ti.ndarray(ti.i32, width * blocks),
        ti.ndarray(ti.i32, 2 * blocks),
        ti.ndarray(ti.f64, 2 * (BLOCK // WARP) * blocks),
    )
