"""The comment lines at the top of a parameter file: where its numbers come from, and their units.

LAMMPS's custom, which we keep for our own files, is a first line

    # DATE: 2026-11-21 UNITS: metal CONTRIBUTOR: name CITATION: paper

and we add lines of one `# KEY: value` each: ELEMENTS, DOI, FITTED-TO, RANGE, NOTE (may be repeated).
A file without any of these is read too, as LAMMPS does: its units are then taken to be "metal".
"""

import re
from dataclasses import dataclass
from pathlib import Path

from taichimd.core.errors import UnitsMismatchError
from taichimd.forcefields.formats.text import read_lines, shorten

UNITS = "metal"
"""The only units accepted: eV, angstrom, and inverse angstrom for decay constants."""

_FIRST_LINE_KEYS = ("DATE", "UNITS", "CONTRIBUTOR", "CITATION")
_KEYS = (*_FIRST_LINE_KEYS, "ELEMENTS", "DOI", "FITTED-TO", "RANGE", "NOTE")
_INLINE = re.compile(rf"(?:^|\s)({'|'.join(_FIRST_LINE_KEYS)}):")
_LEADING = re.compile(rf"\s*({'|'.join(_KEYS)}):")


@dataclass(frozen=True)
class Header:
    """What a parameter file says about itself; a field that it does not give is None or empty.

    Attributes:
        date: date of the file, as written.
        units: always "metal".
        contributor: who wrote the file.
        citation: the paper that published the numbers.
        doi: the paper's DOI, without a resolver's address.
        elements: the chemical symbols that the header announces.
        fitted_to: the data that the parameters were fitted to.
        valid_range: the conditions that the paper tested (key RANGE).
        notes: everything else a user should know (key NOTE), one string each.
    """

    date: str | None = None
    units: str = UNITS
    contributor: str | None = None
    citation: str | None = None
    doi: str | None = None
    elements: tuple[str, ...] = ()
    fitted_to: str | None = None
    valid_range: str | None = None
    notes: tuple[str, ...] = ()


def read_header(path: str | Path) -> Header:
    """Read only the header of a parameter file.

    Raises:
        ParameterFileError: the file cannot be read.
        UnitsMismatchError: its UNITS are not "metal".
    """
    path = Path(path)
    return parse_header(read_lines(path), path)


def parse_header(lines: list[str], path: Path) -> Header:
    """Collect the header from a file's lines: comments and blank lines before the first data line.

    Args:
        lines: the file's lines.
        path: the file, for messages.

    Raises:
        UnitsMismatchError: UNITS are not "metal".
    """
    first: dict[str, str] = {}
    notes: list[str] = []
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        for key, value in _pairs(stripped.lstrip("#"), first_line=number == 1):
            if key == "UNITS":
                _check_units(value, path, number)
            if key == "NOTE":
                notes.append(value)
            elif value:
                # The first one counts: a later line may be a comment that only looks like a key.
                first.setdefault(key, value)
    return Header(
        date=first.get("DATE"),
        contributor=first.get("CONTRIBUTOR"),
        citation=first.get("CITATION"),
        doi=first.get("DOI"),
        elements=tuple(first.get("ELEMENTS", "").replace(",", " ").split()),
        fitted_to=first.get("FITTED-TO"),
        valid_range=first.get("RANGE"),
        notes=tuple(notes),
    )


def _pairs(text: str, first_line: bool) -> list[tuple[str, str]]:
    """Split one comment line into (key, value); the keys of the first line may share a line."""
    leading = _LEADING.match(text)
    if leading is None and not first_line:
        return []
    if leading is not None and leading[1] not in _FIRST_LINE_KEYS:
        return [(leading[1], text[leading.end() :].strip())]
    found = list(_INLINE.finditer(text))
    # A value ends where the next key starts; the last one at the end of the line.
    ends = [*(match.start() for match in found[1:]), len(text)]
    return [(match[1], text[match.end() : end].strip()) for match, end in zip(found, ends, strict=False)]


def _check_units(value: str, path: Path, line: int) -> None:
    word = value.split()[0] if value else ""
    if word != UNITS:
        says = f"UNITS: {shorten(word)[1:-1]}" if word else "UNITS: without a value"
        raise UnitsMismatchError(
            f"{path} line {line} says {says}, expected {UNITS}: "
            "eV and angstrom; convert the numbers and then the tag"
        )
