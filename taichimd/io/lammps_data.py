"""LAMMPS data files (`write_data`, `read_data`): units as the header states them, elements by name or mass.

https://docs.lammps.org/read_data.html. A mistake is one line that names the line of the file.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.io.elements import Element, element_named, element_of, is_element
from taichimd.io.lammps_units import ASSUMED, LammpsUnits, units_named, units_of_header

STYLES = {
    "atomic": (1, None, 2), "charge": (1, 2, 3), "bond": (2, None, 3), "angle": (2, None, 3),
    "molecular": (2, None, 3), "full": (2, 3, 4), "dipole": (1, 2, 3),
}  # fmt: skip
"""Columns of type, charge and x, after the number of the atom, of the styles that are read."""
_COLUMNS = {"dipole": 9}
"""Columns of a line without image flags, for styles where more than x, y, z follow."""
_SECTIONS = frozenset(
    (
        "Atoms", "Velocities", "Masses", "Charges", "Ellipsoids", "Lines", "Triangles", "Bodies", "Bonds",
        "Angles", "Dihedrals", "Impropers", "Pair Coeffs", "PairIJ Coeffs", "Bond Coeffs", "Angle Coeffs",
        "Dihedral Coeffs", "Improper Coeffs", "BondBond Coeffs", "BondAngle Coeffs",
        "MiddleBondTorsion Coeffs", "EndBondTorsion Coeffs", "AngleTorsion Coeffs",
        "AngleAngleTorsion Coeffs", "BondBond13 Coeffs", "AngleAngle Coeffs", "Atom Type Labels",
        "Bond Type Labels", "Angle Type Labels", "Dihedral Type Labels", "Improper Type Labels",
    )
)  # fmt: skip
_USED = {"Atoms", "Velocities", "Masses", "Atom Type Labels"}
_SILENT = re.compile(r"Labels$|Coeffs$")
_HEADER = re.compile(
    r"(?P<values>.*?)\s+(?P<key>atoms|atom types|[xyz]lo\s+[xyz]hi|xy\s+xz\s+yz|avec|bvec|cvec|abc\s+origin)"
)
_LOOKS_LIKE = re.compile(r"^\s*\d+\s+atoms\s*(#.*)?$", re.MULTILINE)
_BOX = re.compile(r"^\s*\S+\s+\S+\s+(xlo\s+xhi|\S+\s+avec)", re.MULTILINE)


def is_lammps_data(head: str) -> bool:
    """Whether the first characters of a file are those of a LAMMPS data file."""
    return bool(_LOOKS_LIKE.search(head) and _BOX.search(head))


@dataclass
class _Section:
    """Lines of a section: their numbers in the file, words and comments."""

    comment: str = ""
    lines: list[tuple[int, list[str], str]] = field(default_factory=list)


def read_lammps_data(
    path: Path, units: str | None = None, atom_style: str | None = None
) -> tuple[Atoms, list[str]]:
    """Atoms of a LAMMPS data file, in the order of their numbers, periodic in three directions; and remarks.

    Units: None: as the first line states (`units = real`), else metal. Atom style: None: as the comment
    behind `Atoms` says; without a comment, atomic if the columns fit. Positions and cell in Å, unwrapped by
    the image flags; masses in amu; velocities in ASE's unit, if there are any; charges as initial charges.
    StructureError: units lj, an atom style that is not read, atom types whose elements are not known, or a
    line that cannot be read.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    where = f"structure file {path}"
    stated = units_of_header(lines[0])
    system = units_named(units or stated or ASSUMED.name, where)
    header, sections = _split(lines, where)
    notes = []
    if units is None and stated is None:
        notes.append(
            f"{path.name} does not state its LAMMPS units; metal was assumed (Å, Å/ps): give --input-units "
            "if the file has others"
        )
    count = int(header.get("atoms", [0])[0])
    atoms = sections.get("Atoms")
    if atoms is None or len(atoms.lines) != count:
        found = 0 if atoms is None else len(atoms.lines)
        raise StructureError(
            f"{where}: its header says {count:,} atoms, its section Atoms has {found:,} lines; expected "
            "as many lines as atoms"
        )
    style = _style_of(atoms, atom_style, where)
    elements = _elements(sections, system, where)
    result = _atoms(atoms.lines, style, elements, _cell(header, where), system, where)
    if (section := sections.get("Velocities")) is not None:
        velocities = _velocities(section.lines, result.info.pop("ids"), where)
        result.set_velocities(velocities * system.velocity)
    result.info.pop("ids", None)
    unused = [name for name in sections if name not in _USED and not _SILENT.search(name)]
    if unused:
        notes.append(f"sections of {path.name} that are not used: {', '.join(unused)}")
    return result, notes


