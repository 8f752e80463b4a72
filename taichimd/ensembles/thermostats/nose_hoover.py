"""A Nose-Hoover chain: at the end of each step all velocities are multiplied by s = exp(-dt v_1).

The velocity v_1 follows from the equations of motion of the chain. They are split as in G. J. Martyna, M. E.
Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996), in parts as short as necessary. The
extended energy is conserved.
"""

from typing import Any, ClassVar

from taichimd.ensembles.thermostats.base import Thermostat
from taichimd.ensembles.thermostats.layout import COUPLING, FREEDOM, MASS_KT, OWN_STATE, RECEIVED

CHAIN_LENGTH = 3
WORK, CHAIN = OWN_STATE, OWN_STATE + 1
"""In the array `bath`: the energy of the chain without its kinetic energy (eV), and its velocities."""
_MAX_PARTS, _PARTS_PER_RATE = 2500, 40.0
"""Parts of a time step in which a chain is followed: one at the usual coupling times. Far from the bath's
temperature the second thermostat of a large system runs sqrt(N) times faster than the first, and a step needs
some hundred parts until it is calm. All parts are positive: the negative ones of splittings of higher order
explode there."""


class NoseHoover(Thermostat):
    """Nose-Hoover chain of three: deterministic and time-reversible.

    The masses are Q_1 = N_f k T tau^2 and Q_k = k T tau^2, with tau the coupling time. T in the masses is
    `temperature`, also in a ramp. Source: G. J. Martyna, M. L. Klein, M. Tuckerman, J. Chem. Phys. 97, 2635
    (1992), doi:10.1063/1.463940. A coupling time below ten time steps is refused: the chain would oscillate
    faster than the steps resolve. `Thermostat` describes all arguments.

        >>> from ase.build import bulk
        >>> from taichimd import NoseHoover, Simulation
        >>> bath = NoseHoover(600.0, final_temperature=900.0, ramp=(0, 1000))
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
        >>> round(simulation.thermo().temperature)
        600
    """

    name: ClassVar[str] = "nvt-nose-hoover"
    least_steps: ClassVar[int] = 10

    @property
    def identity(self) -> list[object]:
        """As for every ensemble, with the settings that set the masses of the chain."""
        return [self.name, self.temperature, self.coupling_time]

    @classmethod
    def factor_function(cls) -> Any:
        """Device function that returns the factor of the velocities; see `Ensemble.factor_function`."""
        from taichimd.core.math import exp, sqrt
        from taichimd.core.runtime import ti

        # A barostat books in the same place.
        shared = cls.moves_cell

        @ti.func
        def chain_force(k: ti.template(), twice_kinetic, kt, bath: ti.template()):
            """Acceleration of thermostat k: what drives it in excess of its share, over its mass."""
            heavy = bath[MASS_KT] * bath[COUPLING] * bath[COUPLING]
            force = 0.0
            if ti.static(k == 0):
                force = (twice_kinetic - bath[FREEDOM] * kt) / (bath[FREEDOM] * heavy)
            elif ti.static(k == 1):
                force = (bath[FREEDOM] * heavy * bath[CHAIN] * bath[CHAIN] - kt) / heavy
            else:
                force = (heavy * bath[CHAIN + k - 1] * bath[CHAIN + k - 1] - kt) / heavy
            return force

        @ti.func
        def pull(k: ti.template(), time, twice_kinetic, kt, bath: ti.template()):
            """Velocity of thermostat k over a time, slowed by the next one."""
            force = chain_force(k, twice_kinetic, kt, bath)
            if ti.static(k == CHAIN_LENGTH - 1):
                bath[CHAIN + k] += time * force
            else:
                slow = exp(-0.5 * time * bath[CHAIN + k + 1])
                bath[CHAIN + k] = (bath[CHAIN + k] * slow + time * force) * slow

        @ti.func
        def fastest(twice_kinetic, kt, bath: ti.template()):
            """Rate (inverse time) at which the chain changes, from its velocities and accelerations."""
            rate, growing = 0.0, 0.0
            for k in ti.static(range(CHAIN_LENGTH)):
                rate = ti.max(rate, ti.abs(bath[CHAIN + k]))
                growing = ti.max(growing, ti.abs(chain_force(k, twice_kinetic, kt, bath)))
            return ti.max(rate, sqrt(growing))

        @ti.func
        def chain_energy(bath: ti.template()):
            """Energy of the chain, eV."""
            heavy = bath[MASS_KT] * bath[COUPLING] * bath[COUPLING]
            moving = bath[FREEDOM] * bath[CHAIN] * bath[CHAIN]
            for k in ti.static(range(1, CHAIN_LENGTH)):
                moving += bath[CHAIN + k] * bath[CHAIN + k]
            return bath[WORK] + 0.5 * heavy * moving

        @ti.func
        def factor(kinetic, kt, time, interval, ledger: ti.template(), bath: ti.template()):
            """The chain over a time."""
            before = 0.0 * kt
            if ti.static(shared):
                before = chain_energy(bath)
            twice = 2.0 * kinetic
            found = 1.0 + 0.0 * kt
            left = 1.0 * time
            done = 0
            while left > 0.0:
                part = 1.0 / (_PARTS_PER_RATE * fastest(twice, kt, bath))
                done += 1
                if not part < left * (1.0 - 1e-9) or done == _MAX_PARTS:
                    part = left
                left -= part
                for k in ti.static(range(CHAIN_LENGTH - 1, -1, -1)):
                    pull(k, 0.5 * part, twice, kt, bath)
                slow = exp(-part * bath[CHAIN])
                found *= slow
                twice *= slow * slow
                share = bath[FREEDOM] * bath[CHAIN]
                for k in ti.static(range(1, CHAIN_LENGTH)):
                    share += bath[CHAIN + k]
                bath[WORK] += part * kt * share
                for k in ti.static(range(CHAIN_LENGTH)):
                    pull(k, 0.5 * part, twice, kt, bath)
            own = chain_energy(bath)
            if ti.static(shared):
                bath[RECEIVED] += own - before
            else:
                bath[RECEIVED] = own
            return found

        return factor
