"""The cell as degrees of freedom of a minimisation, on the host: at most six numbers.

Positions and cell vectors are x = X F, a = A F of a reference X, A, with a symmetric F: deformation without
rotation. The atoms minimise over X, the cell over F (E. B. Tadmor, G. S. Smith, N. Bernstein, E. Kaxiras,
Phys. Rev. B 59, 235 (1999)). With the virial W (dE = -W : strain), pressure p and volume V, the enthalpy
H = E + p V has

    dH/dF = sym((p V 1 - W) F^-1)

projected on the deformations that are allowed. F enters as lengths J F, with J = L sqrt(N) and L^3 the volume
per atom: so cell and atoms are about as stiff (D. Sheppard et al., J. Chem. Phys. 136, 074103 (2012)).
"""

from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import RelaxationError, SettingsError
from taichimd.core.matrix3 import determinant, inverse, product, projector
from taichimd.core.units import GPA
from taichimd.system.frame import Frame

SHAPES = ("isotropic", "orthorhombic", "full")
MAX_STRAIN = 0.02
"""Largest change of a component of F in one step."""
LEAST_STRETCH, MAX_STRETCH = 0.3, 3.0
"""Bounds of any length over its start: beyond lies no relaxation of a solid."""


class CellFreedom:
    """Deformation of a cell, its velocity and the force on it.

    Args:
        shape: "isotropic": one factor for all axes allowed; "orthorhombic": one for each of x, y, z, whatever
            the angles of the cell; "full": every symmetric deformation.
        axes: Cartesian directions that may change, some of "xyz"; None: those that the periodic vectors span.
        cell: (3, 3) angstrom.
        frame: the lattice.
        positions: (n, 3) angstrom.
        pressure: target, eV/angstrom^3.
        most_stress: largest deviation of a stress component of a relaxed structure, eV/angstrom^3.
        most_virial: where there is no volume (fewer than three periodic directions): likewise, eV per atom.

    Raises:
        SettingsError: a direction that is not periodic, a pressure without a volume, an unknown shape.
    """

    def __init__(
        self,
        shape: str,
        axes: str | None,
        cell: Array,
        frame: Frame,
        positions: Array,
        *,
        pressure: float,
        most_stress: float,
        most_virial: float,
    ) -> None:
        if shape not in SHAPES:
            raise SettingsError(f"cell = {shape!r}: expected none, {', '.join(SHAPES)}")
        if pressure and not frame.pbc.all():
            raise SettingsError(
                f"pressure = {pressure / GPA:g} GPa: a pressure needs a cell that is periodic in three "
                f"directions, this one is in {int(frame.pbc.sum())}; leave the pressure out"
            )
        self.shape = shape
        self._plane = _allowed(shape, axes, frame)
        self._start = np.array(cell, float)
        self._pressure, self._most_stress, self._most_virial = pressure, most_stress, most_virial
        self._periodic = bool(frame.pbc.all())
        self._n = len(positions)
        # Of directions that are not periodic the vectors are of unit length and at right angles.
        across = frame.vectors[~frame.pbc]
        spread = [np.ptp((positions * along).sum(axis=1)) for along in across]
        size = abs(determinant(frame.vectors)) * np.prod(np.maximum(spread, 1.0))
        self._scale = float((size / self._n) ** (1 / 3) * np.sqrt(self._n))
        self.deformation = np.eye(3)
        self._velocity = np.zeros((3, 3))
        self._force = np.zeros((3, 3))
        self.done = False

    def cell(self) -> Array:
        """(3, 3) angstrom, now."""
        return product(self._start, self.deformation)

    def load(self, virial: Array) -> tuple[float, float, float]:
        """Take the virial (3, 3), eV, of the present positions; the cell's part of F.v, v.v and F.F."""
        volume = abs(determinant(self.cell()))
        gradient = self._pressure * volume * np.eye(3) - 0.5 * (virial + virial.T)
        unbalanced = float(np.abs(self._project(gradient)).max())
        if self._periodic:
            self.done = unbalanced <= self._most_stress * volume
        else:
            self.done = unbalanced <= self._most_virial * self._n
        slope = product(gradient, inverse(self.deformation))
        self._force = -self._project(0.5 * (slope + slope.T)) / self._scale
        v, f = self._velocity, self._force
        return float((f * v).sum()), float((v * v).sum()), float((f * f).sum())

    def step(self, keep: float, push: float, dt: float, back: float) -> Array:
        """One step of FIRE, with the device's factors: (27,) F before, old positions to new ones, F now."""
        old = self.deformation
        velocity = keep * self._velocity + push * self._force
        change = (dt * velocity - back * self._velocity) / self._scale
        part = min(1.0, MAX_STRAIN / max(float(np.abs(change).max()), 1e-300))
        self._velocity = part * velocity
        self.deformation = old + part * change
        stretches = np.linalg.eigvalsh(self.deformation)
        # A comparison with NaN is false.
        if not (stretches[0] > LEAST_STRETCH and stretches[-1] < MAX_STRETCH):
            what = "exploded" if stretches[-1] >= MAX_STRETCH else "collapsed"
            worst = stretches[-1] if what == "exploded" else stretches[0]
            raise RelaxationError(
                f"the cell has {what}: a length is {worst:.2g} times what it was at the start; look at the "
                "pressure, and whether the potential holds this structure together"
            )
        carry = product(inverse(old), self.deformation)
        return np.concatenate([m.ravel() for m in (old, carry, self.deformation)])

    def _project(self, matrix: Array) -> Array:
        """The part of a symmetric matrix that lies in the deformations allowed."""
        plane = self._plane
        if self.shape == "isotropic":
            return plane * float((matrix * plane).sum() / np.trace(plane))
        if self.shape == "orthorhombic":
            return np.diag(np.diag(matrix) * np.diag(plane))
        return product(product(plane, matrix), plane)


def _allowed(shape: str, axes: str | None, frame: Frame) -> Array:
    """Projector (3, 3) on the directions along which the cell may change."""
    rows: Any = frame.vectors[frame.pbc]
    if not len(rows):
        raise SettingsError(f"cell = {shape!r}: the structure is periodic in no direction; use none")
    one = np.eye(3)
    periodic = one
    if len(rows) == 2:
        periodic = one - projector(np.cross(*rows))
    elif len(rows) == 1:
        periodic = projector(rows[0])
    along = [abs(periodic[k, k] - 1.0) < 1e-9 for k in range(3)]
    if axes is None:
        if shape != "orthorhombic":
            return np.asarray(periodic)
        axes = "".join(name for name, there in zip("xyz", along, strict=True) if there)
    if not axes or set(axes) - set("xyz") or len(set(axes)) != len(axes):
        raise SettingsError(f"axes = {axes!r}: expected some of xyz, each once, such as xy or z")
    for name in axes:
        if not along["xyz".index(name)]:
            raise SettingsError(
                f"axes = {axes!r}: {name} is not along the periodic directions of the cell, and cannot "
                "relax; choose other axes"
            )
    return np.diag([float(name in axes) for name in "xyz"])
