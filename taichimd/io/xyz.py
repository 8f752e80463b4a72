"""XYZ and extended XYZ files: one frame of them, with D and T as hydrogen, and columns by other names.

ASE reads the columns that it knows by the names that its own writer gives them (`masses`, `momenta`). Here
GPUMD's `mass` is read, `vel` if its unit is given, and what else looks like a quantity is remarked.
"""

import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from ase import Atoms
from ase.data import atomic_numbers, chemical_symbols

from taichimd.core.errors import StructureError
from taichimd.io.elements import HEAVY_HYDROGEN
from taichimd.io.lammps_units import units_named
from taichimd.io.other_formats import chosen_frame

VELOCITIES = ("vel", "velo", "velocity", "velocities")
"""Columns of velocities that say no unit; ASE's own are momenta, in its unit."""
_MOMENTA = ("momentum", "p")
_OTHERS = ("charge", "charges", "q", "fixed", "frozen", "constraint", "move", "isotope")
_PROPERTIES = re.compile(r"\bproperties\s*=\s*(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE)
_LAMMPS_TYPES = re.compile(r"Atoms\.\s+Timestep:")
_PLAIN = re.compile(
    r'\s*Lattice="([^"]*)" Properties=species:S:1:pos:R:3(?: pbc="([TF]) ([TF]) ([TF])")?\s*', re.ASCII
)
"""The comment of a frame that has symbols, positions and a cell only, as ASE writes it."""
_FIRST = re.compile(r"\A\s*[0-9]+[ \t]*\r?\n")


def is_xyz(path: Path, head: str) -> bool:
    """Whether a file is XYZ or extended XYZ: by its suffix, or by a first line that is one number."""
    if path.suffix in (".xyz", ".extxyz"):
        return True
    return (
        not path.suffix
        and "POSCAR" not in path.name.upper()
        and bool(_FIRST.match(head))
        and ("Properties=" in head or "Lattice=" in head)
    )


def read_xyz(path: Path, frame: int | None, units: str | None) -> tuple[Atoms, list[str]]:
    """A frame, None: the last, and remarks; `units`: LAMMPS' name for those of columns such as `vel`."""
    where = f"structure file {path}"
    frames = 0
    wanted = -1 if frame is None else frame
    kept: list[tuple[int, list[str]]] = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for start, lines in _frames(file, where):
            if wanted < 0:
                kept = [*kept[wanted + 1 :], (start, lines)] if wanted < -1 else [(start, lines)]
            elif frames == wanted:
                kept = [(start, lines)]
            frames += 1
    if frames == 0:
        raise StructureError(f"{where} has no atoms")
    _, notes = chosen_frame(path, frame, frames)
    start, lines = kept[0]
    lines, masses, told = _with_symbols(lines, start, where, path.name)
    notes += told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        atoms = _plain(lines) or _parsed("".join(lines))
    _take_masses(atoms, masses, where)
    if not atoms.cell.any() and not re.search(r"\bpbc\s*=", lines[1], re.IGNORECASE):
        notes.append(
            f'{path.name} has no cell, so the structure is not periodic; write Lattice="..." if it is'
        )
    notes += _columns(atoms, units, where, path.name)
    return atoms, notes


def has_other_names(path: Path) -> bool:
    """Whether the first frame of an XYZ file has names that are no elements: D, T, numbers."""
    if path.suffix not in (".xyz", ".extxyz"):
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        try:
            _, lines = next(_frames(file, ""), (0, []))
            column = _species_column(lines[1]) if lines else None
        # The reader says what is wrong with it.
        except (StructureError, ValueError):
            return False
    words = [line.split() for line in lines[2:]]
    return column is not None and any(
        len(one) > column and one[column] not in atomic_numbers for one in words
    )


def each_frame(path: Path) -> Iterator[tuple[Atoms, list[str]]]:
    """All frames of an XYZ file in turn, each as of `read_xyz`, but with all its columns."""
    where = f"trajectory {path}"
    with open(path, encoding="utf-8", errors="replace") as file:
        for start, found in _frames(file, where):
            lines, masses, told = _with_symbols(found, start, where, path.name)
            atoms = _parsed("".join(lines))
            _take_masses(atoms, masses, where)
            yield atoms, told


def _plain(lines: list[str]) -> Atoms | None:
    """A simple frame, without ASE's module, whose import takes a third of a second; None: not simple."""
    found = _PLAIN.fullmatch(lines[1])
    words = [line.split() for line in lines[2:]]
    if found is None or any(len(one) != 4 for one in words):
        return None
    try:
        cell = np.array([float(word) for word in found[1].split()]).reshape(3, 3)
        numbers = [atomic_numbers[one[0]] for one in words]
        positions = np.array([[float(word) for word in one[1:]] for one in words]).reshape(-1, 3)
    except (ValueError, KeyError):
        return None
    periodic = [flag == "T" for flag in found.groups()[1:]] if found[2] else True
    return Atoms(numbers=numbers, positions=positions, cell=cell, pbc=periodic)


def _parsed(text: str) -> Atoms:
    from ase.io import read

    atoms = read(io.StringIO(text), index=0, format="extxyz")
    assert isinstance(atoms, Atoms)
    return atoms


def _frames(file: TextIO, where: str) -> Iterator[tuple[int, list[str]]]:
    """The frames of a file as lines, with the number of the first line."""
    number, line = 0, file.readline()
    while line:
        number += 1
        if not line.strip():
            line = file.readline()
            continue
        words = line.split()
        if len(words) != 1 or not re.fullmatch(r"[0-9]{1,10}", words[0]):
            raise StructureError(
                f"{where}, line {number}: cannot be read as the number of atoms: {line.strip()[:60]!r}"
            )
        start, lines = number, [line]
        for _ in range(int(words[0]) + 1):
            line = file.readline()
            if not line:
                raise StructureError(
                    f"{where} cannot be read: the frame at line {start} has "
                    f"{max(0, len(lines) - 2)} atoms; expected {words[0]}"
                )
            lines.append(line)
            number += 1
        line = file.readline()
        # AMS and ADF write cell vectors after the atoms.
        while line.startswith("VEC"):
            lines.append(line)
            number += 1
            line = file.readline()
        yield start, lines


def _species_column(comment: str) -> int | None:
    """Where the symbols stand in a line of an atom; None if the frame has none (atomic numbers)."""
    match = _PROPERTIES.search(comment)
    if match is None:
        return 0
    column, fields = 0, match[1].strip("\"'").split(":")
    for name, _, count in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        if name in ("species", "symbols"):
            return column
        column += int(count)
    return None


class _Names:
    """What stands in the place of elements, atom by atom, and what was made of it; masses of D and T, amu."""

    def __init__(self, comment: str, where: str) -> None:
        self._lammps, self._where = bool(_LAMMPS_TYPES.search(comment)), where
        self.masses: dict[int, float] = {}
        self._spelled: dict[str, str] = {}
        self._numbers: dict[str, str] = {}

    def symbol(self, atom: int, word: str, here: str) -> str:
        """The element of a word."""
        if word.isascii() and word.isdigit():
            return self._of_number(word, here)
        if word in HEAVY_HYDROGEN:
            self.masses[atom] = HEAVY_HYDROGEN[word]
            return "H"
        symbol = word.capitalize()
        if symbol not in atomic_numbers:
            raise StructureError(f"{here}: cannot be read: {word[:20]!r} is not an element")
        if symbol != word:
            self._spelled[word] = symbol
        return symbol

    def _of_number(self, word: str, here: str) -> str:
        if self._lammps:
            raise StructureError(
                f"{self._where}: LAMMPS wrote numbers of atom types instead of elements; write the file "
                "with dump_modify ID element Si O ..., one element for each type"
            )
        if not 0 < int(word) < len(chemical_symbols):
            raise StructureError(f"{here}: cannot be read: {word[:20]} is not an atomic number")
        self._numbers[word] = chemical_symbols[int(word)]
        return chemical_symbols[int(word)]

    def notes(self, name: str) -> list[str]:
        """Remarks on the file of this name."""
        notes = []
        if self.masses:
            count = f"{len(self.masses):,} atoms"
            notes.append(f"D and T in {name} are hydrogen with the masses 2.014 and 3.016: {count}")
        if self._numbers:
            notes.append(
                f"numbers in {name} were taken as atomic numbers: {_shown(self._numbers)}; write elements if "
                "they are atom types"
            )
        if self._spelled:
            notes.append(f"names in {name} were taken as elements: {_shown(self._spelled)}")
        return notes


def _shown(taken: dict[str, str]) -> str:
    return ", ".join(f"{word} as {symbol}" for word, symbol in list(taken.items())[:5])


def _with_symbols(
    lines: list[str], start: int, where: str, name: str
) -> tuple[list[str], dict[int, float], list[str]]:
    """Lines with elements where others stood, masses of D and T by the atom, and remarks."""
    column = _species_column(lines[1])
    if column is None:
        return lines, {}, []
    names, result = _Names(lines[1], where), list(lines)
    for k in range(int(lines[0])):
        words = lines[k + 2].split()
        here = f"{where}, line {start + k + 2}"
        # Positions may stand before the symbols.
        if len(words) < max(column + 1, 4):
            raise StructureError(
                f"{here}: cannot be read: {lines[k + 2].strip()[:60]!r} is not an element with x, y and z"
            )
        symbol = names.symbol(k, words[column], here)
        if symbol != words[column]:
            words[column] = symbol
            result[k + 2] = " ".join(words) + "\n"
    return result, names.masses, names.notes(name)


def _take_masses(atoms: Atoms, heavy: dict[int, float], where: str) -> None:
    """Masses of a column `mass`, and of D and T where no column says them."""
    column = atoms.arrays.pop("mass", None)
    if column is not None and not atoms.has("masses"):
        if column.shape != (len(atoms),) or column.dtype.kind not in "fi":
            raise StructureError(f"{where}: the column mass holds no number for each atom; expected mass:R:1")
        atoms.set_masses(column.astype(float))
    elif heavy and not atoms.has("masses"):
        masses = atoms.get_masses()
        masses[list(heavy)] = list(heavy.values())
        atoms.set_masses(masses)


def _columns(atoms: Atoms, units: str | None, where: str, name: str) -> list[str]:
    """Read velocities whose unit is known; remark on columns that are not used."""
    if units is not None:
        system = units_named(units, where)
        for column in VELOCITIES:
            values: Any = atoms.arrays.get(column)
            if values is None or atoms.has("momenta"):
                continue
            if values.shape != (len(atoms), 3) or values.dtype.kind not in "fi":
                raise StructureError(
                    f"{where}: the column {column} holds no three numbers; expected {column}:R:3"
                )
            atoms.set_velocities(np.asarray(atoms.arrays.pop(column), float) * system.velocity)
    there = [column for column in (*_MOMENTA, *_OTHERS) if atoms.has(column)]
    if there:
        return [f"columns of {name} that are not used: {', '.join(there)}"]
    return []
