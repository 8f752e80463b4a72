"""potfit's own files: tabulated pair and EAM potentials, formats 3 and 4, and analytic pairs, format 0.

    #F 3 3                  (the format, and the number of functions)
    #T EAM                  (or PAIR)
    #C Cu                   (elements)
    #G 2 2 3                (optional: then two gradients come before the values of each function)
    #E
    2.0 5.5 12              (format 3: first and last point, number of points; format 4: number of points)
    ...
    1e30 0.0                (gradients at both ends; 1e30 or more: second derivative 0)
    0.71                    (format 3: a value per line; format 4: point and value)

Functions come in the order phi of the pairs 11, 12, ... 1N, 22, ..., in EAM files then f (the density that an
atom of each element makes) and F of each element. Between points a function is the cubic spline with
continuous second derivative. phi and f end with slope 0, whatever gradient the file has there, as in potfit;
without `#G` they begin with second derivative 0, and F has it at both ends. Units: eV, angstrom.

Source: potfit wiki, pages potfiles:main, format3, format4; P. Brommer, F. Gaehler, Modelling Simul. Mater.
Sci. Eng. 15, 295 (2007), doi:10.1088/0965-0393/15/3/008.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import counted
from taichimd.forcefields.formats.header import Header, parse_header
from taichimd.forcefields.formats.potfit_functions import Analytic, read_functions
from taichimd.forcefields.formats.text import (
    Word,
    check_element,
    parse_number,
    read_lines,
    shorten,
    word_lines,
)

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

_FIRST = re.compile(r"#F\s+([0-9]+)\s+([0-9]+)\s*")
NATURAL = 0.99e30
"""Gradients from here on mean a second derivative of 0."""
MAX_POINTS = 1_000_000
"""Points of a function."""


@dataclass(frozen=True)
class PotfitFile:
    """Functions of a file."""

    path: Path  # where it was read from
    header: Header  # what it says about itself
    elements: tuple[str, ...]  # in the order of the file
    phi: dict[tuple[str, str], "CubicSpline | Analytic"]  # by pair of elements, in the order of the file
    density: dict[str, "CubicSpline"]  # what an atom of an element makes; empty in a file of pairs
    embedding: dict[str, "CubicSpline"]  # F by element; empty in a file of pairs


def is_potfit(lines: Sequence[str]) -> bool:
    """Whether the first line that is no comment (##) names a format of potfit."""
    first = next((line.strip() for line in lines if line.strip() and not line.startswith("##")), "")
    return _FIRST.fullmatch(first) is not None


def refuse_potfit(lines: Sequence[str], path: Path) -> None:
    """Raise a ParameterFileError if the lines are a potential file of potfit."""
    if is_potfit(lines):
        raise ParameterFileError(
            f"{path}: this is a potential file of potfit; give it by itself, with a name that ends in .pot"
        )


def read_potfit(path: Path) -> PotfitFile:
    """Read a file."""
    lines = read_lines(path)
    head, end = _head(lines, path)
    fmt, count = (int(one) for one in head["F"][:2])
    if fmt not in (0, 3, 4):
        raise ParameterFileError(
            f"{path}: format {fmt} of potfit is not read, expected 0 (functions), 3 or 4 (tables)"
        )
    elements = _elements(head, lines, path)
    pairs = list(combinations_with_replacement(elements, 2))
    counts = {"PAIR": len(pairs), "EAM": len(pairs) + 2 * len(elements)}
    kind = head["T"][0] if head.get("T") else next((k for k, n in counts.items() if n == count), "PAIR")
    if kind not in counts:
        raise ParameterFileError(
            f"{path}: potentials of the type {shorten(kind)} are not read, expected PAIR or EAM"
        )
    if counts[kind] != count:
        raise ParameterFileError(
            f"{path}: the line #F says {counted(count, 'function')}, expected {counts[kind]} for {kind} of "
            f"{counted(len(elements), 'element')}"
        )
    of_distance = [f"phi of {a}-{b}" for a, b in pairs] + [f"f of {a}" for a in elements] * (kind == "EAM")
    names = of_distance + [f"F of {a}" for a in elements] * (kind == "EAM")
    body = word_lines([""] * end + lines[end:])
    if fmt == 0:
        if kind == "EAM":
            raise ParameterFileError(
                f"{path}: analytic EAM functions of potfit are not read, expected pairs, or tables of EAM as "
                "potfit writes them in formats 3 and 4"
            )
        of_pairs = dict(zip(pairs, read_functions(list(body), names, path), strict=True))
        return PotfitFile(path, parse_header(lines, path), elements, of_pairs, {}, {})
    heads = [
        _row(body, ("first point", "last point", "points")[2 * (fmt == 4) :], name, path) for name in names
    ]
    found = []
    for name, words in zip(names, heads, strict=True):
        gradients = [1e30, 1e30]
        if "G" in head:
            gradients = _numbers(_row(body, ("gradient", "gradient"), name, path), name, path)
        if name in of_distance:
            gradients[1] = 0.0
        x, y = _points(body, words, name, path)
        found.append(_spline(x, y, gradients))
    for words in body:
        raise ParameterFileError(
            f"{path} line {words[0].line}: {shorten(words[0].text)} after the last value of {names[-1]}; is "
            "a number of points too small?"
        )
    n, m = len(pairs), len(elements)
    return PotfitFile(
        path,
        parse_header(lines, path),
        elements,
        dict(zip(pairs, found, strict=False)),
        dict(zip(elements, found[n : n + m], strict=False)),
        dict(zip(elements, found[n + m :], strict=False)),
    )


def _head(lines: list[str], path: Path) -> tuple[dict[str, list[str]], int]:
    """Words of the lines #F, #T, ..., and how many lines they take."""
    head: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        if line.startswith("#E"):
            return head, number
        if line.strip() and not line.startswith("#"):
            break
        if line[1:2] in tuple("FTCIG"):
            head[line[1]] = line[2:].split()
    raise ParameterFileError(f"{path} line {number}: the header has no line #E at its end")


def _elements(head: dict[str, list[str]], lines: list[str], path: Path) -> tuple[str, ...]:
    elements = head.get("C", [])
    if not elements or len(set(elements)) < len(elements):
        raise ParameterFileError(f"{path}: expected a line #C with each element once, as: #C Cu Ni")
    line = next(number for number, one in enumerate(lines, start=1) if one.startswith("#C"))
    for element in elements:
        check_element(Word(element, line), "#C", path)
    return tuple(elements)


def _row(body: Iterator[list[Word]], fields: Sequence[str], name: str, path: Path) -> list[Word]:
    """The next line, which has a word for each field."""
    words = next(body, None)
    if words is None:
        raise ParameterFileError(f"{path}: the file ends before the {fields[0]} of {name}")
    if len(words) != len(fields):
        raise ParameterFileError(
            f"{path} line {words[0].line} has {counted(len(words), 'word')}, expected {len(fields)}: "
            f"{', '.join(fields)} of {name}"
        )
    return words


def _numbers(words: list[Word], name: str, path: Path) -> list[float]:
    return [parse_number(word, name, path) for word in words]


def _points(body: Iterator[list[Word]], words: list[Word], name: str, path: Path) -> tuple[Any, Any]:
    """Points and values of a function with these words in the list of functions."""
    where, count = f"{path} line {words[0].line}", words[-1].text
    if not count.isdigit() or not 2 <= int(count) <= MAX_POINTS:
        raise ParameterFileError(f"{where}: {name} has {shorten(count)} points, expected 2 to {MAX_POINTS:,}")
    fields = ("value",) if len(words) == 3 else ("point", "value")
    rows = [_numbers(_row(body, fields, name, path), name, path) for _ in range(int(count))]
    y = np.array([row[-1] for row in rows])
    x = np.array([row[0] for row in rows])
    if len(words) == 3:
        first, last = _numbers(words[:2], name, path)
        x = np.linspace(first, last, int(count))
    if not (np.diff(x) > 0.0).all():
        raise ParameterFileError(f"{where}: points of {name} do not increase")
    return x, y


def _spline(x: Any, y: Any, gradients: Sequence[float]) -> "CubicSpline":
    from scipy.interpolate import CubicSpline  # a run without such a file does not load it

    return CubicSpline(x, y, bc_type=[(2, 0.0) if one > NATURAL else (1, one) for one in gradients])
