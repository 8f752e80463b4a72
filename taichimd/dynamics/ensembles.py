"""What is held constant: the ensembles a user chooses from, in the user's units.

| name | thermostat | distribution | degrees of freedom |
| --- | --- | --- | --- |
| nve | none | microcanonical | 3N - 3 |
| nvt-langevin | friction and noise on every atom | canonical | 3N: the centre of mass diffuses |
| nvt-berendsen | weak coupling | none: for equilibration | 3N - 3 |
| nvt-bussi | stochastic velocity rescaling | canonical | 3N - 3 |
| nvt-nose-hoover | a chain of three | canonical where the motion is ergodic | 3N - 3 |

With F > 0 fixed atoms it is 3 (N - F) in all of them: what holds these takes up momentum, and no centre of mass rests.
`thermostats` has the equations and what runs on the device.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from taichimd import units
from taichimd.errors import SettingsError
from taichimd.scalars import is_number, is_whole, plain

DEFAULT_COUPLING_FS = 100.0
"""Between a vibration of a solid (some 10 fs) and the length of a run: moderate coupling."""


@dataclass(frozen=True)
class NVE:
    """Constant energy; velocity Verlet and nothing else.

    >>> from ase.build import bulk
    >>> from taichimd import NVE, Bussi, Simulation
    >>> Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=Bussi(600.0)).save("warm.npz")
    >>> Simulation.load("warm.npz", ensemble=NVE()).engine.ensemble
    NVE()
    """

    name: ClassVar[str] = "nve"

    @property
    def identity(self) -> list[object]:
        """What must be the same for the state of one bath to be that of another."""
        return [self.name]

    def check_timestep(self, timestep: float) -> None:
        """Every time step goes with it."""


@dataclass(frozen=True)
class Thermostat:
    """Constant volume, and a bath of a given temperature. Not used itself, only its subclasses.

    Args:
        temperature: of the bath, K; with a ramp, at its first step.
        coupling_time: fs, how long the system takes to forget its own temperature; each class says what
            it means in its equations.
        final_temperature: K at the end of the ramp; None holds `temperature`.
        ramp: first and last step (of the step counter) between which the temperature goes linearly; the bath
            is constant before and after. Needed with `final_temperature`.
        seed: of the noise, where there is any.

    Raises:
        SettingsError: a value that makes no sense.
    """

    name: ClassVar[str] = ""
    least_steps: ClassVar[int] = 1
    temperature: float
    coupling_time: float = DEFAULT_COUPLING_FS
    final_temperature: float | None = None
    ramp: tuple[int, int] | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, plain(getattr(self, field.name)))
        for key, unit in (("temperature", "K"), ("coupling_time", "fs"), ("final_temperature", "K")):
            value = getattr(self, key)
            if value is None and key == "final_temperature":
                continue
            if not (is_number(value) and value > 0):
                raise SettingsError(f"{key} = {value!r}: {self.name} expects a number above 0 ({unit})")
        if self.final_temperature is not None and self.ramp is None:
            raise SettingsError(
                f"final_temperature = {self.final_temperature} needs the ramp's first and last step: "
                "give ramp = (first, last)"
            )
        if self.ramp is not None and not _is_ramp(self.ramp):
            raise SettingsError(f"ramp = {self.ramp!r}: expected a first step and a later last step")
        if not (is_whole(self.seed) and 0 <= self.seed < 2**63):
            raise SettingsError(f"seed = {self.seed!r}: expected a whole number, 0 or above")

    @property
    def identity(self) -> list[object]:
        """What must be the same for the state of one bath to be that of another; JSON-able.

        What has inertia moves with velocities and masses of its own; of others the state is an account.
        """
        return [self.name]

    def check_timestep(self, timestep: float) -> None:
        """Raise if the thermostat cannot keep up with a time step (internal units).

        Raises:
            SettingsError: the coupling time is shorter than `least_steps` time steps.
        """
        if self.least_steps * timestep > self.coupling_time * units.FS * (1.0 + 1e-12):
            steps = "the time step" if self.least_steps == 1 else f"{self.least_steps} time steps"
            raise SettingsError(
                f"coupling_time = {self.coupling_time:g} fs is shorter than {steps} of "
                f"{timestep / units.FS:g} fs; typical are 50 to 1000 fs"
            )


class Langevin(Thermostat):
    """Friction and noise on each atom, splitting BAOAB; 1/coupling_time is the friction coefficient.

    B. Leimkuhler, C. Matthews, Appl. Math. Res. Express 2013, 34 (2013), doi:10.1093/amrx/abs010: exact for
    positions in a harmonic well at any stable time step. Dynamics (diffusion, spectra) feel the friction.

        >>> from ase.build import bulk
        >>> from taichimd import Langevin, Simulation
        >>> bath = Langevin(600.0, coupling_time=500.0, seed=2)
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
        >>> simulation.engine.ensemble.name
        'nvt-langevin'
    """

    name: ClassVar[str] = "nvt-langevin"


class Berendsen(Thermostat):
    """Weak coupling: the temperature relaxes to the bath's as exp(-t/coupling_time), without noise.

    H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984), doi:10.1063/1.448118. The kinetic energy
    fluctuates less than in any ensemble: use it to reach a temperature, not to sample.

        >>> from ase.build import bulk
        >>> from taichimd import Berendsen, Simulation
        >>> bath = Berendsen(600.0, coupling_time=100.0)
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
        >>> round(simulation.thermo().temperature)
        600
    """

    name: ClassVar[str] = "nvt-berendsen"


class Bussi(Thermostat):
    """Weak coupling with the noise that makes it canonical: stochastic velocity rescaling.

    G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126, 014101 (2007), doi:10.1063/1.2408420.

        >>> from ase.build import bulk
        >>> from taichimd import Bussi, Simulation
        >>> bath = Bussi(600.0, coupling_time=200.0)
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=bath)
        >>> round(simulation.thermo().temperature)
        600
    """

    name: ClassVar[str] = "nvt-bussi"


class NoseHoover(Thermostat):
    """Nose-Hoover chain of three: deterministic, time-reversible. Masses Q_1 = N_f k T tau^2, Q_k = k T tau^2.

    G. J. Martyna, M. L. Klein, M. Tuckerman, J. Chem. Phys. 97, 2635 (1992), doi:10.1063/1.463940. T in the
    masses is `temperature`, also in a ramp. Shorter coupling than ten time steps is refused: the chain
    would swing faster than the steps can follow.

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
        """The masses of the chain, which its energy depends on."""
        return [self.name, self.temperature, self.coupling_time]


