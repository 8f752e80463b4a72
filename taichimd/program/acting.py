"""What acts on systems besides the force field: baths of groups and drives, sorted and checked."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.ensembles.drives.force import Force
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.drives.motion import Move
from taichimd.ensembles.groups.given import GroupBath
from taichimd.forcefields.base import ForceField


def sorted_out(
    acting: Sequence[Sequence[GroupBath | GroupDrive]],
) -> tuple[list[list[GroupBath]], list[list[GroupDrive]]]:
    """The baths of groups and the drives of each system."""
    baths = [[one for one in own if isinstance(one, GroupBath)] for own in acting]
    return baths, [[one for one in own if isinstance(one, GroupDrive)] for own in acting]


def check_drives(forcefield: ForceField, given: Sequence[Sequence[GroupDrive]]) -> None:
    """Raise a SettingsError for an electric field with a potential that finds charges."""
    for drive in (one for own in given for one in own):
        if forcefield.charged and isinstance(drive.what, Force) and drive.what.quantity == "field":
            raise SettingsError(
                f"the electric field {drive.name} acts on fixed charges, and {forcefield.name} computes its "
                "charges in each step without this field; give the field to the potential, such as "
                "H2O.ffield:field=0,0,0.1, or ReaxFF(..., field=(0, 0, 0.1)) in Python"
            )


def what_is_held(
    fixed: NDArray[np.bool_] | None, drives: Sequence[GroupDrive], symbols: Sequence[str]
) -> NDArray[np.bool_] | None:
    """(n,) or (n, 3) what no force moves: fixed atoms, and atoms that a drive moves; None: nothing."""
    moved = [drive.atoms for drive in drives if isinstance(drive.what, Move)]
    if not moved:
        return fixed
    held = np.zeros(len(symbols), bool) if fixed is None else fixed.copy()
    held[np.concatenate(moved)] = True
    return held
