"""What users see of the results of drives."""

from collections.abc import Mapping, Sequence
from typing import Any

from taichimd.ensembles.drives.given import GroupDrive


def shown(drive: GroupDrive, found: Mapping[str, Any], time: float) -> dict[str, Any]:
    """What a user sees of the results of a drive (`Drives.found`), by name; `time`: internal."""
    names = {*drive.what.columns(), "work"}
    if "place" in names:
        found = {**found, "place": (found["point"] + found["velocity"] * time).tolist()}
    return {name: found[name] for name in sorted(names)}


def of_table(drives: Sequence[GroupDrive], found: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """What tables have of drives, by names of columns."""
    columns: dict[str, float] = {}
    for drive in drives:
        for quantity, names in drive.columns().items():
            value = found[drive.name][quantity]
            columns |= zip(names, value if len(names) > 1 else (value,), strict=True)
    return columns
