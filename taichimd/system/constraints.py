"""What the constraints of a structure hold: `FixAtoms`, selective dynamics of POSCAR, `move_mask`.

ASE's module of constraints imports SciPy's integrators, which takes half a second: only structures with
constraints load the module.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError, StructureError

if TYPE_CHECKING:
    from ase.constraints import FixScaled

Mask = NDArray[np.bool_]
_KEPT = {"molecular dynamics": "FixAtoms, FixCartesian, and FixScaled along x, y and z"}


def constrained(atoms: Atoms, what: str = "molecular dynamics") -> Mask:
    """(n,) which atoms are fixed; or (n, 3), if some are held along some of x, y and z.

    Every `FixAtoms`, `FixCartesian` and `FixScaled` counts. ASE makes these of selective dynamics (POSCAR)
    and of the column `move_mask` (extxyz). SettingsError: another constraint, or fractions of the cell whose
    directions are not x, y or z.
    """
    held = np.zeros((len(atoms), 3), bool)
    if not atoms.constraints:
        return held[:, 0]
    from ase.constraints import FixAtoms, FixCartesian, FixScaled

    for constraint in binding(atoms):
        if isinstance(constraint, FixScaled) and not constraint.mask.all():
            held[constraint.index] |= _cartesian(atoms, constraint, what)
        elif isinstance(constraint, FixCartesian | FixScaled):
            held[constraint.index] |= np.asarray(constraint.mask, bool)
        elif isinstance(constraint, FixAtoms):
            held[constraint.index] = True
        else:
            raise _refused(constraint, "", what)
    whole: Mask = np.all(held, axis=1)
    return held if (held.any(axis=1) & ~whole).any() else whole


def _cartesian(atoms: Atoms, constraint: "FixScaled", what: str) -> Mask:
    """(3,) which of x, y and z a constraint of fractions of the cell holds."""
    normals = atoms.cell.reciprocal().array[np.asarray(constraint.mask, bool)]
    basis = np.linalg.qr(normals.T)[0]
    along = basis @ basis.T
    found = np.diag(along) > 0.5
    if not np.allclose(along, np.diag(found), atol=1e-9):
        raise _refused(constraint, ", along cell vectors that are not along x, y or z", what)
    return found


def fixed_atoms(atoms: Atoms, what: str = "molecular dynamics") -> NDArray[np.bool_]:
    """(n,) which atoms are fixed; constraints that hold anything else are refused."""
    held = constrained(atoms, what)
    if held.ndim == 2:
        partly = np.flatnonzero(held.any(axis=1) & ~held.all(axis=1))
        one = next(c for c in binding(atoms) if partly[0] in np.atleast_1d(c.index))
        raise _refused(one, f", which holds some directions of atom {partly[0]}", what)
    return held


def wholly(held: Mask) -> Mask:
    """(n,) which atoms are held along all directions, of a mask of `constrained`."""
    whole: Mask = held if held.ndim == 1 else np.all(held, axis=1)
    return whole


def directions(held: Mask | None, n: int) -> Mask:
    """(n, 3) along which directions atoms are held."""
    if held is None:
        return np.zeros((n, 3), bool)
    return held if held.ndim == 2 else np.repeat(held[:, None], 3, axis=1)


def free_directions(held: Mask, moves_centre: bool = False) -> int:
    """Degrees of freedom of atoms of which some are held, (n,) or (n, 3).

    Along a direction in which nothing is held, the centre of mass rests, unless noise moves it.
    """
    free = ~directions(held, len(held))
    at_rest = free.all(axis=0) & (not moves_centre) & (len(held) > 1)
    return int(free.sum() - at_rest.sum())


def check_fixed(fixed: Any, n: int) -> Mask | None:
    """The mask of atoms that are held, (n,) or (n, 3) bool, or None if none is."""
    if fixed is None:
        return None
    mask = np.asarray(fixed)
    if mask.shape not in ((n,), (n, 3)) or mask.dtype != bool:
        raise SettingsError(
            f"fixed has the shape {mask.shape} and the type {mask.dtype}; expected ({n},) and bool, True "
            f"where an atom is fixed, or ({n}, 3), True along directions in which it is held"
        )
    if n > 0 and mask.all():
        raise StructureError(f"all atoms are fixed ({n:,}), so nothing moves; leave some of them free")
    return mask.copy() if mask.any() else None


def of_free(vectors: NDArray[np.float64], held: Mask | None) -> NDArray[np.float64]:
    """Velocities of atoms (n, 3), 0 where they are held, for which it may be -0 on the device."""
    return vectors if held is None else np.where(directions(held, len(held)), 0.0, vectors)


def _refused(constraint: object, detail: str, what: str) -> SettingsError:
    from ase.constraints import Hookean

    if isinstance(constraint, Hookean):
        return SettingsError(
            f"the structure has a constraint Hookean: {what} keeps no springs of ASE; take it away "
            "(atoms.set_constraint()), and use a spring of taichimd (Spring, --spring), or ASE's own classes "
            "with the calculator TaichiMD"
        )
    return SettingsError(
        f"the structure has a constraint {type(constraint).__name__}{detail}: {what} cannot keep it, it "
        f"keeps {_KEPT.get(what, 'FixAtoms, all three directions of an atom')}; take it away "
        "(atoms.set_constraint(), or in the file), or use ASE's own classes with the calculator TaichiMD"
    )


def binding(atoms: Atoms) -> list[Any]:
    """The constraints that hold anything.

    ASE gives each atom of a file with three columns `move_mask` a `FixCartesian`, of no direction where it
    moves.
    """
    if not atoms.constraints:
        return []
    from ase.constraints import FixAtoms, FixCartesian, FixScaled

    def holds(constraint: Any) -> bool:
        if isinstance(constraint, FixCartesian | FixScaled):
            return bool(constraint.mask.any())
        return not isinstance(constraint, FixAtoms) or len(constraint.index) > 0

    return [constraint for constraint in atoms.constraints if holds(constraint)]


def moving_fixed(atoms: Atoms) -> list[str]:
    """A remark if fixed atoms have velocities, which are not used."""
    # Momenta as they stand in the file: velocities need masses.
    held = directions(constrained(atoms), len(atoms))
    moving = np.count_nonzero((held & (atoms.get_momenta() != 0.0)).any(axis=1))
    return [f"the velocities of fixed atoms are set to 0: {moving:,} had others"] if moving else []


def fix(atoms: Atoms, held: Mask | None) -> None:
    """Give atoms the constraints of a mask: `FixAtoms`, and `FixCartesian` for directions."""
    if held is None or not held.any():
        atoms.set_constraint(None)
        return
    from ase.constraints import FixAtoms, FixCartesian

    found: list[Any] = [FixAtoms(mask=wholly(held))] if wholly(held).any() else []
    of_each = directions(held, len(held))
    for pattern in np.unique(of_each, axis=0):
        if pattern.any() and not pattern.all():
            found.append(FixCartesian(np.flatnonzero((of_each == pattern).all(axis=1)), mask=pattern))
    atoms.set_constraint(found)
