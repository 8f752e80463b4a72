"""Langevin's thermostat: friction and noise on each atom alone.

Between the half kicks of a step the drift is half a drift (A), friction and noise (O), half a drift, instead
of one drift:

    v' = c v + sqrt((1 - c^2) k T / m) R,    c = exp(-dt/tau)

Noise depends on seed, user's atom number and step alone; a step that is not done draws none.
"""

from typing import Any, ClassVar

from taichimd.ensembles.functions import AtomFunctions
from taichimd.ensembles.thermostats.base import Thermostat
from taichimd.ensembles.thermostats.layout import COUPLING, OWN_PARAMETERS

KEPT, NOISE = OWN_PARAMETERS, OWN_PARAMETERS + 1
"""In the array `bath`: c and sqrt(1 - c^2)."""


class Langevin(Thermostat):
    """Langevin thermostat: friction and noise on each atom, splitting BAOAB.

    The friction coefficient is 1/coupling_time; `Thermostat` describes all arguments. Source: B. Leimkuhler,
    C. Matthews, Appl. Math. Res. Express 2013, 34 (2013), doi:10.1093/amrx/abs010. In a harmonic well the
    distribution of positions is exact at any stable time step. The friction changes dynamic properties, such
    as diffusion and spectra.

        >>> from ase.build import bulk
        >>> from taichimd import Langevin, Simulation
        >>> bath = Langevin(600.0, coupling_time=500.0, seed=2)
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
        >>> simulation.engine.ensemble.name
        'nvt-langevin'
    """

    name: ClassVar[str] = "nvt-langevin"
    acts_on: ClassVar[str] = "atoms"
    moves_centre: ClassVar[bool] = True
    takes_drive: ClassVar[bool] = False

    @classmethod
    def atom_functions(cls, count: Any, real: Any) -> AtomFunctions:
        """Device functions of friction and noise on one atom."""
        from taichimd.core.math import exp, sqrt
        from taichimd.core.random import normal3
        from taichimd.core.runtime import in_double, ti
        from taichimd.core.streams import LANGEVIN
        from taichimd.ensembles.thermostats.ledger import kinetic_energy, seed_of, target

        @in_double
        def prepare(dt, ledger: ti.template(), bath: ti.template()):
            """Friction and noise for a time step. Serial."""
            c = exp(-ti.cast(dt, ti.f64) / bath[COUPLING])
            bath[KEPT] = c
            bath[NOISE] = sqrt(1.0 - c * c)

        @ti.func
        def refresh(i, n, v, interval, atom, inverse_mass, ledger: ti.template(), bath: ti.template()):
            """Friction and noise on one atom (O): its new velocity."""
            noise = normal3(seed_of(ledger), atom, interval, LANGEVIN)
            kt = ti.cast(target(interval + 1, bath), real)
            new = (
                ti.cast(bath[KEPT], real) * v
                + (ti.cast(bath[NOISE], real) * ti.sqrt(kt * inverse_mass)) * noise
            )
            count(i, n, kinetic_energy(v, inverse_mass) - kinetic_energy(new, inverse_mass), ledger)
            return new

        return AtomFunctions(prepare, refresh)
