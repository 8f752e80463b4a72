"""Molecules: atoms that bonds connect."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from ase.formula import Formula
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def molecules(n: int, i: NDArray[np.int32], j: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number of the molecule of each atom, (n,), from 0.

    Args:
        n: number of atoms.
        i: (m,) one atom of each bond, from 0.
        j: (m,) the other.
    """
    bonds = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n))
    return connected_components(bonds, directed=False)[1]


def count_formulas(symbols: Sequence[str], of_molecule: NDArray[np.int32]) -> Counter[str]:
    """Number of molecules of each formula, in Hill order: C, then H, then the others by letters.

    Args:
        symbols: of the n atoms.
        of_molecule: (n,) number of each atom's molecule, as `molecules` gives.
    """
    species, kinds = np.unique(np.array(symbols), return_inverse=True)
    composition = np.zeros((of_molecule.max() + 1, len(species)), np.int64)
    np.add.at(composition, (of_molecule, kinds), 1)
    different, counts = np.unique(composition, axis=0, return_counts=True)
    return Counter(
        {
            Formula.from_dict(dict(zip(species.tolist(), row, strict=True))).format("hill"): int(count)
            for row, count in zip(different.tolist(), counts, strict=True)
        }
    )
