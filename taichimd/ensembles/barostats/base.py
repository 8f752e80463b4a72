"""What every motion of the cell declares, and the parameters that all have, in the user's units."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import digits, is_number, is_whole
from taichimd.ensembles.barostats import layout as baro
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.thermostats.base import Ensemble, check_ramp
from taichimd.ensembles.thermostats.layout import RAMP_FIRST, RAMP_STEPS
from taichimd.system.frame import make_frame

CONTROLS = ("isotropic", "orthorhombic", "triclinic")
CURE_OF_CELLS = (
    "use a longer pressure_coupling_time, a bulk_modulus closer to the bulk modulus of the material, or a "
    "pressure that the structure can bear, or relax the structure first"
)


@dataclass(frozen=True)
class CellMotion(Ensemble):
    """Base class of barostats: how the cell follows a pressure.

    A barostat has no temperature: `taichimd.ensembles.combine` gives it a thermostat. The methods of a
    barostat include what the thermostat does.

    Args:
        pressure: GPa; one number, or three for x, y and z. With a ramp, at its first step.
        final_pressure: GPa at the end of the ramp, one number or three; None holds `pressure`.
        pressure_coupling_time: fs, the time in which the cell follows the pressure.
        bulk_modulus: GPa, of the material. An estimate within a factor of a few is enough, because it only
            converts the coupling time into a rate. npt-mtk does not use it.
        control: what may change: "isotropic" (the controlled axes by one factor), "orthorhombic" (each axis
            by its own factor), "triclinic" (lengths and angles; the cell does not rotate).
        axes: Cartesian axes that are controlled, such as "xy"; for "triclinic" all three.
        period: steps between two actions of the barostat, and of a thermostat of the whole system. The steps
            between cost no more than steps without a barostat, except the step after an action of npt-scr.
            npt-mtk, whose cell has inertia, acts in each step.
        ramp: first and last step of the ramp of the pressure; the ramp of the temperature is the same.

    Raises:
        SettingsError: an invalid value.
    """

    takes_drive: ClassVar[bool] = False
    moves_cell: ClassVar[bool] = True
    uses_bulk_modulus: ClassVar[bool] = True
    has_inertia: ClassVar[bool] = False
    has_noise: ClassVar[bool] = True
    pressure: float | tuple[float, float, float] = 0.0
    final_pressure: float | tuple[float, float, float] | None = None
    pressure_coupling_time: float = 1000.0
    bulk_modulus: float = 50.0
    control: str = "isotropic"
    axes: str = "xyz"
    period: int = 10
    ramp: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ramp(self.ramp)
        for key, unit in (("pressure_coupling_time", "fs"), ("bulk_modulus", "GPa")):
            value = getattr(self, key)
            if not (is_number(value) and value > 0):
                raise SettingsError(f"{key} = {value!r}: {self.name} expects a number above 0 ({unit})")
        for key in ("pressure", "final_pressure"):
            value = getattr(self, key)
            if value is not None and not _is_pressure(value):
                raise SettingsError(f"{key} = {value!r}: expected one number or three (GPa)")
        if self.final_pressure is not None and self.ramp is None:
            raise SettingsError(
                f"final_pressure = {self.final_pressure} needs the ramp's first and last step: "
                "give ramp = (first, last)"
            )
        if not (is_whole(self.period) and self.period > 0):
            raise SettingsError(f"period = {self.period!r}: expected a whole number above 0 (steps)")
        if self.control not in CONTROLS:
            raise SettingsError(f"control = {self.control!r}: expected one of {', '.join(CONTROLS)}")
        self._check_axes()

    def _check_axes(self) -> None:
        """Raise a SettingsError for axes that do not fit the control or the pressures."""
        axes = f"axes (--cell-axes) = {self.axes!r}"
        if not _are_axes(self.axes):
            raise SettingsError(f'{axes}: expected some of x, y and z, such as "xy"')
        if self.control == "triclinic" and len(self.axes) != 3:
            raise SettingsError(f'{axes}: control "triclinic" needs all three axes')
        for key in ("pressure", "final_pressure"):
            value = getattr(self, key)
            if not isinstance(value, tuple | list):
                continue
            for axis, of_axis in zip("xyz", value, strict=True):
                if axis not in self.axes and of_axis != 0:
                    raise SettingsError(
                        f"{key} = {value}: {axes} leave {axis} as it is; expected 0 for {axis}, or more axes"
                    )
            if self.control == "isotropic" and len({value["xyz".index(axis)] for axis in self.axes}) > 1:
                raise SettingsError(
                    f'{key} = {value}: control "isotropic" changes {self.axes} by one factor and so holds '
                    'one pressure; give one number, or choose "orthorhombic" (--cell-control)'
                )

    @property
    def pressure_axes(self) -> str:
        """Axes whose pressure is controlled."""
        return self.axes

    @property
    def moved_axes(self) -> str:
        """Axes along which atoms move with the cell."""
        return "xyz" if self.control == "triclinic" and self.pressure_axes else self.pressure_axes

    def cell_times(self) -> dict[str, float]:
        """Coupling times of the cell (fs), by the names of the settings."""
        return {"pressure_coupling_time": self.pressure_coupling_time}

    @property
    def most_pressure(self) -> float:
        """Largest absolute value of the pressures, GPa."""
        ends = (p for p in (self.pressure, self.final_pressure) if p is not None)
        return max(float(np.abs(three(p)).max()) for p in ends)

    @property
    def acts_every(self) -> int:
        """Steps from one action to the next."""
        return 1 if self.has_inertia else self.period

    @property
    def identity(self) -> list[object]:
        """Settings that must be equal for a barostat to continue from a saved state; JSON-able.

        These are the control, the axes and the steps of action. A cell with inertia adds the temperature and
        the coupling time, which set its mass.
        """
        whole = [self.name, self.control, "".join(sorted(self.axes)), self.acts_every]
        mass = [self.bath_temperature, self.pressure_coupling_time] if self.has_inertia else []
        return [*whole, *mass, *super().identity[1:]]

    def fill(self, values: NDArray[np.float64], ledger: NDArray[np.int64]) -> None:
        """Write the constants of thermostat and barostat; the factor of the velocities is 1."""
        super().fill(values, ledger)
        start, end = self.ramp or (0, 1)
        values[[RAMP_FIRST, RAMP_STEPS]] = start, end - start
        first = three(self.pressure)
        last = first if self.final_pressure is None else three(self.final_pressure)
        values[baro.P_START : baro.P_START + 3] = first * units.GPA
        values[baro.P_END : baro.P_END + 3] = last * units.GPA
        values[baro.CELL_TIME] = tau = self.pressure_coupling_time * units.FS
        values[baro.RATE] = 1.0 / (3.0 * self.bulk_modulus * units.GPA * tau)
        scale = baro.VELOCITY_SCALE
        values[[scale, scale + 4, scale + 8]] = 1.0

    def received(self, values: NDArray[np.float64], freedom: int) -> float:
        """Energy that the bath and the pressure have received, eV."""
        return super().received(values, freedom) + float(values[baro.AHEAD])

    @classmethod
    def action_function(cls, factor: Any, tensors: Any, due: Any) -> Any:
        """Device function of an action, which returns three matrices (3, 3): A, B and C.

        Velocities are multiplied by A. The cell and the positions are multiplied by B, the displacements of
        the next drift by C.

        Its arguments are `(twice, virial, volume, wanted, kt, time, interval, ledger, bath)`.

        Args:
            factor: the function of the thermostat's `factor_function`.
            tensors: `tensor_functions`.
            due: device function that says whether the barostat acts at the end of a step; None: the action
                is only called where it acts.
        """
        raise NotImplementedError

    @classmethod
    def device_functions(cls, coupling: Any, real: Any, by_slot: bool) -> EnsembleFunctions:
        """The device functions of this barostat with its thermostat, by name."""
        from taichimd.ensembles.barostats.action import barostat_functions

        return barostat_functions(cls, coupling, real, by_slot)

    def check_timestep(self, timestep: float) -> None:
        """Raise if a time step is too long for the thermostat, the cell or the period of the barostat.

        The coupling time of the cell must be at least ten steps, and at least the time between two actions.

        Raises:
            SettingsError: a coupling time is too short, or the period too long.
        """
        super().check_timestep(timestep)
        for name, time in self.cell_times().items():
            if 10 * timestep > time * units.FS * (1.0 + 1e-12):
                raise SettingsError(
                    f"{name} = {digits(time)} fs is shorter than 10 time steps of "
                    f"{timestep / units.FS:g} fs; typical are 500 to 5000 fs"
                )
        between = self.acts_every * timestep / units.FS
        for name, time in (self.rescaling_times | self.cell_times()).items():
            if between > time * (1.0 + 1e-12):
                raise SettingsError(
                    f"{self.name} acts every {self.acts_every} steps, {between:g} fs, which is longer than "
                    f"{name} = {digits(time)} fs; use a shorter period (--barostat-period) or a longer "
                    "coupling time"
                )

    def check_cell(self, cell: NDArray[np.float64], pbc: NDArray[np.bool_]) -> None:
        """Raise if a controlled axis is not periodic, or the cell has no volume.

        Args:
            cell: (3, 3) angstrom.
            pbc: (3,) bool.

        Raises:
            SettingsError: says which axis.
        """
        frame = make_frame(cell, pbc)
        for axis in self.pressure_axes:
            a = "xyz".index(axis)
            # The frame is completed by unit vectors orthogonal to the periodic ones.
            if np.abs(frame.vectors[~frame.pbc][:, a]).max(initial=0.0) > 1e-9:
                periodic = [bool(p) for p in pbc]
                raise SettingsError(
                    f"axes (--cell-axes) = {self.axes!r}: the pressure along {axis} cannot be controlled, "
                    f"because the cell is not periodic there (pbc {periodic}); leave {axis} out, or make it "
                    "periodic"
                )
        if abs(float(np.linalg.det(cell))) < 1e-9:
            what = "deformation" if self.deforms else "barostat"
            raise SettingsError(f"a {what} needs a cell with a volume; give all three cell vectors")


def three(pressure: float | tuple[float, float, float]) -> NDArray[np.float64]:
    """A pressure along x, y and z."""
    return np.broadcast_to(np.asarray(pressure, float), 3)


def _is_pressure(value: object) -> bool:
    numbers = value if isinstance(value, tuple | list) else (value,)
    return len(numbers) in (1, 3) and all(is_number(x) for x in numbers)


def _are_axes(value: object) -> bool:
    if not isinstance(value, str) or not value:
        return False
    return sorted(set(value)) == sorted(value) and set(value) <= set("xyz")
