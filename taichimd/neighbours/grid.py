"""The grid of bins of the neighbour search, over the frame of the cell.

Bins along directions without periodicity span the atoms and room to move. No minimum image anywhere:
neighbours are found in every image that the cutoff reaches, so cells thinner than the cutoff are as right as
large ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.system.frame import Frame


@dataclass(frozen=True)
class Grid:
    """Bins of the search."""

    bins: NDArray[np.int64]  # (3,) number of bins along each frame vector
    reach: NDArray[np.int64]  # (3,) bins to visit on each side
    origin: NDArray[np.float64]  # (3,) fractional coordinate at which the bins start (0 where periodic)
    extent: NDArray[np.float64]  # (3,) fractional length that the bins cover (1 where periodic)


Extent = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Lowest and highest fractional coordinates, (3,) each."""


def extent_of(frame: Frame, positions: NDArray[np.float64]) -> Extent:
    """Of the atoms at positions (n, 3), angstrom."""
    fractional = positions @ frame.inverse
    return fractional.min(axis=0), fractional.max(axis=0)


def span(frame: Frame, atoms: Extent | None, radius: float) -> Extent:
    """What bins cover: 0 and 1 where periodic; `atoms` may be None if all directions are."""
    low, high = np.zeros(3), np.ones(3)
    if atoms is not None:
        least, most = atoms
        # Bins serve until an atom leaves them; room that grows with the atoms is left ever less often.
        room = np.maximum(radius / frame.heights, (most - least) / 8)
        low, high = np.where(frame.pbc, low, least - room), np.where(frame.pbc, high, most + room)
    return low, high


def make_grid(frame: Frame, atoms: Extent | None, n: int, radius: float, shared: bool = False) -> Grid:
    """Bins about as wide as the radius or a part of it, at most some per atom.

    So a huge empty box costs nothing.

    Atoms that later leave the span of a direction without periodicity are counted into its outermost bins,
    which keeps the search complete: what is near them there is in the same or an adjacent bin.

    Args:
        frame: the lattice.
        atoms: as of `span`.
        n: number of atoms.
        radius: of the search, angstrom.
        shared: whether threads share an atom: they compare several at once, and do best with long stretches.
    """
    origin, end = span(frame, atoms, radius)
    extent = end - origin
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
