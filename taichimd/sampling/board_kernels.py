"""Which cell of a board each atom is in (`board`)."""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.neighbours.scan import scan, scan_ends
from taichimd.system.state import Atoms

LAYOUT = 16
"""Whole numbers of a system: cells of a colour along each vector, then what the next line names."""
PERIODS, OWN, SIZE, TURNS = 3, 6, 7, 8
"""Where these begin: cells along each periodic vector, 0 along others; number of the first cell; cells of a
colour; the first cell of each colour in the order of this sweep, or -1."""


class Colour(View):
    """The cells of a colour of a system, as device functions take them: from `first` to before `last`."""


class Board(Bundle):
    """Cells of each system, and who is in them; each colour has as many, of which some may lie outside."""

    grid: Any = ArrayField(
        "double_vec",
        "4 systems",
        "of each system, g of a position x: x_0 grid[0] + x_1 grid[1] + x_2 grid[2] + grid[3]",
    )
    layout: Any = ArrayField("i32", "16 systems", "see `LAYOUT`")
    system: Any = ArrayField("i32", "n", "system of the atom at a place")
    cell_of: Any = ArrayField(
        "i32",
        "n",
        "cell of each atom: in its system those of colour c begin at c times the cells of a colour",
    )
    order: Any = ArrayField(
        "i32", "n", "how many came to the cell before each atom; then atoms, cell by cell, in any order"
    )
    members: Any = ArrayField("i32", "n", "atoms, cell by cell, in the order of the user's numbers")
    starts: Any = ArrayField("i32", "cells + 1", "where the members of each cell begin")
    counts: Any = ArrayField("i32", "cells", "members of each cell; 0 between two boards")
    sums: Any = ArrayField("i32", "scan_size(cells)", "room for running sums")
    gain: Any = ArrayField("f64", "cells", "change of the energy by accepted moves, eV")
    accepted: Any = ArrayField("i32", "cells", "accepted moves")


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
