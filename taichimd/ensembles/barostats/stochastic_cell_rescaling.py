"""Stochastic cell rescaling: the cell relaxes to the pressure, with noise e.

    B = exp(e),    e = r dt (P - p) + sqrt(2 r dt kT/V) R,    A = s exp(-e),    C = B

See `taichimd.ensembles.barostats` for the symbols; s is the factor of the thermostat. (Bernetti and Bussi
2020; Del Tatto et al. 2022, with the rotation taken out.) There is no term kT/V beside P: it samples
V^(N_f/3) exp(-(U + p V)/kT), N_f degrees of freedom of K, as Martyna, Tobias and Klein's barostat does. It
gives the atoms the work W:e, taken as the mean of W before and after the deformation; the step after an
action is one more in which W is summed, for that alone.
"""

from typing import Any, ClassVar

from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import digits
from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.barostats.layout import AHEAD, OWN_STATE, RATE
from taichimd.ensembles.thermostats.layout import RECEIVED

LONGEST_LEAP = 1 / 10
"""From one action to the next, over the pressure coupling time."""
LAST_STRAIN = OWN_STATE
"""In the array `bath`: e of the last action. AHEAD is work that atoms are yet to get, half of it."""


class StochasticCell(CellMotion):
    """Stochastic cell rescaling: weak coupling with noise, which samples the isothermal-isobaric ensemble.

    Source: M. Bernetti, G. Bussi, J. Chem. Phys. 153, 114107 (2020), doi:10.1063/5.0020514. Cells that change
    shape: V. Del Tatto, P. Raiteri, M. Bernetti, G. Bussi, Appl. Sci. 12, 1139 (2022),
    doi:10.3390/app12031139.

    Between two actions the pressure is taken as constant, so the time between two actions must be short
    compared with the coupling time. `CellMotion` describes all arguments.

        >>> from taichimd import Langevin, StochasticCell, combine
        >>> combine(Langevin(600.0), StochasticCell(pressure=1.0)).name
        'npt-scr-langevin'
    """

    name: ClassVar[str] = "scr"
    settles: ClassVar[bool] = True

    def check_timestep(self, timestep: float) -> None:
        """As for every barostat; actions so rare that the volume would fluctuate too much are refused.

        Raises:
            SettingsError: a coupling time is too short, or the period too long.
        """
        super().check_timestep(timestep)
        leap = self.period * timestep / units.FS
        if leap > LONGEST_LEAP * self.pressure_coupling_time * (1.0 + 1e-12):
            raise SettingsError(
                f"{self.name} acts every {self.period} steps, {leap:g} fs, which is more than a tenth of "
                f"pressure_coupling_time = {digits(self.pressure_coupling_time)} fs: volumes would fluctuate "
                "too much; use a shorter period (--barostat-period) or a longer coupling time"
            )

    @classmethod
    def action_function(cls, factor: Any, tensors: Any, due: Any) -> Any:
        """Device function of an action; with `due` it is also called in the step after an action."""
        from taichimd.core.math import sqrt
        from taichimd.core.runtime import ti
        from taichimd.ensembles.matrices import contracted, product, read3, series, write3
        from taichimd.ensembles.thermostats.ledger import seed_of

        project, noise = tensors.project, tensors.noise

        @ti.func
        def action(
            twice, virial, volume, wanted, kt, time, interval, ledger: ti.template(), bath: ti.template()
        ):
            one = ti.Matrix.identity(ti.f64, 3)
            scale, stretch = one, one
            # Half of the work of the last deformation: the virial after the deformation gives this half.
            bath[RECEIVED] += 0.5 * contracted(virial, read3(bath, LAST_STRAIN))
            bath[AHEAD] = 0.0
            write3(bath, LAST_STRAIN, 0.0 * one)
            acts = 1
            if ti.static(bool(due)):
                acts = due(interval + 1)
            if acts == 1:
                by = factor(0.5 * twice.trace(), kt, time, interval, ledger, bath)
                twice *= by * by
                strain = project((twice + virial) / volume - wanted) * (bath[RATE] * time)
                strain += project(noise(seed_of(ledger), interval, 0)) * sqrt(
                    2.0 * bath[RATE] * time * kt / volume
                )
                scale, stretch = series(-strain, 0), series(strain, 0)
                work = 0.5 * contracted(virial, strain)
                bath[RECEIVED] += 0.5 * (twice.trace() - product(product(scale, twice), scale).trace()) + work
                bath[AHEAD] = -work
                write3(bath, LAST_STRAIN, strain)
                scale *= by
            return scale, stretch, stretch

        return action
