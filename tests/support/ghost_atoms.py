"""Atoms as another program holds them: local ones, then ghosts."""

import numpy as np


def ghosts(atoms, cutoff):
    """Positions of the atoms and of all images within the cutoff, and the owner of each."""
    x, owner = [atoms.positions], [np.arange(len(atoms))]
    most = np.ceil(cutoff / atoms.cell.lengths()).astype(int) + 1
    for image in np.ndindex(*(2 * most + 1)):
        turn = np.array(image) - most
        if turn.any():
            moved = atoms.positions + turn @ atoms.cell.array
            d = np.linalg.norm(moved[:, None] - atoms.positions[None], axis=-1).min(1)
            x.append(moved[d < cutoff])
            owner.append(np.flatnonzero(d < cutoff))
    return np.vstack(x), np.concatenate(owner)
