"""Atoms as another program holds them: local ones, ghosts, and who is neighbour of whom."""

import numpy as np


def ghosts(atoms, cutoff):
    """Positions with all images within the cutoff, owner of each atom, full list of the local atoms."""
    x, owner = [atoms.positions], [np.arange(len(atoms))]
    most = np.ceil(cutoff / atoms.cell.lengths()).astype(int) + 1
    for image in np.ndindex(*(2 * most + 1)):
        turn = np.array(image) - most
        if turn.any():
            moved = atoms.positions + turn @ atoms.cell.array
            d = np.linalg.norm(moved[:, None] - atoms.positions[None], axis=-1).min(1)
            x.append(moved[d < cutoff])
            owner.append(np.flatnonzero(d < cutoff))
    x, owner = np.vstack(x), np.concatenate(owner)
    r = np.linalg.norm(x[None] - atoms.positions[:, None], axis=-1)
    rows = [np.flatnonzero((r[i] < cutoff + 0.3) & (np.arange(len(x)) != i)) for i in range(len(atoms))]
    return x, owner, np.cumsum([0, *map(len, rows)]), np.concatenate(rows)
