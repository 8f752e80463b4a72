"""Groups of atoms and what acts on them, as settings: each a text, or a table of a job file.

A text is `WHERE:KIND,key=value,key=value`, such as `hot:langevin,temperature=320`; WHERE is the name of a
group or a selection (`taichimd.system.where`). In a job file `[bath.hot]` is a table of the same keys, whose
`group` is `hot` unless it is given. `ACTS` has a row for each option; the keys are the fields of the classes.
The help of the command line needs this module, so it imports no NumPy.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from taichimd.core.names import hint
from taichimd.core.numerals import number_of
from taichimd.settings import types
from taichimd.settings.declared import Settings, setting
from taichimd.settings.types import mistake, time_or_number

GROUPS = "groups"
"""The table of a job file that has groups by name."""
NOT_KEYS = ("on", "ramp")
"""Fields of classes that no text has: the group stands before the colon, and a ramp goes over the run."""


@dataclass(frozen=True)
class Acts:
    """An option whose texts make objects that act on a group."""

    kinds: Mapping[str, str]  # the class of each kind, "module:Class"; with one kind its word may be left out
    kind_key: str = "kind"  # what a table of a job file calls the kind
    needs_group: bool = True  # whether it acts on a group; else there need be none before the colon
    example: str = ""  # in errors


_THERMOSTATS = "taichimd.ensembles.thermostats."
_DRIVES = "taichimd.ensembles.drives."
ACTS: dict[str, Acts] = {
    "bath": Acts(
        {
            "langevin": _THERMOSTATS + "langevin:Langevin",
            "bussi": _THERMOSTATS + "bussi:Bussi",
            "nose-hoover": _THERMOSTATS + "nose_hoover:NoseHoover",
            "berendsen": _THERMOSTATS + "berendsen:Berendsen",
        },
        "thermostat",
        example="hot:langevin,temperature=320",
    ),
    "source": Acts({"source": "taichimd.ensembles.groups.source:Source"}, example="hot:power=0.5"),
    "force": Acts({"force": _DRIVES + "force:Force"}, example="tip:force=0,0,0.05"),
    "spring": Acts({"spring": _DRIVES + "spring:Spring"}, example="base:constant=2"),
    "wall": Acts({"wall": _DRIVES + "wall:Wall"}, needs_group=False, example='"room=z > 0"'),
    "indenter": Acts(
        {"indenter": _DRIVES + "indenter:Indenter"},
        needs_group=False,
        example="shape=sphere,centre=20,20,60,radius=15",
    ),
    "move": Acts({"move": _DRIVES + "motion:Move"}, example="top:velocity=0.5,0,0"),
    "drag": Acts({"drag": _DRIVES + "motion:Drag"}, example="film:coupling_time=1ps"),
    "momentum": Acts({"momentum": _DRIVES + "motion:Momentum"}, needs_group=False, example="every=100"),
    "insert": Acts(
        {"insert": "taichimd.exchange.insert:Insert"},
        needs_group=False,
        example='"molecule=Ar,every=2ps,region=z > 30,velocity=0,0,-5"',
    ),
    "delete": Acts(
        {"delete": "taichimd.exchange.delete:Delete"},
        needs_group=False,
        example='"formula=H2O,every=1ps,region=z > 30"',
    ),
}
"""Options whose texts make objects, by their names, which are those of tables of job files, too."""
EXCHANGES = ("insert", "delete")
"""Those of `ACTS` that change the number of atoms."""


@dataclass(frozen=True)
class ActingSettings(Settings, topic="acting"):
    """Groups of atoms, and what acts on them."""

    group: types.Texts = setting(
        None, 'A group of atoms as NAME=WHERE, such as "hot=5 < x < 25"; may be repeated'
    )
    bath: types.Texts = setting(
        None, 'A thermostat of a group, such as "hot:langevin,temperature=320"; may be repeated; or none'
    )
    source: types.Texts = setting(
        None, 'Constant power (eV/ps) into a group, such as "hot:power=0.5"; may be repeated; or none'
    )
    force: types.Texts = setting(
        None, 'A force (eV/Å) on each atom of a group: "tip:force=0,0,0.05"; may be repeated; or none'
    )
    spring: types.Texts = setting(
        None, 'Springs (eV/Å^2) on a group: "base:constant=2"; may be repeated; or none'
    )
    wall: types.Texts = setting(
        None, 'A wall, by the side where atoms stay: "room=z > 0"; may be repeated; or none'
    )
    indenter: types.Texts = setting(
        None, 'An indenter: "shape=sphere,centre=20,20,60,radius=15"; may be repeated; or none'
    )
    move: types.Texts = setting(
        None, 'A group that moves at a velocity (Å/ps): "top:velocity=0.5,0,0"; may be repeated; or none'
    )
    drag: types.Texts = setting(
        None, 'Friction on a group: "film:coupling_time=1ps"; may be repeated; or none'
    )
    momentum: types.Texts = setting(
        None, 'Removal of momentum every so many steps: "every=100"; may be repeated; or none'
    )
    insert: types.Texts = setting(
        None,
        'Insertion of molecules: "molecule=Ar,every=2ps,region=z > 30,velocity=0,0,-5"; may be repeated; '
        "or none",
    )
    delete: types.Texts = setting(
        None, 'Deletion of molecules: "formula=H2O,every=1ps,region=z > 30"; may be repeated; or none'
    )

    @property
    def groups(self) -> dict[str, str]:
        """Selections by the names of groups; a SettingsError for a name that is given twice."""
        found: dict[str, str] = {}
        for text in self.group or ():
            name, equal, where = text.partition("=")
            if not equal or not where.strip() or not name.strip().isidentifier():
                raise mistake(f'group = {text!r}: expected NAME=WHERE, such as "hot=5 < x < 25"')
            if name.strip() in found:
                raise mistake(f"group = {text!r}: there is a group {name.strip()} already")
            found[name.strip()] = where.strip()
        return found

    @property
    def items(self) -> list["Item"]:
        """What acts on groups, in the order of `ACTS`."""
        return [one for option in ACTS if option not in EXCHANGES for one in self._of(option)]

    @property
    def exchanges(self) -> list["Item"]:
        """Insertions, then deletions."""
        return [one for option in EXCHANGES for one in self._of(option)]

    def _of(self, option: str) -> list["Item"]:
        return [read_item(option, text) for text in getattr(self, option) or ()]


@dataclass(frozen=True)
class Item:
    """One thing that acts on a group."""

    option: str  # of the command line
    text: str  # as given
    group: str  # name or selection; "": none
    kind: str  # the word of the kind
    name: str = ""  # in names of columns; "": the name of the group
    values: Mapping[str, str] = field(default_factory=dict)  # texts by keys

    @property
    def called(self) -> str:
        """What it is, in messages."""
        name = self.name or self.group or self.kind
        return self.option if name == self.option else f"{self.option} {name}"

    def make(self, on: Any, ramp: tuple[int, int], defaults: Mapping[str, Any]) -> Any:
        """The object, on its group; `ramp`: first and last step of the run, `defaults`: values by keys.

        SettingsError: an unknown key, one that is missing, or a value that makes no sense.
        """
        module, _, name = ACTS[self.option].kinds[self.kind].partition(":")
        kind = getattr(import_module(module), name)
        known = {one.name: one for one in fields(kind) if one.init and one.name not in (*NOT_KEYS, "name")}
        for key in self.values:
            if key not in known:
                raise mistake(f"{self.called}: unknown key {key!r}; {hint(key, known, 'keys')}")
        given = {key: value for key, value in defaults.items() if key in known}
        as_given = getattr(kind, "TEXTS", ())
        given |= {key: text if key in as_given else value_of(text) for key, text in self.values.items()}
        for key, one in known.items():
            if key not in given and one.default is MISSING and one.default_factory is MISSING:
                raise mistake(
                    f"{self.called}: {key} is missing; expected such as {ACTS[self.option].example}"
                )
        names = {one.name for one in fields(kind)}
        if "name" in names and self.name:
            given["name"] = self.name
        if "on" in names and on is not None:
            given["on"] = on
        if "ramp" in names and any(key.startswith("final_") for key in self.values):
            given["ramp"] = ramp
        from taichimd.core.errors import SettingsError

        try:
            return kind(**given)
        except SettingsError as error:
            raise SettingsError(f"{self.called}: {error}") from None


def read_item(option: str, text: str) -> Item:
    """Read one text of an option of `ACTS`."""
    acts = ACTS[option]
    group, _, tail = text.rpartition(":")
    kind, values, last = "", dict[str, str](), ""
    for part in tail.split(","):
        key, equal, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if equal and re.fullmatch(r"[A-Za-z_]\w*", key):
            if key in values:
                raise mistake(f"{option} = {text!r}: {key} is given twice")
            values[key], last = value.strip(), key
        elif last:
            values[last] += f",{part.strip()}"
        elif not kind:
            kind = part.strip()
        else:
            raise mistake(f"{option} = {text!r}: {part.strip()!r} is not key=value; expected {acts.example}")
    kind = kind or values.pop(acts.kind_key, "") or (next(iter(acts.kinds)) if len(acts.kinds) == 1 else "")
    name = values.pop("name", "")
    if acts.needs_group and not group.strip():
        raise mistake(f"{option} = {text!r}: expected a group, a colon and settings, such as {acts.example}")
    if kind not in acts.kinds:
        raise mistake(
            f"{option} = {text!r}: {kind!r} is none of {', '.join(acts.kinds)}; expected {acts.example}"
        )
    if name and not name.isidentifier():
        raise mistake(f"{option} = {text!r}: name={name} is not a name of letters, digits and _")
    return Item(option, text, group.strip(), kind, name, values)


def with_molecule(text: str, placed: Callable[[Path], Path]) -> str:
    """The text of an insertion, such as "molecule=C60.xyz,every=2ps", with the path of its file `placed`."""
    found = re.search(r"(?<=\bmolecule=)[^,]+", text)
    if found is None or not (there := placed(Path(found[0].strip()))).is_file():
        return text
    return f"{text[: found.start()]}{there}{text[found.end() :]}"


def of_tables(option: str, tables: Any, where: str) -> list[str]:
    """The texts of `[bath.hot]` and others of a job file, or of `[groups]`; `where` they stand for errors."""
    if option == GROUPS:
        return [f"{name}={_text(one).replace(',', ' ')}" for name, one in tables.items()]
    acts, found = ACTS[option], []
    # [[insert]]: tables without names.
    each = tables.items() if isinstance(tables, Mapping) else [("", table) for table in tables]
    for name, table in each:
        if not isinstance(table, Mapping):
            raise mistake(
                f"{where}: [{option}] has the key {name!r}; expected a table such as [{option}.hot], or "
                f"[[{option}]]"
            )
        own = dict(table)
        group = str(own.pop("group", name if acts.needs_group else ""))
        kind = [str(own.pop(acts.kind_key))] if acts.kind_key in own else []
        named = [f"name={name}"] if name and name != group else []
        parts = [*kind, *(f"{key}={_text(value)}" for key, value in own.items()), *named]
        found.append(f"{group}:{','.join(parts)}")
    return found


def _text(value: Any) -> str:
    """A value of TOML as the command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(_text(one) for one in value)
    return str(value)


def value_of(text: str) -> Any:
    """A text as truth, number, time (fs, of a text with its unit), tuple of these, or else text."""
    if "," in text:
        return tuple(value_of(part.strip()) for part in text.split(","))
    if text in ("true", "false"):
        return text == "true"
    try:
        number = number_of(text)
    except ValueError:
        return time_or_number(text)
    return int(number) if re.fullmatch(r"[-+]?[0-9]+", text) else number
