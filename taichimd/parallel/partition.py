"""Which atoms a process has: slabs of equal numbers of atoms, and for each slab what is within reach.

All processes find the same slabs, because they have the same positions. A process holds an atom once, in the
cell of the whole system: its lists find the images. So vectors between atoms, and the order of rows, are
those of one engine.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.system.frame import Frame

TRIED = np.linspace(0.5, 1.5, 257)
"""Reaches that are tried, over the wanted one, which is among them."""


@dataclass(frozen=True)
class Part:
    """The atoms of one process.

    Attributes:
        slot: (n,) place of each atom in the gathered array, by the user's number.
        members: (m,) numbers of the atoms that the process holds, own ones and those within reach, ascending.
        away: (m,) their distances from the slab, angstrom; -1 of own atoms.
        reach: angstrom from the slab within which it holds all atoms.
    """

    slot: Any
    members: Any
    away: Any
    reach: float


@dataclass(frozen=True)
class Slabs:
    """Cuts a system across the longest direction of its cell.

    Attributes:
        n: number of atoms. processes: how many slabs.
        normal: (3,) unit vector across the slabs.
        period: height of the cell along it, angstrom; inf: not periodic.
    """

    n: int
    processes: int
    normal: NDArray[np.float64]
    period: float

    @classmethod
    def of(cls, positions: NDArray[np.float64], frame: Frame, processes: int) -> "Slabs":
        """Slabs across the direction in which cell and atoms (n, 3) are longest."""
        normals = frame.inverse * frame.heights  # in columns
        spans = np.ptp(positions @ normals, axis=0)
        along = int(np.argmax(np.where(frame.pbc, frame.heights, spans)))
        period = float(frame.heights[along]) if frame.pbc[along] else inf
        return cls(len(positions), processes, normals[:, along], period)

    @property
    def bounds(self) -> NDArray[np.int64]:
        """(processes + 1,) where slabs begin in the order of the atoms along the normal."""
        return np.arange(self.processes + 1) * self.n // self.processes

    @property
    def width(self) -> int:
        """Places of a process in the gathered array: of its atoms, and one more."""
        return int(np.diff(self.bounds).max()) + 1

    def depth_of(self, positions: Any, xp: Any) -> Any:
        """(n,) angstrom along the normal, within the cell."""
        # Term by term: a library's product of matrices may round differently in different processes.
        normal = [float(c) for c in self.normal]
        depth = positions[:, 0] * normal[0] + positions[:, 1] * normal[1] + positions[:, 2] * normal[2]
        return depth if self.period == inf else depth - xp.floor(depth / self.period) * self.period

    def part(self, positions: Any, rank: int, room: int | None, wanted: float, xp: Any) -> Part:
        """What a process holds.

        Args:
            positions: (n, 3) of all atoms, angstrom, in the user's order.
            rank: of the process.
            room: how many atoms it holds; None: as many as are wanted, and a few more.
            wanted: angstrom from the slab within which it needs all atoms.
            xp: NumPy or CuPy, whose arrays these are.
        """
        n, bounds, width = self.n, self.bounds, self.width
        depth = self.depth_of(positions, xp)
        order = xp.argsort(depth, kind="stable" if xp is np else None)  # CuPy's is stable, whatever is said
        slot = xp.empty(n, np.int32)
        for p in range(self.processes):
            begin, end = int(bounds[p]), int(bounds[p + 1])
            slot[order[begin:end]] = xp.arange(p * width, p * width + end - begin, dtype=np.int32)
        begin, end = int(bounds[rank]), int(bounds[rank + 1])
        along = depth[order]
        low, high = float(along[begin]), float(along[end - 1])
        radii = wanted * TRIED
        below, above = self._beside(along, (begin, end), (low, high), radii, xp)
        counts = end - begin + below + above
        if room is None:
            at = int(np.searchsorted(TRIED, 1.0))
            room = int(counts[at] + (counts[at] - (end - begin)) // 8 + 8)
        if room >= n:
            return Part(slot, xp.arange(n, dtype=np.int32), self._away(depth, slot, rank, low, high, xp), inf)
        fit = int(np.searchsorted(counts, room, side="right")) - 1
        first, reach = begin, 0.0
        if fit >= 0:
            size = abs(low) + abs(high) + radii[fit] + (0.0 if self.period == inf else self.period)
            first, reach = begin - int(below[fit]), float(radii[fit] - 4.0 * np.finfo(depth.dtype).eps * size)
        # In the order along the normal they are one stretch, which may go on at the other end of the cell.
        if self.period == inf:
            first = min(first, n - room)
        held = xp.zeros(n, bool)
        held[order[max(first, 0) : first + room]] = True
        held[order[: max(first + room - n, 0)]] = True
        if first < 0:
            held[order[first:]] = True
        members = xp.flatnonzero(held).astype(np.int32)
        away = self._away(depth[members], slot[members], rank, low, high, xp)
        return Part(slot, members, away, reach)

    def _beside(
        self, along: Any, places: tuple[int, int], ends: tuple[float, float], radii: Any, xp: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many atoms are within each radius below a slab, and above it, of ascending depths `along`.

        Args:
            along: (n,) angstrom.
            places: of the slab's first atom in it, and behind its last one.
            ends: their depths, angstrom.
            radii: (r,) angstrom.
            xp: NumPy or CuPy.
        """
        (begin, end), (low, high), n = places, ends, self.n
        edges = [low - radii, high + radii]
        if self.period != inf:
            edges += [edges[0] + self.period, edges[1] - self.period]
        edges = [xp.asarray(edge.astype(along.dtype)) for edge in edges]
        found = [
            xp.searchsorted(along, edge, side="left" if k % 2 == 0 else "right")
            for k, edge in enumerate(edges)
        ]
        counts = np.asarray(xp.stack(found).tolist())
        below, above = begin - counts[0], counts[1] - end
        if self.period != inf:
            below, above = below + n - counts[2], above + counts[3]
        return np.minimum(below, n), np.minimum(above, n)

    def _away(self, depth: Any, slot: Any, rank: int, low: float, high: float, xp: Any) -> Any:
        """(m,) distances from a slab that ends at two depths, angstrom; -1 of its own atoms."""
        away = xp.maximum(low - depth, depth - high)
        if self.period != inf:
            away = xp.minimum(away, self.period - xp.maximum(high - depth, depth - low))
        return xp.where(slot // self.width == rank, -1.0, xp.maximum(away, 0.0))
