"""A deformation of the cell at given rates, beside a barostat of other axes or none.

Vectors are rows: an atom at x goes to x D. With rates E (row y, column x: that of xy) and the deformation so
far, F, the deformation D of an action that comes once in the time t is

    D = F^-1 (F + E t)      engineering rates: F = 1 + E t, lengths and tilts are linear in time
    D = exp(E t)            true rates: F = exp(E t), E is the velocity gradient u

    B = D,  C = (D - 1)/log D,  A = 1           positions follow the cell, velocities do not: x' = v + x u
    B = D,  C = (D - 1)/log D,  A = 1/D         SLLOD: velocities are peculiar, p' = F - p u

What a barostat does in the same action comes before it. The work on the atoms is -W:log D, with the mean of
W before and after the deformation; SLLOD adds what A changes of the kinetic energy.
D. J. Evans, G. P. Morriss, Phys. Rev. A 30, 1528 (1984), doi:10.1103/PhysRevA.30.1528.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.core.matrix3 import product
from taichimd.core.strain_rates import SHEARED, STRETCHED, parse_rates
from taichimd.ensembles.barostats import layout as baro
from taichimd.ensembles.barostats.base import CellMotion
from taichimd.system.frame import make_frame

KINDS = ("engineering", "true")
POSITIONS, PECULIAR = "positions", "peculiar"
MAX_STRAIN = 1e-3
"""Largest change of the cell in one action: more is refused, because forces do not follow in time."""
TERMS = 12
"""Number of terms of the series of exp(x) and log(1 + x)."""
PLANES = {"yz": (2, 1), "xz": (2, 0), "xy": (1, 0)}
"""Row and column of the velocity gradient: xy is du_x/dy."""


class RestingCell(CellMotion):
    """A cell that follows no pressure: what a deformation has in place of a barostat."""

    uses_bulk_modulus: ClassVar[bool] = False
    has_noise: ClassVar[bool] = False

    @property
    def identity(self) -> list[object]:
        """Steps of action."""
        return [self.name, self.acts_every, *super(CellMotion, self).identity[1:]]

    def cell_times(self) -> dict[str, float]:
        """No coupling times: the cell follows given rates."""
        return {}

    @property
    def pressure_axes(self) -> str:
        """None is controlled."""
        return ""

    @classmethod
    def action_function(cls, factor: Any, tensors: Any, due: Any) -> Any:
        """Device function: A, the thermostat's factor."""
        from taichimd.core.runtime import ti

        @ti.func
        def action(
            twice, virial, volume, wanted, kt, time, interval, ledger: ti.template(), bath: ti.template()
        ):
            one = ti.Matrix.identity(ti.f64, 3)
            by = factor(0.5 * twice.trace(), kt, time, interval, ledger, bath)
            return one * by, one, one

        return action


