"""Force fields of potfit's files, from the curves of pair tables and of embedded atoms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.errors import ParameterFileError
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.eam import EAM, EAM_OF_ONE_ELEMENT, JUMP
from taichimd.forcefields.formats.potfit import PotfitFile, read_potfit
from taichimd.forcefields.formats.potfit_functions import Analytic
from taichimd.forcefields.pair_forms import tabulated
from taichimd.forcefields.table import Row
from taichimd.forcefields.tabulated import SMALL, Tabulated

FINEST = 10_000
"""Intervals of a curve whose own points are on no coarser grid: its error is then about 1e-9 eV."""
FINE = 4_000
"""Intervals, at least, of r phi, which is no cubic where phi is one: its error is below 1e-10 eV."""


def PotfitPotential(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """A force field of a file of potfit: pairs (formats 0, 3 and 4) or embedded atoms (3 and 4)."""
    parsed = read_potfit(library.find(file))
    made = _embedded(parsed) if parsed.embedding else tabulated(table=_pairs(parsed), truncation="truncated")
    return made.of_file(parsed, _remarks(parsed))


def _pairs(of: PotfitFile) -> dict[Any, Row]:
    return {pair: {"u": _curve("u", phi, phi.x), "cutoff": float(phi.x[-1])} for pair, phi in of.phi.items()}


def _embedded(of: PotfitFile) -> ForceField:
    cutoff = max(float(one.x[-1]) for one in (*of.phi.values(), *of.density.values()))
    for one in (*of.phi.values(), *of.density.values()):
        if one.x[-1] < cutoff and abs(one(one.x[-1])) > SMALL:
            raise ParameterFileError(
                f"{of.path}: a function ends at {one.x[-1]:g} angstrom with the value {one(one.x[-1]):.3g}, "
                f"before the longest one at {cutoff:g}; expected 0 there"
            )
    density = {a: _curve("density", f, f.x) for a, f in of.density.items()}
    rows: dict[Any, Row] = {}
    for (a, b), phi in of.phi.items():
        rphi = _curve(
            "rphi", lambda r, n=0, phi=phi: r * phi(r) if n == 0 else phi(r) + r * phi(r, 1), phi.x, FINE
        )
        for one, other in ((a, b), (b, a)):
            rows[one, other] = {"density": density[other], "rphi": rphi}
    for a, embedding in of.embedding.items():
        rows[a, a] = {**rows[a, a], "embedding": _curve("embedding", embedding, embedding.x)}
    return (EAM if len(of.elements) > 1 else EAM_OF_ONE_ELEMENT)(table=rows, cutoff=cutoff)


def _curve(name: str, function: Callable[..., Any], x: Any, fewest: int = 1) -> Tabulated:
    """The function with its slopes on the coarsest grid that has the points x, if one has."""
    count = _intervals(x)
    count *= -(-fewest // count)
    at = np.linspace(x[0], x[-1], count + 1)
    spacing = float(x[-1] - x[0]) / count
    return Tabulated(name, float(x[0]), spacing, function(at), given=spacing * function(at, 1))


def _intervals(x: Any) -> int:
    z = (x - x[0]) / (x[-1] - x[0])
    for count in range(len(x) - 1, FINEST):
        if np.abs(z * count - np.rint(z * count)).max() < 1e-7:
            return count
    return max(FINEST, len(x) - 1)


def _remarks(of: PotfitFile) -> list[str]:
    """Where tables begin, and jumps at their ends."""
    begin, phi = max(of.phi.items(), key=lambda one: float(one[1].x[0]))
    found = []
    if phi.x[0] > 0.0 and not isinstance(phi, Analytic):
        found.append(
            f"the table of {'-'.join(begin)} begins at {phi.x[0]:g} angstrom; below this distance its first "
            "cubic continues"
        )
    for pair, phi in of.phi.items():
        if abs(jump := float(phi(phi.x[-1]))) > JUMP:
            found.append(
                f"the pair energy of {'-'.join(pair)} jumps by {jump:.2g} eV at {phi.x[-1]:g} angstrom"
            )
    return found
