"""Lists that one array cannot hold: rows in several arrays, vectors as one array for each component.

The runtimes compute a place in an array with 32 bits, so an array has at most `memory.LARGEST` numbers,
vectors counted by their components. Rows of a list that has more are divided into pages of as many atoms
each, an array for each page. Within a page, rows lie as `rows.slot` says for the atoms of the page. A system
whose rows fit into one array has this array and the code without pages: how many pages there are is known
when kernels are compiled.
"""

from collections.abc import Sequence
from typing import Any

from taichimd.core import memory
from taichimd.core.arguments import Bundle, Selection, device_helper
from taichimd.core.runtime import ti
from taichimd.neighbours.rows import ATOM_MAJOR, WARP, slot

PAGE = memory.LARGEST
"""Most numbers of a page."""


def page_length(n: int, pages: int) -> int:
    """Atoms of a page of n atoms: whole warps, whose threads then read from one array."""
    return n if pages == 1 else -(-n // (pages * WARP)) * WARP


def pages_for(n: int, width: int) -> int:
    """How many pages hold rows of n atoms, with so many slots each."""
    pages = -(-n * width // PAGE)
    while pages > 1 and page_length(n, pages) * width > PAGE and page_length(n, pages) > WARP:
        pages += 1
    return max(pages, 1)


def rows_in_pages(n: int, width: int, pages: int, what: str, size: int, cure: str) -> Any:
    """Rows of n atoms, found to fit: an array, or a tuple of as many arrays as there are pages."""
    numbers = page_length(n, pages) * width
    made = tuple(memory.array(ti.i32, numbers, what, size, cure) for _ in range(pages))
    return made if pages > 1 else made[0]


def in_pages(table: type[Bundle], names: Sequence[str], name: str, pages: int) -> Selection:
    """Fields of a table, one of which is in so many arrays; of one page the field itself."""
    parts = {name: (table.fields[name],) * pages} if pages > 1 else {}
    return table.only(*names, **parts)


@device_helper
def pages_of(array: Any) -> int:
    """How many arrays hold what a kernel's argument holds, at the compilation of the kernel."""
    return len(array) if isinstance(array, tuple) else 1


@ti.func
def length_of_page(n, pages: ti.template()):  # type: ignore[valid-type]
    """`page_length` on the device."""
    return (n + (pages * WARP - 1)) // (pages * WARP) * WARP


@ti.func
def read(entries: ti.template(), i, s, n, width, layout: ti.template()):  # type: ignore[valid-type]
    """Entry s of atom i."""
    pages = ti.static(pages_of(entries))
    entry = 0
    if ti.static(pages == 1):
        entry = entries[slot(i, s, n, width, layout)]
    else:
        length = length_of_page(n, pages)
        for k in ti.static(range(pages)):
            own = i - k * length
            if (own >= 0) & (own < length):
                entry = entries[k][slot(own, s, length, width, layout)]
    return entry


@ti.func
def read_run(run: ti.template(), entries: ti.template(), i, first, m, n, width):  # type: ignore[valid-type]
    """Fill the vector `run` with entries of atom i from `first` on, for rows that lie one after the other.

    What is not there reads as the last one of m entries.

    Returns:
        The entries, or-ed: their low bits are 0 if no entry of the run has an image.
    """
    number = ti.static(run.n)
    if first + number <= m:
        for k in range(number):
            run[k] = read(entries, i, first + k, n, width, ATOM_MAJOR)
    else:
        for k in range(number):
            run[k] = read(entries, i, ti.min(first + k, m - 1), n, width, ATOM_MAJOR)
    either = 0
    for k in range(number):
        either |= run[k]
    return either


@ti.func
def write(entries: ti.template(), i, s, n, width, layout: ti.template(), entry):  # type: ignore[valid-type]
    """Store entry s of atom i."""
    if ti.static(pages_of(entries) == 1):
        entries[slot(i, s, n, width, layout)] = entry
    else:
        pages = ti.static(pages_of(entries))
        length = length_of_page(n, pages)
        for k in ti.static(range(pages)):
            own = i - k * length
            if (own >= 0) & (own < length):
                entries[k][slot(own, s, length, width, layout)] = entry


@ti.func
def vector_at(vectors: ti.template(), at):  # type: ignore[valid-type]
    """A vector of an array of vectors, or of one array for each component."""
    if ti.static(pages_of(vectors) > 1):
        return ti.Vector([vectors[0][at], vectors[1][at], vectors[2][at]])
    return vectors[at]


@ti.func
def set_vector(vectors: ti.template(), at, x):  # type: ignore[valid-type]
    """Store a vector."""
    if ti.static(pages_of(vectors) == 1):
        vectors[at] = x
    else:
        for c in ti.static(range(3)):
            vectors[c][at] = x[c]


@ti.func
def add_vector(vectors: ti.template(), at, x):  # type: ignore[valid-type]
    """Add to a vector."""
    if ti.static(pages_of(vectors) == 1):
        vectors[at] += x
    else:
        for c in ti.static(range(3)):
            vectors[c][at] += x[c]
