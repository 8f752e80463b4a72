"""Indenters: bodies without atoms that push on all atoms within them.

    U = K/3 (R - r)^3 for r < R,    F = K (R - r)^2 outwards

r is the distance from the centre of a sphere, from the axis of a cylinder, or R - r the depth in the
half-space of a plane. The nearest
image of the centre counts in periodic directions. A Hertzian contact of a sphere with an elastic half-space
is stiff compared with
this body if K is large.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.matrix3 import inverse
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.base import VELOCITY, Drive, Row, Start

_SHAPES = {"sphere": of.SPHERE, "cylinder": of.CYLINDER, "plane": of.PLANE}


@dataclass(frozen=True)
class Indenter(Drive):
    """A sphere, a cylinder or a half-space that pushes atoms out.

        >>> from taichimd import Indenter
        >>> ball = Indenter("sphere", centre=(20, 20, 60), radius=15, constant=10, velocity=(0, 0, -0.5))
        >>> ball.columns()
        ('energy', 'work', 'force', 'place')

    Args:
        shape: sphere, cylinder, or plane.
        centre: Å: centre of the sphere, a point on the axis of the cylinder, or a point of the plane.
        radius: Å, of a sphere or cylinder.
        constant: K of the energy K (R - r)^3/3 of an atom inside, eV/Å^3.
        axis: x, y or z, along the cylinder or normal to the plane. A plane pushes along the axis; with "-z"
            a plane pushes against the axis.
        velocity: of the indenter, Å/ps.

    Raises:
        SettingsError: invalid values.
    """

    kind: ClassVar[str] = "indenter"
    counts_energy: ClassVar[bool] = True
    shape: str
    centre: tuple[float, float, float]
    radius: float | None = None
    constant: float = 10.0
    axis: str = "z"
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape not in _SHAPES:
            raise SettingsError(f"shape = {self.shape!r}: expected one of {', '.join(_SHAPES)}")
        self._vector("centre", "Å")
        self._vector("velocity", "Å/ps")
        self._number("constant", "eV/Å^3", 0.0)
        if self.shape != "plane":
            self._number("radius", "Å", 0.0)
        elif self.radius is not None:
            raise SettingsError("radius is not of a plane: leave it out")
        axes = ("x", "y", "z", "-x", "-y", "-z")[: 6 if self.shape == "plane" else 3]
        if self.axis not in axes:
            raise SettingsError(f"axis = {self.axis!r}: expected one of {', '.join(axes)}")

    @property
    def moves_with_time(self) -> bool:
        """Whether the indenter moves."""
        return any(self.velocity)

    def columns(self) -> tuple[str, ...]:
        """Names of energy, work, force on the indenter, and its position."""
        return ("energy", "work", "force", "place") if self.moves_with_time else ("energy", "force")

    def acts_along(self, own: Array | None) -> str:
        """The normal of a plane, or the axes across a cylinder."""
        axis = self.axis[-1]
        return {"plane": axis, "cylinder": "xyz".replace(axis, ""), "sphere": "xyz"}[self.shape]

    def direction(self) -> Array:
        """Unit vector (3,) of the axis."""
        return (-1.0 if "-" in self.axis else 1.0) * np.eye(3)["xyz".index(self.axis[-1])]

    def check(self, start: Start, called: str) -> None:
        """Raise if an atom lies inside two periodic images, or a plane lies across a periodic direction.

        Raises:
            SettingsError: the message names the direction or the atom.
        """
        if self.shape == "plane":
            for k in np.flatnonzero(start.pbc):
                if abs(start.cell[k] @ self.direction()) > 1e-9:
                    raise SettingsError(
                        f"{called} is a plane across the periodic direction {'abc'[k]}; make the structure "
                        "not periodic there"
                    )
            return
        cell = _whole_cell(start)
        parts = (start.positions[start.atoms] - self.centre) @ inverse(cell)
        parts -= np.where(start.pbc, np.floor(parts + 0.5), 0.0)
        away = self.direction() if self.shape == "cylinder" else np.zeros(3)
        # The images along a cylinder are this cylinder.
        other = [
            bool(start.pbc[k])
            and float(np.linalg.norm(np.cross(start.cell[k], away)) if away.any() else 1.0) > 1e-9
            for k in range(3)
        ]
        within = np.zeros(len(start.atoms), int)
        for shift in product(*((-1, 0, 1) if one else (0,) for one in other)):
            gap = (parts + shift) @ cell
            gap -= np.outer(gap @ away, away)
            within += (gap * gap).sum(axis=1) < float(self.radius or 0.0) ** 2
        if (within > 1).any():
            raise SettingsError(
                f"{called}: atom {start.atoms[int(np.argmax(within > 1))]} is within two of its "
                "periodic images; use a larger cell or a smaller radius"
            )

    def rows(self, start: Start) -> list[Row]:
        """The drive as one row of the tables of kernels."""
        row = Row(_SHAPES[self.shape], start.atoms, timing=of.STEADY if self.moves_with_time else of.CONSTANT)
        row.values[of.POINT : of.POINT + 3] = self.centre
        row.values[of.VELOCITY : of.VELOCITY + 3] = np.array(self.velocity) * VELOCITY
        row.values[of.VECTOR : of.VECTOR + 3] = self.direction() if self.shape != "sphere" else 0.0
        row.values[of.STRENGTH], row.values[of.LENGTH] = self.constant, self.radius or 0.0
        if start.pbc.any():
            cell = _whole_cell(start)
            row.values[of.CELL : of.CELL + 9] = cell.ravel()
            row.values[of.INVERSE : of.INVERSE + 9] = inverse(cell).ravel()
            row.values[of.PERIODIC : of.PERIODIC + 3] = start.pbc
        return [row]


def _whole_cell(start: Start) -> Array:
    """(3, 3) cell vectors, of which those of directions without periods are unit vectors."""
    return np.where(start.pbc[:, None], start.cell, _completed(start.cell, start.pbc))


def _completed(cell: Array, pbc: Any) -> Array:
    """(3, 3) vectors of which those of directions without periods are at right angles to the others."""
    full = np.where(pbc[:, None], cell, 0.0)
    for k in np.flatnonzero(~pbc):
        others = [full[j] for j in range(3) if np.any(full[j])]
        best = max(np.eye(3), key=lambda e: np.linalg.norm(e - _within(e, others)))
        rest = best - _within(best, others)
        full[k] = rest / np.linalg.norm(rest)
    return full


def _within(vector: Array, others: list[Array]) -> Array:
    """The part of a vector in the space that others span."""
    if not others:
        return np.zeros(3)
    basis, _ = np.linalg.qr(np.array(others).T)
    return np.asarray(basis @ (basis.T @ vector))
