"""What a deformation does to the cell, the atoms and the lists, on the device: whoever decides upon it.

The lists learn of the deformation since they were made, F = 1 + E: pairs farther apart than reach are still beyond
(1 - |E|) reach - 2 u, if no atom is farther than u from where the deformation alone would have brought it.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Number, kernel, types_of
from taichimd.core.runtime import in_double, ti
from taichimd.dynamics.matrices import square
from taichimd.system.cell import MOST_STRETCH, NEAR_LIST, ONLY, VERLET_LIST, Cells, cell_of


@cache
def cell_functions(real: Any, moves: bool) -> Any:
    """Device functions of the cell. Of one at rest there is `strayed` alone.

    Args:
        real: ti.f64 or ti.f32, of the atoms; cells are float64.
        moves: whether the cell moves on the device.
    """

    @ti.func
    def strayed(i, x, listed_at, most2, near: ti.template(), cells: ti.template()):
        """Whether atom i is too far from where a list was made, or where the cell would have brought it since."""
        far = 0
        if ti.static(moves):
            which = ti.static(2 * cell_of(i) + (NEAR_LIST if near else VERLET_LIST))
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
        return SimpleNamespace(moves=False, strayed=strayed)

    @in_double
    def deform(k: ti.template(), cells: ti.template()):
        """Cell k and the strains, in the drift that follows; whether it is fit to be done. Serial."""
        extra = cells.stretch[k]
        h = cells.vectors[k]
        h += h @ extra
        strains = [cells.strain[2 * k + which] for which in ti.static((NEAR_LIST, VERLET_LIST))]
        cells.vectors[k] = h
        for which in ti.static((NEAR_LIST, VERLET_LIST)):
            m = strains[which]
            m += m @ extra
            m += extra
            cells.strain[2 * k + which] = m
            cells.lost[2 * k + which] = 0.5 * cells.reach[2 * k + which] * ti.sqrt(square(m))
        fit = 1
        if not square(extra) <= MOST_STRETCH * MOST_STRETCH:
            fit = 0
        return fit

    @ti.func
    def drifted(i, x, move, cells: ti.template()):
        """By how much a position changes that would move so far in a cell at rest; and the move in this one."""
        k = ti.static(cell_of(i))
        by = ti.cast(cells.drift[k], real) @ move
        return ti.cast(cells.stretch[k], real) @ x + by, by

    @ti.func
    def forget(which: ti.template(), cells: ti.template()):
        """Lists were made: no strain since."""
        cells.lost[2 * ONLY + which] = 0.0
        cells.strain[2 * ONLY + which] = ti.Matrix.zero(ti.f64, 3, 3)

    @in_double
    def lay_out(grid: ti.template(), bins, reach, radius2, cells: ti.template()):
        """Put the present cell into the grid of the neighbour search; 0 if its bins have become too narrow. Serial."""
        h = cells.vectors[ONLY]
        inverse = h.inverse()
        wide = 1
        for a in ti.static(range(3)):
            across2 = 0.0
            for c in ti.static(range(3)):
                grid[a][c] = ti.cast(h[a, c], real)
                grid[3 + a][c] = ti.cast(inverse[a, c], real)
                across2 += inverse[c, a] * inverse[c, a]
            # The cell's height along this axis is 1/sqrt(across2).
            far = reach[a] / ti.cast(bins[a], ti.f64)
            if not far * far >= ti.cast(radius2, ti.f64) * across2:
                wide = 0
        return wide

    @ti.func
    def shift(i, n, shift_bits, shifts: ti.template(), cells: ti.template()):
        """Vectors of the images for the present cell: those that are atom i's to renew."""
        codes = 1 << shift_bits
        most, cell = cells.images[ONLY], cells.vectors[ONLY]
        my, mz = most[1], most[2]
        code = i
        while code < codes:
            # Codes are linear in the image, and modulo 2^shift_bits.
            left = code - codes if code >= codes // 2 else code
            z = (left + mz) % (2 * mz + 1) - mz
            left = (left - z) // (2 * mz + 1)
            y = (left + my) % (2 * my + 1) - my
            x = (left - y) // (2 * my + 1)
            for a in ti.static(range(3)):
                # Term by term, as the host does it: T and -T are exact negatives of each other.
                total = ti.cast(x, ti.f64) * cell[0, a] + ti.cast(y, ti.f64) * cell[1, a]
                shifts[code][a] = ti.cast(total + ti.cast(z, ti.f64) * cell[2, a], real)
            code += n

    length = Number("f64", "angstrom")
    taken = Cells.only("strain", "lost", "reach", "images")

    @kernel(types_of(real), near=length, built=length, images=Number("ivec", "along each vector"), cells=taken)  # fmt: skip
    def listed(near, built, images, cells):
        """New lists that reach so far, with images so far."""
        forget(NEAR_LIST, cells)
        forget(VERLET_LIST, cells)
        cells.reach[2 * ONLY + NEAR_LIST], cells.reach[2 * ONLY + VERLET_LIST] = near, built
        cells.images[ONLY] = images

    return SimpleNamespace(
        moves=True, strayed=strayed, deform=deform, drifted=drifted, forget=forget, lay_out=lay_out, shift=shift,
        listed=listed,
    )  # fmt: skip
