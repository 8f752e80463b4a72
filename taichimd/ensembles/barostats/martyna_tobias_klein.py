"""Martyna-Tobias-Klein barostat: a cell with inertia, and friction and noise on its velocity.

With the cell velocity u (symmetric), M = (N_f + 3) k T tau^2/3 and G = K + W - V p + tr(K)/N_f: half of u' =
G/M; half of v' = -(u + tr(u)/N_f) v; thermostat of the atoms (its factor), and friction and noise on u; the
two halves in reverse. Then

    B = exp(u dt),    C = (exp(u dt) - 1)/(u dt)

With 3N - 3 degrees of freedom it samples V^(N-1) exp(-(U + p V)/kT), with F fixed atoms V^(N-F) exp(-(U + p
V)/kT). (M. E. Tuckerman et al., J. Phys. A 39, 5629 (2006), doi:10.1088/0305-4470/39/19/S18, with the halves
on both sides of a step's boundary made one, as for thermostats.) `taichimd.ensembles.barostats` has the other
symbols.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.barostats.layout import AHEAD, CELL_TIME, OWN_STATE, P_END, P_START
from taichimd.ensembles.thermostats.layout import FREEDOM, MASS_KT, RECEIVED

CELL_VELOCITY = OWN_STATE
"""In the array `bath`: u. AHEAD is the energy between the two halves of the cell's kick, less the one after
them."""


class InertialCell(CellMotion):
    """A cell with inertia: second-order dynamics of the volume or of the whole cell.

    Source: G. J. Martyna, D. J. Tobias, M. L. Klein, J. Chem. Phys. 101, 4177 (1994), doi:10.1063/1.467468.
    Friction and noise act on the velocity of the cell in place of a thermostat chain, as in D. Quigley,
    M. I. J. Probert, J. Chem. Phys. 120, 11432 (2004), doi:10.1063/1.1755657. The mass of the cell is
    (N_f + 3) k T tau^2/3, with tau the pressure coupling time. `CellMotion` describes all arguments.

        >>> from taichimd import InertialCell, NoseHoover, combine
        >>> combine(NoseHoover(600.0), InertialCell(pressure=1.0)).name
        'npt-mtk-nose-hoover'
    """

    name: ClassVar[str] = "mtk"
    uses_bulk_modulus: ClassVar[bool] = False
    has_inertia: ClassVar[bool] = True

    def received(self, values: NDArray[np.float64], freedom: int) -> float:
        """Energy that the bath and the pressure have received, plus the kinetic energy of the cell, eV."""
        speed2 = np.square(values[CELL_VELOCITY : CELL_VELOCITY + 9]).sum()
        mass = (freedom + 3.0) * values[MASS_KT] * values[CELL_TIME] ** 2 / 3.0
        return super().received(values, freedom) + float(0.5 * mass * speed2)

    @classmethod
    def action_function(cls, factor: Any, tensors: Any, due: Any) -> Any:
        """Device function of an action; see `CellMotion.action_function`."""
        from taichimd.core.math import exp, sqrt
        from taichimd.core.runtime import ti
        from taichimd.ensembles.matrices import grown, product, read3, series, square, write3
        from taichimd.ensembles.thermostats.ledger import along_ramp, seed_of

        project, noise = tensors.project, tensors.noise

        @ti.func
        def action(
            twice, virial, volume, wanted, kt, time, interval, ledger: ti.template(), bath: ti.template()
        ):
            one = ti.Matrix.identity(ti.f64, 3)
            freedom = bath[FREEDOM]
            mass = (freedom + 3.0) * bath[MASS_KT] * bath[CELL_TIME] * bath[CELL_TIME] / 3.0
            u = read3(bath, CELL_VELOCITY)
            # What the cell did against the pressure in the drift that is over: the integral of V p:u.
            done = 0.0 * volume
            for a in ti.static(range(3)):
                before = along_ramp(interval, P_START + a, P_END + a, bath)
                done += 0.5 * (before + wanted[a, a]) * u[a, a] * time
            bath[RECEIVED] += done * volume * grown(-u.trace() * time)
            u += project(twice + virial - volume * wanted + (twice.trace() / freedom) * one) * (
                0.5 * time / mass
            )
            first = series((u + (u.trace() / freedom) * one) * (-0.5 * time), 0)
            twice = product(product(first.transpose(), twice), first)
            by = factor(0.5 * twice.trace(), kt, time, interval, ledger, bath)
            twice *= by * by
            kept = exp(-time / bath[CELL_TIME])
            before = square(u)
            u = kept * u + project(noise(seed_of(ledger), interval, 0)) * sqrt(
                (1.0 - kept * kept) * kt / mass
            )
            bath[RECEIVED] += 0.5 * mass * (before - square(u))
            # The step is symmetric about this place: only here the error of the energy is of second order.
            middle = 0.5 * (twice.trace() + mass * square(u))
            second = series((u + (u.trace() / freedom) * one) * (-0.5 * time), 0)
            twice = product(product(second.transpose(), twice), second)
            u += project(twice + virial - volume * wanted + (twice.trace() / freedom) * one) * (
                0.5 * time / mass
            )
            write3(bath, CELL_VELOCITY, u)
            bath[AHEAD] = middle - 0.5 * (twice.trace() + mass * square(u))
            scale = product(first, second) * by
            return scale, series(u * time, 0), series(u * time, 1)

        return action
