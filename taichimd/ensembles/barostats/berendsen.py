"""Berendsen's barostat: the cell relaxes to the pressure.

    B = 1 + r dt (P - p),    A = s,    C = B

See `taichimd.ensembles.barostats` for the symbols; s is the factor of the thermostat. No state of its own.
"""

from typing import Any, ClassVar

from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.barostats.layout import RATE


class BerendsenCell(CellMotion):
    """Weak coupling: the pressure relaxes as exp(-t/pressure_coupling_time), without noise.

    Source: H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984), doi:10.1063/1.448118. Use this barostat
    to reach a pressure, not to sample. It needs no thermostat. `CellMotion` describes all arguments.

        >>> from taichimd import BerendsenCell, Bussi, combine
        >>> combine(Bussi(600.0), BerendsenCell(pressure=1.0)).name
        'npt-berendsen-bussi'
    """

    name: ClassVar[str] = "berendsen"
    conserves: ClassVar[bool] = False
    has_noise: ClassVar[bool] = False

    @classmethod
    def action_function(cls, factor: Any, tensors: Any, due: Any) -> Any:
        """Device function of an action; see `CellMotion.action_function`."""
        from taichimd.core.runtime import ti

        project = tensors.project

        @ti.func
        def action(
            twice, virial, volume, wanted, kt, time, interval, ledger: ti.template(), bath: ti.template()
        ):
            one = ti.Matrix.identity(ti.f64, 3)
            by = factor(0.5 * twice.trace(), kt, time, interval, ledger, bath)
            twice *= by * by
            strain = project((twice + virial) / volume - wanted) * (bath[RATE] * time)
            stretch = one + strain
            return one * by, stretch, stretch

        return action
