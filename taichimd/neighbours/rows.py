"""How the rows of lists lie in memory: entry s of atom i, for rows of n atoms.

ATOM_MAJOR, on CPUs: one row after the other.

SLOT_MAJOR, where each thread of a warp has an atom and goes through its row: the same entry of 32 atoms is one line.

CHUNKED, where threads side by side share an atom: `CHUNK` entries of one atom, then as many of the next. They fill a sector
of a GPU's memory: a thread that writes them one by one fills it before it is evicted, and as many threads read it at once, and
with it neighbours that lie side by side, too, since the search finds them in the order of memory. Threads of one warp exchange
what they know: only under quadrants.
"""

from typing import Any

from taichimd.neighbours.masks import how_many_below
from taichimd.runtime import WARPS, Bundle, Placed, ti

ATOM_MAJOR, SLOT_MAJOR, CHUNKED = range(3)
CHUNK = 8
"""Entries of a chunk, and threads that share an atom."""
LOG_CHUNK = 3
WARP = 32


def body_layout(backend: str) -> int:
    """Of the rows that three-body terms read."""
    return SLOT_MAJOR if backend == "cuda" else ATOM_MAJOR


def row_layout(backend: str) -> int:
    """Of all other rows: Verlet lists, and what pair terms read."""
    return CHUNKED if backend == "cuda" and WARPS else body_layout(backend)


def row_width(need: int) -> int:
    """Slots of rows for so many entries: whole chunks."""
    return -(-need // CHUNK) * CHUNK


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


@ti.data_oriented
class Rows(Placed):
    """A list of neighbours and the atoms that it is of, one argument of device functions.

    Attributes:
        pos, kind: positions and species of all atoms.
        count: number of entries of each. entries: the rows. shifts: vectors of the images that entries name.
        made_at: positions of the atoms when the list was made.
    """

    def __init__(
        self, pos: Any, kind: Any, count: Any, entries: Any, shifts: Any, made_at: Any = None
    ) -> None:
        self.pos, self.kind, self.count = pos, kind, count
        self.entries, self.shifts, self.made_at = entries, shifts, made_at


@ti.data_oriented
class Ends(Bundle):
    """Where the loops of a step end, one argument of device functions.

    Worked out at the top of a kernel: an end that is worked out before its loop costs a GPU a kernel of one thread each time.

    Attributes:
        places: numbers of packed positions, of atoms and images. cut: threads of a cut. pairs: threads of pair forces.
    """

    def __init__(self, places: Any, cut: Any, pairs: Any) -> None:
        self.places, self.cut, self.pairs = places, cut, pairs


def ends_function(threads: int, lanes: int) -> Any:
    """Device function: the three numbers of `Ends` for n atoms, so many images, and so many threads for an atom's cut, and its pairs."""

    @ti.func
    def ends_of(n, images):
        return n + images, whole_warps(n * threads) if ti.static(threads > 1) else n, whole_warps(n * lanes)

    return ends_of


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
    return ti.simt.warp.ballot(ti.cast(condition, ti.i32))


@ti.func
def is_left(condition, shared: ti.template()):  # type: ignore[valid-type]
    """Whether a thread has something to do, or, where threads of a warp work together, one of its warp has."""
    yes = condition
    if ti.static(shared):
        yes = some(condition)
    return yes


@ti.func
def claim(keeps, thread):
    """Of the threads that share an atom: how many before this one keep something, and how many do. All 32 must ask."""
    first = thread % WARP // CHUNK * CHUNK
    votes = (those(keeps) >> first) & (2**CHUNK - 1)
    return how_many_below(votes, thread % CHUNK), ti.math.popcnt(votes)
