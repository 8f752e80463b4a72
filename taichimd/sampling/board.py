"""Cells of the space, coloured as a checkerboard, for trial moves of single atoms at the same time.

Cells are wider than the range of the energy. So atoms in two cells of one colour do not interact, and a cell's moves, one after
the other, need to know nothing of those in the others. A move that would leave its cell is rejected: then who is in which cell
does not change while a board is in use, and each move keeps the Boltzmann distribution. The planes between cells are shifted
at random for each sweep, and colours come in a random order.

J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, J. Comput. Phys. 254, 27 (2013), doi:10.1016/j.jcp.2013.07.023.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.neighbours.box import Frame
from taichimd.neighbours.scan import scan, scan_ends, scan_size
from taichimd.system.state import Atoms, State

WIDER = 1.0 + 1e-9
"""Width of a cell over the range: rounding brings no atoms together."""
MOST_CELLS = 8
"""Per atom, in directions without periodicity: a wider board only for more atoms."""


class Board(Bundle):
    """Cells, and who is in them. Of each colour there are as many, some of which may lie outside."""

    grid: Any = Array(
        "double_vec", "4", "g of a position x: x_0 grid[0] + x_1 grid[1] + x_2 grid[2] + grid[3]"
    )
    cells: Any = Number("ivec", "cells of a colour along each vector")
    periods: Any = Number("ivec", "cells along each periodic vector; 0 along others")
    cell_of: Any = Array(
        "i32",
        "n",
        "number of the cell of each atom: those of colour c begin at c times the cells of a colour",
    )
    order: Any = Array(
        "i32", "n", "how many came to the cell before each atom; then atoms, cell by cell, in any order"
    )
    members: Any = Array("i32", "n", "atoms, cell by cell, in the order of the user's numbers")
    starts: Any = Array("i32", "cells + 1", "where the members of each cell begin")
    counts: Any = Array("i32", "cells", "members of each cell; 0 between two boards")
    sums: Any = Array("i32", "scan_size(cells)", "room for running sums")
    gain: Any = Array("f64", "cells", "change of the energy by accepted moves, eV")
    accepted: Any = Array("i32", "cells", "accepted moves")


@ti.func
def corner_of(x, board: ti.template()):
    """Whole numbers of the cell of a position, unfolded."""
    g = ti.cast(x[0], ti.f64) * board.grid[0] + ti.cast(x[1], ti.f64) * board.grid[1]
    return ti.cast(ti.floor(g + ti.cast(x[2], ti.f64) * board.grid[2] + board.grid[3]), ti.i32)


@ti.func
def number_of(corner, board: ti.template()):
    """Number of a cell: its colour, and its place among those of the colour."""
    colour, place = 0, 0
    for a in ti.static(range(3)):
        k = corner[a]
        if board.periods[a] != 0:
            k = k % board.periods[a]
        colour = 2 * colour + k % 2
        place = place * board.cells[a] + k // 2
    return colour * (board.cells[0] * board.cells[1] * board.cells[2]) + place


@cache
def board_kernel(real: Any) -> Any:
    """The kernel that puts all atoms on a board."""

    @kernel(types_of(real), atoms=Atoms.only("n", "pos", "ident"), board=Board)
    def place(atoms, board):
        n, cells = atoms.n, 8 * board.cells[0] * board.cells[1] * board.cells[2]
        scanning = scan_ends(cells)
        for i in range(n):
            cell = number_of(corner_of(atoms.pos[i], board), board)
            board.cell_of[i] = cell
            board.members[i] = ti.atomic_add(board.counts[cell], 1)
        scan(cells, scanning, board.counts, board.starts, 0, board.sums, 0)
        for i in range(n):
            board.order[board.starts[board.cell_of[i]] + board.members[i]] = i
        for k in range(n):
            # Cells were filled in any order; ranking by the user's number makes it a defined one.
            i = board.order[k]
            cell = board.cell_of[i]
            at = board.starts[cell]
            for other in range(board.starts[cell], board.starts[cell + 1]):
                if atoms.ident[board.order[other]] < atoms.ident[i]:
                    at += 1
            board.members[at] = i
        for cell in range(cells):
            board.counts[cell] = 0
            board.gain[cell] = 0.0
            board.accepted[cell] = 0

    return place


class Boards:
    """Boards of one system, one after the other.

    Args:
        state: the atoms.
        reach: range of the energy, angstrom.

    Attributes:
        board: the present one, as kernels take it. size: cells of a colour. colours: numbers of those that there are.
    """

    def __init__(self, state: State, reach: float) -> None:
        self._state, self._reach = state, reach
        self._place = board_kernel(state.real)
        ints = [ti.ndarray(ti.i32, state.n) for _ in range(3)]
        self.board = Board(grid=ti.ndarray(ti.types.vector(3, ti.f64), 4))
        self.board.cell_of, self.board.order, self.board.members = ints
        self.size, self._room = 0, 0
        self.colours: list[int] = []

    def place(self, frame: Frame, shift: NDArray[np.float64], call: Any) -> None:
        """Lay out cells and put the atoms there.

        Args:
            frame: the lattice.
            shift: (3,) by how much of a cell the planes are shifted.
            call: queues a kernel for this system.
        """
        pairs = np.floor(frame.heights / (2.0 * WIDER * self._reach))
        periods = np.where(frame.pbc, np.where(pairs >= 1.0, 2.0 * pairs, 1.0), 0.0)
        # A single cell has no planes.
        per_unit = np.where(frame.pbc, np.where(pairs >= 1.0, periods, 0.0), 1.0 / (WIDER * self._reach))
        origin, spread = shift.copy(), periods
        if not frame.pbc.all():
            scaled = self._state.get("pos") @ (frame.inverse * per_unit)
            # Even numbers, so that colours do not change with the atoms that lie farthest.
            low = 2.0 * np.floor(0.5 * (scaled.min(axis=0) + shift)) - 2.0
            origin = np.where(frame.pbc, shift, shift - low)
            spread = np.where(frame.pbc, periods, np.floor(scaled.max(axis=0) + origin) + 3.0)
        half = ((spread + 1) // 2).astype(int)
        self.size = int(np.prod(half))
        self.board.grid.from_numpy(np.vstack([frame.inverse * per_unit, origin]))
        self.board.cells, self.board.periods = (
            ti.Vector(half.tolist()),
            ti.Vector(periods.astype(int).tolist()),
        )
        several = [1 if k > 1 else 0 for k in spread]
        self.colours = [c for c in range(8) if all((c >> (2 - a)) & 1 <= several[a] for a in range(3))]
        self._reserve(8 * self.size)
        call(self._place, self._state, self.board)

    def results(self) -> tuple[NDArray[np.float64], int]:
        """Changes of the energy (eV) cell by cell, and the number of accepted moves; waits for the device."""
        cells = 8 * self.size
        return self.board.gain.to_numpy()[:cells], int(self.board.accepted.to_numpy()[:cells].sum())

    def _reserve(self, cells: int) -> None:
        if cells <= self._room:
            return
        self._room = room = cells + cells // 4
        self.board.starts, self.board.sums = ti.ndarray(ti.i32, room + 1), ti.ndarray(ti.i32, scan_size(room))
        self.board.counts, self.board.accepted = ti.ndarray(ti.i32, room), ti.ndarray(ti.i32, room)
        self.board.gain = ti.ndarray(ti.f64, room)
        self.board.counts.fill(0)