@dataclass(frozen=True)
class DeformedCell(CellMotion):
    """What an ensemble with a deformation has besides; classes of such ensembles are made by `deformed`.

    Args:
        stretch: rates of the lengths along x, y and z, such as "x=1e9/s".
        shear: rates of the shears yz, xz and xy, such as "xy=1e10/s".
        strain_rate: "engineering": of the first length, L = L0 (1 + e t); "true": of the present one,
            L = L0 exp(e t). A shear alone has the rate du_x/dy in either case; beside a stretch the
            engineering rate is that of the tilt over the first length.
        remap: "positions": atoms follow the cell, for solids; "peculiar": SLLOD, for fluids; None: "peculiar"
            with a shear, else "positions".
    """

    deforms: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    acts_when_settling: ClassVar[bool] = False
    stretch: str | None = None
    shear: str | None = None
    strain_rate: str = KINDS[0]
    remap: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        rates = self.rates
        if not rates:
            raise SettingsError("a deformation needs a rate: give stretch or shear")
        if self.strain_rate not in KINDS:
            raise SettingsError(f"strain_rate = {self.strain_rate!r}: expected one of {', '.join(KINDS)}")
        if self.remap not in (None, POSITIONS, PECULIAR):
            raise SettingsError(f"remap = {self.remap!r}: expected {POSITIONS} or {PECULIAR}")
        controlled = set(self.pressure_axes)
        if self.control == "triclinic" and controlled:
            controlled |= set(SHEARED)
        both = [name for name in rates if name in controlled]
        if both:
            free = "".join(axis for axis in self.pressure_axes if axis not in both)
            cure = (
                f'give axes = "{free}" (--cell-axes {free})'
                if free and self.control != "triclinic"
                else "leave one of the two out"
                if self.control != "triclinic"
                else 'give control = "orthorhombic" (--cell-control) and the other axes (--cell-axes)'
            )
            raise SettingsError(
                f"{both[0]} is deformed at a given rate, and the barostat would also change it; {cure}"
            )

    @property
    def rates(self) -> dict[str, float]:
        """Rates in 1/s by axis or plane.

        Raises:
            SettingsError: a text that cannot be read.
        """
        found: dict[str, float] = {}
        for key, names in (("stretch", STRETCHED), ("shear", SHEARED)):
            text = getattr(self, key)
            try:
                found |= {} if text is None else parse_rates(text, names)
            except (ValueError, AttributeError, TypeError) as error:
                example = "x=1e9/s" if key == "stretch" else "xy=1e10/s"
                raise SettingsError(
                    f"{key} = {text!r}: {error}; expected rates per time, such as {example}"
                ) from None
        return found

    @property
    def peculiar(self) -> bool:
        """Whether velocities are peculiar (SLLOD)."""
        return self.remap == PECULIAR or (self.remap is None and self.shear is not None)

    @property
    def moved_axes(self) -> str:
        """Axes of the barostat, and axes along which the deformation moves atoms: xy along x."""
        return super().moved_axes + "".join(name[0] for name in self.rates)

    @property
    def acts_every(self) -> int:
        """SLLOD acts each step."""
        return 1 if self.peculiar else super().acts_every

    @property
    def strain_rates(self) -> NDArray[np.float64]:
        """(3, 3) of rates, 1/internal time: row y, column x is the rate of xy."""
        found = np.zeros((3, 3))
        for name, rate in self.rates.items():
            at = PLANES[name] if name in PLANES else ("xyz".index(name),) * 2
            found[at] = rate * 1e-15 / units.FS
        return found

    @property
    def identity(self) -> list[object]:
        """What the motion without it must agree in, and whether velocities are peculiar; rates may change."""
        return [*super().identity, "deformed", PECULIAR if self.peculiar else POSITIONS]

    def fill(self, values: NDArray[np.float64], ledger: NDArray[np.int64]) -> None:
        """Rates, and a cell that is not deformed yet."""
        super().fill(values, ledger)
        at = baro.RATES
        values[at : at + 9] = self.strain_rates.ravel()
        values[baro.TRUE_RATE] = float(self.strain_rate == "true")
        values[baro.PECULIAR] = float(self.peculiar)
        values[baro.REACHED : baro.REACHED + 9] = np.eye(3).ravel()

    def received(self, values: NDArray[np.float64], freedom: int) -> float:
        """What bath, pressure and deformation have received, eV."""
        return super().received(values, freedom) - self.work(values)

    def work(self, values: NDArray[np.float64]) -> float:
        """What the deformation has done on the atoms, eV, from the array `bath`."""
        return float(values[baro.STRAIN_WORK] + values[baro.STRAIN_WORK_AHEAD])

    def check_timestep(self, timestep: float) -> None:
        """As for every motion of the cell; and no action deforms the cell too much.

        Raises:
            SettingsError: a coupling time is too short, the period or a rate too large.
        """
        super().check_timestep(timestep)
        name, rate = max(self.rates.items(), key=lambda one: abs(one[1]))
        strain = abs(rate) * 1e-15 / units.FS * timestep * self.acts_every
        if strain > MAX_STRAIN:
            shorter = "a shorter period (--barostat-period), " if self.acts_every > 1 else ""
            raise SettingsError(
                f"{name} = {rate:g}/s changes the cell by {strain:.2g} every {self.acts_every} steps of "
                f"{timestep / units.FS:g} fs, expected {MAX_STRAIN:g} at most; use {shorter}a shorter "
                "time step or a lower rate"
            )

    def check_cell(self, cell: NDArray[np.float64], pbc: NDArray[np.bool_]) -> None:
        """As for every motion of the cell; and deformed axes are periodic.

        Raises:
            SettingsError: says which axis.
        """
        super().check_cell(cell, pbc)
        frame = make_frame(cell, pbc)
        for name in self.rates:
            for axis in name:
                if np.abs(frame.vectors[~frame.pbc][:, "xyz".index(axis)]).max(initial=0.0) > 1e-9:
                    raise SettingsError(
                        f"{name} cannot be deformed, because the cell is not periodic along {axis} (pbc "
                        f"{[bool(p) for p in pbc]}); make it periodic, or deform another axis"
                    )

    def begin(
        self, values: NDArray[np.float64], virial: NDArray[np.float64], timestep: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """B - 1 and C of the first drift, which no action has come before; its work goes into `values`."""
        x = self.strain_rates * (timestep * self.acts_every)
        reached = values[baro.REACHED : baro.REACHED + 9].reshape(3, 3).copy()
        if self.strain_rate == "true":
            x = product(x, _series(x, 1))
            reached += product(reached, x)
        else:
            more, x = x, _solved(reached, x)
            reached += more
        strain = _logarithm(x)
        work = -0.5 * math.fsum((virial * strain).ravel().tolist())
        values[baro.STRAIN_WORK] += work
        values[baro.STRAIN_WORK_AHEAD] = -work
        values[baro.STRAIN : baro.STRAIN + 9] = strain.ravel()
        values[baro.REACHED : baro.REACHED + 9] = reached.ravel()
        return x, _series(strain, 1)

    def flips_every(self, timestep: float) -> int:
        """Steps between two looks whether a sheared cell is flipped: a tenth of strain; 0 without a shear."""
        if self.shear is None:
            return 0
        fastest = max(abs(rate) for name, rate in self.rates.items() if name in SHEARED)
        return max(1, min(10_000, int(0.1 / (fastest * 1e-15 / units.FS * timestep))))


def _solved(lower: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """lower^-1 right, both lower triangular."""
    found = right.copy()
    for a in range(3):
        for k in range(a):
            found[a] -= lower[a, k] * found[k]
        found[a] /= lower[a, a]
    return found


def _series(x: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """As of `matrices`, on the host."""
    total = np.eye(3)
    for m in range(TERMS):
        total = np.eye(3) + product(x, total) / (TERMS - m + first)
    return total


def _logarithm(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """As of `matrices`, on the host."""
    total = np.zeros((3, 3))
    for m in range(TERMS):
        total = np.eye(3) / (TERMS - m) - product(x, total)
    return product(x, total)


_MADE: dict[type[Any], type[CellMotion]] = {}
"""Classes of ensembles that deform, by the class of the ensemble."""


def deformed(kind: Any) -> type[CellMotion]:
    """The class of an ensemble, with a barostat or without, whose cell is deformed; it keeps its name."""
    if kind in _MADE:
        return _MADE[kind]
    more: dict[str, Any] = {
        "name": kind.name,
        "__module__": __name__,
        "__doc__": f"{kind.__name__}, and a deformation.",
    }
    base = kind
    if not issubclass(kind, CellMotion):
        base = dataclass(frozen=True)(type(f"Resting{kind.__name__}", (RestingCell, kind), more))
    more = {**more, "acts_when_settling": base.settles}
    made: type[CellMotion] = dataclass(frozen=True)(
        type(f"Deformed{kind.__name__}", (DeformedCell, base), more)
    )
    _MADE[kind] = made
    return made
