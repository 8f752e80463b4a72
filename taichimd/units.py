"""Units in ASE's system (`core.units`)."""

from taichimd.core.units import (
    CM2_PER_S,
    FS,
    GPA,
    KB,
    KCAL_PER_MOL,
    PASCAL_SECOND,
    PS,
    THZ,
    WATT_PER_METRE_KELVIN,
)

__all__ = [
    "CM2_PER_S",
    "FS",
    "GPA",
    "KB",
    "KCAL_PER_MOL",
    "PASCAL_SECOND",
    "PS",
    "THZ",
    "WATT_PER_METRE_KELVIN",
]
