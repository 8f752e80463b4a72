"""What every ensemble declares, and the parameters that all thermostats have."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import digits, is_number, is_whole, plain
from taichimd.ensembles.functions import AtomFunctions, EnsembleFunctions
from taichimd.ensembles.thermostats import layout as at
from taichimd.system.constraints import free_directions

DEFAULT_COUPLING_FS = 100.0
"""Between a vibration of a solid (some 10 fs) and the length of a run: moderate coupling."""


@dataclass(frozen=True)
class Ensemble:
    """Base class of ensembles: what a run holds constant, and what the engine needs to know about it."""

    name: ClassVar[str] = ""  # in settings and checkpoints
    # what the thermostat acts on. "atoms": each atom alone, in its drift; "system": all atoms at once, at the
    # end of steps; "": there is no thermostat.
    acts_on: ClassVar[str] = ""
    moves_cell: ClassVar[bool] = False  # whether there is a barostat
    deforms: ClassVar[bool] = False  # whether the cell is deformed at a given rate
    # whether an energy is conserved: the total energy plus what bath and cell have received
    conserves: ClassVar[bool] = True
    moves_centre: ClassVar[bool] = False  # whether noise moves the centre of mass
    takes_drive: ClassVar[bool] = False  # whether the thermostat may remove the heat of a driving force
    # whether the step after an action also sums the virial, to book the work of the deformation
    settles: ClassVar[bool] = False
    samples: ClassVar[bool] = False  # whether the thermostat samples the canonical distribution

    @property
    def moved_axes(self) -> str:
        """Axes along which atoms move with the cell."""
        return ""

    def __post_init__(self) -> None:
        """Take plain numbers of what a user gave; subclasses check them."""
        for one in fields(self):
            if one.name != "on":
                object.__setattr__(self, one.name, plain(getattr(self, one.name)))

    @property
    def bath_temperature(self) -> float:
        """Temperature of the thermostat, K, at the first step of a ramp; 0 without a thermostat."""
        return 0.0

    @property
    def rescaling_times(self) -> dict[str, float]:
        """Coupling times (fs, by name of the setting) that must be at least the time between rescalings."""
        return {}

    @property
    def identity(self) -> list[object]:
        """Settings that must be equal for a bath to continue from a saved state; JSON-able.

        Baths with inertia add their masses, because their velocities belong to these masses.
        """
        return [self.name]

    def goes_on_from(self, state: Mapping[str, Any]) -> bool:
        """Whether a bath of this ensemble can continue from a state of `Baths.state`."""
        if state.get("ensemble", NVE.name) != self.name:
            return False
        # Earlier versions did not say more.
        return bool(state.get("identity", self.identity) == self.identity)

    def check_timestep(self, timestep: float) -> None:
        """Raise if a time step (internal units) is too long for the ensemble."""

    def degrees_of_freedom(
        self, n_atoms: int, n_fixed: int = 0, held: NDArray[np.bool_] | None = None
    ) -> int:
        """Degrees of freedom of the temperature: 3N - 3, or 3N if noise moves the centre of mass.

        A single atom has three: it is its centre of mass. With F > 0 fixed atoms there are 3 (N - F).
        If atoms are held along some directions, (n, 3), the result is that of `free_directions`.
        """
        if held is not None and held.ndim == 2:
            return free_directions(held, self.moves_centre)
        if n_fixed or self.moves_centre:
            return 3 * (n_atoms - n_fixed)
        return max(3 * n_atoms - 3, 3)

    def fill(self, values: NDArray[np.float64], ledger: NDArray[np.int64]) -> None:
        """Write the constants of the ensemble into the arrays `bath` and `ledger`."""

    def received(self, values: NDArray[np.float64], freedom: int) -> float:
        """Energy that bath and cell have received, eV, from the array `bath` and the degrees of freedom."""
        return float(values[at.RECEIVED])

    @classmethod
    def factor_function(cls) -> Any:
        """Device function `(kinetic, kt, time, interval, ledger, bath)`: factor of the velocities, float64.

        The function also books the energy that the bath receives. None if nothing acts on the whole system.
        """
        return None

    @classmethod
    def atom_functions(cls, count: Any, real: Any) -> AtomFunctions | None:
        """Device functions of a thermostat that acts on each atom alone; None for other thermostats.

        Args:
            count: device function `(i, n, energy, ledger)`: books an energy (eV) that the bath has received.
            real: ti.f64 or ti.f32, of the atoms.
        """
        return None

    @classmethod
    def device_functions(cls, coupling: Any, real: Any, by_slot: bool) -> EnsembleFunctions:
        """The device functions of this ensemble that kernels call, by name.

        Args:
            coupling: the `Coupling` of this ensemble.
            real: ti.f64 or ti.f32, of the atoms; what acts on the whole system is float64.
            by_slot: whether neighbouring threads have neighbouring atoms (CUDA).
        """
        from taichimd.ensembles.thermostats.system import system_functions

        return system_functions(cls, real, by_slot, coupling)


class NVE(Ensemble):
    """Constant energy: velocity Verlet without thermostat and barostat.

    >>> from ase.build import bulk
    >>> from taichimd import NVE, Bussi, Simulation
    >>> Simulation(bulk("Si", cubic=True), "Si.sw", ensemble=Bussi(600.0)).save("warm.npz")
    >>> Simulation.load("warm.npz", ensemble=NVE()).engine.ensemble
    NVE()
    """

    name: ClassVar[str] = "nve"


@dataclass(frozen=True)
class Thermostat(Ensemble):
    """Base class of thermostats: constant volume, and a bath of a given temperature.

    Args:
        temperature: of the bath, K; with a ramp, at its first step.
        coupling_time: fs, the time in which the system reaches the temperature of the bath; each class says
            what it means in its equations.
        final_temperature: K at the end of the ramp; None holds `temperature`.
        ramp: first and last step (of the step counter) between which the temperature goes linearly; the bath
            is constant before and after. Needed with `final_temperature`.
        seed: of the noise, where there is any.
        on: of a bath of a group (`acting`): the group's name in `groups`, a mask (n,), or numbers of atoms.
            None: all atoms.

    Raises:
        SettingsError: a value that makes no sense.
    """

    acts_on: ClassVar[str] = "system"
    takes_drive: ClassVar[bool] = True
    samples: ClassVar[bool] = True
    least_steps: ClassVar[int] = 1
    temperature: float
    coupling_time: float = DEFAULT_COUPLING_FS
    final_temperature: float | None = None
    ramp: tuple[int, int] | None = None
    seed: int = 1
    on: Any = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, unit in (("temperature", "K"), ("coupling_time", "fs"), ("final_temperature", "K")):
            value = getattr(self, key)
            left_out = value is None and key == "final_temperature"
            if not (left_out or (is_number(value) and value > 0)):
                raise SettingsError(f"{key} = {value!r}: {self.name} expects a number above 0 ({unit})")
        if self.final_temperature is not None and self.ramp is None:
            raise SettingsError(
                f"final_temperature = {self.final_temperature} needs the ramp's first and last step: "
                "give ramp = (first, last)"
            )
        check_ramp(self.ramp)
        if not (is_whole(self.seed) and 0 <= self.seed < 2**63):
            raise SettingsError(f"seed = {self.seed!r}: expected a whole number, 0 or above")

    @property
    def bath_temperature(self) -> float:
        """Temperature of the thermostat, K, at the first step of a ramp."""
        return self.temperature

    @property
    def rescaling_times(self) -> dict[str, float]:
        """The coupling time, or the shortest time of a chain."""
        if self.acts_on != "system":
            return {}
        part = "" if self.least_steps == 1 else f"/{self.least_steps}"
        return {f"coupling_time{part}": self.coupling_time / self.least_steps}

    def fill(self, values: NDArray[np.float64], ledger: NDArray[np.int64]) -> None:
        """Write temperatures, times, masses and the seed into the arrays `bath` and `ledger`."""
        ledger[at.SEED] = self.seed
        first, last = self.ramp or (0, 1)
        end = self.temperature if self.final_temperature is None else self.final_temperature
        values[[at.START, at.END]] = self.temperature * units.KB, end * units.KB
        values[at.MASS_KT] = self.temperature * units.KB
        values[[at.RAMP_FIRST, at.RAMP_STEPS]] = first, last - first
        values[at.COUPLING] = self.coupling_time * units.FS

    def check_timestep(self, timestep: float) -> None:
        """Raise if a time step (internal units) is too long for the thermostat.

        Raises:
            SettingsError: the coupling time is shorter than `least_steps` time steps.
        """
        if self.least_steps * timestep > self.coupling_time * units.FS * (1.0 + 1e-12):
            steps = "the time step" if self.least_steps == 1 else f"{self.least_steps} time steps"
            raise SettingsError(
                f"coupling_time = {digits(self.coupling_time)} fs is shorter than {steps} of "
                f"{timestep / units.FS:g} fs; typical are 50 to 1000 fs"
            )


def check_ramp(ramp: object) -> None:
    """Raise a SettingsError if a ramp is neither None nor a first step and a later last step."""
    if ramp is not None and not _is_ramp(ramp):
        raise SettingsError(f"ramp = {ramp!r}: expected a first step and a later last step")


def _is_ramp(value: object) -> bool:
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    return all(is_whole(step) for step in value) and bool(value[0] < value[1])
