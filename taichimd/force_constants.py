"""Force constants of second and third order by finite differences, many displaced structures in one launch.

    Phi_ij,ab = -(F_j,b(+h) - F_j,b(-h))/(2 h)                         x_i,a displaced
    Psi_ijk,abc = -[F(+,+) - F(+,-) - F(-,+) + F(-,-)]_k,c/(4 h^2)    x_i,a and x_j,b displaced

The arrays are in the layouts that phonopy (`set_force_constants`), phono3py and kALDo take.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.batch_calculators import evaluate_many
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.io.files import write_atomically

AT_ONCE = 200_000
"""Atoms of displaced structures in one launch, about."""
ENTRIES = 2**30 // 125
"""Atoms of a launch times its structures: a list entry of 31 bits has the number of an atom and an image of
one of the structures, up to two cells away."""


def forces_of(structures: Sequence[Atoms], potential: Any, **settings: Any) -> Array:
    """(structures, n, 3) eV/angstrom, a launch for about `AT_ONCE` atoms.

    Args:
        structures: of one size.
        potential: as of `evaluate_many`.
        **settings: as of `evaluate_many`.
    """
    n = len(structures[0])
    each = max(1, min(AT_ONCE // n, math.isqrt(ENTRIES // n)))
    found = []
    for first in range(0, len(structures), each):
        found += [
            one.forces for one in evaluate_many(structures[first : first + each], potential, **settings)
        ]
    return np.array(found)


def second_order(
    atoms: Atoms, potential: Any, *, of: Sequence[int] | None = None, step: float = 0.01, **settings: Any
) -> Array:
    """Force constants of second order, -dF_ia/dr_jb by central differences of forces.

        >>> from ase.build import bulk
        >>> from taichimd import second_order
        >>> found = second_order(bulk("Si", cubic=True), "Si.sw", of=[0])
        >>> found.shape, bool(abs(found.sum(axis=1)).max() < 1e-6)
        ((1, 8, 3, 3), True)

    Args:
        atoms: a supercell.
        potential: a parameter file, a shipped name, "file.py:name" or a force field; a list is their sum.
        of: atoms that are displaced, such as those of the primitive cell; None: all.
        step: displacement, angstrom.
        **settings: backend, precision, skin, decomposition.

    Returns:
        (displaced, n, 3, 3) eV/angstrom^2, as phonopy's compact or full force constants.

    Raises:
        SettingsError: a step that is not above 0, or an atom that is not there.
    """
    displaced = _chosen(atoms, of, step)
    moved = [_moved(atoms, [(i, a, sign * step)]) for i, a, sign in product(displaced, range(3), (1.0, -1.0))]
    forces = forces_of(moved, potential, **settings).reshape(len(displaced), 3, 2, len(atoms), 3)
    found = -(forces[:, :, 0] - forces[:, :, 1]) / (2.0 * step)
    return np.ascontiguousarray(found.transpose(0, 2, 1, 3))


def third_order(
    atoms: Atoms, potential: Any, *, of: Sequence[int] | None = None, cutoff: float | None = None,
    step: float = 0.02, **settings: Any,
) -> Array:  # fmt: skip
    """Force constants of third order, -d^2F_ia/(dr_jb dr_kc) by central differences of forces.

        >>> from ase.build import bulk
        >>> from taichimd import third_order
        >>> found = third_order(bulk("Si"), "Si.sw", of=[0])
        >>> found.shape, bool(abs(found.sum(axis=2)).max() < 1e-3)
        ((1, 2, 2, 3, 3, 3), True)

    Args:
        atoms: a supercell.
        potential: as of `second_order`.
        of: atoms that are displaced first, such as those of the primitive cell; None: all.
        cutoff: angstrom, of pairs that are displaced together; pairs beyond it are zero; None: all pairs.
        step: displacement, angstrom.
        **settings: as of `second_order`.

    Returns:
        (displaced, n, n, 3, 3, 3) eV/angstrom^3, as phono3py's compact or full force constants.

    Raises:
        SettingsError: as `second_order`.
    """
    displaced, n = _chosen(atoms, of, step), len(atoms)
    found = np.zeros((len(displaced), n, n, 3, 3, 3))
    signs = list(product((1.0, -1.0), repeat=2))
    for k, i in enumerate(displaced):
        near = np.arange(n)
        if cutoff is not None:
            near = np.flatnonzero(atoms.get_distances(i, near, mic=True) < cutoff)
        moved = [
            _moved(atoms, [(i, a, s * step), (int(j), b, t * step)])
            for j, a, b, (s, t) in product(near, range(3), range(3), signs)
        ]
        forces = forces_of(moved, potential, **settings).reshape(len(near), 3, 3, 4, n, 3)
        change = forces[:, :, :, 0] - forces[:, :, :, 1] - forces[:, :, :, 2] + forces[:, :, :, 3]
        found[k, near] = -(change / (4.0 * step**2)).transpose(0, 3, 1, 2, 4)
    return found


def _chosen(atoms: Atoms, of: Sequence[int] | None, step: float) -> list[int]:
    if not step > 0.0:
        raise SettingsError(f"step = {step}: expected a displacement above 0 Å")
    found = list(range(len(atoms))) if of is None else [int(one) for one in of]
    wrong = [one for one in found if not 0 <= one < len(atoms)]
    if wrong or not found:
        what = f"there is no atom {wrong[0]} among {len(atoms)}" if wrong else "expected at least one atom"
        raise SettingsError(f"of: {what}")
    return found


def _moved(atoms: Atoms, by: Sequence[tuple[int, int, float]]) -> Atoms:
    """A copy with some coordinates of some atoms displaced; twice the same adds up."""
    copy = atoms.copy()
    for i, a, step in by:
        copy.positions[i, a] += step
    return copy


def write_force_constants(
    path: Path | str, constants: NDArray[np.float64], of: Sequence[int] | None = None
) -> None:
    """Write a FORCE_CONSTANTS file, as phonopy reads it, with all digits.

        >>> import numpy as np
        >>> from taichimd import write_force_constants
        >>> write_force_constants("FORCE_CONSTANTS", np.zeros((2, 2, 3, 3)))

    Args:
        path: of the file.
        constants: (displaced, n, 3, 3) of `second_order`.
        of: the atoms that were displaced, as of `second_order`.

    Raises:
        OutputError: it cannot be written.
    """
    lines = [f"{constants.shape[0]} {constants.shape[1]}"]
    displaced = range(constants.shape[0]) if of is None else of
    for i, j in product(range(constants.shape[0]), range(constants.shape[1])):
        lines.append(f"{displaced[i] + 1} {j + 1}")
        lines += [" ".join(f"{x:.17g}" for x in row) for row in constants[i, j]]
    text = "\n".join(lines) + "\n"
    write_atomically(Path(path), lambda file: file.write(text.encode()))
