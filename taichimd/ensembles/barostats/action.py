"""An action of a barostat on the device, for the places that `verlet` has for it: what all barostats do."""

from typing import Any

from taichimd.core.runtime import in_double, ti
from taichimd.ensembles.barostats.deforming import deformed_action
from taichimd.ensembles.barostats.layout import P_END, P_START, VELOCITY_SCALE
from taichimd.ensembles.barostats.tensors import tensor_functions
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.matrices import read3, write3
from taichimd.ensembles.thermostats.ledger import along_ramp, target
from taichimd.ensembles.thermostats.system import atom_functions, guarded


def barostat_functions(kind: Any, coupling: Any, real: Any, by_slot: bool) -> EnsembleFunctions:
    """Device functions of one motion of the cell, float64, with its thermostat."""
    period = coupling.period
    tensors = tensor_functions(coupling, by_slot)
    parts, collect, tensor = tensors.parts, tensors.collect, tensors.tensor

    @ti.func
    def due(step):
        """Whether the barostat acts at the end of a step, and moves the cell in the drift after it."""
        return ti.cast(step % period == 0, ti.i32)

    @ti.func
    def until_due(step):
        """Steps from this one on before one that ends with sums: of an action, or behind one."""
        left = -step % period
        if ti.static(coupling.settles):
            left = ti.min(left, (1 - step) % period)
        return ti.cast(left, ti.i32)

    factor = guarded(kind.factor_function())
    if coupling.deforms:
        action = deformed_action(kind, coupling, factor, tensors, due)
    else:
        action = kind.action_function(factor, tensors, due if coupling.settles else None)

    @in_double
    def rescale(dt, interval, ledger: ti.template(), bath: ti.template(), own, cells: ti.template()):
        """A, B and C of cell `own` from the totals. Serial."""
        if ti.static(parts == 1 and not coupling.batch):
            for k in ti.static(range(2)):
                collect(k, ledger)
        time = ti.cast(dt, ti.f64) * ti.static(float(period))
        kt = target(interval + 1, bath)
        twice, virial = tensor(0, ledger), tensor(parts, ledger)
        volume = ti.abs(cells.vectors[own].determinant())
        wanted = ti.Matrix.zero(ti.f64, 3, 3)
        for a in ti.static(range(3)):
            wanted[a, a] = along_ramp(interval + 1, P_START + a, P_END + a, bath)
        scale, stretch, drift = action(twice, virial, volume, wanted, kt, time, interval, ledger, bath)
        write3(bath, VELOCITY_SCALE, scale)
        cells.stretch[own] = stretch - ti.Matrix.identity(ti.f64, 3)
        cells.drift[own] = drift

    @ti.func
    def rescaled(i, v, bath: ti.template()):
        return ti.cast(read3(bath, VELOCITY_SCALE), real).transpose() @ v

    return EnsembleFunctions(
        tensors.add_kinetic, rescale, rescaled, parts=parts, add_components=tensors.add_components,
        add_virial=tensors.add_virial, collect=collect, adjust=tensors.adjust, due=due, until_due=until_due,
        **atom_functions(kind, tensors.count, coupling.given, real),
    )  # fmt: skip
