"""Settings that only some observables use, by the names of options."""

from collections.abc import Collection

_REACTIONS = ("reactions",)
_SPECTRUM = ("spectrum",)
USED_BY: dict[str, tuple[str, ...]] = {
    "observe_window": ("msd", "vacf", "heat", "viscosity", "ir", "interface"),
    "observe_r_max": ("rdf",),
    "profile_axis": ("profile",),
    "profile_bin": ("profile",),
    "spectrum_axis": _SPECTRUM,
    "spectrum_of": _SPECTRUM,
    "spectrum_window": _SPECTRUM,
    "interface_of": ("interface",),
    "observe_bond_order": ("species", "bonds", "dipole", "ir"),
    "bond_formed": _REACTIONS,
    "bond_broken": _REACTIONS,
    "bond_lifetime": _REACTIONS,
}
"""Observables that use a setting; a setting that is not here is used by all observables."""


def unused(kinds: Collection[str]) -> set[str]:
    """Settings that none of these observables uses."""
    return {option for option, users in USED_BY.items() if not set(users) & set(kinds)}
