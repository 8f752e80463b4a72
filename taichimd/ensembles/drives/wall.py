"""Flat walls, which atoms do not pass. r is the distance from the wall's plane, into the room.

    harmonic   U = k/2 (r_c - r)^2
    lj93       U = eps [(2/15) (s/r)^9 - (s/r)^3]
    lj126      U = 4 eps [(s/r)^12 - (s/r)^6]
    reflect    x' = 2 X - x,  v' = 2 V - v along the normal, after the drift

Energies act for r < r_c, and are shifted so that U(r_c) = 0. The wall is at X(t) = X + V t + A sin(2 pi t/T).
"""

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.printable import counted
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.base import VELOCITY, Drive, Row, Start

_KINDS = {"reflect": of.REFLECT, "harmonic": of.HARMONIC, "lj93": of.LJ93, "lj126": of.LJ126}
_ROOM = re.compile(r"\s*([xyzabc])\s*([<>])\s*([-+]?[0-9.]+(?:[eE][-+]?\d+)?)\s*$")


@dataclass(frozen=True)
class Wall(Drive):
    """A flat wall that keeps atoms on one side.

        >>> from taichimd import Wall
        >>> floor = Wall("z > 0", "lj93", epsilon=0.02, sigma=3.0, cutoff=7.5)
        >>> floor.columns()
        ('energy', 'push')

    Args:
        room: the side on which atoms stay, such as "z > 0" or "x < 40" (Å). With a, b or c in place of x, y
            or z the wall is parallel to the two other cell vectors, and the number is the distance of the
            wall from the origin along its normal.
        style: reflect, harmonic, lj93 or lj126.
        constant: k of a harmonic wall, eV/Å^2.
        epsilon, sigma: of lj93 and lj126, eV and Å.
        cutoff: distance from the wall at which the energy ends, Å.
        velocity: of the wall, Å/ps, along its axis.
        amplitude, period: of a sinusoidal motion of the wall, Å and fs.

    Raises:
        SettingsError: invalid values.
    """

    kind: ClassVar[str] = "wall"
    counts_energy: ClassVar[bool] = True
    room: str
    style: str = "reflect"
    constant: float | None = None
    epsilon: float | None = None
    sigma: float | None = None
    cutoff: float | None = None
    velocity: float = 0.0
    amplitude: float = 0.0
    period: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.room, str) or not _ROOM.match(self.room):
            raise SettingsError(
                f'room = {self.room!r}: expected the side where atoms stay, such as "z > 0" or "x < 40"'
            )
        if self.style not in _KINDS:
            raise SettingsError(f"style = {self.style!r}: expected one of {', '.join(_KINDS)}")
        needed = {"reflect": (), "harmonic": ("constant", "cutoff")}.get(
            self.style, ("epsilon", "sigma", "cutoff")
        )
        units_of = {"constant": "eV/Å^2", "epsilon": "eV", "sigma": "Å", "cutoff": "Å"}
        for key, unit in units_of.items():
            if key in needed:
                self._number(key, unit, 0.0)
            elif getattr(self, key) is not None:
                raise SettingsError(f"{key} is not of a wall that is {self.style}: leave it out")
        self._number("velocity", "Å/ps")
        self._number("amplitude", "Å")
        if (self.amplitude != 0.0) != (self.period is not None):
            raise SettingsError(
                "a wall that moves as a sine needs amplitude and period, a wall at rest none of them"
            )
        if self.period is not None:
            self._number("period", "fs", 0.0)

    @property
    def axis(self) -> str:
        """The letter of the normal: x, y, z, a, b or c."""
        found = _ROOM.match(self.room)
        return found.group(1) if found else ""

    @property
    def moves_with_time(self) -> bool:
        """Whether the wall moves."""
        return self.velocity != 0.0 or self.amplitude != 0.0

    def columns(self) -> tuple[str, ...]:
        """Names of the energy, the force or impulse on the wall, and the work if the wall moves."""
        work = ("work",) * self.moves_with_time
        return (*work, "impulse") if self.style == "reflect" else ("energy", *work, "push")

    def acts_along(self, own: Array | None) -> str:
        """The axis of the normal if that is x, y or z; else all three."""
        return self.axis if self.axis in "xyz" else "xyz"

    def normal(self, cell: Array) -> Array:
        """Unit vector (3,) of the normal, towards the side of the atoms."""
        side = 1.0 if ">" in self.room else -1.0
        if self.axis in "xyz":
            return side * np.eye(3)["xyz".index(self.axis)]
        number = "abc".index(self.axis)
        across = np.cross(cell[(number + 1) % 3], cell[(number + 2) % 3])
        size = float(np.linalg.norm(across))
        if size == 0.0:
            raise SettingsError(f"wall {self.room}: the other two cell vectors span no plane")
        return side * np.sign(across @ cell[number] or 1.0) * across / size

    def place(self) -> float:
        """First position of the wall, Å: n.x of its plane for the normal n."""
        found = _ROOM.match(self.room)
        number = float(found.group(3)) if found else 0.0
        return number if ">" in self.room else -number

    def check(self, start: Start, called: str) -> None:
        """Raise if the wall does not fit the structure.

        Raises:
            SettingsError: the wall lies across a periodic direction, or atoms are on the wrong side.
        """
        normal = self.normal(start.cell)
        crossed = [k for k in range(3) if start.pbc[k] and abs(start.cell[k] @ normal) > 1e-9]
        if crossed:
            raise SettingsError(
                f"{called} ({self.room}) crosses the periodic direction {'abc'[crossed[0]]}: atoms would "
                "meet its other side; make the structure not periodic there (pbc = "
                f"{[bool(one) and k not in crossed for k, one in enumerate(start.pbc)]})"
            )
        r = start.positions[start.atoms] @ normal - self.place()
        if not r.min() > 0.0:
            worst, behind = int(start.atoms[np.argmin(r)]), int(np.count_nonzero(r <= 0))
            raise SettingsError(
                f"{called} ({self.room}) starts with {counted(behind, 'atom')} behind it, such as atom "
                f"{worst} {-r.min():.3g} Å behind; move the wall or the atoms, or give on=... without them"
            )

    def rows(self, start: Start) -> list[Row]:
        """The drive as one row of the tables of kernels."""
        row = Row(_KINDS[self.style], start.atoms)
        sign = 1.0 if ">" in self.room else -1.0
        row.values[of.VECTOR : of.VECTOR + 3] = self.normal(start.cell)
        row.values[of.PLACE], row.values[of.SPEED] = self.place(), sign * self.velocity * VELOCITY
        row.values[of.SWING] = sign * self.amplitude
        if self.period is not None:
            row.values[of.FREQUENCY] = 1.0 / (self.period * units.FS)
        if self.moves_with_time:
            row.timing = of.SINE if self.period is not None else of.STEADY
        if self.style == "reflect":
            return [row]
        row.values[of.STRENGTH] = self.constant if self.style == "harmonic" else self.epsilon
        row.values[of.LENGTH], row.values[of.CUTOFF] = self.sigma or 0.0, self.cutoff
        if self.style != "harmonic":
            strength, size, cutoff = row.values[[of.STRENGTH, of.LENGTH, of.CUTOFF]].tolist()
            s3 = (size / cutoff) ** 3
            if self.style == "lj93":
                row.values[of.SHIFT] = strength * ((2.0 / 15.0) * s3 * s3 * s3 - s3)
            else:
                row.values[of.SHIFT] = 4.0 * strength * (s3 * s3 * s3 * s3 - s3 * s3)
        return [row]
