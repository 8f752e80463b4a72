"""What can be sampled, and what is refused in one line."""

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError, StructureError
from taichimd.core.matrix3 import inverse, volume_of
from taichimd.forcefields.base import ForceField


def check_ensemble(
    forcefield: ForceField,
    atoms: Atoms,
    pressure: float | None,
    fixed: NDArray[np.bool_] | None,
    *,
    moves_all: bool,
) -> None:
    """Raise an error for what cannot be sampled; pressure in GPa, None: the volume is constant.

    SettingsError: charges; a pressure without a volume, with fixed atoms, or with all pairs; moves of single
    atoms between walls. StructureError: atoms outside of the walls.
    """
    forcefield.check_compiled("Monte Carlo")
    if forcefield.charged:
        raise refused(forcefield)
    if pressure is None:
        return
    if atoms.pbc.any() and not atoms.pbc.all():
        raise SettingsError(
            "ensemble = npt: the structure is periodic in some directions; expected all three, or none"
        )
    if fixed is not None and fixed.any():
        raise SettingsError(
            "ensemble = npt: volume moves would move fixed atoms; expected nvt, or no fixed atoms"
        )
    if forcefield.enumeration == "all-pairs":
        raise SettingsError(
            "ensemble = npt: volume moves need neighbour lists; give the force field the enumeration "
            '"neighbours"'
        )
    if not atoms.pbc.any():
        _check_walls(atoms, moves_all)


def refused(forcefield: ForceField) -> SettingsError:
    """Error for a force field that keeps states of the atoms."""
    return SettingsError(
        f"{forcefield.name} keeps charges or other states of the atoms from step to step; Monte Carlo needs "
        "an energy that depends on positions alone: expected another potential, or taichimd run"
    )


def outside(positions: NDArray[np.float64], cell: NDArray[np.float64]) -> NDArray[np.intp]:
    """Numbers of the atoms at (n, 3) positions that are outside of a cell (3, 3), angstrom."""
    rows = inverse(cell)
    fractions = positions[:, :1] * rows[0] + positions[:, 1:2] * rows[1] + positions[:, 2:] * rows[2]
    return np.flatnonzero(((fractions < 0.0) | (fractions > 1.0)).any(axis=1))


def _check_walls(atoms: Atoms, moves_all: bool) -> None:
    if volume_of(atoms.cell.array) is None:
        raise SettingsError(
            "ensemble = npt: the structure has no volume; expected a periodic cell, or one whose faces are "
            "hard walls"
        )
    if not moves_all:
        raise SettingsError(
            "moves = single: npt between walls moves all atoms together; expected moves = all"
        )
    if len(out := outside(atoms.positions, atoms.cell.array)):
        raise StructureError(
            f"atom {out[0]} (counted from 0) is outside of the cell, whose faces are hard walls; move the "
            "atoms into the cell"
        )
