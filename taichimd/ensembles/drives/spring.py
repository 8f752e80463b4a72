"""Springs: of each atom to its own place, or of a centre of mass to a point or to that of another group.

    U = k/2 (R - R0)^2,    or    U = sum_c k_c/2 d_c^2    along three axes

d is the vector from the spring's end, and R its length. Positions are not wrapped, and there is no nearest
image. The force on a centre
of mass is shared in proportion to the masses. If the end moves, the work is what the moving end gives.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.base import VELOCITY, Drive, Row, Start, axes_of, is_vector


@dataclass(frozen=True)
class Spring(Drive):
    """A spring on the atoms of a group, or on their centre of mass.

        >>> from taichimd import Spring
        >>> Spring(2.0, on="base").of, Spring(5.0, of="centre", to=(0, 0, 10), on="tip").columns()
        ('atoms', ('energy', 'work', 'force'))

    Args:
        constant: eV/Å^2; or three constants along x, y and z. A constant of 0 leaves an axis free.
        of: "atoms": a spring between each atom and its position at the first step; "centre": one spring on
            the centre of mass.
        to: the other end of a spring on the centre of mass: "start" (its position at the first step), a point
            (Å), or a second group.
        length: Å, at which the spring has no force; only between a centre of mass and a point or a group.
        velocity: Å/ps, of the other end.

    Raises:
        SettingsError: invalid values.
    """

    kind: ClassVar[str] = "spring"
    counts_energy: ClassVar[bool] = True
    constant: float | tuple[float, float, float]
    of: str = "atoms"
    to: Any = "start"
    length: float = 0.0
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        each = self.constant if isinstance(self.constant, list | tuple) else [self.constant] * 3
        if not (is_vector(tuple(each)) and min(each) >= 0 and max(each) > 0):
            raise SettingsError(
                f"constant = {self.constant!r}: Spring expects a number above 0 (eV/Å^2), or three, along "
                "x, y and z"
            )
        if isinstance(self.constant, list | tuple):
            object.__setattr__(self, "constant", tuple(float(one) for one in each))
        if self.of not in ("atoms", "centre"):
            raise SettingsError(f"of = {self.of!r}: expected atoms or centre")
        self._number("length", "Å")
        if self.length < 0 or (self.length > 0 and not is_number(self.constant)):
            raise SettingsError(
                f"length = {self.length:g}: expected 0 Å or more, and with a length above 0 one constant, "
                "not three"
            )
        if self.length > 0 and isinstance(self.to, str) and self.to == "start":
            raise SettingsError(
                f"length = {self.length:g}: the spring begins at its end, where a length leaves the "
                'direction of its force undefined; give of="centre" and a point or a group as to'
            )
        self._vector("velocity", "Å/ps")
        if self.of == "atoms" and self.to != "start":
            raise SettingsError(
                f"to = {self.to!r}: springs of atoms go to their own places; "
                'give of="centre" for one of the group'
            )
        if is_vector(self.to):
            object.__setattr__(self, "to", tuple(float(one) for one in self.to))
        if self.other is not None and any(self.velocity):
            raise SettingsError(
                "a spring between two groups has no end of its own that moves: leave velocity out"
            )

    @property
    def other(self) -> Any:
        """The group at the other end; None if the other end is a point."""
        return None if is_vector(self.to) or (isinstance(self.to, str) and self.to == "start") else self.to

    @property
    def joins(self) -> bool:
        """Whether the spring is between two groups."""
        return self.other is not None

    @property
    def moves_with_time(self) -> bool:
        """Whether the other end moves."""
        return any(self.velocity)

    def acts_along(self, own: Array | None) -> str:
        """Axes with a constant above 0."""
        return axes_of(self.constant) if isinstance(self.constant, tuple) else "xyz"

    def columns(self) -> tuple[str, ...]:
        """Names of energy, work, and force on the other end."""
        return ("energy", "work", "force") if self.moves_with_time or self.of == "centre" else ("energy",)

    def settings(self) -> dict[str, Any]:
        """The arguments of the spring, JSON-able; a second group is only named "group"."""
        return super().settings() | ({"to": "group"} if self.joins else {})

    def rows(self, start: Start) -> list[Row]:
        """The drive as one row of the tables of kernels; as two rows if the spring joins two groups."""
        row = Row(of.TETHER if self.of == "atoms" else of.CENTRE, start.atoms)
        constants = np.array(self.constant if isinstance(self.constant, tuple) else (self.constant,) * 3)
        row.values[of.VECTOR : of.VECTOR + 3] = constants
        row.values[of.STRENGTH], row.values[of.LENGTH] = constants.max(), self.length
        row.values[of.VELOCITY : of.VELOCITY + 3] = np.array(self.velocity) * VELOCITY
        if self.moves_with_time:
            row.timing = of.STEADY
        if self.of == "atoms":
            row.block = start.positions[start.atoms]
            return [row]
        row.values[of.SCALE] = 1.0 / start.masses[start.atoms].sum()
        if start.partner is not None:
            other = Row(of.CENTRE, start.partner, partner=True, values=row.values.copy())
            other.values[of.SCALE] = 1.0 / start.masses[start.partner].sum()
            return [row, other]
        point = centre_of(start) if isinstance(self.to, str) else np.array(self.to)
        row.values[of.POINT : of.POINT + 3] = point
        return [row]


def centre_of(start: Start) -> Array:
    """(3,) Å, centre of mass of the atoms of a drive."""
    masses = start.masses[start.atoms, None]
    found: Array = (masses * start.positions[start.atoms]).sum(axis=0) / masses.sum()
    return found
