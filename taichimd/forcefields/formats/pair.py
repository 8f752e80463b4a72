"""Our `.pair` format: pair potentials of known forms, a row for each pair of elements.

    # DATE: 2026-11-27 UNITS: metal CITATION: ...
    form        buckingham              # buckingham, born, morse, zbl or table
    truncation  tapered                 # truncated, energy-shifted, force-shifted, tapered or switched
    others      none                    # optional: pairs without a row do not interact
    Si  O  18003.7572  0.20520  133.5381  10.0  8.0

After two elements a row has the numbers of the form, then the cutoff (angstrom), then, if the end is tapered
or switched, the distance at which it begins:

    buckingham   A rho C
    born         A rho sigma C D
    morse        D0 alpha r0
    zbl          none: atomic numbers are known
    table        FILE KEYWORD: a section of a file in LAMMPS's format for pair_style table

Pairs are unordered. Without `others none` a structure with a pair that has no row is refused. Units: eV,
angstrom.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import any_of, counted
from taichimd.forcefields.formats.header import Header, parse_header
from taichimd.forcefields.formats.lammps_table import read_section
from taichimd.forcefields.formats.potfit import refuse_potfit
from taichimd.forcefields.formats.text import (
    Word,
    check_element,
    note_line,
    parse_number,
    read_choice,
    read_lines,
    word_lines,
)
from taichimd.forcefields.truncate import TRUNCATIONS, WITH_INNER

NUMBERS = {
    "buckingham": ("A", "rho", "C"),
    "born": ("A", "rho", "sigma", "C", "D"),
    "morse": ("D0", "alpha", "r0"),
    "zbl": (),
    "table": (),
}
"""Numbers of each form, in the order of a row."""
POSITIVE = ("rho", "alpha", "r0", "sigma")
ENDS = (*TRUNCATIONS, *WITH_INNER)
CHOICES = {"form": tuple(NUMBERS), "truncation": ENDS, "others": ("none", "refused")}
Pair = tuple[str, str]


@dataclass(frozen=True)
class PairFile:
    """A parsed file."""

    path: Path  # where it was read from
    header: Header  # what it says about itself
    form: str  # a key of `NUMBERS`
    truncation: str  # how the energy ends
    others: str  # whether pairs without a row do not interact ("none"), or are refused
    # values by the two elements in sorted order; `inner` where the end has one; of a table `u`
    rows: dict[Pair, dict[str, Any]]


def read_pair(path: str | Path) -> PairFile:
    """Read a `.pair` file."""
    path = Path(path)
    lines = read_lines(path)
    refuse_potfit(lines, path)
    header = parse_header(lines, path)
    chosen: dict[str, Word] = {}
    rows: dict[Pair, dict[str, Any]] = {}
    first: dict[Pair, int] = {}
    for words in word_lines(lines):
        if words[0].text in CHOICES or len(words) <= 2:
            read_choice(words, CHOICES, chosen, path, "of two elements and numbers")
            continue
        for name in ("form", "truncation"):
            if name not in chosen:
                raise ParameterFileError(
                    f"{path} line {words[0].line}: a row before the line {name}; expected first: {name} "
                    f"{any_of(CHOICES[name])}"
                )
        key, row = _row(words, chosen["form"].text, chosen["truncation"].text, path)
        what = f"row for {'-'.join(key)}"
        note_line(first, key, words[0].line, path, what, " (pairs are unordered)")
        rows[key] = row
    if not rows:
        raise ParameterFileError(f"{path} has no row, expected two elements and the numbers of a form")
    form, truncation = chosen["form"].text, chosen["truncation"].text
    others = chosen["others"].text if "others" in chosen else "refused"
    return PairFile(path, header, form, truncation, others, rows)


def _row(words: list[Word], form: str, end: str, path: Path) -> tuple[Pair, dict[str, Any]]:
    line = words[0].line
    for position, word in enumerate(words[:2], start=1):
        check_element(word, f"element {position}", path)
    fields = (*NUMBERS[form], "cutoff", *(("inner",) if end in WITH_INNER else ()))
    texts = ("file", "keyword") if form == "table" else ()
    if len(words) != 2 + len(texts) + len(fields):
        names = " ".join(("element", "element", *texts, *fields))
        raise ParameterFileError(
            f"{path} line {line}: {counted(len(words), 'word')}, expected {2 + len(texts) + len(fields)} for "
            f"{form}, {end}: {names}"
        )
    numbers = words[2 + len(texts) :]
    row: dict[str, Any] = {
        field: parse_number(word, field, path) for word, field in zip(numbers, fields, strict=True)
    }
    for field in (*POSITIVE, "cutoff"):
        if row.get(field, 1.0) <= 0.0:
            raise ParameterFileError(
                f"{path} line {line}: {field} is {row[field]:g}, expected a positive number"
            )
    if not 0.0 < row.get("inner", 0.5 * row["cutoff"]) < row["cutoff"]:
        raise ParameterFileError(
            f"{path} line {line}: the end begins at {row['inner']:g} angstrom, expected a distance between 0 "
            f"and the cutoff of {row['cutoff']:g}"
        )
    if form == "table":
        file = Path(words[2].text).expanduser()
        row["u"] = read_section(file if file.is_absolute() else path.parent / file, words[3].text)
    a, b = sorted(word.text for word in words[:2])
    return (a, b), row
