"""Bins and images of a search: where atoms are in space, and what an entry of a row is."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import View, device_helper
from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import Control
from taichimd.neighbours.sorted_atoms import (
    BINS,
    FIRST_BIN,
    FIRST_CODE,
    LAYOUT,
    PAD,
    PERIODIC,
    REACH,
    Ground,
    Search,
)

CLOSEST2 = 4e-4
"""Square of the distance (angstrom) below which two atoms count as coincident."""
LEFT = 0
"""Where in `Sorted.sums`, which the sort needs no longer, stands how many atoms `inner` leaves;
`Sorted.order` names them."""


class Row(View):
    """The row of atom i, as one argument of the functions that fill it; numbers are in registers.

    Attributes:
        i, thread: the atom, and the thread that has it. n: all atoms. entries, width, shift_bits: as of
            `VerletRows`.
        ident, control, sort: as of kernels. radius2, bins, reach: as of `Sorted`, for the atom's system.
        most_image, periodic: likewise. ground: see `sorted_atoms.Ground`. box: staged writes, where there are
            some.
    """

    n: Any
    width: Any
    entries: Any
    box: Any


@dataclass(frozen=True)
class BinFunctions:
    """Device functions of bins and images, for one system or a batch."""

    ground_of: DeviceFunction  # the `Ground` of an atom
    corner: DeviceFunction  # vector to a cell of the lattice
    home_of: DeviceFunction  # along each axis, the number of a bin
    fold: DeviceFunction  # stores a position to compare
    folded_at: DeviceFunction  # reads it
    mark_of: DeviceFunction  # whether its atom has left the cell, in the last bit
    gets_row: DeviceFunction  # whether an atom gets a row
    image_code: DeviceFunction  # code of an image
    entry_of: DeviceFunction  # entry of a row
    take: DeviceFunction  # notes the length of a row


@ti.func
def cells_away(index, bins):
    """Whole cells between a bin and the cell's own; most often none, and a division is slow."""
    away = 0
    if index < 0 or index >= bins:
        away = index // bins
    return away


@cache
def bin_functions(how: Search) -> BinFunctions:
    """The functions of a search."""
    search = how.real
    ivec = ti.types.vector(3, ti.i32)
    bits = ti.i32 if search == ti.f32 else ti.i64

    @ti.func
    def of_layout(i, at: ti.template(), sort: ti.template()):
        """A number of the layout of atom i's system."""
        return sort.layouts[LAYOUT * sort.system[i] + at]

    @ti.func
    def three_of_layout(i, at: ti.template(), sort: ti.template()):
        return ivec(of_layout(i, at, sort), of_layout(i, at + 1, sort), of_layout(i, at + 2, sort))

    @ti.func
    def grid_of(i, sort: ti.template()):
        return 8 * sort.system[i]

    @device_helper
    def ground_of(i: Any, sort: Any) -> Ground:
        """The `Ground` of atom i, at the compilation of a kernel."""
        if not how.batch:
            return Ground(
                bins=sort.bins, reach=sort.reach, periodic=sort.periodic, grid=0, first_bin=0, first_code=0
            )
        threes = {"bins": BINS, "reach": REACH, "periodic": PERIODIC}
        return Ground(
            grid=grid_of(i, sort),
            first_bin=of_layout(i, FIRST_BIN, sort),
            first_code=of_layout(i, FIRST_CODE, sort),
            **{name: three_of_layout(i, at, sort) for name, at in threes.items()},
        )

    @ti.func
    def corner(cells, ground: ti.template(), sort: ti.template()):
        """The vector to a cell of the lattice."""
        return (
            cells[0] * sort.grid[ground.grid]
            + cells[1] * sort.grid[ground.grid + 1]
            + cells[2] * sort.grid[ground.grid + 2]
        )

    @ti.func
    def fold(at, n, x, turn, folded: ti.template()):
        """Store a folded position; the last bit of z says whether the atom has left the cell."""
        z = ti.bit_cast(ti.cast(x[2], search), bits) & ~1
        if turn[0] != 0 or turn[1] != 0 or turn[2] != 0:
            z |= 1
        folded[at] = ti.cast(x[0], search)
        folded[n + PAD + at] = ti.cast(x[1], search)
        folded[2 * (n + PAD) + at] = ti.bit_cast(z, search)

    @ti.func
    def folded_at(j, n, folded: ti.template()):
        """One coordinate of all atoms after the other: those of neighbours in memory are read at once."""
        return ti.Vector([folded[j + k * (n + PAD)] for k in ti.static(range(3))])

    @ti.func
    def mark_of(x):
        """The last bit says it; the others mean nothing."""
        return ti.cast(ti.bit_cast(x[2], bits), ti.i32)

    @ti.func
    def gets_row(i, ident: ti.template(), sort: ti.template()):
        """Whether an atom gets a row; else its row is empty."""
        yes = True
        if ti.static(how.some_rows):
            yes = sort.away[ident[i]] <= sort.needed
        return yes

    @ti.func
    def image_code(image, most_image, ground: ti.template()):
        """Linear code of an image of a system, 0 for none, in order; lists hold it modulo 2^shift_bits."""
        code = (image[0] * (2 * most_image[1] + 1) + image[1]) * (2 * most_image[2] + 1) + image[2]
        if ti.static(how.batch):
            code += ti.select(code > 0, ground.first_code, ti.select(code < 0, -ground.first_code, 0))
        return code

    @ti.func
    def entry_of(j, odd, cells, code, row: ti.template()):
        """The entry of j in a row, found so many cells away; `odd`, if one of them may have left the cell."""
        if odd & 1 == 1:
            image = cells - (row.sort.turns[j] - row.sort.turns[row.i])
            code = image_code(image, row.most_image, row.ground)
            for a in ti.static(range(3)):
                if ti.abs(image[a]) > row.most_image[a]:
                    ti.atomic_max(row.control[Control.largest_image + a], ti.abs(image[a]))
        return (j << row.shift_bits) | (code & ((1 << row.shift_bits) - 1))

    @ti.func
    def home_of(b, bins):
        """Along each axis, the bin of that number."""
        return ivec(b // (bins[1] * bins[2]), (b // bins[2]) % bins[1], b % bins[2])

    @ti.func
    def take(i, found, count: ti.template(), control: ti.template()):
        """Note the length of a row."""
        count[i] = found
        # Most atoms need no atomic: the maximum is soon known.
        if found > control[Control.longest_row]:
            ti.atomic_max(control[Control.longest_row], found)

    return BinFunctions(
        ground_of, corner, home_of, fold, folded_at, mark_of, gets_row, image_code, entry_of, take
    )
