"""What a deformation does to the cell, the atoms and the lists, on the device.

The lists learn of the deformation since they were made, F = 1 + E: pairs farther apart than reach are still beyond
(1 - |E|) reach - 2 u, if no atom is farther than u from where the deformation alone would have brought it.
"""

from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Number, kernel, types_of
from taichimd.core.runtime import in_double, ti
from taichimd.dynamics.barostats import layout as at
from taichimd.dynamics.barostats.matrices import read3, square, write3
from taichimd.dynamics.bath_arrays import BathArrays


def deformation_functions(real: Any) -> Any:
    """Device functions for atoms of type `real`, ti.f64 or ti.f32; cells are float64."""

    @in_double
    def deform(bath: ti.template()):
        """Cell and strains of the drift that follows; whether it is fit to be done. Serial."""
        extra = read3(bath, at.STRETCH)
        for place in ti.static((at.CELL_VECTORS, at.STRAIN_NEAR, at.STRAIN_BUILT)):
            m = read3(bath, place)
            m += m @ extra
            if ti.static(place != at.CELL_VECTORS):
                m += extra
            write3(bath, place, m)
            if ti.static(place == at.STRAIN_NEAR):
                bath[at.LOST_NEAR] = 0.5 * bath[at.REACH_NEAR] * ti.sqrt(square(m))
            elif ti.static(place == at.STRAIN_BUILT):
                bath[at.LOST_BUILT] = 0.5 * bath[at.REACH_BUILT] * ti.sqrt(square(m))
        fit = 1
        if not square(extra) <= at.MOST_STRETCH * at.MOST_STRETCH:
            fit = 0
        return fit

    @ti.func
    def rescaled(v, bath: ti.template()):
        return ti.cast(read3(bath, at.VELOCITY_SCALE), real).transpose() @ v

    @ti.func
    def drifted(x, move, bath: ti.template()):
        """By how much a position changes that would move so far in a cell at rest; and the move in this one."""
        by = ti.cast(read3(bath, at.DRIFT), real) @ move
        return ti.cast(read3(bath, at.STRETCH), real) @ x + by, by

    @ti.func
    def strayed(x, listed_at, most2, near: ti.template(), bath: ti.template()):
        """Whether an atom is too far from where the deformation of the cell would have brought it."""
        strain = read3(bath, at.STRAIN_NEAR if ti.static(near) else at.STRAIN_BUILT)
        gone = ti.cast(x - listed_at, ti.f64) - strain.transpose() @ ti.cast(listed_at, ti.f64)
        most = ti.sqrt(ti.cast(most2, ti.f64)) - bath[at.LOST_NEAR if ti.static(near) else at.LOST_BUILT]
        far = 0
        if not (most > 0.0 and gone.dot(gone) <= most * most):
            far = 1
        return far

    @ti.func
    def forget_near(bath: ti.template()):
        """The near list was cut: no strain since."""
        bath[at.LOST_NEAR] = 0.0
        write3(bath, at.STRAIN_NEAR, ti.Matrix.zero(ti.f64, 3, 3))

    @ti.func
    def forget_built(bath: ti.template()):
        """The Verlet list was built: no strain since."""
        bath[at.LOST_BUILT] = 0.0
        write3(bath, at.STRAIN_BUILT, ti.Matrix.zero(ti.f64, 3, 3))

    @in_double
    def lay_out(grid: ti.template(), bins, reach, radius2, bath: ti.template()):
        """Put the present cell into the grid of the neighbour search; 0 if its bins have become too narrow. Serial."""
        h = read3(bath, at.CELL_VECTORS)
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
    def shift(i, n, shift_bits, shifts: ti.template(), bath: ti.template()):
        """Vectors of the images for the present cell: those that are atom i's to renew."""
        codes = 1 << shift_bits
        my, mz = ti.cast(bath[at.MOST_IMAGE], ti.i32), ti.cast(bath[at.MOST_IMAGE + 1], ti.i32)
        cell = read3(bath, at.CELL_VECTORS)
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
    image = Number("f64", "whole number")

    @kernel(types_of(real), near=length, built=length, my=image, mz=image, arrays=BathArrays.only("bath"))
    def listed(near, built, my, mz, arrays):
        """New lists that reach so far (angstrom), with images so far along the second and third vector."""
        forget_near(arrays.bath)
        forget_built(arrays.bath)
        arrays.bath[at.REACH_NEAR], arrays.bath[at.REACH_BUILT] = near, built
        arrays.bath[at.MOST_IMAGE], arrays.bath[at.MOST_IMAGE + 1] = my, mz

    return SimpleNamespace(
        deform=deform, rescaled=rescaled, drifted=drifted, strayed=strayed, forget_near=forget_near, forget_built=forget_built,
        lay_out=lay_out, shift=shift, listed=listed,
    )  # fmt: skip
