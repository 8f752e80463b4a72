"""Groups that a view can colour, from a checkpoint: named, of baths and drives, and fixed atoms."""

from contextlib import suppress
from pathlib import Path

import numpy as np
from ase.data import chemical_symbols
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError, TaichimdError
from taichimd.ensembles.drives.given import GroupDrive, drive_of_record
from taichimd.ensembles.groups.given import GroupBath, of_record
from taichimd.io.checkpoint import Checkpoint, read_checkpoint
from taichimd.system.groups import of_runs

FIXED = "fixed"
"""Name of the group of fixed atoms."""
CHECKPOINT = "checkpoint.npz"


def groups_of(file: Path, symbols: NDArray[np.str_], kept: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """By name, (n,) which atoms are in a group: from a checkpoint, or the one beside a trajectory.

    `symbols` and `kept`: (n,) of the atoms that are shown, and their numbers in the system. Empty without
    groups, or without a checkpoint of the same atoms.
    """
    checkpoint = _checkpoint_of(file)
    if checkpoint is None:
        return {}
    n_atoms = len(checkpoint.numbers)
    if kept[-1] >= n_atoms or [chemical_symbols[k] for k in checkpoint.numbers[kept]] != symbols.tolist():
        return {}
    baths = {bath.name: bath.atoms for bath in _baths(checkpoint)}
    others = {one.name: one.atoms for one in _drives(checkpoint)}
    others |= {name: of_runs(runs) for name, runs in checkpoint.groups.items()}
    # An atom has the colour of its last group, so large groups come first; all atoms are no group to show.
    some = {name: one for name, one in others.items() if name not in baths and len(one) < n_atoms}
    named = dict(sorted(some.items(), key=lambda item: -len(item[1])))
    inside = {name: np.isin(kept, atoms) for name, atoms in (named | baths).items()}
    if checkpoint.fixed is not None:
        inside[FIXED] = checkpoint.fixed[kept]
    return inside


def baths_of(folder: Path) -> list[GroupBath]:
    """Baths of groups of a run, from its checkpoint; none without a checkpoint that can be read."""
    checkpoint = _checkpoint_of(folder / CHECKPOINT)
    return [] if checkpoint is None else _baths(checkpoint)


def drives_of(folder: Path) -> list[GroupDrive]:
    """Drives of a run, from its checkpoint; none without a checkpoint that can be read."""
    checkpoint = _checkpoint_of(folder / CHECKPOINT)
    return [] if checkpoint is None else _drives(checkpoint)


def _checkpoint_of(file: Path) -> Checkpoint | None:
    path = file if file.suffix == ".npz" else file.parent / CHECKPOINT
    if not path.is_file():
        return None
    try:
        return read_checkpoint(path)
    except TaichimdError:
        return None


def _drives(checkpoint: Checkpoint) -> list[GroupDrive]:
    """The drives; those of an unknown kind are left out."""
    found = []
    for one in checkpoint.bath.get("drives", []):
        with suppress(SettingsError):
            found.append(drive_of_record(one))
    return found


def _baths(checkpoint: Checkpoint) -> list[GroupBath]:
    """The baths of groups; those of an unknown kind are left out."""
    found = []
    for one in checkpoint.bath.get("acting", []):
        with suppress(SettingsError):
            found.append(of_record(one))
    return found