def _split(lines: list[str], where: str) -> tuple[dict[str, list[float]], dict[str, _Section]]:
    """Header values by keyword, and sections by name."""
    header: dict[str, list[float]] = {}
    sections: dict[str, _Section] = {}
    now: _Section | None = None
    for number, line in enumerate(lines[1:], start=2):
        content, _, comment = line.partition("#")
        words = content.split()
        if not words:
            continue
        name = " ".join(words)
        if name in _SECTIONS:
            if name in sections:
                raise StructureError(f"{where}, line {number}: a second section {name}; expected one")
            now = sections.setdefault(name, _Section(comment.strip()))
        elif now is not None:
            now.lines.append((number, words, comment.strip()))
        elif match := _HEADER.fullmatch(name):
            here = f"{where}, line {number}"
            key = " ".join(match["key"].split())
            numbers = [_number(word, here) for word in match["values"].split()]
            expected = {"atoms": 1, "atom types": 1}.get(key) or (2 if key.endswith("hi") else 3)
            if len(numbers) != expected:
                raise StructureError(f"{here}: {len(numbers)} numbers before {key}; expected {expected}")
            if key == "atoms" and not (numbers[0] >= 0 and numbers[0] == int(numbers[0])):
                raise StructureError(f"{here}: {match['values']!r} atoms; expected a whole number")
            header[key] = numbers
    return header, sections


def _number(word: str, here: str) -> float:
    try:
        if word.isascii() and "_" not in word and np.isfinite(value := float(word)):
            return value
    except ValueError:
        pass
    raise StructureError(f"{here}: {word!r} is not a number")


def _whole(word: str, here: str) -> int:
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", word):
        raise StructureError(f"{here}: {word!r} is not a whole number")
    return int(word)


def _cell(header: dict[str, list[float]], where: str) -> Array:
    """(3, 3) rows are cell vectors."""
    general = [header.get(key) for key in ("avec", "bvec", "cvec")]
    if all(vector is not None for vector in general):
        return np.array(general)
    cell = np.zeros((3, 3))
    for k, axis in enumerate("xyz"):
        bounds = header.get(f"{axis}lo {axis}hi")
        if bounds is None:
            raise StructureError(
                f"{where}: no line with {axis}lo {axis}hi (or avec, bvec and cvec), so no cell; add that line"
            )
        if not bounds[1] > bounds[0]:
            raise StructureError(f"{where}: {axis}hi = {bounds[1]:g} is not above {axis}lo = {bounds[0]:g}")
        cell[k, k] = bounds[1] - bounds[0]
    cell[1, 0], cell[2, 0], cell[2, 1] = header.get("xy xz yz", [0.0, 0.0, 0.0])
    return cell


def _style_of(atoms: _Section, given: str | None, where: str) -> str:
    """The style of the section Atoms: as given, as its comment says, or by its columns."""
    style = given or (atoms.comment.split() or [""])[0]
    listed = ", ".join(STYLES)
    if style and style not in STYLES:
        raise StructureError(f"{where}: atom style {style!r} is not read; expected one of {listed}")
    if style or not atoms.lines:
        return style or "atomic"
    number, words, _ = atoms.lines[0]
    if len(words) in (5, 8):
        return "atomic"
    raise StructureError(
        f"{where}, line {number}: {len(words)} columns, and the line Atoms names no style; write the style "
        f"after Atoms, as in Atoms # charge, or give --atom-style ({listed})"
    )


