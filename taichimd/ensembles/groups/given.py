"""What a user gives of baths of groups: which atoms each acts on, and what is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.core.printable import counted
from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.drives.base import Drive
from taichimd.ensembles.drives.given import GroupDrive, group_drives
from taichimd.ensembles.groups.source import Source
from taichimd.ensembles.registry import THERMOSTATS
from taichimd.ensembles.thermostats.base import Thermostat
from taichimd.system.groups import Groups, of_runs, runs_of

SOURCE = "source"
"""What a record calls a `Source`."""
STATE = ("bath", "ledger")
"""What the record of a bath has of its state; a bath begins again without them."""


@dataclass(frozen=True)
class GroupBath:
    """A thermostat or a source, and its atoms."""

    name: str  # of the group, in columns of tables
    what: Thermostat | Source  # acts on the atoms
    atoms: NDArray[np.int64]  # their numbers in the system, in order

    @property
    def rescales(self) -> bool:
        """Whether velocities relative to the centre of mass of the group are rescaled."""
        return isinstance(self.what, Source) or self.what.acts_on == "system"

    @property
    def freedom(self) -> int:
        """Degrees of freedom: 3 N_g, and 3 N_g - 3 relative to the centre of mass of the group."""
        return 3 * len(self.atoms) - 3 * self.rescales

    def describe(self) -> str:
        """Name, kind, what it does, and how many atoms it has, on one line."""
        what = self.what
        if isinstance(what, Source):
            does = f"constant power of {what.power:g} eV/ps"
        else:
            final = "" if what.final_temperature is None else f" to {what.final_temperature:g}"
            does = f"{what.name}, {what.temperature:g}{final} K, coupling time {what.coupling_time:g} fs"
        return f"{self.name}: {does}, {len(self.atoms):,} atoms"

    def summary(self) -> dict[str, Any]:
        """What run.json has of it."""
        return {**self.record(), "atoms": len(self.atoms)}

    def record(self) -> dict[str, Any]:
        """All of this, JSON-able."""
        kind = SOURCE if isinstance(self.what, Source) else self.what.name
        given = {one.name: getattr(self.what, one.name) for one in fields(self.what) if one.name != "on"}
        return {"name": self.name, "kind": kind, "settings": given, "atoms": runs_of(self.atoms)}


def of_record(record: Mapping[str, Any]) -> GroupBath:
    """The bath of a `GroupBath.record`; a SettingsError for an unknown kind."""
    kinds: dict[str, Any] = {SOURCE: Source, **THERMOSTATS}
    if record["kind"] not in kinds:
        raise SettingsError(f"the bath {record['name']} is of an unknown kind {record['kind']!r}")
    settings = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record["settings"].items()
    }
    return GroupBath(record["name"], kinds[record["kind"]](**settings), of_runs(record["atoms"]))


def group_baths(
    acting: Sequence[Any] | None, groups: Groups, fixed: NDArray[np.bool_] | None = None
) -> tuple[list[GroupBath | GroupDrive], list[str]]:
    """The baths of groups of a system, its drives, and remarks; also of `GroupBath`s of a checkpoint.

    SettingsError: what is no bath of a group, an unknown or empty group, an atom in two baths, a rescaling of
    one atom.
    """
    found: list[GroupBath] = []
    bath_of = np.full(groups.n_atoms, -1)
    if acting is not None and not isinstance(acting, Sequence):
        raise SettingsError(f"acting = {acting!r}: expected a list, such as [Langevin(320.0, on=mask)]")
    drives, moved, remarks = group_drives(acting or (), groups, fixed)
    what = "fixed or moved" if moved.any() else "fixed"
    if moved.any():
        fixed = moved if fixed is None else fixed | moved
    given = [(k, one) for k, one in enumerate(acting or ()) if not isinstance(one, Drive | GroupDrive)]
    for number, one in given:
        bath = one if isinstance(one, GroupBath) else _looked_up(one, number, groups)
        if bath.name in (other.name for other in found):
            raise SettingsError(
                f"two baths are called {bath.name}; give each group a name of its own in groups={{...}}"
            )
        if fixed is not None and fixed[bath.atoms].any():
            bath, remark = _of_free_atoms(bath, fixed, what)
            remarks.append(remark)
        twice = bath.atoms[bath_of[bath.atoms] >= 0]
        if len(twice):
            other = found[bath_of[twice[0]]].name
            raise SettingsError(
                f"atom {twice[0]} is in two baths, {other} and {bath.name}; an atom has one bath: make the "
                "groups disjoint"
            )
        if bath.rescales and len(bath.atoms) == 1:
            raise SettingsError(
                f"group {bath.name} has one atom, which has no velocity relative to its own centre of mass: "
                f"{_called(bath.what)} has nothing to rescale; use Langevin, or more atoms"
            )
        bath_of[bath.atoms] = len(found)
        found.append(bath)
    return [*found, *drives], remarks


def _looked_up(one: Any, number: int, groups: Groups) -> GroupBath:
    """A thermostat or source with the atoms of its group."""
    _check_kind(one)
    name = groups.name_of(one.on, number)
    called = f"{_called(one)} on={one.on!r}" if isinstance(one.on, str) else name
    return GroupBath(name, one, groups.atoms_of(one.on, called))


def _of_free_atoms(bath: GroupBath, held: NDArray[np.bool_], what: str) -> tuple[GroupBath, str]:
    """The bath without atoms that are held, and a remark."""
    kept = bath.atoms[~held[bath.atoms]]
    if not len(kept):
        raise SettingsError(f"group {bath.name}: all its atoms are {what}; a bath needs atoms that move")
    lost = len(bath.atoms) - len(kept)
    remark = f"the bath {bath.name} leaves {counted(lost, f'{what} atom')} out, of {len(bath.atoms)}"
    return GroupBath(bath.name, bath.what, kept), remark


def _called(one: Any) -> str:
    return type(one).__name__


def _check_kind(one: Any) -> None:
    """Raise if something is no bath of a group."""
    if isinstance(one, CellMotion) or not isinstance(one, Thermostat | Source):
        raise SettingsError(
            f"acting has {one!r}: expected a thermostat or a Source with its group, such as Langevin(320.0, "
            "on=mask), or a drive such as Force((0, 0, 0.1), on=mask)"
        )
    if one.on is None:
        raise SettingsError(
            f"{_called(one)} in acting has no group: give on=..., or give a thermostat of all atoms as "
            "ensemble=..."
        )
