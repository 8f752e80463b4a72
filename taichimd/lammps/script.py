"""A LAMMPS script whose pair lines name taichimd: it is cut after them, where the force field comes in.

    pair_style taichimd
    pair_coeff * * Si C

All other lines are LAMMPS's. The two parts are files of their own, so `jump SELF` finds labels of its part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from taichimd.core.errors import SettingsError
from taichimd.lammps.attached import SKIN


@dataclass(frozen=True)
class Script:
    """A script in two parts."""

    before: str  # text up to the pair lines
    after: str  # text from the pair lines on
    elements: tuple[str, ...]  # of the atom types
    skin: float  # largest of its `neighbor` lines, angstrom
    restarts: bool  # whether it has a `restart` line
    cutoffs: tuple[tuple[str, float], ...]  # lines of its `comm_modify`, with the cutoff of each


def check_reach(cutoffs: Sequence[tuple[str, float]], reach: float, skin: float) -> None:
    """Raise a SettingsError for `comm_modify` lines (line, cutoff) whose ghosts do not reach far enough."""
    for line, cutoff in cutoffs:
        if cutoff < reach + skin:
            raise SettingsError(
                f"{line}: this potential needs ghosts within {reach:.6g} angstrom, and a skin of {skin:g}; "
                f"leave the line out, or write comm_modify cutoff {reach + skin:.6g}"
            )


def read_script(path: str | Path) -> Script:
    """Read a script; a SettingsError names a line that must change."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); expected a LAMMPS script") from error
    lines = text.splitlines()
    style = cut = None
    elements: tuple[str, ...] = ()
    commands = [_Command(f"{path} line {one[0] + 1}", *one) for one in _commands(lines)]
    for one in commands:
        if why := _refused(one, style is not None, cut is not None):
            raise SettingsError(f"{one}: {why}")
        if one.name == "pair_style":
            style = one.first
        elif one.name == "pair_coeff":
            elements, cut = tuple(one.rest[2:]), one.last + 1
    if style is None or cut is None:
        raise SettingsError(f"{path}: no pair lines; {INSTEAD}")
    pair = range(next(one.first for one in commands if one.name == "pair_coeff"), cut)
    before = ["" if k == style or k in pair else line for k, line in enumerate(lines[:cut])]
    skins = [_number(one, 0) for one in commands if one.name == "neighbor" and one.rest]
    cutoffs = [
        (str(one), _number(one, one.rest.index("cutoff") + 1))
        for one in commands
        if one.name == "comm_modify" and "cutoff" in one.rest[:-1]
    ]
    restarts = any(one.name == "restart" and one.rest != ["0"] for one in commands)
    after = [*lines[cut:], ""]
    return Script(
        "\n".join(before), "\n".join(after), elements, max(SKIN, *skins, 0.0), restarts, tuple(cutoffs)
    )


class _Command(NamedTuple):
    """A command of a script: where it is said, first and last line, from 0, and its words."""

    where: str
    first: int
    last: int
    words: list[str]

    @property
    def name(self) -> str:
        return self.words[0]

    @property
    def rest(self) -> list[str]:
        return self.words[1:]

    def __str__(self) -> str:
        return f"{self.where}: {' '.join(self.words)}"


def _refused(one: _Command, styled: bool, complete: bool) -> str:
    """Why a line must change, after pair_style (`styled`), pair_coeff (`complete`); "" if it need not."""
    if one.name == "units" and one.rest != ["metal"]:
        return "taichimd computes in eV and angstrom; write units metal"
    if one.name == "neigh_modify" and "exclude" in one.rest:
        return "taichimd finds neighbours by itself; leave exclude out"
    if one.name == "clear" and styled:
        return "it would remove the force field; leave it out"
    if complete and one.name.startswith("pair_"):
        return "pair_style taichimd stands once, with one pair_coeff; leave the line out"
    if one.name == "pair_style" and (styled or one.rest != ["taichimd"]):
        return INSTEAD
    if one.name == "pair_coeff" and not (styled and one.rest[:2] == ["*", "*"] and len(one.rest) > 2):
        return INSTEAD
    return ""


INSTEAD = (
    "expected the lines 'pair_style taichimd' and 'pair_coeff * * Si C' (an element for each atom type); "
    "--potential says which force field"
)


def _commands(lines: list[str]) -> list[tuple[int, int, list[str]]]:
    """First and last line, from 0, and words of each command; no comments, continued lines joined."""
    found: list[tuple[int, int, list[str]]] = []
    words: list[str] = []
    first = 0
    for i, line in enumerate(lines):
        bare = line.split("#")[0].rstrip()
        words += bare.rstrip("&").split()
        if not bare.endswith("&"):
            if words:
                found.append((first, i, words))
            words, first = [], i + 1
    return found


def _number(one: _Command, place: int) -> float:
    try:
        return float(one.rest[place])
    except ValueError:
        raise SettingsError(
            f"{one}: write a number instead of {one.rest[place]}; how far ghosts must reach depends on it"
        ) from None
