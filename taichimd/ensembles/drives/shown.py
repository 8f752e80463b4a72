"""What users see of the results of drives."""

from collections.abc import Mapping, Sequence
from typing import Any

from taichimd.ensembles.drives.given import GroupDrive

_COLUMNS = {"push": ("force", "eV_per_A"), "impulse": ("impulse", "eVfs_per_A")}


def shown(drive: GroupDrive, found: Mapping[str, Any], time: float) -> dict[str, Any]:
    """What a user sees of the results of a drive (`Drives.found`), by name.

    Args:
        drive: the drive.
        found: its results.
        time: from which drives count, internal.
    """
    names = {*drive.what.columns(), "work"}
    if "place" in names:
        found = {**found, "place": (found["point"] + found["velocity"] * time).tolist()}
    return {name: found[name] for name in sorted(names)}


def of_table(drives: Sequence[GroupDrive], found: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """What tables have of drives, by names of columns.

    Args:
        drives: of a system.
        found: what is shown of each, by its name.
    """
    columns: dict[str, float] = {}
    for drive in drives:
        for name in drive.what.columns():
            value = found[drive.name][name]
            if name in ("force", "place"):
                unit = "eV_per_A" if name == "force" else "A"
                axes = zip("xyz", value, strict=True)
                columns |= {f"{name}_{drive.name}_{axis}_{unit}": v for axis, v in axes}
            else:
                word, unit = _COLUMNS.get(name, (name, "eV"))
                columns[f"{word}_{drive.name}_{unit}"] = value
    return columns
