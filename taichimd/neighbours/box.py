"""The cell as the neighbour search sees it: periodic vectors, a frame around the rest, a grid of bins.

Only periodic cell vectors matter to forces. Directions without periodicity get unit vectors orthogonal to
the periodic ones, whatever the cell says there (zero, dummy or skewed vectors), and the bins on them span
the atoms. No minimum image anywhere: neighbours are found in every image that the cutoff reaches, so cells
thinner than the cutoff are as right as large ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import StructureError


@dataclass(frozen=True)
class Frame:
    """Lattice used by the search.

    Attributes:
        vectors: (3, 3) rows, angstrom: periodic cell vectors, completed by orthogonal unit vectors.
        inverse: (3, 3), so that fractional = positions @ inverse.
        heights: (3,) distance between opposite faces, angstrom (1 along completed directions).
        pbc: (3,) bool.
    """

    vectors: NDArray[np.float64]
    inverse: NDArray[np.float64]
    heights: NDArray[np.float64]
    pbc: NDArray[np.bool_]


def make_frame(cell: NDArray[np.float64], pbc: NDArray[np.bool_]) -> Frame:
    """Complete the periodic vectors of `cell` (3, 3) to a basis.

    Raises:
        StructureError: the periodic vectors span no volume (zero, parallel or not finite).
    """
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
    """The unit vectors, at right angles to each other and to independent rows, that make three vectors of them."""
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


@dataclass(frozen=True)
class Grid:
    """Bins of the search.

    Attributes:
        bins: (3,) number of bins along each frame vector.
        reach: (3,) bins to visit on each side.
        origin: (3,) fractional coordinate at which the bins start (0 where periodic).
        extent: (3,) fractional length that the bins cover (1 where periodic).
    """

    bins: NDArray[np.int64]
    reach: NDArray[np.int64]
    origin: NDArray[np.float64]
    extent: NDArray[np.float64]


def make_grid(
    frame: Frame, positions: NDArray[np.float64] | None, n: int, radius: float, shared: bool = False
) -> Grid:
    """Bins about the radius or a part of it wide, at most some per atom, so that a huge empty box costs nothing.

    Atoms that later leave the span of a direction without periodicity are counted into its outermost bins,
    which keeps the search complete: what is near them there is in the same or an adjacent bin.

    Args:
        frame: the lattice.
        positions: (n, 3) angstrom; may be None if the frame is periodic in all directions.
        n: number of atoms.
        radius: of the search, angstrom.
        shared: whether threads share an atom: they compare several at once, and do best with long stretches.
    """
    origin = np.zeros(3)
    extent = np.ones(3)
    if positions is not None:
        fractional = positions @ frame.inverse
        low, high = fractional.min(axis=0), fractional.max(axis=0)
        origin = np.where(frame.pbc, 0.0, low)
        extent = np.where(frame.pbc, 1.0, np.maximum(high - low, 1e-3))
    lengths = frame.heights * extent
    # Half the radius fits a sphere closer, unless so few atoms are in a bin that visiting bins costs more.
    # Along the last vector bins are visited in one stretch: there finer ones cost nothing.
    per_small_bin = n * (0.5 * radius) ** 3 / max(float(np.prod(lengths)), 1e-9)
    crowded = per_small_bin > 1.5
    parts = [1.0, 1.0, 0.125] if shared else [0.5, 0.5, 0.25] if crowded else [1.0, 1.0, 0.5]
    widths = np.array(parts) * radius
    limit = max(64, 8 * n)
    bins = np.maximum(np.floor(np.minimum(lengths / widths, limit)), 1).astype(np.int64)
    while np.prod(bins.astype(float)) > limit:
        widths *= 1.1
        bins = np.maximum(np.floor(np.minimum(lengths / widths, limit)), 1).astype(np.int64)
    reach = np.ceil(radius / (lengths / bins) * (1 + 1e-12)).astype(np.int64)
    reach = np.where(frame.pbc, reach, np.minimum(reach, bins - 1))
    return Grid(bins, reach, origin, extent)
