"""What a user gives of baths of groups: which atoms each acts on, and what is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.groups.source import Source
from taichimd.ensembles.registry import THERMOSTATS
from taichimd.ensembles.thermostats.base import Thermostat

SOURCE = "source"
"""What a record calls a `Source`."""
STATE = ("bath", "ledger")
"""What the record of a bath has of its state; a bath begins anew without them."""
_BUILT_IN = ("all", "mobile", "fixed")


@dataclass(frozen=True)
class GroupBath:
    """A thermostat or a source, and its atoms.

    Attributes:
        name: of the group, in columns of tables.
        what: acts on the atoms.
        atoms: their numbers in the system, in order.
    """

    name: str
    what: Thermostat | Source
    atoms: NDArray[np.int64]

    @property
    def rescales(self) -> bool:
        """Whether velocities relative to the centre of mass of the group are rescaled."""
        return isinstance(self.what, Source) or self.what.acts_on == "system"

    @property
    def freedom(self) -> int:
        """Degrees of freedom: 3 N_g, and 3 N_g - 3 relative to the centre of mass of the group."""
        return 3 * len(self.atoms) - 3 * self.rescales

    def record(self) -> dict[str, Any]:
        """All of this, JSON-able."""
        kind = SOURCE if isinstance(self.what, Source) else self.what.name
        given = {one.name: getattr(self.what, one.name) for one in fields(self.what) if one.name != "on"}
        return {"name": self.name, "kind": kind, "settings": given, "atoms": _runs(self.atoms)}


def of_record(record: Mapping[str, Any]) -> GroupBath:
    """The bath of a `GroupBath.record`.

    Raises:
        SettingsError: a kind that this version does not know.
    """
    kinds: dict[str, Any] = {SOURCE: Source, **THERMOSTATS}
    if record["kind"] not in kinds:
        raise SettingsError(f"the bath {record['name']} is of an unknown kind {record['kind']!r}")
    settings = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record["settings"].items()
    }
    atoms = [np.arange(first, last) for first, last in record["atoms"]]
    return GroupBath(record["name"], kinds[record["kind"]](**settings), np.concatenate(atoms))


def group_baths(
    acting: Sequence[Any] | None,
    groups: Mapping[str, Any] | None,
    n_atoms: int,
    fixed: NDArray[np.bool_] | None = None,
) -> tuple[list[GroupBath], list[str]]:
    """The baths of a system, and remarks.

    Args:
        acting: thermostats and sources, each with its group; or `GroupBath`s of a checkpoint.
        groups: masks (n,) or numbers of atoms, by name.
        n_atoms: of the system.
        fixed: (n,) which atoms are fixed; they have no bath.

    Raises:
        SettingsError: what is no bath of a group, an unknown or empty group, an atom in two baths, a rescaling of one atom.
    """
    named: dict[str, NDArray[np.int64]] = {}
    for name, group in (groups or {}).items():
        _check_name(name)
        named[name] = _atoms_of(group, f"group {name}", n_atoms)
    found: list[GroupBath] = []
    remarks: list[str] = []
    bath_of = np.full(n_atoms, -1)
    if acting is not None and not isinstance(acting, Sequence):
        raise SettingsError(f"acting = {acting!r}: expected a list, such as [Langevin(320.0, on=mask)]")
    for number, one in enumerate(acting or ()):
        if isinstance(one, GroupBath):
            bath = one
        else:
            _check_kind(one)
            if isinstance(one.on, str) and one.on not in named:
                known = f"known are {', '.join(named)}" if named else "give it in groups={...}"
                raise SettingsError(f"{_called(one)}: there is no group {one.on!r}; {known}")
            name = one.on if isinstance(one.on, str) else f"group{number + 1}"
            bath = GroupBath(name, one, named[name] if name in named else _atoms_of(one.on, name, n_atoms))
        if bath.name in (other.name for other in found):
            raise SettingsError(
                f"two baths are called {bath.name}; give each group a name of its own in groups={{...}}"
            )
        if fixed is not None and fixed[bath.atoms].any():
            kept = bath.atoms[~fixed[bath.atoms]]
            remarks.append(
                f"the bath {bath.name} leaves {len(bath.atoms) - len(kept)} fixed atoms out, of {len(bath.atoms)}"
            )
            if not len(kept):
                raise SettingsError(
                    f"group {bath.name}: all its atoms are fixed; a bath needs atoms that move"
                )
            bath = GroupBath(bath.name, bath.what, kept)
        twice = bath.atoms[bath_of[bath.atoms] >= 0]
        if len(twice):
            other = found[bath_of[twice[0]]].name
            raise SettingsError(
                f"atom {twice[0]} is in two baths, {other} and {bath.name}; an atom has one bath: make the groups disjoint"
            )
        if bath.rescales and len(bath.atoms) == 1:
            raise SettingsError(
                f"group {bath.name} has one atom, which has no velocity relative to its own centre of mass: "
                f"{_called(bath.what)} has nothing to rescale; use Langevin, or more atoms"
            )
        bath_of[bath.atoms] = len(found)
        found.append(bath)
    return found, remarks


def _called(one: Any) -> str:
    return type(one).__name__


def _check_name(name: object) -> None:
    """Raise if a name cannot be part of the name of a column, or is that of a built-in group."""
    if not isinstance(name, str) or not name.isidentifier():
        raise SettingsError(f"group {name!r}: a name has letters, digits and _, and begins with a letter")
    if name in _BUILT_IN:
        raise SettingsError(f"group {name!r}: this is the name of a built-in group; choose another name")


def _check_kind(one: Any) -> None:
    """Raise if something is no bath of a group."""
    if isinstance(one, CellMotion) or not isinstance(one, Thermostat | Source):
        raise SettingsError(
            f"acting has {one!r}: expected a thermostat or a Source with its group, such as Langevin(320.0, on=mask)"
        )
    if one.on is None:
        raise SettingsError(
            f"{_called(one)} in acting has no group: give on=..., or give a thermostat of all atoms as ensemble=..."
        )


def _atoms_of(group: Any, called: str, n_atoms: int) -> NDArray[np.int64]:
    """Numbers of the atoms of a group, in order, from a mask or numbers.

    Raises:
        SettingsError: neither of both, numbers of no atoms, or no atoms at all.
    """
    given = np.asarray(list(group) if isinstance(group, range | set | frozenset) else group)
    if given.ndim == 1 and given.dtype == bool:
        if len(given) != n_atoms:
            raise SettingsError(
                f"{called}: a mask of {len(given)} values, expected one for each of {n_atoms} atoms"
            )
        numbers = np.flatnonzero(given)
    elif given.ndim == 1 and (np.issubdtype(given.dtype, np.integer) or given.size == 0):
        wrong = given[(given < -n_atoms) | (given >= n_atoms)]
        if wrong.size:
            raise SettingsError(f"{called}: there is no atom {wrong[0]} among {n_atoms}")
        numbers = np.unique(given % n_atoms) if given.size else given
    else:
        raise SettingsError(f"{called}: expected a mask of True and False, or numbers of atoms")
    if not len(numbers):
        raise SettingsError(f"{called} is empty: it has no atom; look at the condition that it was made with")
    return numbers.astype(np.int64)


def _runs(numbers: NDArray[np.int64]) -> list[list[int]]:
    """Numbers in order as [first, behind the last] of each run."""
    ends = np.flatnonzero(np.diff(numbers) != 1)
    firsts = numbers[np.r_[0, ends + 1]]
    lasts = numbers[np.r_[ends, len(numbers) - 1]] + 1
    return np.stack([firsts, lasts], axis=1).tolist()
