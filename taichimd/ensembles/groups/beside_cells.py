"""Baths of groups beside a motion of the cell: each does its part of what steps ask for.

Baths that act on each atom do so in the drift: the motion of the cell finds the kinetic energy as they leave
it. Baths that rescale velocities act when the motion of the cell does, just before it, as a thermostat of all
atoms would: with v of the cell's frame (SLLOD: peculiar velocities), over the time from one action to the
next. The motion then finds the kinetic tensor T of the rescaled velocities. With the factor s of a group, its
tensor T_g, momentum P and velocity of the centre of mass V

    T <- T + sum of (s^2 - 1) (T_g - P V)

The arrays are those of the baths, with the arrays of the motion at their end.
"""

from dataclasses import replace
from typing import Any

from taichimd.core.arguments import Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.system.cell import ONLY, taken_cells
from taichimd.system.state import Atoms


def beside_cell(
    groups: EnsembleFunctions, cell: EnsembleFunctions, real: Any, coupling: Any
) -> EnsembleFunctions:
    """Device functions of baths of groups and of the motion of the cell (`of_rows`)."""
    rescales, period = coupling.tensor_of_group > 0, coupling.period

    @ti.func
    def add_kinetic(i, n, v, f, inverse_mass, atom, baths: ti.template()):
        cell.add_kinetic(i, n, v, inverse_mass, baths)
        if ti.static(rescales):
            groups.add_kinetic(i, n, v, f, inverse_mass, atom, baths)

    @ti.func
    def rescaled(i, v, atom, baths: ti.template()):
        new = v
        if ti.static(rescales):
            new = groups.rescaled(i, v, atom, baths)
        return cell.rescaled(i, new, baths)

    @ti.func
    def rescale(k, dt, interval, baths: ti.template(), cells: ti.template()):
        """What acts on system k; whether its sinks have the energy that they take. One thread."""
        fine = 1
        if ti.static(rescales):
            time = ti.cast(dt, ti.f64) * ti.static(float(period))
            change, enough = groups.rescale_system(k, cell.due(interval + 1), time, interval, baths)
            fine = enough
            for c in ti.static(range(cell.parts)):
                cell.adjust(k, c, change[c], baths)
        cell.rescale(k, dt, interval, baths, cells)
        return fine

    both = replace(
        cell, add_kinetic=add_kinetic, rescale=rescale, rescaled=rescaled, prepare=groups.prepare,
        refresh=groups.refresh, book=groups.book,
    )  # fmt: skip
    return replace(both, close_step=_closing(both, real, coupling)) if rescales else both


def _closing(of: EnsembleFunctions, real: Any, coupling: Any) -> Any:
    """Kernel of all this, for the last step of a run."""
    several = coupling.batch

    @kernel(
        types_of(real), atoms=Atoms.only("vel", "force", "inverse_mass", "ident"), bath=coupling.arrays,
        cells=taken_cells(False, "vectors", "stretch", "drift"),
        n=Number("i32", "number of atoms; 0: only compile"), dt=Number("real", "time step"),
        interval=Number("i64", "number of the interval between steps"),
    )  # fmt: skip
    def close_step(atoms, bath, cells, n, dt, interval):
        for i in range(n):
            of.add_kinetic(i, n, atoms.vel[i], atoms.force[i], atoms.inverse_mass[i], atoms.ident[i], bath)
        for k in range(of.systems_of(bath) * of.collects):
            of.collect(k, bath)
        if ti.static(several):
            for k in range(of.systems_of(bath)):
                if n > 0:
                    of.rescale(k, dt, interval, bath, cells)
        elif n > 0:
            of.rescale(ONLY, dt, interval, bath, cells)
        for i in range(n):
            atoms.vel[i] = of.rescaled(i, atoms.vel[i], atoms.ident[i], bath)

    return close_step
