"""LAMMPS's files for `pair_style table`: sections of distance, energy and force.

    KEYWORD
    N 500 R 1.0 8.0             (or RSQ lo hi, or nothing; FPRIME a b may follow)

    1 1.0 12.3 45.6             (index, r in angstrom, energy in eV, force in eV/angstrom)

The potential is a curve through the energies of the section (`tabulated`), and its slope is the force: the
forces of the file, which need not be the slope of its energies, count only at both ends of a section whose
distances are not equally spaced (RSQ). There the curve goes through points of a cubic spline.

Source: LAMMPS manual, page pair_style table.
"""

from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from taichimd.core.arrays import Array
from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import counted
from taichimd.forcefields.formats.potfit import refuse_potfit
from taichimd.forcefields.formats.text import Word, is_number, parse_number, read_lines, shorten, word_lines
from taichimd.forcefields.tabulated import FEWEST, Tabulated, table

FINER = 4
"""Points of the curve for each distance of a section that is not equally spaced."""
EVEN = 1e-5
"""Share of the spacing by which points may be out of place: files give distances with few digits."""
OFF = 0.01
"""Share of the spacing by which the first and last distance may differ from R lo hi."""


def read_section(path: Path, keyword: str) -> Tabulated:
    """The energies (eV by angstrom) of the section of a keyword as a curve."""
    text = read_lines(path)
    refuse_potfit(text, path)
    lines = list(word_lines(text))
    starts = {words[0].text: k for k, words in enumerate(lines) if _is_keyword(lines, k)}
    if keyword not in starts:
        known = ", ".join(starts) or "none"
        raise ParameterFileError(f"{path} has no section {shorten(keyword)}; its sections: {known}")
    at = starts[keyword] + 1
    count = _count(lines[at], path)
    rows = []
    for words in lines[at + 1 : at + 1 + count]:
        if len(words) != 4:
            raise ParameterFileError(
                f"{path} line {words[0].line} has {counted(len(words), 'word')}, expected 4: index, "
                "distance, energy, force"
            )
        fields = zip(words[1:], ("distance", "energy", "force"), strict=True)
        rows.append([parse_number(word, field, path) for word, field in fields])
    if len(rows) < count:
        raise ParameterFileError(f"{path}: section {keyword} has {len(rows)} of {count} lines")
    after = lines[at + 1 + count : at + 2 + count]
    if after and len(after[0]) == 4 and all(is_number(word.text) for word in after[0]):
        raise ParameterFileError(
            f"{path} line {after[0][0].line}: a line after the {count} of section {keyword}; is "
            f"N on line {lines[at][0].line} right?"
        )
    r, u, force = np.array(rows).T
    if not (np.diff(r) > 0.0).all():
        line = lines[at + 2 + int(np.argmin(np.diff(r) > 0.0))][0].line
        raise ParameterFileError(f"{path} line {line}: distances do not increase")
    _check_range(lines[at], r, path)
    return _curve(keyword, r, u, force)


def _is_keyword(lines: list[list[Word]], k: int) -> bool:
    """Whether a line of one word is followed by one with the number of lines."""
    following = [word.text for word in lines[k + 1]] if k + 1 < len(lines) else []
    return len(lines[k]) == 1 and "N" in following


def _count(words: list[Word], path: Path) -> int:
    texts = [word.text for word in words]
    at = texts.index("N") + 1
    if at >= len(texts) or not texts[at].isdigit() or int(texts[at]) < FEWEST:
        raise ParameterFileError(
            f"{path} line {words[0].line}: {shorten(' '.join(texts))}, expected N and the number of lines, "
            f"{FEWEST} or more"
        )
    return int(texts[at])


def _check_range(words: list[Word], r: Array, path: Path) -> None:
    """Refuse distances that do not go from lo to hi, of R lo hi or RSQ lo hi: LAMMPS takes lo and hi."""
    texts = [word.text for word in words]
    at = next((k for k, text in enumerate(texts) if text in ("R", "RSQ")), None)
    if at is None:
        return
    ends = [parse_number(word, name, path) for word, name in zip(words[at + 1 :], ("lo", "hi"), strict=False)]
    if len(ends) < 2 or np.abs(r[[0, -1]] - ends).max() > OFF * np.diff(r).min():
        raise ParameterFileError(
            f"{path} line {words[0].line}: {shorten(' '.join(texts))}, but distances go from {r[0]:g} to "
            f"{r[-1]:g} angstrom"
        )


def _curve(keyword: str, r: Array, u: Array, force: Array) -> Tabulated:
    spacing = (r[-1] - r[0]) / (len(r) - 1)
    even = r[0] + spacing * np.arange(len(r))
    if np.abs(r - even).max() < EVEN * spacing:
        return table(keyword, even, u)
    spline = CubicSpline(r, u, bc_type=((1, -force[0]), (1, -force[-1])))
    return table(keyword, np.linspace(r[0], r[-1], FINER * len(r)), spline)
