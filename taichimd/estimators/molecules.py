"""Molecules: atoms that bonds connect."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from ase.formula import Formula
from numpy.typing import NDArray


def molecules(n: int, i: NDArray[np.int32], j: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number of the molecule of each of n atoms, (n,), from 0; `i`, `j`: (m,) atoms of each bond."""
    from scipy.sparse import coo_array  # with csgraph it takes a third of a second to import
    from scipy.sparse.csgraph import connected_components

    bonds = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n))
    return connected_components(bonds, directed=False)[1]


def made_whole(
    positions: NDArray[np.float64],
    cell: NDArray[np.float64],
    pbc: NDArray[np.bool_],
    i: NDArray[np.int32],
    j: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Cells by which to shift each atom so that molecules are whole, (n, 3); bonds take the shortest way."""
    n, periodic = len(positions), np.asarray(pbc, bool)
    shifts = np.zeros((n, 3), np.int64)
    if not periodic.any() or not len(i):
        return shifts
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    rows = np.where(periodic[:, None], cell, 0.0)
    turns = np.where(periodic, -np.rint((positions[j] - positions[i]) @ np.linalg.pinv(rows)), 0.0)
    graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n)).tocsr()
    of_bond = {}
    for a, b, turn in zip(i.tolist(), j.tolist(), turns.astype(np.int64), strict=True):
        of_bond[a, b], of_bond[b, a] = turn, -turn
    of_molecule = connected_components(graph, directed=False)[1]
    for first in np.unique(of_molecule, return_index=True)[1]:
        order, before = breadth_first_order(graph, first, directed=False)
        for atom in order[1:].tolist():
            parent = int(before[atom])
            shifts[atom] = shifts[parent] + of_bond[parent, atom]
    return shifts


def count_formulas(symbols: Sequence[str], of_molecule: NDArray[np.int32]) -> Counter[str]:
    """Number of molecules of each formula, in Hill order: C, then H, then the others by letters."""
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
