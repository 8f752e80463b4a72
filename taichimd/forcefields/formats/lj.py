"""Our `.lj` format for Lennard-Jones parameters: two directives and one row per pair of elements.

    # DATE: 2026-11-21 UNITS: metal CITATION: ...
    mixing      lorentz-berthelot       # lorentz-berthelot, geometric or none (none if absent)
    truncation  energy-shifted          # truncated, energy-shifted or force-shifted
    Ar  Ar  0.0103408  3.4  8.5         # element, element, epsilon (eV), sigma (angstrom), cutoff (angstrom)

Pairs are unordered. A pair of unlike elements that has no row is mixed from the two rows of like elements,
epsilon always as sqrt(e1 e2), and sigma and the cutoff alike

    lorentz-berthelot   (s1 + s2) / 2
    geometric           sqrt(s1 s2)

as LAMMPS's pair_modify mix does (`forcefields.lennard_jones`). With `mixing none` such a pair is missing,
which is an error when a structure needs it.

Source: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids, 2nd ed. (2017), section 1.3.
"""

from dataclasses import dataclass
from pathlib import Path

from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import any_of, counted
from taichimd.core.scalars import digits
from taichimd.forcefields.formats.header import Header, parse_header
from taichimd.forcefields.formats.text import (
    LONGEST,
    Word,
    check_element,
    note_line,
    parse_number,
    read_choice,
    read_lines,
    word_lines,
)

MIXING = ("lorentz-berthelot", "geometric", "none")
TRUNCATION = ("truncated", "energy-shifted", "force-shifted")
_CHOICES = {"mixing": MIXING, "truncation": TRUNCATION}
_FIELDS = ("epsilon", "sigma", "cutoff")
_ROW = "element element epsilon(eV) sigma(angstrom) cutoff(angstrom)"

Pair = tuple[str, str]


@dataclass(frozen=True)
class LJEntry:
    """Lennard-Jones parameters of one pair of elements."""

    epsilon: float  # depth of the well (eV)
    sigma: float  # distance of zero energy (angstrom)
    cutoff: float  # distance beyond which the pair does not interact (angstrom)


@dataclass(frozen=True)
class LJFile:
    """A parsed `.lj` file."""

    path: Path  # where it was read from
    header: Header  # what it says about itself
    elements: tuple[str, ...]  # every element that occurs in a row, sorted
    # the rows of the file, keyed by the two elements in sorted order; mixed pairs are not in it
    pairs: dict[Pair, LJEntry]
    mixing: str  # "lorentz-berthelot", "geometric" or "none"
    truncation: str  # "truncated", "energy-shifted" or "force-shifted"


def read_lj(path: str | Path) -> LJFile:
    """Read a `.lj` file."""
    path = Path(path)
    lines = read_lines(path)
    header = parse_header(lines, path)
    directives: dict[str, Word] = {}
    pairs: dict[Pair, LJEntry] = {}
    first_line: dict[Pair, int] = {}
    for words in word_lines(lines):
        if words[0].text in _CHOICES or len(words) <= 2:
            read_choice(words, _CHOICES, directives, path, _ROW)
            continue
        key, entry = _parse_row(words, path)
        what = f"row for {'-'.join(key)}"
        note_line(first_line, key, words[0].line, path, what, " (pairs are unordered)")
        pairs[key] = entry
    if not pairs:
        raise ParameterFileError(f"{path} has no row, expected at least one of: {_ROW}")
    if "truncation" not in directives:
        # No default: the three choices give different energies, and silence would pick one.
        raise ParameterFileError(
            f"{path} has no truncation line, expected one of: truncation {any_of(TRUNCATION)}"
        )
    elements = tuple(sorted({element for pair in pairs for element in pair}))
    mixing = directives["mixing"].text if "mixing" in directives else "none"
    return LJFile(path, header, elements, pairs, mixing, directives["truncation"].text)


def _parse_row(words: list[Word], path: Path) -> tuple[Pair, LJEntry]:
    line = words[0].line
    for position, word in enumerate(words[:2], start=1):
        check_element(word, f"element {position}", path)
    if len(words) != 5:
        raise ParameterFileError(f"{path} line {line}: {counted(len(words), 'word')}, expected 5: {_ROW}")
    values = [parse_number(word, field, path) for word, field in zip(words[2:], _FIELDS, strict=True)]
    entry = LJEntry(*values)
    if entry.epsilon < 0.0:
        raise ParameterFileError(
            f"{path} line {line}: field 'epsilon' is {digits(entry.epsilon)}, expected an energy in eV that "
            "is not negative"
        )
    for field in ("sigma", "cutoff"):
        if getattr(entry, field) <= 0.0:
            raise ParameterFileError(
                f"{path} line {line}: field '{field}' is {digits(getattr(entry, field))}, expected a "
                "positive distance in angstrom"
            )
    if entry.cutoff > LONGEST:
        raise ParameterFileError(
            f"{path} line {line}: field 'cutoff' is {digits(entry.cutoff)}, expected {LONGEST:g} angstrom or "
            "less"
        )
    first, second = sorted(word.text for word in words[:2])
    return (first, second), entry
