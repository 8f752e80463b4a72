"""What the user of a run should know, one sentence each, before it starts and after it has ended."""

import numpy as np
from ase import Atoms

from taichimd.config import RunSettings

_SAME = 1e-6
"""Angstrom: what a file may round away."""


def before_run(settings: RunSettings, atoms: Atoms) -> list[str]:
    """What the settings mean for this structure.

    Args:
        settings: of the run.
        atoms: what it starts from.
    """
    notes = []
    if settings.moves_cell and not atoms.pbc.all():
        along = "".join(axis for axis, flag in zip("xyz", atoms.pbc, strict=True) if flag)
        notes.append(
            f"periodic along {along} only: pressure and volume stay empty in thermo.csv; the barostat takes "
            "the volume of the whole cell, with any vacuum in it, and the cells are in trajectory.extxyz"
        )
    return notes


def where_it_goes_on(atoms: Atoms, structure: Atoms) -> list[str]:
    """That a restart does not begin at the structure that it was given, if that is so.

    Args:
        atoms: of the checkpoint.
        structure: the same system.
    """
    if np.allclose(atoms.positions, structure.positions, rtol=0, atol=_SAME):
        return []
    return ["positions and velocities are those of the checkpoint: those of the structure are not used"]
