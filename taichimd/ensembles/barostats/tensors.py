"""Tensors of a barostat on the device: sums over atoms, noise, and what of them the cell may follow."""

from dataclasses import dataclass
from typing import Any

from taichimd.core.philox import GLOBAL
from taichimd.core.random import normal2
from taichimd.core.runtime import DeviceFunction, ti
from taichimd.core.streams import CELL
from taichimd.ensembles.thermostats.layout import ENERGY_BITS, SLOT, SLOTS
from taichimd.ensembles.thermostats.ledger import batch_sum_functions, sum_functions, units_of
from taichimd.enumerate.reproducible_sum import SIX
from taichimd.system.state import LEAST_INVERSE_MASS


@dataclass(frozen=True)
class TensorFunctions:
    """Device functions of tensors.

    Attributes:
        parts: number of components that are summed. count: adds to a sum. project: what of a tensor the cell
            may follow.
        add_kinetic, add_components, add_virial, collect, adjust: see `EnsembleFunctions`.
        tensor: the kinetic or virial tensor from the totals. noise: a symmetric matrix of normals.
    """

    parts: int
    count: DeviceFunction
    project: DeviceFunction
    add_kinetic: DeviceFunction
    add_components: DeviceFunction
    add_virial: DeviceFunction
    collect: DeviceFunction
    adjust: DeviceFunction
    tensor: DeviceFunction
    noise: DeviceFunction


def component_function(parts: int) -> DeviceFunction:
    """Device function `(m, k)`: what is summed of a matrix, its trace, its diagonal or its symmetric part.

    Args:
        parts: number of components: 1, 3 or 6.
    """

    @ti.func
    def component(m: ti.template(), k: ti.template()):
        value = 0.0 * m[0, 0]
        if ti.static(parts == 1):
            value = m[0, 0] + m[1, 1] + m[2, 2]
        else:
            a, c = ti.static(SIX[k])
            value = 0.5 * (m[a, c] + m[c, a])
        return value

    return component


def tensor_functions(coupling: Any, by_slot: bool) -> TensorFunctions:
    """The functions of one kind of control.

    Args:
        coupling: which kind of control, and whether the ledger is an `OwnLedger`.
        by_slot: whether neighbouring threads have neighbouring atoms (CUDA).
    """
    axes, parts = coupling.axes, coupling.parts
    isotropic, triclinic = coupling.control == "isotropic", coupling.control == "triclinic"
    sums = batch_sum_functions() if coupling.batch else sum_functions(by_slot)
    count, empty_slots, put, there = sums.count, sums.empty_slots, sums.put, sums.there
    totals = SLOT + coupling.sums * SLOTS

    @ti.func
    def project(m):
        """What of a tensor the cell may follow."""
        out = 0.5 * (m + m.transpose())
        if ti.static(not triclinic):
            mean = 0.0 * m[0, 0]
            for a in ti.static(range(3)):
                if ti.static("xyz"[a] in axes):
                    mean += m[a, a] / ti.static(len(axes))
            for a in ti.static(range(3)):
                for c in ti.static(range(3)):
                    if ti.static(a != c or "xyz"[a] not in axes):
                        out[a, c] = 0.0 * m[a, c]
                    elif ti.static(isotropic):
                        out[a, c] = mean
        return out

    component = component_function(parts)

    @ti.func
    def add_kinetic(i, n, v, inverse_mass, ledger: ti.template()):
        w = ti.cast(v, ti.f64)
        twice = w.outer_product(w) / ti.max(ti.cast(inverse_mass, ti.f64), LEAST_INVERSE_MASS)
        for k in ti.static(range(parts)):
            count(i, n, k, component(twice, k), ledger)

    @ti.func
    def add_components(i, n, w, ledger: ti.template()):
        """The virial of an atom, by the components that are summed."""
        for k in ti.static(range(parts)):
            count(i, n, parts + k, ti.cast(w[k], ti.f64), ledger)

    @ti.func
    def add_virial(i, n, w, ledger: ti.template()):
        """The virial of an atom, a 3x3 matrix."""
        for k in ti.static(range(parts)):
            count(i, n, parts + k, ti.cast(component(w, k), ti.f64), ledger)

    @ti.func
    def collect(k, ledger: ti.template()):
        """Total of one component."""
        put(totals + k, empty_slots(k, ledger), ledger)

    @ti.func
    def adjust(k: ti.template(), energy, ledger: ti.template()):
        """Add an energy to the total of one component."""
        put(totals + k, there(totals + k, ledger) + units_of(energy), ledger)

    @ti.func
    def tensor(first: ti.template(), ledger: ti.template()):
        found = ti.Matrix.zero(ti.f64, 3, 3)
        for k in ti.static(range(parts)):
            value = ti.cast(there(totals + first + k, ledger), ti.f64) * 2.0**-ENERGY_BITS
            if ti.static(parts == 1):
                for a in ti.static(range(3)):
                    found[a, a] = value / 3.0
            else:
                a, c = ti.static(SIX[k])
                found[a, c] = value
                found[c, a] = value
        return found

    @ti.func
    def noise(seed, interval, first: ti.template()):
        """A symmetric matrix of normals: variance 1 on the diagonal, 1/2 beside it."""
        x = ti.Vector.zero(ti.f64, 6)
        ti.loop_config(serialize=True)
        for k in range(3):
            x[2 * k], x[2 * k + 1] = normal2(seed, GLOBAL, interval, CELL, first + k)
        off = ti.sqrt(ti.cast(0.5, ti.f64))
        return ti.Matrix(
            [[x[0], off * x[5], off * x[4]], [off * x[5], x[1], off * x[3]], [off * x[4], off * x[3], x[2]]]
        )

    return TensorFunctions(
        parts, count, project, add_kinetic, add_components, add_virial, collect, adjust, tensor, noise
    )
