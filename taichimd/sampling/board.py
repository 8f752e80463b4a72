"""Cells of the space, coloured as a checkerboard, for trial moves of single atoms at the same time.

Cells are wider than the range of the energy. So atoms in two cells of one colour do not interact, and a cell's moves, one after
the other, need to know nothing of those in the others. A move that would leave its cell is rejected: then who is in which cell
does not change while a board is in use, and each move keeps the Boltzmann distribution. The planes between cells are shifted
at random for each sweep, and colours come in a random order.

J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, J. Comput. Phys. 254, 27 (2013), doi:10.1016/j.jcp.2013.07.023.
"""

from collections.abc import Sequence
from functools import cache
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.host_copies import to_device
from taichimd.core.runtime import ti
from taichimd.neighbours.scan import scan, scan_ends, scan_size
from taichimd.system.frame import Frame
from taichimd.system.state import Atoms, State

WIDER = 1.0 + 1e-9
"""Width of a cell over the range: rounding brings no atoms together."""
MOST_CELLS = 8
"""Per atom, in directions without periodicity: a wider board only for more atoms."""


LAYOUT = 16
"""Whole numbers of a system: cells of a colour along each vector; cells along each periodic vector, 0 along others;
its first cell; cells of a colour; the first cell of each colour in the order of this sweep, or -1."""
PERIODS, OWN, SIZE, TURNS = 3, 6, 7, 8


