"""Stochastic velocity rescaling: at the end of each step all velocities by one factor s.

    s^2 = c + (1 - c) (K'/(N_f K)) (R_1^2 + S) + 2 R_1 sqrt(c (1 - c) K'/(N_f K)),    c = exp(-dt/tau)

K is the kinetic energy, N_f its degrees of freedom, K' = N_f k T/2. S, the sum of N_f - 1 squared normals, is
twice a gamma variate of shape (N_f - 1)/2. s has the sign of R_1 + sqrt(c N_f K/((1 - c) K')). (Bussi et al.
2007, eq. A7 and A8.) No state but the account of the energy received: total energy less that is conserved
(eq. 15).
"""

from typing import Any, ClassVar

from taichimd.ensembles.thermostats.base import Thermostat
from taichimd.ensembles.thermostats.layout import COUPLING, FREEDOM, RECEIVED

_ATTEMPTS = 60
"""Most attempts at one variate. Each succeeds with more than 95 %: the last is never reached."""


class Bussi(Thermostat):
    """Stochastic velocity rescaling: weak coupling with noise, which samples the canonical ensemble.

    Source: G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126, 014101 (2007), doi:10.1063/1.2408420.
    `Thermostat` describes all arguments.

        >>> from ase.build import bulk
        >>> from taichimd import Bussi, Simulation
        >>> bath = Bussi(600.0, coupling_time=200.0)
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
        >>> round(simulation.thermo().temperature)
        600
    """

    name: ClassVar[str] = "nvt-bussi"

    @classmethod
    def factor_function(cls) -> Any:
        """Device function that returns the factor of the velocities; see `Ensemble.factor_function`."""
        from taichimd.core.math import exp, log, sqrt
        from taichimd.core.random import normal2, uniform2
        from taichimd.core.runtime import ti
        from taichimd.core.streams import VELOCITY_RESCALING
        from taichimd.ensembles.thermostats.ledger import seed_of, whose_noise

        @ti.func
        def gamma(shape, seed, whose, step):
            """Gamma variate of scale 1 and shape >= 1.

            G. Marsaglia, W. W. Tsang, ACM Trans. Math. Softw. 26, 363 (2000), doi:10.1145/358407.358414.
            Attempt k takes its normal from block 2k + 1 and its uniform number from block 2k + 2.
            """
            d = shape - 1.0 / 3.0
            c = 1.0 / sqrt(9.0 * d)
            found = d
            searching = 1
            for k in range(_ATTEMPTS):
                if searching == 1:
                    x, _ = normal2(seed, whose, step, VELOCITY_RESCALING, 2 * k + 1)
                    u, _ = uniform2(seed, whose, step, VELOCITY_RESCALING, 2 * k + 2)
                    root = 1.0 + c * x
                    if root > 0.0:
                        cube = root * root * root
                        if log(u) < 0.5 * x * x + d - d * cube + d * log(cube):
                            found = d * cube
                            searching = 0
            return found

        @ti.func
        def factor(kinetic, kt, time, interval, ledger: ti.template(), bath: ti.template()):
            seed = seed_of(ledger)
            whose = whose_noise(ledger)
            freedom = bath[FREEDOM]
            c = exp(-time / bath[COUPLING])
            normal, _ = normal2(seed, whose, interval, VELOCITY_RESCALING, 0)
            others = 2.0 * gamma(0.5 * (freedom - 1.0), seed, whose, interval)
            ratio = 0.5 * kt / kinetic  # K'/(N_f K)
            square = (
                c
                + (1.0 - c) * ratio * (normal * normal + others)
                + 2.0 * normal * sqrt(c * (1.0 - c) * ratio)
            )
            found = sqrt(ti.max(square, 0.0))
            if normal + sqrt(c / ((1.0 - c) * ratio)) < 0.0:
                found = -found
            bath[RECEIVED] += kinetic * (1.0 - found * found)
            return found

        return factor
