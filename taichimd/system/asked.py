"""The atoms of whom a selection is asked: their numbers, species, tags, arrays and coordinates."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.names import hint

Mask = NDArray[np.bool_]
AXES = "xyz"
DIGITS = 6
"""Digits of coordinates in angstrom: round-off does not decide about atoms on a boundary."""


class Asked:
    """The atoms of whom a selection is asked, with fixed ones (n,); `group` gives masks of groups."""

    def __init__(
        self, atoms: Atoms, fixed: Mask | None = None, group: Callable[[str], Mask] | None = None
    ) -> None:
        self.atoms, self.group = atoms, group
        self.fixed = np.zeros(len(atoms), bool) if fixed is None else np.asarray(fixed, bool)

    @cached_property
    def _fractions(self) -> Array:
        cell = self.atoms.cell.complete()
        periodic = self.atoms.pbc & self.atoms.cell.any(1)
        found = np.linalg.solve(cell.T, self.atoms.positions.T).T
        edge = 10.0**-DIGITS / cell.lengths()
        wrapped: Array = np.where(periodic, (found + edge) % 1.0 - edge, found)
        return wrapped

    def coordinate(self, axis: int, fractional: bool) -> Array:
        """(n,) Å, or fractions of the cell, wrapped and rounded."""
        found = self._fractions if fractional else self._fractions @ self.atoms.cell.complete().array
        return np.round(found[:, axis], DIGITS + 2 * fractional)

    def from_point(self, point: Array, fractional: bool, along: int | None = None) -> Array:
        """(n,) Å: distances from the nearest image of a point, or of a line along a Cartesian axis."""
        from ase.geometry import find_mic  # imports SciPy

        cell = self.atoms.cell.complete().array
        centre = point @ cell if fractional else point
        away = self._fractions @ cell - centre
        if along is None:
            return np.round(find_mic(away, cell, self.atoms.pbc)[1], DIGITS)
        across = [axis for axis in range(3) if axis != along]
        if self.atoms.pbc[along] and not np.allclose(cell[along, across], 0.0):
            raise SettingsError(f"a cylinder along {AXES[along]} needs a cell vector along {AXES[along]}")
        plane = cell.copy()
        plane[:, along], plane[along] = 0.0, np.eye(3)[along]
        away[:, along] = 0.0
        return np.round(find_mic(away, plane, self.atoms.pbc)[1], DIGITS)

    def values(self, quantity: str, name: str = "") -> Any:
        """(n,) what each atom has of a quantity."""
        atoms = self.atoms
        if quantity == "index":
            return np.arange(len(atoms))
        if quantity == "species":
            return np.array(atoms.symbols)
        if quantity == "tag":
            return atoms.get_tags()
        if quantity == "array":
            if name not in atoms.arrays:
                raise SettingsError(
                    f"the structure has no array {name!r}; {hint(name, atoms.arrays, 'arrays')}"
                )
            found = atoms.arrays[name]
            if found.ndim != 1:
                raise SettingsError(f"array {name} has {found[0].size} values for each atom; expected one")
            return found
        fractional = len(quantity) == 2
        axis = AXES.index(quantity[-1])
        if fractional and not atoms.cell[axis].any():
            raise SettingsError(f"{quantity} needs a cell vector {'abc'[axis]}; the structure has none")
        return self.coordinate(axis, fractional)
