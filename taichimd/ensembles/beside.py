"""What goes with which ensembles: held atoms, baths of groups, drives.

A barostat controls the pressure of the potential, without forces of drives. So drives act along axes that the
cell leaves alone: there neither the pressure nor the work of the cell has a part of them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.drives.rows import DriveRows
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.groups.source import Source
from taichimd.ensembles.thermostats.base import Ensemble


def why_not_held(held: NDArray[np.bool_] | None, ensemble: Ensemble) -> str | None:
    """Why atoms cannot be held along some directions; None if they can."""
    if held is None or held.ndim == 1 or getattr(ensemble, "control", "") != "triclinic":
        return None
    return (
        f"{ensemble.name} with control triclinic turns directions along which atoms are held (FixCartesian, "
        "selective dynamics); choose the control orthorhombic or isotropic, or hold all three directions"
    )


def why_no_groups(
    ensemble: Ensemble, driven: bool, baths: Sequence[GroupBath], held: NDArray[np.bool_] | None = None
) -> str | None:
    """Why there are no baths of groups beside what acts on all atoms; None if there may be."""
    if ensemble.acts_on:
        # The name of an ensemble does not say whether its cell is deformed.
        cure = "nph-berendsen" if ensemble.name.startswith("npt") else "nve"
        return (
            f"the ensemble {ensemble.name} has a thermostat of all atoms, and acting=[...] acts on some of "
            f"them: an atom would be in two baths; leave ensemble out, or choose {cure}"
        )
    motion = "a deformation" if ensemble.deforms else f"the ensemble {ensemble.name}"
    corrected = [bath.name for bath in baths if isinstance(bath.what, Source) and bath.what.correction]
    if ensemble.moves_cell and corrected:
        return (
            f"the source {corrected[0]} corrects positions (eHEX) for a cell at rest, and {motion} moves the "
            "cell; give correction=False"
        )
    rescaling = [bath.name for bath in baths if bath.rescales]
    sheared = getattr(ensemble, "shear", None) is not None
    if sheared and rescaling and held is not None and held.ndim == 2:
        return (
            f"the bath {rescaling[0]} rescales velocities, the cell is sheared, and atoms are held along "
            "some directions (FixCartesian, selective dynamics), so the work of the shear would not be "
            "exact; give groups Langevin baths, or hold these atoms along all directions"
        )
    if driven:
        return "a driving force needs a thermostat of all atoms, and has no baths of groups; leave acting out"
    return None


def check_groups(
    ensembles: Sequence[Ensemble],
    driven: bool,
    baths: Sequence[Sequence[GroupBath]],
    held: Sequence[NDArray[np.bool_] | None] | None,
) -> None:
    """Raise a SettingsError if baths of groups do not go with the ensembles of their systems."""
    for number, ensemble in enumerate(ensembles):
        why = why_no_groups(ensemble, driven, baths[number], held[number] if held else None)
        if why:
            raise SettingsError(why)


def check_beside(ensembles: Sequence[Ensemble], driven: bool, drives: DriveRows) -> None:
    """Raise a SettingsError if drives do not go with the ensembles of their systems."""
    for number, ensemble in enumerate(ensembles):
        why = why_no_drives(ensemble, driven, drives.of_system(number))
        if why:
            raise SettingsError(why)


def why_no_drives(ensemble: Ensemble, driven: bool, drives: Sequence[GroupDrive]) -> str | None:
    """Why drives of a system do not go with what acts on all atoms; None if they do."""
    if driven:
        return (
            "a driving force measures a conductivity, which other forces, walls and springs change; "
            "leave acting out"
        )
    for drive in drives:
        both = [axis for axis in drive.what.acts_along(drive.own) if axis in ensemble.moved_axes]
        if both:
            return (
                f"the drive {drive.name} acts along {' and '.join(both)}, and {ensemble.name} moves atoms "
                "with the cell there: the pressure would lack its force; let the cell change along other "
                "axes (axes, --cell-axes), or leave one of the two out"
            )
    return None
