"""What a deformation does to the cell, the atoms and the lists, on the device: whoever decides upon it.

The lists learn of the deformation since they were made, F = 1 + E: pairs farther apart than reach are still
beyond (1 - |E|) reach - 2 u, if no atom is farther than u from where the deformation alone would have brought
it.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, Number, device_helper, kernel, types_of
from taichimd.core.runtime import DeviceFunction, in_double, ti
from taichimd.ensembles.matrices import product, square
from taichimd.neighbours.control import Control
from taichimd.neighbours.sorted_atoms import BINS, LAYOUT, REACH
from taichimd.system.cell import MAX_STRETCH, NEAR_LIST, ONLY, VERLET_LIST, taken_cells


@dataclass(frozen=True)
class CellFunctions:
    """Device functions of the cell; a cell at rest has `strayed` alone.

    Attributes:
        moves: whether the cell moves on the device. strayed: whether an atom is too far from where a list was
            made.
        deform: begins the drift of a cell. drifted: by how much a position changes then.
        forget: no strain since lists were made. lay_out: bins of the search in the present cells.
        shift: renews vectors of images. listed: kernel that tells of new lists.
    """

    moves: bool
    strayed: DeviceFunction
    deform: DeviceFunction | None = None
    drifted: DeviceFunction | None = None
    forget: DeviceFunction | None = None
    lay_out: DeviceFunction | None = None
    shift: DeviceFunction | None = None
    listed: Kernel | None = None


@cache
def cell_functions(real: Any, moves: bool, batch: bool = False, deforms: bool = False) -> CellFunctions:
    """The functions of one kind of cell.

    Args:
        real: ti.f64 or ti.f32, of the atoms; cells are float64.
        moves: whether the cell moves on the device.
        batch: whether each of several systems has a cell of its own.
        deforms: whether B and C need not be symmetric, and F is kept.
    """

    @ti.func
    def system_at(i, cells: ti.template()):
        return cells.system[i]

    @device_helper
    def cell_of(i: Any, cells: Any) -> Any:
        """Number of the cell of an atom, known at compilation where there is one system."""
        return system_at(i, cells) if batch else ONLY

    @ti.func
    def strayed(i, x, listed_at, most2, near: ti.template(), cells: ti.template()):
        """Whether atom i is too far from its position at the last build, which moves along with the cell."""
        far = 0
        if ti.static(moves):
            which = 2 * cell_of(i, cells) + ti.static(NEAR_LIST if near else VERLET_LIST)
            start = ti.cast(listed_at, ti.f64)
            gone = ti.cast(x - listed_at, ti.f64) - cells.strain[which].transpose() @ start
            most = ti.sqrt(ti.cast(most2, ti.f64)) - cells.lost[which]
            if not (most > 0.0 and gone.dot(gone) <= most * most):
                far = 1
        else:
            gone = x - listed_at
            # Written so that a position that is not a number has strayed, too.
            if not gone.dot(gone) <= most2:
                far = 1
        return far

    if not moves:
        return CellFunctions(False, strayed)

    @in_double
    def deform(k, cells: ti.template()):
        """Cell k and the strains, in the drift that follows; whether it is fit to be done. Serial."""
        extra = cells.stretch[k]
        h = cells.vectors[k]
        h += product(h, extra)
        strains = [cells.strain[2 * k + which] for which in ti.static((NEAR_LIST, VERLET_LIST))]
        cells.vectors[k] = h
        if ti.static(deforms):
            f = cells.gradient[k]
            f += product(f, extra)
            cells.gradient[k] = f
        for which in ti.static((NEAR_LIST, VERLET_LIST)):
            m = strains[which]
            m += product(m, extra)
            m += extra
            cells.strain[2 * k + which] = m
            cells.lost[2 * k + which] = 0.5 * cells.reach[2 * k + which] * ti.sqrt(square(m))
        fit = 1
        if not square(extra) <= MAX_STRETCH * MAX_STRETCH:
            fit = 0
        return fit

    @ti.func
    def drifted(i, x, move, cells: ti.template()):
        """Change of a position, and displacement in this cell, for a given move in a cell at rest."""
        k = cell_of(i, cells)
        drift, stretch = ti.cast(cells.drift[k], real), ti.cast(cells.stretch[k], real)
        if ti.static(deforms):
            # Vectors are rows; what barostats do alone is symmetric.
            drift, stretch = drift.transpose(), stretch.transpose()
        by = drift @ move
        return stretch @ x + by, by

    @ti.func
    def forget_one(k, which: ti.template(), cells: ti.template()):
        cells.lost[2 * k + which] = 0.0
        cells.strain[2 * k + which] = ti.Matrix.zero(ti.f64, 3, 3)

    @ti.func
    def forget(which: ti.template(), cells: ti.template()):
        """Lists were made: no strain since."""
        if ti.static(batch):
            for k in range(cells.lost.shape[0] // 2):
                forget_one(k, which, cells)
        else:
            forget_one(ONLY, which, cells)

    @in_double
    def laid_out(k, first, grid: ti.template(), bins, reach, radius2, cells: ti.template()):
        """Put the present cell k into the grid of the neighbour search.

        Returns 0 if its bins are too narrow.
        """
        h = cells.vectors[k]
        inverse = h.inverse()
        wide = 1
        for a in ti.static(range(3)):
            across2 = 0.0
            for c in ti.static(range(3)):
                grid[first + a][c] = ti.cast(h[a, c], real)
                grid[first + 3 + a][c] = ti.cast(inverse[a, c], real)
                across2 += inverse[c, a] * inverse[c, a]
            # The cell's height along this axis is 1/sqrt(across2).
            far = reach[a] / ti.cast(bins[a], ti.f64)
            if not far * far >= ti.cast(radius2, ti.f64) * across2:
                wide = 0
        return wide

    @ti.func
    def lay_out(control: ti.template(), sort: ti.template(), cells: ti.template()):
        """Lay out the bins of the search in the present cells.

        If some are too narrow, no build is due. May loop.
        """
        if ti.static(not batch):
            if control[Control.building] == 1:
                control[Control.building] = laid_out(
                    ONLY, 0, sort.grid, sort.bins, sort.reach, sort.radius2, cells
                )
        else:
            for k in range(cells.vectors.shape[0]):
                # A cell that is left out, because of the bins of another one, is laid out by the host.
                if control[Control.building] == 1:
                    bins, reach = ti.Vector([0, 0, 0]), ti.Vector([0, 0, 0])
                    for a in ti.static(range(3)):
                        bins[a] = sort.layouts[LAYOUT * k + BINS + a]
                        reach[a] = sort.layouts[LAYOUT * k + REACH + a]
                    if laid_out(k, 8 * k, sort.grid, bins, reach, sort.radius2, cells) == 0:
                        control[Control.building] = 0

    @ti.func
    def owner(left, most, systems):
        """The system whose image a code names, if any, and the code that the image has in a system alone."""
        of_each = (2 * most[0] + 1) * (2 * most[1] + 1) * (2 * most[2] + 1) // 2
        k = ti.max(ti.abs(left) - 1, 0) // ti.max(of_each, 1)
        back = ti.select(left > 0, k * of_each, -k * of_each)
        return ti.select(ti.abs(left) <= systems * of_each, k, systems), left - back

    @ti.func
    def shift(i, n, shift_bits, shifts: ti.template(), cells: ti.template()):
        """Vectors of the images for the present cells: those that are atom i's to renew."""
        codes = 1 << shift_bits
        most = cells.images[ONLY]
        my, mz = most[1], most[2]
        code = i
        while code < codes:
            # Codes are linear in the image, and modulo 2^shift_bits.
            left = code - codes if code >= codes // 2 else code
            k, there_is = ONLY, True
            if ti.static(batch):
                k, left = owner(left, most, cells.vectors.shape[0])
                there_is = k < cells.vectors.shape[0]
            if there_is:
                cell = cells.vectors[k]
                z = (left + mz) % (2 * mz + 1) - mz
                left = (left - z) // (2 * mz + 1)
                y = (left + my) % (2 * my + 1) - my
                x = (left - y) // (2 * my + 1)
                for a in ti.static(range(3)):
                    # Term by term, as the host does it: T and -T are exact negatives of each other.
                    total = ti.cast(x, ti.f64) * cell[0, a] + ti.cast(y, ti.f64) * cell[1, a]
                    shifts[code][a] = ti.cast(total + ti.cast(z, ti.f64) * cell[2, a], real)
            code += n

    @ti.func
    def listed_one(k, near, built, images, cells: ti.template()):
        forget_one(k, NEAR_LIST, cells)
        forget_one(k, VERLET_LIST, cells)
        cells.reach[2 * k + NEAR_LIST], cells.reach[2 * k + VERLET_LIST] = near, built
        cells.images[k] = images

    length = Number("f64", "angstrom")
    taken = taken_cells(batch, "strain", "lost", "reach", "images")

    @kernel(
        types_of(real), near=length, built=length, images=Number("ivec", "along each vector"), cells=taken
    )
    def listed(near, built, images, cells):
        """New lists that reach so far, with images so far."""
        if ti.static(batch):
            for k in range(cells.images.shape[0]):
                listed_one(k, near, built, images, cells)
        else:
            listed_one(ONLY, near, built, images, cells)

    return CellFunctions(True, strayed, deform, drifted, forget, lay_out, shift, listed)