def _elements(sections: dict[str, _Section], system: LammpsUnits, where: str) -> dict[str, Element]:
    """Elements by the type, as a number and as a label."""
    labels = {
        words[0]: words[1]
        for _, words, _ in sections.get("Atom Type Labels", _Section()).lines
        if len(words) > 1
    }
    numbers = {label: kind for kind, label in labels.items()}
    found: dict[str, Element] = {}
    for number, words, comment in sections.get("Masses", _Section()).lines:
        here = f"{where}, line {number}"
        if len(words) != 2:
            raise StructureError(f"{here}: {' '.join(words)!r} in Masses; expected a type and its mass")
        kind = numbers.get(words[0], words[0])
        beside = (comment.split() or [labels.get(kind, words[0])])[0]
        element = element_of(_number(words[1], here) * system.mass, beside, here)
        found[kind] = element
    for kind, label in labels.items():
        if kind not in found and is_element(label):
            found[kind] = element_named(label)
    if not found:
        raise StructureError(
            f"{where}: LAMMPS data without a section Masses, so the elements of its atom types "
            'are not known; add one with a line "type mass" for each: Masses, an empty line, 1 28.0855'
        )
    return found | {label: found[kind] for kind, label in labels.items() if kind in found}


def _atoms(
    lines: list[tuple[int, list[str], str]],
    style: str,
    elements: dict[str, Element],
    cell: Array,
    system: LammpsUnits,
    where: str,
) -> Atoms:
    """Atoms in the order of their numbers, which `info["ids"]` holds."""
    kind, charge, x = STYLES[style]
    columns = _COLUMNS.get(style, x + 3)
    n = len(lines)
    ids, of = np.zeros(n, np.int64), []
    positions, charges, flags = np.zeros((n, 3)), np.zeros(n), np.zeros((n, 3))
    for k, (number, words, _) in enumerate(lines):
        here = f"{where}, line {number}"
        if len(words) not in (columns, columns + 3):
            raise StructureError(
                f"{here}: {len(words)} columns; expected {columns} of the atom style {style}, or "
                f"{columns + 3} with image flags"
            )
        if words[kind] not in elements:
            raise StructureError(
                f"{here}: the atom type {words[kind]} has no mass in the section Masses; add it there"
            )
        ids[k] = _whole(words[0], here)
        of.append(elements[words[kind]])
        positions[k] = [_number(word, here) for word in words[x : x + 3]]
        if charge is not None:
            charges[k] = _number(words[charge], here)
        if len(words) > columns:
            flags[k] = [_whole(word, here) for word in words[columns:]]
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    if (twice := np.flatnonzero(np.diff(ids) == 0)).size:
        raise StructureError(
            f"{where}: two lines of the section Atoms have the number {ids[twice[0]]}; number each atom once"
        )
    atoms = Atoms(
        [of[k].symbol for k in order],
        positions=((positions + flags @ cell) * system.length)[order],
        cell=cell * system.length,
        pbc=True,
        masses=[of[k].mass for k in order],
    )
    if charge is not None:
        atoms.set_initial_charges(charges[order] * system.charge)
    atoms.info["ids"] = ids
    return atoms


def _velocities(lines: list[tuple[int, list[str], str]], ids: NDArray[np.int64], where: str) -> Array:
    """(n, 3) in the file's unit, in the order of the atoms' numbers."""
    found: dict[int, list[float]] = {}
    for number, words, _ in lines:
        here = f"{where}, line {number}"
        if len(words) != 4:
            raise StructureError(f"{here}: {len(words)} columns; expected an atom's number, vx, vy and vz")
        found[_whole(words[0], here)] = [_number(word, here) for word in words[1:]]
    lacking = [int(one) for one in ids if int(one) not in found]
    if lacking or len(lines) != len(ids):
        what = f"none for atom {lacking[0]}" if lacking else f"{len(lines):,} lines for {len(ids):,} atoms"
        raise StructureError(f"{where}: the section Velocities has {what}; expected one line for each atom")
    return np.array([found[int(one)] for one in ids])
