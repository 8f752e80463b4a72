"""Groups of atoms that a view can colour: of baths, and fixed atoms, as the checkpoint of a run has them."""

from contextlib import suppress
from pathlib import Path

import numpy as np
from ase.data import chemical_symbols
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError, TaichimdError
from taichimd.ensembles.groups.given import GroupBath, of_record
from taichimd.io.checkpoint import Checkpoint, read_checkpoint

FIXED = "fixed"
"""Name of the group of fixed atoms."""
CHECKPOINT = "checkpoint.npz"


def groups_of(file: Path, symbols: NDArray[np.str_], kept: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """Groups of a trajectory, by name, from the checkpoint beside it; or of a checkpoint itself.

    Args:
        file: the trajectory or checkpoint.
        symbols: (n,) of the atoms that are shown.
        kept: (n,) their numbers in the system.

    Returns:
        For each group, (n,) whether an atom is in it. Empty without groups, or without a checkpoint of the
        same atoms.
    """
    checkpoint = _checkpoint_of(file)
    if checkpoint is None:
        return {}
    n_atoms = len(checkpoint.numbers)
    if kept[-1] >= n_atoms or [chemical_symbols[k] for k in checkpoint.numbers[kept]] != symbols.tolist():
        return {}
    inside = {bath.name: np.isin(kept, bath.atoms) for bath in _baths(checkpoint)}
    if checkpoint.fixed is not None:
        inside[FIXED] = checkpoint.fixed[kept]
    return inside


def baths_of(folder: Path) -> list[GroupBath]:
    """Baths of groups of a run, from its checkpoint; none without a checkpoint that can be read."""
    checkpoint = _checkpoint_of(folder / CHECKPOINT)
    return [] if checkpoint is None else _baths(checkpoint)


def _checkpoint_of(file: Path) -> Checkpoint | None:
    path = file if file.suffix == ".npz" else file.parent / CHECKPOINT
    if not path.is_file():
        return None
    try:
        return read_checkpoint(path)
    except TaichimdError:
        return None


def _baths(checkpoint: Checkpoint) -> list[GroupBath]:
    """The baths of groups; those of an unknown kind are left out."""
    found = []
    for one in checkpoint.bath.get("acting", []):
        with suppress(SettingsError):
            found.append(of_record(one))
    return found
