"""Baths of groups beside a motion of the cell: each does its part of what steps ask for.

The baths act on each atom alone, in the drift: the motion of the cell finds the kinetic energy as they leave
it. The arrays are those of the baths, with the arrays of the motion at their end.
"""

from dataclasses import replace
from typing import Any

from taichimd.core.arguments import Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.ensembles.bath_arrays import BatchGroupBathArrays, GroupBathArrays
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.system.cell import taken_cells
from taichimd.system.state import Atoms


def beside_cell(
    groups: EnsembleFunctions, cell: EnsembleFunctions, coupling: Any, real: Any
) -> EnsembleFunctions:
    """Device functions of both.

    Args:
        groups: of baths that act on each atom alone.
        cell: of the motion of the cell (`of_each_system`).
        coupling: `Coupling` of both.
        real: ti.f64 or ti.f32, of the atoms.
    """
    arrays = BatchGroupBathArrays if coupling.batch else GroupBathArrays
    sums = 2 * cell.parts

    @ti.func
    def add_kinetic(i, n, v, f, inverse_mass, atom, every: ti.template()):
        cell.add_kinetic(i, n, v, inverse_mass, every)

    @ti.func
    def rescaled(i, v, atom, every: ti.template()):
        return cell.rescaled(i, v, every)

    count = Number("i32", "number of atoms; 0: only compile")
    interval_of = Number("i64", "number of the interval between steps")

    @kernel(
        types_of(real), atoms=Atoms.only("vel", "inverse_mass"), bath=arrays,
        cells=taken_cells(False, "vectors", "stretch", "drift"), n=count, dt=Number("real", "time step"),
        interval=interval_of
    )  # fmt: skip
    def close_step(atoms, bath, cells, n, dt, interval):
        for i in range(n):
            cell.add_kinetic(i, n, atoms.vel[i], atoms.inverse_mass[i], bath)
        for k in range(cells.vectors.shape[0] * sums):
            if n > 0:
                cell.collect(k, bath)
        for k in range(cells.vectors.shape[0]):
            if n > 0:
                cell.rescale(k, dt, interval, bath, cells)
        for i in range(n):
            atoms.vel[i] = cell.rescaled(i, atoms.vel[i], bath)

    return replace(
        cell, add_kinetic=add_kinetic, rescaled=rescaled, close_step=close_step, prepare=groups.prepare,
        refresh=groups.refresh, book=groups.book,
    )  # fmt: skip
