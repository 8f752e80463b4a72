"""Bonds of stored frames: angles between them and coordination numbers, for each combination of species.

A bond is a pair of atoms, or of an atom and an image, closer than one length, which the user chooses: where
the radial distribution of the bonded species is lowest after its first peak.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase import Atoms
from ase.cell import Cell

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.markup import facts
from taichimd.estimators.blocks import consecutive_mean
from taichimd.estimators.green_kubo import positive
from taichimd.estimators.series import Mean, finite
from taichimd.estimators.structure import count_angles, mean_neighbours

MAX_BONDS = 300
"""Most bonds of an atom on average: with more, angles of a few thousand atoms take minutes and all memory."""


@dataclass(frozen=True)
class Coordination:
    """Neighbours of one species around another."""

    mean: Mean  # number of neighbours
    # (most + 1,) share of the centres that have 0, 1, 2, ... neighbours, up to the most of any pair of
    # species.
    fractions: Mean


@dataclass(frozen=True)
class BondStructure:
    """What `bond_structure` finds."""

    length: float  # angstrom, below which two atoms are bonded
    angle: Array  # (bins,) middle of each bin, degrees
    # (a, centre, b), a <= b, of every triple of species that occurs -> (bins,) probability per degree, of
    # integral 1; no factor 1/sin
    angles: dict[tuple[str, str, str], Mean]
    coordination: dict[tuple[str, str], Coordination]  # (centre, neighbour) of every pair of species

    def _repr_html_(self) -> str:
        """What a notebook shows: the bond length, and how many neighbours atoms have."""
        rows = [("bond length", f"{self.length:g} Å")]
        for (centre, neighbour), one in self.coordination.items():
            rows.append((f"{neighbour} around {centre}", one.mean.texts()[0]))
        return facts(rows)


def bond_structure(
    symbols: Sequence[str], positions: Any, cells: Any, pbc: Any, length: float, bins: int = 180,
    blocks: int = 1,
) -> BondStructure:  # fmt: skip
    """Bond angles and coordination numbers of a trajectory.

    Args:
        symbols: (n,) chemical symbols.
        positions: (frames, n, 3) angstrom, wrapped or not.
        cells: (frames, 3, 3) angstrom, rows are the vectors; any shape, also smaller than the bond length.
        pbc: (3,) whether a direction is periodic.
        length: angstrom; atoms closer than this length are bonded.
        bins: number of bins of the angles, of equal width, 0 to 180 degrees.
        blocks: pieces of the trajectory, for standard errors from their autocorrelation (`consecutive_mean`).
            These errors measure the scatter between frames of this trajectory. A second sample of a glass may
            differ by more.

    Returns:
        Distributions of angles for every triple of species, and coordination numbers for every pair.

    Raises:
        AnalysisError: shapes that do not match, a length not above zero, more blocks than frames, numbers
            that are not finite, two atoms at the same position, no atom with two bonds, or more than
            `MAX_BONDS` bonds per atom.
    """
    positive(length=length, bins=bins)
    x, boxes, names = finite(positions, "positions", 3), finite(cells, "cells", 3), np.asarray(symbols)
    if x.shape[1:] != (len(names), 3) or boxes.shape != (len(x), 3, 3):
        raise AnalysisError(
            f"positions {x.shape} and cells {boxes.shape} do not fit {len(names)} symbols: expected "
            "(frames, symbols, 3) and (frames, 3, 3)"
        )
    if not 1 <= blocks <= len(x):
        raise AnalysisError(f"{len(x)} frames make no {blocks} blocks; take fewer blocks or a longer run")
    from ase.neighborlist import neighbor_list  # imports SciPy

    around = mean_neighbours(Cell(boxes[0]).complete().array, pbc, x[0], float(length))
    if around > MAX_BONDS:
        raise AnalysisError(
            f"bonds of {length:g} Å: about {around:.2g} around each atom, with images; expected {MAX_BONDS} "
            "or fewer: take a shorter bond length"
        )
    species = sorted(set(names.tolist()))
    triples = [(a, c, b) for c in species for a in species for b in species if a <= b]
    angles = {triple: np.zeros((blocks, bins)) for triple in triples}
    # Of (centre, neighbour), how many atoms have how many neighbours, block by block.
    numbers: dict[tuple[str, str], list[Counter[int]]] = {
        (c, b): [Counter() for _ in range(blocks)] for c in species for b in species
    }
    for block, part in enumerate(np.array_split(np.arange(len(x)), blocks)):
        for k in part:
            frame = Atoms(names.tolist(), positions=x[k], cell=boxes[k], pbc=pbc)
            i, j, d = neighbor_list("ijD", frame, float(length))
            is_end = {b: names[j] == b for b in species}
            for c in species:
                mine = names[i] == c
                for a, b in [(a, b) for a, centre, b in triples if centre == c]:
                    ends = (is_end[a][mine], is_end[b][mine])
                    angles[a, c, b][block] += count_angles(i[mine], d[mine], bins, ends)
                for b in species:
                    each = np.bincount(i[mine & is_end[b]], minlength=len(names))[names == c]
                    numbers[c, b][block].update(each.tolist())
    lengths = np.array([len(part) for part in np.array_split(np.arange(len(x)), blocks)], np.float64)
    # Of a frame, so that blocks of other lengths do not seem to scatter.
    there = {triple: counts / lengths[:, None] for triple, counts in angles.items() if counts.any()}
    if not there:
        raise AnalysisError(f"no atom has two bonds shorter than {length:g} Å; take a longer bond length")
    width, most = 180.0 / bins, max(max(block) for found in numbers.values() for block in found)
    middle: Array = (np.arange(bins, dtype=np.float64) + 0.5) * width
    return BondStructure(
        length=float(length),
        angle=middle,
        angles={
            triple: consecutive_mean(counts / (counts.sum(axis=1).mean() * width))
            for triple, counts in there.items()
        },
        coordination={pair: _coordination(found, most) for pair, found in numbers.items()},
    )


def _coordination(blocks: list[Counter[int]], most: int) -> Coordination:
    """From numbers of atoms by their number of neighbours, block by block."""
    table = np.array([[found[k] for k in range(most + 1)] for found in blocks], np.float64)
    fractions = table / table.sum(axis=1, keepdims=True)
    return Coordination(consecutive_mean(fractions @ np.arange(most + 1.0)), consecutive_mean(fractions))


@dataclass(frozen=True)
class Peak:
    """The highest peak of a curve."""

    position: float  # of its top
    height: float  # there
    width: float  # full width at half of the height; NaN where the curve does not fall to it on both sides


def highest_peak(x: Array, y: Array) -> Peak:
    """Top of the parabola through all points around the maximum that reach 70% of it, and the width there.

    Unlike the highest point it moves little with the noise of a histogram. x: three or more, equally spaced;
    y: not below 0.
    """
    top = int(y.argmax())
    low_points = np.flatnonzero(y < 0.7 * y[top])
    first = max((k + 1 for k in low_points[low_points < top]), default=0)
    last = min((k - 1 for k in low_points[low_points > top]), default=len(y) - 1)
    near = slice(max(0, min(first, top - 1)), max(last, top + 1) + 1)
    position, height = float(x[top]), float(y[top])
    if top + 1 < len(y) and top > 0:
        a, b, c = np.polyfit(x[near] - x[top], y[near], 2)
        if a < 0 and x[near][0] <= x[top] - 0.5 * b / a <= x[near][-1]:
            position, height = float(x[top] - 0.5 * b / a), float(c - 0.25 * b * b / a)
    below = np.flatnonzero(y < 0.5 * height)
    left, right = below[below < top], below[below > top]
    if not len(left) or not len(right):
        return Peak(position, height, float("nan"))
    ends = [
        x[out] + (0.5 * height - y[out]) * (x[inside] - x[out]) / (y[inside] - y[out])
        for out, inside in ((left[-1], left[-1] + 1), (right[0], right[0] - 1))
    ]
    return Peak(position, height, float(ends[1] - ends[0]))