class Board(Bundle):
    """Cells of each system, and who is in them. Of each colour there are as many, some of which may lie outside."""

    grid: Any = Array(
        "double_vec",
        "4 systems",
        "of each system, g of a position x: x_0 grid[0] + x_1 grid[1] + x_2 grid[2] + grid[3]",
    )
    layout: Any = Array("i32", "16 systems", "see `LAYOUT`")
    system: Any = Array("i32", "n", "system of the atom at a place")
    cell_of: Any = Array(
        "i32",
        "n",
        "number of the cell of each atom: in its system those of colour c begin at c times the cells of a colour",
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
def corner_of(x, system, board: ti.template()):
    """Whole numbers of the cell of a position in a system, unfolded."""
    at = 4 * system
    g = ti.cast(x[0], ti.f64) * board.grid[at] + ti.cast(x[1], ti.f64) * board.grid[at + 1]
    return ti.cast(ti.floor(g + ti.cast(x[2], ti.f64) * board.grid[at + 2] + board.grid[at + 3]), ti.i32)


@ti.func
def number_of(corner, system, board: ti.template()):
    """Number of a cell of a system: its colour, and its place among those of the colour."""
    colour, place, at = 0, 0, LAYOUT * system
    for a in ti.static(range(3)):
        k, period = corner[a], board.layout[at + PERIODS + a]
        if period != 0:
            k = k % period
        colour = 2 * colour + k % 2
        place = place * board.layout[at + a] + k // 2
    return board.layout[at + OWN] + colour * board.layout[at + SIZE] + place


@cache
def board_kernel(real: Any) -> Any:
    """The kernel that puts all atoms on boards of so many cells."""

    @kernel(types_of(real), atoms=Atoms.only("n", "pos", "ident"), board=Board, cells=Number("i32", "of all"))
    def place(atoms, board, cells):
        n = atoms.n
        scanning = scan_ends(cells)
        for i in range(n):
            system = board.system[i]
            cell = number_of(corner_of(atoms.pos[i], system, board), system, board)
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
    """Boards of systems, one after the other.

    Args:
        state: the atoms.
        reach: range of the energy, angstrom.

    Attributes:
        board: the present ones, as kernels take them. size: most cells of a colour in a system. turns: how many
            colours the system with most of them has.
    """

    def __init__(self, state: State, reach: float) -> None:
        self._state, self._reach, systems = state, reach, len(state.sizes)
        self._place = board_kernel(state.real)
        ints = [ti.ndarray(ti.i32, state.n) for _ in range(3)]
        grid = ti.ndarray(ti.types.vector(3, ti.f64), 4 * systems)
        self.board = Board(grid, ti.ndarray(ti.i32, LAYOUT * systems), state.system, *ints)
        self._ends = np.zeros(systems, int)
        self.size = self.turns = self._room = 0

    def place(self, frames: Sequence[Frame], uniform: Sequence[NDArray[np.float64]], call: Any) -> None:
        """Lay out cells and put the atoms there.

        Args:
            frames: the lattice of each system.
            uniform: 11 random numbers of each: by how much of a cell the planes are shifted, and the order of colours.
            call: queues a kernel for these systems.
        """
        positions = None if all(frame.pbc.all() for frame in frames) else self._state.get("pos")
        grid, layout, cells, self.size, self.turns = [], [], 0, 0, 0
        for k, (frame, numbers) in enumerate(zip(frames, uniform, strict=True)):
            first = int(self._state.firsts[k])
            own = None if positions is None else positions[first : first + int(self._state.sizes[k])]
            rows, half, periods, colours = self._laid_out(frame, numbers[:3], own)
            size = int(np.prod(half))
            order = [colour for colour in np.argsort(numbers[3:]).tolist() if colour in colours]
            turns = [cells + size * colour for colour in order] + [-1] * (8 - len(order))
            grid.append(rows)
            layout.append([*half, *periods, cells, size, *turns])
            cells += 8 * size
            self._ends[k] = cells
            self.size, self.turns = max(self.size, size), max(self.turns, len(order))
        to_device(self.board.grid, np.vstack(grid))
        to_device(self.board.layout, np.array(layout, np.int32).reshape(-1))
        self._reserve(cells)
        call(self._place, self._state, self.board, cells)

    def _laid_out(
        self, frame: Frame, shift: NDArray[np.float64], positions: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Rows of the grid of a system, its cells of a colour and along periodic vectors, and the colours that there are."""
        pairs = np.floor(frame.heights / (2.0 * WIDER * self._reach))
        periods = np.where(frame.pbc, np.where(pairs >= 1.0, 2.0 * pairs, 1.0), 0.0)
        # A single cell has no planes.
        per_unit = np.where(frame.pbc, np.where(pairs >= 1.0, periods, 0.0), 1.0 / (WIDER * self._reach))
        origin, spread = shift.copy(), periods
        if positions is not None and not frame.pbc.all():
            scaled = positions @ (frame.inverse * per_unit)
            # Even numbers, so that colours do not change with the atoms that lie farthest.
            low = 2.0 * np.floor(0.5 * (scaled.min(axis=0) + shift)) - 2.0
            origin = np.where(frame.pbc, shift, shift - low)
            spread = np.where(frame.pbc, periods, np.floor(scaled.max(axis=0) + origin) + 3.0)
        half = ((spread + 1) // 2).astype(int)
        several = [1 if k > 1 else 0 for k in spread]
        colours = [c for c in range(8) if all((c >> (2 - a)) & 1 <= several[a] for a in range(3))]
        return np.vstack([frame.inverse * per_unit, origin]), half, periods.astype(int), colours

    def results(self) -> list[tuple[float, int]]:
        """Of each system the change of the energy (eV) and the number of accepted moves; waits for the device."""
        gain, accepted = (
            np.split(array.to_numpy()[: self._ends[-1]], self._ends[:-1])
            for array in (self.board.gain, self.board.accepted)
        )
        return [(fsum(one.tolist()), int(many.sum())) for one, many in zip(gain, accepted, strict=True)]

    def _reserve(self, cells: int) -> None:
        if cells <= self._room:
            return
        self._room = room = cells + cells // 4
        self.board.starts, self.board.sums = ti.ndarray(ti.i32, room + 1), ti.ndarray(ti.i32, scan_size(room))
        self.board.counts, self.board.accepted = ti.ndarray(ti.i32, room), ti.ndarray(ti.i32, room)
        self.board.gain = ti.ndarray(ti.f64, room)
        self.board.counts.fill(0)