Ensemble = NVE | Thermostat
THERMOSTATS: dict[str, type[Thermostat]] = {
    kind.name: kind for kind in (Langevin, Berendsen, Bussi, NoseHoover)
}
NAMES = (NVE.name, *THERMOSTATS)


def degrees_of_freedom(ensemble: Ensemble, n_atoms: int, n_fixed: int = 0) -> int:
    """Among which the kinetic energy is shared: 3N - 3, and 3N where noise moves the centre of mass.

    A single atom has three: it is its centre of mass. With F > 0 fixed atoms it is 3 (N - F).
    """
    if n_fixed:
        return 3 * (n_atoms - n_fixed)
    if isinstance(ensemble, Langevin):
        return 3 * n_atoms
    return max(3 * n_atoms - 3, 3)


def is_of(state: Mapping[str, Any], ensemble: Ensemble) -> bool:
    """Whether a bath of this ensemble can go on from a state of `Bath.state`."""
    if state.get("ensemble", NVE.name) != ensemble.name:
        return False
    # Earlier versions did not say more.
    return bool(state.get("identity", ensemble.identity) == ensemble.identity)


def _is_ramp(value: object) -> bool:
    if not (isinstance(value, tuple | list) and len(value) == 2 and all(is_whole(step) for step in value)):
        return False
    return bool(value[0] < value[1])
