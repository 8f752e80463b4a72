"""The comment lines at the top of a parameter file: where its numbers come from, and their units.

LAMMPS's custom, which we keep for our own files, is a first line

    # DATE: 2026-11-21 UNITS: metal CONTRIBUTOR: name CITATION: paper

and we add lines of one `# KEY: value` each: ELEMENTS, DOI, FITTED-TO, RANGE, and WARNING and NOTE, which
may be repeated. A file without any of these is read too, as LAMMPS does: its units are then taken to be
"metal".
The ffield files of ReaxFF have one line of title instead, with the same keys; their units are "real".
"""

import re
from dataclasses import dataclass
from pathlib import Path

from taichimd.core.errors import UnitsMismatchError
from taichimd.forcefields.formats.text import read_lines, shorten

UNITS = "metal"
"""The only units accepted: eV, angstrom, and inverse angstrom for decay constants."""
TITLE_UNITS = "real"
"""The only units accepted of an ffield file: kcal/mol and angstrom."""

_FIRST_LINE_KEYS = ("DATE", "UNITS", "CONTRIBUTOR", "CITATION")
_KEYS = (*_FIRST_LINE_KEYS, "ELEMENTS", "DOI", "FITTED-TO", "RANGE", "WARNING", "NOTE")
_INLINE = re.compile(rf"(?:^|\s)({'|'.join(_FIRST_LINE_KEYS)}):")
_TITLE = re.compile(rf"(?:^|\s)({'|'.join(_KEYS)}|COMMENT):")
_LEADING = re.compile(rf"\s*({'|'.join(_KEYS)}):")


@dataclass(frozen=True)
class Header:
    """What a parameter file says about itself; a field that it does not give is None or empty."""

    date: str | None = None  # date of the file, as written
    units: str = UNITS  # "metal", or "real" for an ffield file
    contributor: str | None = None  # who wrote the file
    citation: str | None = None  # the paper that published the numbers
    doi: str | None = None  # the paper's DOI, without a resolver's address
    elements: tuple[str, ...] = ()  # the chemical symbols that the header announces
    fitted_to: str | None = None  # the data that the parameters were fitted to
    valid_range: str | None = None  # the conditions that the paper tested (key RANGE)
    # what it is often used for and not made for (key WARNING), one string each
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # everything else a user should know (key NOTE), one string each


def read_header(path: str | Path) -> Header:
    """Read only the header of a parameter file, the title of one called `.ffield`."""
    path = Path(path)
    lines = read_lines(path)
    return parse_title(lines[0], path) if path.suffix == ".ffield" else parse_header(lines, path)


def parse_header(lines: list[str], path: Path) -> Header:
    """Collect the header from a file's lines: comments and blank lines before the first data line."""
    first: dict[str, str] = {}
    notes: list[str] = []
    warnings: list[str] = []
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        for key, value in _pairs(stripped.lstrip("#"), first_line=number == 1):
            if key == "UNITS":
                _check_units(value, path, number)
            if key in ("NOTE", "WARNING"):
                (notes if key == "NOTE" else warnings).append(value)
            elif value:
                # The first one counts: a later line may be a comment that only looks like a key.
                first.setdefault(key, value)
    return _header(first, tuple(notes), tuple(warnings), UNITS)


def parse_title(title: str, path: Path) -> Header:
    """Collect the header of an ffield file from its title; a title without keys is a NOTE."""
    pairs = _split(_TITLE, title) or [("NOTE", title.strip())]
    first: dict[str, str] = {}
    for key, value in pairs:
        if key == "UNITS":
            _check_units(value, path, 1, TITLE_UNITS, "kcal/mol")
        if value:
            first.setdefault(key, value)
    notes = tuple(value for key, value in pairs if key in ("NOTE", "COMMENT") and value)
    warnings = tuple(value for key, value in pairs if key == "WARNING" and value)
    return _header(first, notes, warnings, TITLE_UNITS)


def parse_comments(lines: list[str], path: Path) -> Header:
    """Collect the header from comments, as in EAM files; without keys the first line is its NOTE."""
    pairs = []
    for number, line in enumerate(lines, start=1):
        for key, value in _split(_TITLE, line.lstrip("# \t")):
            if key == "UNITS":
                _check_units(value, path, number)
            pairs.append((key, value))
    if not pairs:
        pairs = [("NOTE", text) for text in (line.strip() for line in lines) if text][:1]
    first: dict[str, str] = {}
    for key, value in pairs:
        if value:
            first.setdefault(key, value)
    notes = tuple(value for key, value in pairs if key in ("NOTE", "COMMENT") and value)
    warnings = tuple(value for key, value in pairs if key == "WARNING" and value)
    return _header(first, notes, warnings, UNITS)


def _header(first: dict[str, str], notes: tuple[str, ...], warnings: tuple[str, ...], units: str) -> Header:
    return Header(
        date=first.get("DATE"),
        units=units,
        contributor=first.get("CONTRIBUTOR"),
        citation=first.get("CITATION"),
        doi=first.get("DOI"),
        elements=tuple(first.get("ELEMENTS", "").replace(",", " ").split()),
        fitted_to=first.get("FITTED-TO"),
        valid_range=first.get("RANGE"),
        warnings=warnings,
        notes=notes,
    )


def _pairs(text: str, first_line: bool) -> list[tuple[str, str]]:
    """Split one comment line into (key, value); the keys of the first line may share a line."""
    leading = _LEADING.match(text)
    if leading is None and not first_line:
        return []
    if leading is not None and leading[1] not in _FIRST_LINE_KEYS:
        return [(leading[1], text[leading.end() :].strip())]
    return _split(_INLINE, text)


def _split(keys: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """Split a line that holds several keys into (key, value)."""
    found = list(keys.finditer(text))
    # A value ends where the next key starts; the last one at the end of the line.
    ends = [*(match.start() for match in found[1:]), len(text)]
    return [(match[1], text[match.end() : end].strip()) for match, end in zip(found, ends, strict=False)]


def _check_units(value: str, path: Path, line: int, expected: str = UNITS, energy: str = "eV") -> None:
    word = value.split()[0] if value else ""
    if word != expected:
        says = f"UNITS: {shorten(word)[1:-1]}" if word else "UNITS: without a value"
        raise UnitsMismatchError(
            f"{path} line {line} says {says}, expected {expected}: "
            f"{energy} and angstrom; convert the numbers and then the tag"
        )
