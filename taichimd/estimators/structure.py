"""Where neighbours are: radial distribution functions, coordination numbers, bond angles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.estimators.blocks import consecutive_mean
from taichimd.estimators.green_kubo import positive
from taichimd.estimators.series import Mean, finite, mean_of


@dataclass(frozen=True)
class RadialDistribution:
    """g(r) of one pair of species."""

    r: Array  # (bins,) middle of each bin, angstrom
    g: Mean  # density of b at distance r from an a, over the mean density of b
    edges: Array  # (bins + 1,) angstrom
    coordination: Mean  # (bins + 1,) mean number of b within each edge of an a


MAX_PAIRS, MAX_NEIGHBOURS = 1e10, 1e5
"""Distances of one frame, a minute on a CPU, or, if that is more, of each atom."""


def check_reach(n: int, volume: float, r_max: float) -> None:
    """Raise an AnalysisError for radial distributions whose every frame would take minutes or years.

    Too many are `MAX_PAIRS` distances up to r_max (angstrom), and `MAX_NEIGHBOURS` of each of n atoms.
    """
    volume = max(abs(volume), 1e-6)
    pairs = n * n / volume * 4.0 / 3.0 * np.pi * r_max**3
    most = max(MAX_PAIRS, n * MAX_NEIGHBOURS)
    if pairs > most:
        raise AnalysisError(
            f"r_max = {r_max:g} Å: {n} atoms in {volume:.4g} Å3 have {pairs:.2g} distances up to it, "
            f"with images; expected {most:.2g} or fewer: take a smaller r_max"
        )


def mean_neighbours(vectors: Array, pbc: Any, positions: Array, radius: float) -> float:
    """Atoms and images around an atom, on average, if all were evenly spread; before anybody counts them.

    Where not periodic a cell vector is any that is not in the plane of the others: how far atoms are apart
    counts.
    """
    if not len(positions):
        return 0.0
    inverse = np.linalg.inv(vectors)
    spans = np.ptp(positions @ inverse, axis=0) + 2.0 * radius * np.linalg.norm(inverse, axis=0)
    volume = abs(float(np.linalg.det(vectors))) * np.where(pbc, 1.0, spans).prod()
    return float(len(positions) * 4.0 / 3.0 * np.pi * radius**3 / volume)


def radial_distribution(
    counts: Any, frames: Any, r_max: float, n_a: int, n_b: int, volume: float, consecutive: bool = False
) -> RadialDistribution:
    """Normalise histograms of distances: g(r) = V counts / (frames N_a N_b shell volume).

    Allen and Tildesley (2017), section 8.2. The density of b is N_b / V for b = a, too, so that coordination
    numbers are exact counts; an ideal gas of N atoms of one kind has g = 1 - 1/N. Counts (bins,) or, for an
    error, (samples, bins), of samples that are independent or `consecutive`, have equal bins up to r_max; for
    a = b each pair counts twice. The volume of a cell that changes is 1 / (mean of 1/V).
    """
    table = np.atleast_2d(np.asarray(counts, np.float64))
    table = finite(table, "histogram", 2)
    per_sample = np.broadcast_to(np.asarray(frames, float), len(table))
    positive(r_max=r_max, volume=volume, n_a=n_a, n_b=n_b, frames=float(per_sample.min()))
    edges: Array = np.linspace(0.0, r_max, table.shape[1] + 1)
    shells = 4.0 / 3.0 * np.pi * np.diff(edges**3)
    around = table / (per_sample[:, None] * n_a)
    within = np.concatenate([np.zeros((len(table), 1)), np.cumsum(around, axis=1)], axis=1)
    mean = consecutive_mean if consecutive else mean_of
    return RadialDistribution(
        r=0.5 * (edges[1:] + edges[:-1]),
        g=mean(around * volume / (n_b * shells)),
        edges=edges,
        coordination=mean(within),
    )


def coordination_number(found: RadialDistribution, radius: float) -> Mean:
    """Mean number of neighbours within a radius, between edges by straight lines."""
    if not 0 < radius <= found.edges[-1]:
        raise AnalysisError(f"radius {radius:g} Å: expected above 0 and at most {found.edges[-1]:g} Å")
    n = found.coordination
    value, error = (float(np.interp(radius, found.edges, column)) for column in (n.value, n.error))
    return Mean(value, error, n.samples, n.note)


def count_angles(
    centres: NDArray[np.int_], vectors: Any, bins: int = 180, ends: tuple[Any, Any] | None = None
) -> Array:
    """(bins,) histogram, 0 to 180 degrees, of the angles between two bonds of an atom.

    Bonds have the number of their centre and a vector (bonds, 3); each bond of two atoms is there twice, as
    in the lists of `ase.neighborlist.neighbor_list("iD", ...)`. `ends`: two masks; only angles between a bond
    of the first and one of the second count. An angle counts twice if both of its bonds belong to both.
    """
    d = finite(vectors, "bond vectors", 2)
    i = np.asarray(centres)
    if d.shape != (len(i), 3):
        raise AnalysisError(f"bond vectors have the shape {d.shape}, expected ({len(i)}, 3)")
    first, second = (np.ones(len(i), bool),) * 2 if ends is None else (np.asarray(m, bool) for m in ends)
    lengths = np.linalg.norm(d, axis=1)
    if not (lengths > 0).all():
        raise AnalysisError("a bond has no length; two atoms have the same position")
    order = np.argsort(i, kind="stable")
    i, u = i[order], (d / lengths[:, None])[order]
    first, second = first[order], second[order]
    starts = np.flatnonzero(np.diff(i, prepend=-1))
    sizes = np.diff(np.append(starts, len(i)))
    counts = np.zeros(bins)
    for size in np.unique(sizes[sizes > 1]):
        # All atoms with the same number of bonds at once.
        rows = starts[sizes == size][:, None] + np.arange(size)
        cosines = np.einsum("asc,atc->ast", u[rows], u[rows])
        pairs = first[rows][:, :, None] & second[rows][:, None, :] & ~np.eye(size, dtype=bool)
        angles = np.degrees(np.arccos(np.clip(cosines[pairs], -1.0, 1.0)))
        counts += np.histogram(angles, bins, (0.0, 180.0))[0]
    return counts
