"""The lattice: periodic cell vectors, and a frame around the rest.

Only periodic cell vectors matter to forces. Directions without periodicity get unit vectors orthogonal to
the periodic ones, whatever the cell says there (zero, dummy or skewed vectors).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import StructureError


@dataclass(frozen=True)
class Frame:
    """Lattice used by the search."""

    # (3, 3) rows, angstrom: periodic cell vectors, completed by orthogonal unit vectors
    vectors: NDArray[np.float64]
    inverse: NDArray[np.float64]  # (3, 3), so that fractional = positions @ inverse
    # (3,) distance between opposite faces, angstrom (1 along completed directions)
    heights: NDArray[np.float64]
    pbc: NDArray[np.bool_]  # (3,) bool


def make_frame(cell: NDArray[np.float64], pbc: NDArray[np.bool_]) -> Frame:
    """Complete the periodic vectors of `cell` (3, 3) to a basis; a StructureError if they span no volume."""
    cell = np.asarray(cell, float)
    pbc = np.asarray(pbc, bool)
    rows = cell[pbc]
    if not np.isfinite(rows).all():
        raise StructureError("the cell has a vector that is not finite; give finite cell vectors")
    lengths = np.linalg.norm(rows, axis=1)
    if len(rows) and (lengths.min() == 0.0 or _spanned(rows / lengths[:, None]) < 1e-6):
        raise StructureError(
            f"the cell has no volume along its periodic directions (pbc {[bool(p) for p in pbc]}, vectors "
            f"{rows.round(6).tolist()}); give independent cell vectors or switch pbc off there"
        )
    vectors = np.zeros((3, 3))
    vectors[pbc] = rows
    vectors[~pbc] = _across(rows)
    inverse: NDArray[np.float64] = np.linalg.inv(vectors).astype(float)
    heights = 1.0 / np.linalg.norm(inverse, axis=0)
    return Frame(vectors, inverse, heights, pbc)


def _across(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors, at right angles to each other and to independent rows, that complete them to three."""
    if len(rows) == 0:
        return np.eye(3)
    found = rows
    if len(rows) == 1:
        found = np.stack([rows[0], np.eye(3)[np.argmin(abs(rows[0]))]])
    normal = _unit(np.cross(found[0], found[1]))
    return np.stack([normal, _unit(np.cross(normal, rows[0]))])[: 3 - len(rows)]


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vector / np.sqrt((vector * vector).sum()))


def _spanned(units: NDArray[np.float64]) -> float:
    """Length, area or volume that unit vectors span."""
    return float(np.sqrt(max(np.linalg.det(units @ units.T), 0.0)))
