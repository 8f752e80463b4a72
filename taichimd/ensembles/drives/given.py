"""What a user gives of drives: which atoms each acts on, its name, and what is wrong with it."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.printable import counted
from taichimd.ensembles.drives.base import Drive
from taichimd.ensembles.drives.force import Force
from taichimd.ensembles.drives.indenter import Indenter
from taichimd.ensembles.drives.layout import MAX_DRIVES
from taichimd.ensembles.drives.motion import Drag, Momentum, Move
from taichimd.ensembles.drives.spring import Spring
from taichimd.ensembles.drives.wall import Wall
from taichimd.system.groups import Groups, of_runs, runs_of

DRIVES: dict[str, type[Drive]] = {
    kind.kind: kind for kind in (Force, Spring, Wall, Indenter, Move, Drag, Momentum)
}
_COLUMNS = {
    "force": ("force", "eV_per_A"),
    "place": ("place", "A"),
    "push": ("force", "eV_per_A"),
    "impulse": ("impulse", "eVfs_per_A"),
}
"""Word and unit in the name of a column, by quantity; of other quantities the quantity and eV."""
_VECTORS = ("force", "place")
WORK_OF_DEFORMATION = "work_deformation_eV"
"""The column of the work of a deformation, which no drive may have."""
STATE = ("state",)
"""Keys of the state in the record of a drive; without them the state of the drive is reset."""


@dataclass(frozen=True)
class GroupDrive:
    """A drive and its atoms."""

    name: str  # in columns of tables
    what: Drive  # acts on the atoms
    atoms: NDArray[np.int64]  # their numbers in the system, in order
    own: Array | None = None  # charges (e) or forces (eV/Å) of these atoms, of a force that needs them
    partner: NDArray[np.int64] | None = None  # the atoms at the other end of a spring
    begins: bool = True  # whether it begins now, or goes on from a checkpoint

    def summary(self) -> dict[str, Any]:
        """What run.json has of it."""
        return {
            "name": self.name,
            "kind": self.what.kind,
            "settings": self.what.settings(),
            "atoms": len(self.atoms),
        }

    def describe(self) -> str:
        """Name, kind, settings that are given, and how many atoms it has, on one line."""
        plain = {one.name: one.default for one in fields(self.what)}
        given = [f"{key} {value}" for key, value in self.what.settings().items() if value != plain[key]]
        return f"{self.name}: {self.what.kind}, {', '.join(given)}, {len(self.atoms):,} atoms"

    def columns(self) -> dict[str, tuple[str, ...]]:
        """Names of the columns of tables by quantity; three names of a vector."""
        found = {}
        for quantity in self.what.columns():
            word, unit = _COLUMNS.get(quantity, (quantity, "eV"))
            axes = ("_x", "_y", "_z") if quantity in _VECTORS else ("",)
            found[quantity] = tuple(f"{word}_{self.name}{axis}_{unit}" for axis in axes)
        return found

    def record(self) -> dict[str, Any]:
        """All of this, JSON-able."""
        found = {
            "name": self.name,
            "kind": self.what.kind,
            "settings": self.what.settings(),
            "atoms": runs_of(self.atoms),
        }
        if self.own is not None:
            found["own"] = packed(self.own)
        if self.partner is not None:
            found["partner"] = runs_of(self.partner)
        return found


def uses_charges(acting: Iterable[Any]) -> bool:
    """Whether a force of these baths and drives acts on the charges of the structure."""
    drives = (one.what for one in acting if isinstance(one, GroupDrive))
    return any(isinstance(what, Force) and what.field is not None for what in drives)


def packed(values: Array) -> dict[str, Any]:
    """An array of float64, exactly, as text."""
    return {
        "shape": list(values.shape),
        "float64": b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode(),
    }


def unpacked(record: Mapping[str, Any]) -> Array:
    """The array of `packed`."""
    return np.frombuffer(b64decode(record["float64"]), "<f8").reshape(record["shape"]).astype(float)


def drive_of_record(record: Mapping[str, Any]) -> GroupDrive:
    """The drive of a `GroupDrive.record`; a SettingsError for an unknown kind."""
    if record["kind"] not in DRIVES:
        raise SettingsError(f"the drive {record['name']} is of an unknown kind {record['kind']!r}")
    settings = {key: _tuples(value) for key, value in record["settings"].items()}
    own, partner = record.get("own"), record.get("partner")
    return GroupDrive(
        record["name"], DRIVES[record["kind"]](**settings), of_runs(record["atoms"]),
        None if own is None else unpacked(own), None if partner is None else of_runs(partner),
        begins=record.get("state") is None,
    )  # fmt: skip


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


def group_drives(
    acting: Sequence[Any], groups: Groups, fixed: NDArray[np.bool_] | None = None
) -> tuple[list[GroupDrive], NDArray[np.bool_], list[str]]:
    """The drives of a system, the atoms whose motion is given, and remarks.

    SettingsError: an unknown or empty group, two drives of one name, an atom that moves in two ways, charges
    or an array that the structure does not have.
    """
    given = [one for one in acting if isinstance(one, Drive | GroupDrive)]
    # Groups that move come first: other drives leave their atoms alone.
    order = sorted(range(len(given)), key=lambda k: not isinstance(_what(given[k]), Move))
    held = np.zeros(groups.n_atoms, bool) if fixed is None else fixed.copy()
    moved = np.zeros(groups.n_atoms, bool)
    names: dict[int, str] = {}
    for k, one in enumerate(given):
        names[k] = one.name if isinstance(one, GroupDrive) else _name_of(one, groups, list(names.values()))
        if names[k] in list(names.values())[:k]:
            raise SettingsError(
                f'two drives are called {names[k]}; give each a name of its own, such as name="{names[k]}2"'
            )
    found: dict[int, GroupDrive] = {}
    remarks: list[str] = []
    for k in order:
        one = given[k]
        drive = one if isinstance(one, GroupDrive) else _looked_up(one, names[k], groups, held | moved)
        if isinstance(drive.what, Move) and moved[drive.atoms].any():
            raise SettingsError(
                f"atom {drive.atoms[moved[drive.atoms]][0]} moves in two ways; an atom has one velocity: "
                "make the groups disjoint"
            )
        drive, told = _of_free_atoms(drive, held | moved, bool(moved.any()))
        remarks += told
        if isinstance(drive.what, Move):
            moved[drive.atoms] = True
        found[k] = drive
    rows = sum(2 if one.partner is not None else 1 for one in found.values())
    if rows > MAX_DRIVES:
        raise SettingsError(f"{len(found)} drives of one system: at most {MAX_DRIVES} act at a time")
    ordered = [found[k] for k in range(len(given))]
    _check_columns(ordered)
    return ordered, moved, remarks


def _check_columns(drives: Sequence[GroupDrive]) -> None:
    """Raise if two drives, or a drive and a deformation, would have one column of tables."""
    owners: dict[str, str] = {}
    for drive in drives:
        for column in (name for names in drive.columns().values() for name in names):
            if column == WORK_OF_DEFORMATION:
                raise SettingsError(
                    f"drive {drive.name}: its column {column} has the name of the work of a deformation; "
                    "give the drive another name"
                )
            if column in owners:
                raise SettingsError(
                    f"drives {owners[column]} and {drive.name} would both have the column {column}; give one "
                    "of them another name"
                )
            owners[column] = drive.name


def _what(one: Any) -> Drive:
    found: Drive = one.what if isinstance(one, GroupDrive) else one
    return found


def _name_of(one: Drive, groups: Groups, taken: list[str]) -> str:
    """Its own name, that of its group, or what it is, with a number if that is taken."""
    if one.name is not None:
        return one.name
    if isinstance(one.on, str) and one.on in groups:
        return one.on
    number = 1
    while f"{one.kind}{number if number > 1 else ''}" in taken:
        number += 1
    return f"{one.kind}{number if number > 1 else ''}"


def _looked_up(one: Drive, name: str, groups: Groups, held: NDArray[np.bool_]) -> GroupDrive:
    """A drive with its atoms, and what it needs of the structure."""
    called = f"{type(one).__name__} {name}"
    if isinstance(one.on, str):
        called = f"{type(one).__name__} on={one.on!r}"
    atoms = np.flatnonzero(~held) if one.on is None else groups.atoms_of(one.on, called)
    own = partner = None
    if isinstance(one, Force):
        own = _own_numbers(one, called, groups, atoms)
    if isinstance(one, Spring) and one.joins:
        partner = groups.atoms_of(one.other, called)
        if np.intersect1d(partner, atoms).size:
            raise SettingsError(
                f"{called}: atom {np.intersect1d(partner, atoms)[0]} is at both ends of the spring"
            )
    return GroupDrive(name, one, atoms, own, partner)


def _own_numbers(force: Force, called: str, groups: Groups, atoms: NDArray[np.int64]) -> Array | None:
    """Charges (n_group,) or forces (n_group, 3) of the atoms of a force; None if it needs none."""
    structure = groups.atoms
    if force.quantity == "field":
        if not structure.has("initial_charges") or not structure.get_initial_charges()[atoms].any():
            raise SettingsError(
                f"{called}: an electric field needs charges, and the structure has none; set its "
                "initial_charges"
            )
        return np.asarray(structure.get_initial_charges()[atoms], float)
    if force.quantity != "array":
        return None
    values = force.array
    if isinstance(values, str):
        if not structure.has(values):
            known = ", ".join(sorted(structure.arrays))
            raise SettingsError(f"{called}: the structure has no array {values!r}; it has {known}")
        values = structure.get_array(values)
    try:
        values = np.array(values, float)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.shape == (len(structure), 3):
        values = values[atoms]
    if values.shape != (len(atoms), 3) or not np.isfinite(values).all():
        raise SettingsError(
            f"{called}: expected finite forces of shape ({len(atoms)}, 3) or ({len(structure)}, 3) eV/Å, "
            f"got shape {values.shape}"
        )
    return values


def _of_free_atoms(drive: GroupDrive, held: NDArray[np.bool_], moves: bool) -> tuple[GroupDrive, list[str]]:
    """The drive without atoms that are held, and what is to be said of that."""
    stays = ~held[drive.atoms]
    partner = drive.partner if drive.partner is None else drive.partner[~held[drive.partner]]
    if stays.all() and (drive.partner is None or partner is None or len(partner) == len(drive.partner)):
        return drive, []
    what = "fixed or moved" if moves else "fixed"
    if not stays.any() or (partner is not None and not len(partner)):
        raise SettingsError(
            f"drive {drive.name}: all its atoms are {what}; a drive needs atoms that move freely"
        )
    own = None if drive.own is None else drive.own[stays]
    kept = GroupDrive(drive.name, drive.what, drive.atoms[stays], own, partner)
    lost = len(drive.atoms) - len(kept.atoms)
    return kept, [
        f"the drive {drive.name} leaves {counted(lost, f'{what} atom')} out, of {len(drive.atoms)}"
    ] if lost else []
