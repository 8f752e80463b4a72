"""Our `.atm` format for Axilrod-Teller parameters: a cutoff and one row per triple of elements.

    # DATE: 2026-11-25 UNITS: metal CITATION: ...
    cutoff          8.5       # of each side of a triple, angstrom; none: all triples
    product_cutoff  6.0       # of the product of the sides: it is below the cube (none if absent)
    Ar Ar Ar  45.6878         # element, element, element, nu (eV angstrom^9)

Triples are unordered. A structure needs all triples of its elements.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taichimd.core.errors import ParameterFileError
from taichimd.core.names import hint
from taichimd.core.printable import counted
from taichimd.core.scalars import digits
from taichimd.forcefields.formats.header import Header, parse_header
from taichimd.forcefields.formats.text import (
    LONGEST,
    Word,
    check_element,
    note_line,
    parse_number,
    read_lines,
    shorten,
    word_lines,
)

_CUTOFFS = ("cutoff", "product_cutoff")
_ROW = "element element element nu(eV angstrom^9)"

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class ATMFile:
    """A parsed `.atm` file."""

    path: Path  # where it was read from
    header: Header  # what it says about itself
    elements: tuple[str, ...]  # every element that occurs in a row, sorted
    triples: Mapping[Triple, float]  # nu (eV angstrom^9) by three elements in sorted order
    cutoff: float | None  # angstrom, or None
    product_cutoff: float | None  # angstrom, or None


def read_atm(path: str | Path) -> ATMFile:
    """Read a `.atm` file."""
    path = Path(path)
    lines = read_lines(path)
    header = parse_header(lines, path)
    cutoffs: dict[str, float | None] = {}
    triples: dict[Triple, float] = {}
    first_line: dict[tuple[str, ...], int] = {}
    for words in word_lines(lines):
        key: tuple[str, ...]
        if words[0].text in _CUTOFFS or len(words) <= 2:
            key = (words[0].text,)
            value = _read_cutoff(words, path)
        else:
            key, value = _read_row(words, path)
        what = f"row for {'-'.join(key)}"
        note_line(first_line, key, words[0].line, path, what, " (triples are unordered)")
        if len(key) == 3 and value is not None:
            triples[key] = value
        else:
            cutoffs[key[0]] = value
    if not triples:
        raise ParameterFileError(f"{path} has no row, expected one or more: {_ROW}")
    if "cutoff" not in cutoffs:
        # No default: with and without it energies differ, and silence would pick one.
        raise ParameterFileError(f"{path} has no cutoff line, expected: cutoff LENGTH(angstrom) or none")
    if cutoffs["cutoff"] is None and cutoffs.get("product_cutoff") is not None:
        line = first_line[("product_cutoff",)]
        raise ParameterFileError(
            f"{path} line {line}: product_cutoff without a cutoff; give the cutoff a length"
        )
    elements = tuple(sorted({element for triple in triples for element in triple}))
    return ATMFile(path, header, elements, triples, cutoffs["cutoff"], cutoffs.get("product_cutoff"))


def _read_cutoff(words: list[Word], path: Path) -> float | None:
    name, line = words[0].text, words[0].line
    if name not in _CUTOFFS:
        more = hint(name, _CUTOFFS, otherwise=f"expected {' or '.join(_CUTOFFS)}, or a row {_ROW}")
        raise ParameterFileError(f"{path} line {line}: {shorten(name)} is unknown, {more}")
    if len(words) != 2:
        raise ParameterFileError(
            f"{path} line {line}: {name} has {counted(len(words) - 1, 'value')}, expected a length in "
            "angstrom, or none"
        )
    if words[1].text == "none":
        return None
    value = parse_number(words[1], name, path)
    if not 0.0 < value <= LONGEST:
        raise ParameterFileError(
            f"{path} line {line}: field '{name}' is {digits(value)}, expected a positive length in angstrom, "
            f"{LONGEST:g} or less, or none"
        )
    return value


def _read_row(words: list[Word], path: Path) -> tuple[Triple, float]:
    line = words[0].line
    for position, word in enumerate(words[:3], start=1):
        check_element(word, f"element {position}", path)
    if len(words) != 4:
        raise ParameterFileError(f"{path} line {line}: {counted(len(words), 'word')}, expected 4: {_ROW}")
    first, second, third = sorted(word.text for word in words[:3])
    return (first, second, third), parse_number(words[3], "nu", path)
