"""How the rows of lists lie in memory: entry s of atom i, for rows of n atoms.

ATOM_MAJOR, on CPUs: one row after the other.

SLOT_MAJOR, where each thread of a warp has an atom and goes through its row: the same entry of 32 atoms is
one line.

CHUNKED, where threads side by side share an atom: `CHUNK` entries of one atom, then as many of the next. They
fill a sector of a GPU's memory: a thread that writes them one by one fills it before it is evicted, and as
many threads read it at once, and with it neighbours that lie side by side, too, since the search finds them
in the order of memory. Threads of one warp exchange
what they know: only with `WARPS`.
"""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.memory import LARGEST
from taichimd.core.runtime import WARPS, ti
from taichimd.core.warps import ballot
from taichimd.neighbours.masks import how_many_below

ATOM_MAJOR, SLOT_MAJOR, CHUNKED = range(3)
CHUNK = 8
"""Entries of a chunk, and threads that share an atom."""
LOG_CHUNK = 3
WARP = 32


def body_layout(backend: str) -> int:
    """Return the layout of the rows that three-body terms read."""
    return SLOT_MAJOR if backend == "cuda" else ATOM_MAJOR


def row_layout(backend: str) -> int:
    """Return the layout of all other rows: Verlet lists, and what pair terms read."""
    return CHUNKED if backend == "cuda" and WARPS else body_layout(backend)


def row_width(need: int) -> int:
    """Slots of rows for so many entries: whole chunks."""
    return -(-need // CHUNK) * CHUNK


def roomy_width(need: int, n: int) -> int:
    """Slots of rows for so many entries and an eighth more, at most what an array with n rows can hold."""
    most = LARGEST // n // CHUNK * CHUNK
    return max(min(row_width(need + need // 8), most), row_width(need))


@ti.func
def slot(i, s, n, width, layout: ti.template()):  # type: ignore[valid-type]
    """Place of entry s of atom i."""
    place = i * width + s
    if ti.static(layout == SLOT_MAJOR):
        place = s * n + i
    elif ti.static(layout == CHUNKED):
        # Shifts: for a signed number a division is four instructions more.
        place = ((s >> LOG_CHUNK) * n + i << LOG_CHUNK) + (s & (CHUNK - 1))
    return place


class VerletRows(Bundle):
    """The Verlet list: every pair within cutoff + outer skin at the last build."""

    width: Any = Number("i32", "slots of a row")
    shift_bits: Any = Number("i32", "low bits of an entry that hold the code of its image")
    count: Any = ArrayField("i32", "n", "number of entries of each atom")
    entries: Any = ArrayField("i32", "n width", "neighbour << shift_bits | code of its image")
    shifts: Any = ArrayField(
        "vec", "2^shift_bits", "vectors of the images by code, angstrom; of all pairs the lattice"
    )
    built_at: Any = ArrayField("vec", "n", "positions at the last build, angstrom")


class NearRows(Bundle):
    """A near list, cut from the Verlet list: pairs within cutoff + inner skin at the last cut."""

    width: Any = Number("i32", "slots of a row")
    count: Any = ArrayField("i32", "n", "number of entries of each atom")
    entries: Any = ArrayField("i32", "n width", "as those of the Verlet list")
    limits2: Any = ArrayField("real", "5 + 2 kinds^2", "up to which pairs are kept (`limits`)")
    places: Any = ArrayField("i64", "n + images", "packed positions and image vectors (`packed`)")


class Rows(Bundle):
    """A list with the atoms that it is of, as device functions take it."""

    pos: Any = ArrayField("vec", "n", "positions, angstrom")
    kind: Any = ArrayField("i32", "n", "number of the species")
    count: Any = ArrayField("i32", "n", "number of entries of each atom")
    entries: Any = ArrayField("i32", "n width", "the rows")
    shifts: Any = ArrayField("vec", "2^shift_bits", "vectors of the images, angstrom")
    made_at: Any = ArrayField("vec", "n", "positions when the list was made, angstrom")
    width: Any = Number("i32", "slots of a row")
    shift_bits: Any = Number("i32", "low bits of an entry that hold the code of its image")
    limits2: Any = ArrayField("real", "5 + 2 kinds^2", "of a near list: up to which pairs are kept")
    places: Any = ArrayField("i64", "n + images", "of a near list: packed positions and image vectors")


@ti.func
def whole_warps(threads):
    """So many threads and as many more as the last warp lacks."""
    return (threads + WARP - 1) // WARP * WARP


@ti.func
def some(condition):
    """Whether a condition holds for some thread of a warp. All 32 must ask."""
    return those(condition) != 0


@ti.func
def those(condition):
    """Mask of the threads of a warp for which a condition holds. All 32 must ask."""
    return ballot(condition)


@ti.func
def is_left(condition, shared: ti.template()):  # type: ignore[valid-type]
    """Whether a thread has work or, if threads of a warp work together, any thread of its warp."""
    yes = condition
    if ti.static(shared):
        yes = some(condition)
    return yes


@ti.func
def claim(keeps, thread):
    """How many threads before this one keep something, of those of an atom, and how many do; all 32 ask."""
    first = thread % WARP // CHUNK * CHUNK
    votes = (those(keeps) >> first) & (2**CHUNK - 1)
    return how_many_below(votes, thread % CHUNK), ti.math.popcnt(votes)
