"""Groups of atoms whose heat is observed, and pairs of groups with an interface between, "left>right"."""

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.observables.observed_run import ObservedRun


def atoms_of(run: ObservedRun, name: str, key: str) -> NDArray[np.int64]:
    """Atoms of a group, or "all", on which nothing acts but forces of the potential, else a SettingsError."""
    if name != "all" and name not in run.groups:
        known = ", ".join(["all", *run.groups])
        raise SettingsError(f"{key}: there is no group {name!r}; expected some of {known}")
    atoms = np.arange(run.engine.n_atoms) if name == "all" else run.groups[name]
    for bath in run.engine.acting:
        shared = np.intersect1d(atoms, bath.atoms)
        if len(shared):
            raise SettingsError(
                f"{key}: {len(shared):,} atoms of the group {name} are in {bath.name}, where baths or forces "
                "act, and their heat current does not obey the spectrum; choose a group between them"
            )
    return np.asarray(atoms, np.int64)


def sides_of(run: ObservedRun, name: str, key: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Atoms of the two groups of a name such as "left>right", which share none."""
    words = [one.strip() for one in name.split(">")]
    if len(words) != 2 or "all" in words or not all(words):
        raise SettingsError(f'{key} = {name!r}: expected two groups, such as "left>right"')
    first, second = (atoms_of(run, word, key) for word in words)
    shared = np.intersect1d(first, second)
    if len(shared) or not (len(first) and len(second)):
        what = f"share {len(shared):,} atoms" if len(shared) else "are not two sets of atoms: one is empty"
        raise SettingsError(
            f"{key}: the groups {words[0]} and {words[1]} {what}; choose groups on the two sides of the "
            "interface"
        )
    return first, second


def named(name: str) -> str:
    """A name for columns: "left_to_right" for "left>right"."""
    return "_to_".join(one.strip() for one in name.split(">"))
