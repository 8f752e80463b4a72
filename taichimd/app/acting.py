"""Groups of atoms and baths of a job: from settings and a structure, or as its checkpoint has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.app.notes import of_speeds
from taichimd.app.restart import acting_before, same_acting
from taichimd.core.errors import SettingsError
from taichimd.ensembles.drives.given import GroupDrive, drive_of_record
from taichimd.ensembles.drives.indenter import Indenter
from taichimd.ensembles.drives.motion import Move
from taichimd.ensembles.drives.spring import Spring
from taichimd.ensembles.drives.wall import Wall
from taichimd.ensembles.groups.given import GroupBath, group_baths, of_record
from taichimd.exchange.base import Exchange, named
from taichimd.io.checkpoint import Checkpoint
from taichimd.io.structures import read_noted
from taichimd.settings.acting import ActingSettings
from taichimd.settings.config import make_settings
from taichimd.settings.run import RunSettings
from taichimd.system.constraints import constrained, wholly
from taichimd.system.groups import Groups, Numbers, of_runs
from taichimd.system.where import BUILT_IN


@dataclass(frozen=True)
class Acting:
    """Groups of the atoms of a job, and what acts on them."""

    groups: Mapping[str, Numbers] = field(default_factory=dict)  # by name; frozen
    # thermostats, sources of constant power, and drives
    baths: list[GroupBath | GroupDrive] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # remarks for the user
    exchanges: list[Exchange] = field(default_factory=list)  # insertions and deletions of molecules

    def record(self) -> dict[str, Any]:
        """Record for run.json: number of atoms of each group, and the baths."""
        baths = [one.summary() for one in self.baths]
        return {"groups": {name: len(atoms) for name, atoms in self.groups.items()}, "baths": baths}

    def rows(self) -> list[tuple[str, str]]:
        """Rows for the terminal."""
        of_bath = {one.name for one in self.baths}
        rest = [f"{name} {len(atoms):,} atoms" for name, atoms in self.groups.items() if name not in of_bath]
        rows = [("bath" if isinstance(one, GroupBath) else "drive", one.describe()) for one in self.baths]
        rows += [(one.kind, one.describe()) for one in self.exchanges]
        return [*rows, ("groups", ", ".join(rest))] if rest else rows


def acting_of_new(settings: RunSettings, atoms: Atoms, steps: int) -> Acting:
    """What acts on groups in a new run of so many steps, over which ramps go.

    SettingsError: a group that is empty or cannot be read, an atom in two baths, a value that makes no sense.
    """
    acting = _made(settings, atoms, {}, (0, steps))
    return replace(acting, exchanges=exchanges_of(settings))


def exchanges_of(settings: RunSettings) -> list[Exchange]:
    """Insertions and deletions of settings, with names that differ."""
    found = []
    for item in settings.acting.exchanges:
        molecule = item.values.get("molecule")
        more: dict[str, Any] = {"seed": settings.ensemble.seed}
        if item.group:
            more["region"] = item.group
        if molecule is not None and Path(molecule).is_file():
            own: dict[str, Any] = {**item.values, "molecule": read_noted(molecule)[0]}
            item = replace(item, values=own)
        found.append(item.make(None, (0, 1), more))
    return named(found)


def acting_of_restart(settings: RunSettings, checkpoint: Checkpoint, steps: int) -> tuple[Acting, Checkpoint]:
    """What acts on groups in a run that continues, and the checkpoint without the state of baths that do not.

    Groups keep their atoms, unless their selections are given again.
    """
    atoms, before = checkpoint.atoms(), acting_before(checkpoint)
    kept = {name: of_runs(runs) for name, runs in checkpoint.groups.items()}
    if settings.acting == before:
        baths: list[GroupBath | GroupDrive] = [of_record(one) for one in checkpoint.bath.get("acting", [])]
        baths += [drive_of_record(one) for one in checkpoint.bath.get("drives", [])]
        return Acting(Groups(atoms, kept), baths, exchanges=exchanges_of(settings)), checkpoint
    same = _selections(before).items() & _selections(settings.acting).items()
    kept = {name: kept[name] for name, _ in same if name in kept}
    acting = _made(settings, atoms, kept, (checkpoint.step, checkpoint.step + steps))
    bath = {key: value for key, value in checkpoint.bath.items() if key not in ("acting", "drives")}
    if not same_acting(settings, checkpoint):
        acting.notes.append(
            "the settings of baths of groups or drives differ: their heat and work, and conserved_eV, count "
            "from this restart"
        )
    acting = replace(acting, exchanges=exchanges_of(settings))
    return acting, replace(checkpoint, bath=bath)


def groups_of(
    file: str,
    where: Sequence[str] = (),
    given: Sequence[str] = (),
    frame: int | None = None,
    input_units: str | None = None,
    atom_style: str | None = None,
) -> tuple[Atoms, Groups, list[str]]:
    """A structure, the groups that selections mean, and what was assumed about the file.

    The file is a structure, or a job file with its structure and groups. `where`: selections, whose groups
    are called by their texts; `given`: NAME=WHERE each, besides those of a job file.
    """
    is_job = file.endswith(".toml")
    values: dict[str, Any] = {"from_frame": frame, "input_units": input_units, "atom_style": atom_style}
    settings = make_settings(
        values if is_job else {**values, "structure": file}, Path(file) if is_job else None
    )
    acting, start = settings.acting, settings.system
    if start.structure is None:
        raise SettingsError(f"{file} names no structure")
    acting = replace(acting, group=[*(acting.group or ()), *given])
    atoms, notes = read_noted(
        start.structure, start.from_frame, units=start.input_units, atom_style=start.atom_style
    )
    fixed = wholly(constrained(atoms))
    named = Groups(atoms, _selections(acting), fixed)
    # A text is no name: what it means is looked up, and then has the text as its name.
    texts = {text: named.atoms_of(text, "selection") for text in where}
    found = named.with_more(texts)
    if not found:
        raise SettingsError(f'{file} has no groups: give a selection, such as "x < 5", or --group')
    return atoms, found, notes


def _selections(acting: ActingSettings) -> dict[str, str]:
    """Selections by the names of groups: those that are given, and those of what acts without one."""
    found = acting.groups
    for item in acting.items:
        if not item.group:
            continue
        named = item.group in found or item.group in BUILT_IN
        number = sum(1 for name in found if name.startswith(item.option))
        name = item.name or (item.group if named else f"{item.option}{number + 1}")
        if name == item.group:
            continue
        if name in found and found[name] != item.group:
            raise SettingsError(
                f"{item.called}: there is a group {name} already ({found[name]}); choose another name"
            )
        found[name] = item.group
    return found


def _made(settings: RunSettings, atoms: Atoms, kept: Mapping[str, Any], ramp: tuple[int, int]) -> Acting:
    """What settings describe; `kept` groups are not looked up."""
    fixed = wholly(constrained(atoms))
    selections = _selections(settings.acting)
    groups = Groups(atoms, {**selections, **kept}, fixed)
    names = {where: name for name, where in selections.items()}
    objects = []
    for item in settings.acting.items:
        known = item.group in groups or item.group in BUILT_IN
        on = (item.name or (item.group if known else names.get(item.group))) if item.group else None
        objects.append(item.make(on, ramp, {"seed": settings.ensemble.seed}))
    baths, notes = group_baths(objects, groups, fixed)
    speeds = {
        f"{one.what.kind} {one.name}": float(np.linalg.norm(one.what.velocity))
        for one in baths
        if isinstance(one, GroupDrive) and isinstance(one.what, Move | Wall | Indenter | Spring)
    }
    notes += of_speeds(speeds, ramp[1] - ramp[0], settings.run.timestep)
    return Acting(groups, baths, notes)
