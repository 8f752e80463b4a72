"""Which trial moves sample a system best, and how large they are at first."""

from typing import Literal

import numpy as np
from ase import Atoms

from taichimd.forcefields.base import ALL_PAIRS, ForceField
from taichimd.sampling.local_energy import locals_of
from taichimd.sampling.sweep import ALL, SINGLE

Moves = Literal["all", "single"]
FIRST_MOVE = 0.3
"""Angstrom: the largest displacement of one atom at the start; N atoms together have 1/sqrt(N) of it."""


def best_moves(forcefield: ForceField, atoms: Atoms, pressure: float | None) -> tuple[Moves, str]:
    """Which moves sample a system best, and why not single ones; "" if it is these.

    Args:
        forcefield: what acts.
        atoms: the structure.
        pressure: of the isothermal-isobaric ensemble; None: the volume is constant.
    """
    if forcefield.enumeration == ALL_PAIRS:
        return ALL, f"{forcefield.name} has no neighbour lists"
    if locals_of(forcefield.bind(sorted(set(atoms.symbols)))) is None:
        return ALL, f"{forcefield.name} has terms that need a full evaluation for the move of one atom"
    if pressure is not None and not atoms.pbc.any():
        return ALL, "npt between walls moves all atoms together"
    if atoms.pbc.any():
        heights = 1.0 / np.linalg.norm(np.linalg.inv(atoms.cell.complete().array), axis=0)
        if (narrow := heights[atoms.pbc].min()) <= forcefield.cutoff:
            return ALL, f"the cell ({narrow:.3g} Å) is not wider than the cutoff ({forcefield.cutoff:.3g} Å)"
    return SINGLE, ""


def first_move(kind: str, n_atoms: int) -> float:
    """Largest displacement at the start, angstrom."""
    return FIRST_MOVE if kind == SINGLE else round(FIRST_MOVE / n_atoms**0.5, 4)
