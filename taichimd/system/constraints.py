"""Which atoms the constraints of a structure fix: `FixAtoms`, selective dynamics of POSCAR, `move_mask`."""

from typing import Any

import numpy as np
from ase import Atoms
from ase.constraints import FixAtoms, FixCartesian, FixScaled
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError, StructureError


def fixed_atoms(atoms: Atoms, what: str = "molecular dynamics") -> NDArray[np.bool_]:
    """Which atoms are fixed; constraints that hold anything else are refused.

    Args:
        atoms: every `FixAtoms` of it counts, and `FixCartesian` and `FixScaled` of all three directions. ASE
            makes these of selective dynamics (POSCAR) and of the column `move_mask` (extxyz).
        what: is to be done, for the message.

    Returns:
        (n,) True where an atom is fixed.

    Raises:
        SettingsError: another constraint, or one that fixes some directions of an atom.
    """
    fixed = np.zeros(len(atoms), bool)
    for constraint in binding(atoms):
        if isinstance(constraint, FixCartesian | FixScaled):
            if not constraint.mask.all():
                raise _refused(
                    constraint, f", which fixes some directions of atom {constraint.index[0]}", what
                )
        elif not isinstance(constraint, FixAtoms):
            raise _refused(constraint, "", what)
        fixed[constraint.index] = True
    return fixed


def check_fixed(fixed: Any, n: int) -> NDArray[np.bool_] | None:
    """The mask of fixed atoms, (n,) bool, or None if none is fixed.

    Raises:
        SettingsError: it is no mask of n atoms.
        StructureError: no atom is left that moves.
    """
    if fixed is None:
        return None
    mask = np.asarray(fixed)
    if mask.shape != (n,) or mask.dtype != bool:
        raise SettingsError(
            f"fixed has the shape {mask.shape} and the type {mask.dtype}; expected ({n},) and bool, True "
            "where an atom is fixed"
        )
    if n > 0 and mask.all():
        raise StructureError(f"all atoms are fixed ({n:,}), so nothing moves; leave some of them free")
    return mask.copy() if mask.any() else None


def of_free(vectors: NDArray[np.float64], fixed: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """Velocities of atoms (n, 3), 0 for fixed ones, for which it may be -0 on the device."""
    return vectors if fixed is None else np.where(fixed[:, None], 0.0, vectors)


def _refused(constraint: object, detail: str, what: str) -> SettingsError:
    return SettingsError(
        f"the structure has a constraint {type(constraint).__name__}{detail}: {what} cannot keep it, it "
        "keeps FixAtoms, all three directions of an atom; take it away (atoms.set_constraint(), or in the "
        "file), or use ASE's own classes with the calculator TaichiMD"
    )


def binding(atoms: Atoms) -> list[Any]:
    """The constraints that hold anything.

    ASE gives each atom of a file with three columns `move_mask` a `FixCartesian`, of no direction where it
    moves.
    """

    def holds(constraint: Any) -> bool:
        if isinstance(constraint, FixCartesian | FixScaled):
            return bool(constraint.mask.any())
        return not isinstance(constraint, FixAtoms) or len(constraint.index) > 0

    return [constraint for constraint in atoms.constraints if holds(constraint)]


def moving_fixed(atoms: Atoms) -> list[str]:
    """A remark if fixed atoms have velocities, which are not used.

    Raises:
        SettingsError: as `fixed_atoms`.
    """
    # Momenta as they stand in the file: velocities need masses.
    moving = np.count_nonzero(fixed_atoms(atoms) & atoms.get_momenta().any(axis=1))
    return [f"the velocities of fixed atoms are set to 0: {moving:,} had others"] if moving else []


def fix(atoms: Atoms, fixed: NDArray[np.bool_] | None) -> None:
    """Give atoms one `FixAtoms`, of a (n,) mask, in place of their constraints; none if nothing is fixed."""
    held = fixed is not None and bool(fixed.any())
    atoms.set_constraint(FixAtoms(mask=fixed) if held else None)
