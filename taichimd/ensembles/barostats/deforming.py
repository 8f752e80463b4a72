"""An action with a deformation on the device; `deformation` has its equations."""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.ensembles.barostats import layout as baro
from taichimd.ensembles.matrices import contracted, logarithm, product, read3, series, write3


def deformation_function() -> Any:
    """Device function `(acts, scale, stretch, drift, twice, virial, time, bath)`: A, B, C deformed, too."""

    @ti.func
    def deformation(acts, scale, stretch, drift, twice, virial, time, bath: ti.template()):
        one = ti.Matrix.identity(ti.f64, 3)
        # Half of the work of the last deformation: the virial after the deformation gives this half.
        bath[baro.STRAIN_WORK] -= 0.5 * contracted(virial, read3(bath, baro.STRAIN))
        bath[baro.STRAIN_WORK_AHEAD] = 0.0
        write3(bath, baro.STRAIN, 0.0 * one)
        new_scale, new_stretch, new_drift = scale, stretch, drift
        if acts == 1:
            x = read3(bath, baro.RATES) * time
            reached = read3(bath, baro.REACHED)
            if bath[baro.TRUE_RATE] == 0.0:
                write3(bath, baro.REACHED, reached + x)
                # Both are lower triangular: reached^-1 x, row after row.
                for a in ti.static(range(3)):
                    for c in ti.static(range(3)):
                        for k in ti.static(range(a)):
                            x[a, c] -= reached[a, k] * x[k, c]
                        x[a, c] /= reached[a, a]
            else:
                x = product(x, series(x, 1))
                write3(bath, baro.REACHED, reached + product(reached, x))
            strain = logarithm(x)
            work = -0.5 * contracted(virial, strain)
            write3(bath, baro.STRAIN, strain)
            if bath[baro.PECULIAR] == 1.0:
                back = series(-strain, 0)
                now = product(product(scale.transpose(), twice), scale)
                after = product(product(back.transpose(), now), back)
                bath[baro.STRAIN_WORK] += 0.5 * (after.trace() - now.trace())
                new_scale = product(scale, back)
            bath[baro.STRAIN_WORK] += work
            bath[baro.STRAIN_WORK_AHEAD] = -work
            new_drift = product(drift, series(strain, 1))
            new_stretch = stretch + product(stretch, x)
        return new_scale, new_stretch, new_drift

    return deformation


def deformed_action(kind: Any, coupling: Any, factor: Any, tensors: Any, due: Any) -> Any:
    """Device function of an action, as `CellMotion.action_function`, the deformation after the barostat.

    Args:
        kind: the class of the ensemble.
        coupling: `Coupling` of it.
        factor: of the thermostat.
        tensors: `tensor_functions`.
        due: says whether the barostat acts at the end of a step.
    """
    settles = coupling.settles
    # Where only the deformation settles, the barostat is called in steps of action alone.
    only_in_action = not kind.acts_when_settling
    of_barostat = kind.action_function(factor, tensors, due if settles and not only_in_action else None)
    deformation = deformation_function()

    @ti.func
    def action(twice, virial, volume, wanted, kt, time, interval, ledger: ti.template(), bath: ti.template()):
        one = ti.Matrix.identity(ti.f64, 3)
        acts, scale, stretch, drift = 1, one, one, one
        if ti.static(settles):
            acts = due(interval + 1)
        if ti.static(not only_in_action):
            scale, stretch, drift = of_barostat(
                twice, virial, volume, wanted, kt, time, interval, ledger, bath
            )
        elif acts == 1:
            scale, stretch, drift = of_barostat(
                twice, virial, volume, wanted, kt, time, interval, ledger, bath
            )
        return deformation(acts, scale, stretch, drift, twice, virial, time, bath)

    return action
