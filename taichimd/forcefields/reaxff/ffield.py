"""The parameter file of ReaxFF, "ffield": its seven sections, checked.

    title                                                    one row
    39 general parameters                                    a count, then a row each
    atoms                                                    a count, three rows of comment, four rows each
    bonds                                                    a count, one row of comment, two rows each
    off-diagonals, angles, torsions, hydrogen bonds          a count, then a row each

Words are separated by blanks, `!` starts a comment. Atoms are numbered from 1 in the order of the file. A
file with low-gradient dispersion (lg) has a fifth row for each atom and a seventh number for each
off-diagonal. Nothing in it says so but that fifth row: two numbers where another file has an atom's name.
`columns.py` names the numbers and their sources.

The title may say DATE, UNITS, CONTRIBUTOR, CITATION, ELEMENTS, DOI, FITTED-TO, RANGE and NOTE, each with a
colon. The units of all such files are kcal/mol, angstrom, and eV for chi and eta; UNITS calls them "real".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taichimd.core.elements import is_symbol
from taichimd.forcefields.formats.header import Header, parse_title
from taichimd.forcefields.formats.text import is_number, read_lines, shorten
from taichimd.forcefields.reaxff.columns import (
    ANGLE,
    ATOM,
    ATOM_LG,
    BOND,
    GENERAL,
    HYDROGEN,
    OFF_DIAGONAL,
    OFF_DIAGONAL_LG,
    TORSION,
)
from taichimd.forcefields.reaxff.rows import Rows, is_whole

_LEAST, _MOST = 20, 100  # general parameters: far from other files' second row


@dataclass(frozen=True)
class Entry:
    """One entry of a section."""

    # the numbers of its atoms, from 1; 0 at the end of a torsion stands for any atom. A number above those of
    # the atoms makes the entry act on nothing.
    types: tuple[int, ...]
    values: Mapping[str, float]  # column -> number, as in the file
    line: int  # line on which it begins

    def __getitem__(self, column: str) -> float:
        return self.values[column]


@dataclass(frozen=True)
class _Section:
    """How a section is written: name, atoms of an entry, rows of an entry, rows of comment before them."""

    name: str
    bodies: int
    rows: tuple[tuple[str, ...], ...]
    comments: int = 0


@dataclass(frozen=True)
class FField:
    """A parameter file as it was read. Units: kcal/mol, angstrom, degrees; eV for chi and eta."""

    path: Path  # where it was read from
    header: Header  # what its title says
    # name -> general parameter; those after the 39th are called `unused_40` and so on
    general: Mapping[str, float]
    names: tuple[str, ...]  # names of the atoms; a chemical symbol, or a label such as X
    atoms: tuple[Entry, ...]  # one entry each, in the order of the file
    bonds: tuple[Entry, ...]  # all entries, also those that a later one replaces; so are the following
    off_diagonals: tuple[Entry, ...]  # of pairs; -1 and 0 keep the value of the combination rule
    angles: tuple[Entry, ...]  # of triples, the centre in the middle
    torsions: tuple[Entry, ...]  # of quadruples
    hydrogen_bonds: tuple[Entry, ...]  # of donor, hydrogen, acceptor
    lg: bool  # whether the file has the columns of low-gradient dispersion

    def label(self, types: tuple[int, ...]) -> str:
        """The atoms of an entry as messages write them: O-H; * is any atom."""
        names = ("*", *self.names)
        return "-".join(names[kind] if kind < len(names) else str(kind) for kind in types)


def _sections(lg: bool) -> tuple[_Section, ...]:
    """The sections after the atoms."""
    return (
        _Section("bonds", 2, BOND, comments=1),
        _Section("off-diagonals", 2, (OFF_DIAGONAL_LG if lg else OFF_DIAGONAL,)),
        _Section("angles", 3, (ANGLE,)),
        _Section("torsions", 4, (TORSION,)),
        _Section("hydrogen bonds", 3, (HYDROGEN,)),
    )


def is_ffield(text: str) -> bool:
    """Whether a text looks like an ffield file: on its second row a number of parameters, which follow."""
    rows = [line.split("!")[0].split() for line in text.split("\n")[1:4]]
    # One number a row: tables of other formats have more.
    if [sum(map(is_number, row)) for row in rows] != [1, 1, 1] or not is_whole(rows[0][0]):
        return False
    return _LEAST <= int(rows[0][0]) <= _MOST


def is_ffield_file(path: Path) -> bool:
    """Whether a file is called `.ffield` or looks like an ffield file.

    Raises:
        ParameterFileError: it cannot be read, or is no text.
    """
    return path.suffix == ".ffield" or is_ffield("\n".join(read_lines(path)))


def read_ffield(path: str | Path) -> FField:
    """Read an ffield file.

    Raises:
        ParameterFileError: unreadable, cut off or malformed; the message names file, line and column.
        UnitsMismatchError: its title states other units than "real".
    """
    path = Path(path)
    lines = read_lines(path)
    rows = Rows(path, lines)
    general = _read_general(rows)
    names, atoms, lg = _read_atoms(rows)
    bonds, off_diagonals, angles, torsions, hydrogen_bonds = (
        _read_section(rows, section, len(atoms)) for section in _sections(lg)
    )
    rows.check_end()
    return FField(
        path=path,
        header=parse_title(lines[0], path),
        general=general,
        names=names,
        atoms=atoms,
        bonds=bonds,
        off_diagonals=off_diagonals,
        angles=angles,
        torsions=torsions,
        hydrogen_bonds=hydrogen_bonds,
        lg=lg,
    )


def _read_general(rows: Rows) -> dict[str, float]:
    count = rows.count("general parameters")
    if count < len(GENERAL):
        raise rows.error(f"{count} general parameters, expected {len(GENERAL)}")
    names = [*GENERAL, *(f"unused_{number}" for number in range(len(GENERAL) + 1, count + 1))]
    return {
        name: rows.numbers(f"general parameter {at}", (name,))[0] for at, name in enumerate(names, start=1)
    }


def _read_atoms(rows: Rows) -> tuple[tuple[str, ...], tuple[Entry, ...], bool]:
    """Names and entries of the atoms, and whether they have the row of lg."""
    names: list[str] = []
    entries: list[Entry] = []
    columns: tuple[tuple[str, ...], ...] = ATOM
    for number in range(1, rows.count("atoms", comments=3) + 1):
        what = f"atom {number}"
        values = rows.numbers(what, columns[0], before=1)
        line = rows.line
        names.append(_name(rows, what))
        if names[-1] in names[:-1] and is_symbol(names[-1]):
            first = entries[names.index(names[-1])].line
            raise rows.error(f"{names[-1]} occurs twice, first on line {first}; keep one of them")
        for row in columns[1:]:
            values += rows.numbers(what, row)
        if number == 1 and rows.next_numbers() == len(ATOM_LG):
            columns = (*ATOM, ATOM_LG)
            values += rows.numbers(what, ATOM_LG)
        entries.append(_entry((number,), columns, values, line))
    if not entries:
        raise rows.error("0 atoms, expected one or more")
    return tuple(names), tuple(entries), columns != ATOM


def _name(rows: Rows, what: str) -> str:
    """The first word of the row; a chemical symbol in its usual case, for names compare without case."""
    name = rows.words[0].text
    if is_number(name):
        raise rows.error(f"column 1 of {what} is {shorten(name)}, expected the name of an atom")
    return name.capitalize() if is_symbol(name.capitalize()) else name


def _read_section(rows: Rows, section: _Section, atoms: int) -> tuple[Entry, ...]:
    entries = []
    bodies = section.bodies
    for number in range(1, rows.count(section.name, section.comments) + 1):
        what = f"{section.name.removesuffix('s')} {number}"
        values = rows.numbers(what, section.rows[0], before=bodies)
        line = rows.line
        types = tuple(_atom(rows, at, bodies, atoms, what) for at in range(1, bodies + 1))
        for row in section.rows[1:]:
            values += rows.numbers(what, row)
        entries.append(_entry(types, section.rows, values, line))
    return tuple(entries)


def _atom(rows: Rows, at: int, bodies: int, atoms: int, what: str) -> int:
    """The number of an atom in column `at` of the row; 0, any atom, may stand at the end of a torsion.

    Published files hold angles of atoms that they do not have, left over from a larger file: an entry of
    three or four atoms may name such a one, and acts on nothing.
    """
    text = rows.words[at - 1].text
    least = 0 if bodies == 4 and at in (1, 4) else 1
    if is_whole(text) and least <= int(text) and (int(text) <= atoms or bodies > 2):
        return int(text)
    raise rows.error(
        f"column {at} of {what} is {shorten(text)}, expected the number of an atom of this file, "
        f"{least} to {atoms}"
    )


def _entry(
    types: tuple[int, ...], rows: tuple[tuple[str, ...], ...], values: list[float], line: int
) -> Entry:
    names = [column for row in rows for column in row]
    return Entry(types, dict(zip(names, values, strict=True)), line)
