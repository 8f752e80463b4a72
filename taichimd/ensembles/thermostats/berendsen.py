"""Berendsen's thermostat: at the end of each step all velocities by one factor s.

    s^2 = 1 + (dt/tau) (K'/K - 1)

K is the kinetic energy, N_f its degrees of freedom, K' = N_f k T/2. No state but the account of the energy
received.
"""

from typing import Any, ClassVar

from taichimd.ensembles.thermostats.base import Thermostat
from taichimd.ensembles.thermostats.layout import COUPLING, FREEDOM, RECEIVED


class Berendsen(Thermostat):
    """Weak coupling: T relaxes to the temperature of the bath as exp(-t/coupling_time), without noise.

    Source: H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984), doi:10.1063/1.448118. The kinetic
    energy fluctuates less than in the canonical ensemble. Use this thermostat to reach a temperature, not to
    sample. `Thermostat` describes all arguments.

        >>> from ase.build import bulk
        >>> from taichimd import Berendsen, Simulation
        >>> bath = Berendsen(600.0, coupling_time=100.0)
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
        >>> round(simulation.thermo().temperature)
        600
    """

    name: ClassVar[str] = "nvt-berendsen"
    samples: ClassVar[bool] = False

    @classmethod
    def factor_function(cls) -> Any:
        """Device function that returns the factor of the velocities; see `Ensemble.factor_function`."""
        from taichimd.core.math import sqrt
        from taichimd.core.runtime import ti

        @ti.func
        def factor(kinetic, kt, time, interval, ledger: ti.template(), bath: ti.template()):
            ratio = 0.5 * bath[FREEDOM] * kt / kinetic
            found = sqrt(ti.max(1.0 + time / bath[COUPLING] * (ratio - 1.0), 0.0))
            bath[RECEIVED] += kinetic * (1.0 - found * found)
            return found

        return factor
