"""Which atoms a process has: slabs of equal numbers of atoms, and for each slab what is within reach.

All processes find the same slabs, because they have the same positions. A process holds an atom once, in the
cell of the whole system: its lists find the images. So vectors between atoms, and the order of rows, are
those of one engine.
"""

from collections.abc import Sequence
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
    """The atoms of one process."""

    slot: Any  # (n,) place of each atom in the gathered array, by the user's number
    # (m,) numbers of the atoms that the process holds, own ones and those within reach, ascending
    members: Any
    away: Any  # (m,) their distances from the slab, angstrom; -1 of own atoms
    reach: float  # angstrom from the slab within which it holds all atoms
    # of each process, numbers of the own atoms that it holds, ascending; none for this process
    sends: tuple[Any, ...]
    receives: tuple[Any, ...]  # of each process, numbers of its own atoms that are held here, ascending


@dataclass(frozen=True)
class Stretch:
    """Atoms that a process holds: a stretch of the order along the normal, which may begin again at its end.

    Attributes:
        first: place of the first atom in this order, which may be negative. length: number of atoms.
        reach: see `Part`.
        low, high: depths of the first and the last own atom, angstrom.
    """

    first: int
    length: int
    reach: float
    low: float
    high: float

    def within(self, begin: int, end: int, n: int) -> list[slice]:
        """Its parts between two places of an order of n atoms; no place comes twice."""
        if self.length >= n:
            return [slice(begin, end)]
        found = [
            slice(max(begin, self.first + turn), min(end, self.first + self.length + turn))
            for turn in (-n, 0, n)
        ]
        return [one for one in found if one.start < one.stop]


@dataclass(frozen=True)
class Slabs:
    """Cuts a system across the longest direction of its cell."""

    n: int  # number of atoms
    processes: int  # how many slabs
    normal: NDArray[np.float64]  # (3,) unit vector across the slabs
    period: float  # height of the cell along it, angstrom; inf: not periodic

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
    def counts(self) -> list[int]:
        """Own atoms of each process."""
        found: list[int] = np.diff(self.bounds).tolist()
        return found

    @property
    def width(self) -> int:
        """Places of a process in gathered arrays: as many as the largest slab has atoms."""
        return max(self.counts)

    def depth_of(self, positions: Any, xp: Any) -> Any:
        """(n,) angstrom along the normal, within the cell."""
        # Term by term: a library's product of matrices may round differently in different processes.
        normal = [float(c) for c in self.normal]
        depth = positions[:, 0] * normal[0] + positions[:, 1] * normal[1] + positions[:, 2] * normal[2]
        return depth if self.period == inf else depth - xp.floor(depth / self.period) * self.period

    def stretches(
        self, depth: Any, order: Any, rooms: Sequence[int | None], wanted: float, xp: Any
    ) -> list[Stretch]:
        """What each process holds, of depths (n,) and the numbers of atoms in their order.

        `rooms`: how many atoms each process holds; None: as many as are within `wanted` angstrom of the slab,
        and a few more.
        """
        along, bounds = depth[order], self.bounds.tolist()
        ends = along[xp.asarray([at for p in range(self.processes) for at in (bounds[p], bounds[p + 1] - 1)])]
        values = ends.tolist()
        return [
            self._stretch(
                along, (bounds[p], bounds[p + 1]), (values[2 * p], values[2 * p + 1]), room, wanted, xp
            )
            for p, room in enumerate(rooms)
        ]

    def _stretch(
        self,
        along: Any,
        places: tuple[int, int],
        ends: tuple[float, float],
        room: int | None,
        wanted: float,
        xp: Any,
    ) -> Stretch:
        """What one process holds; see `stretches` and `_beside`."""
        n, (begin, end), (low, high) = self.n, places, ends
        radii = wanted * TRIED
        below, above = self._beside(along, places, ends, radii, xp)
        counts = end - begin + below + above
        if room is None:
            at = int(np.searchsorted(TRIED, 1.0))
            room = int(counts[at] + (counts[at] - (end - begin)) // 8 + 8)
        if room >= n:
            return Stretch(0, n, inf, low, high)
        fit = int(np.searchsorted(counts, room, side="right")) - 1
        first, reach = begin, 0.0
        if fit >= 0:
            size = abs(low) + abs(high) + radii[fit] + (0.0 if self.period == inf else self.period)
            first, reach = begin - int(below[fit]), float(radii[fit] - 4.0 * np.finfo(along.dtype).eps * size)
        if self.period == inf:
            first = max(min(first, n - room), 0)
        return Stretch(first, room, reach, low, high)

    def order_of(self, depth: Any, xp: Any) -> Any:
        """(n,) numbers of atoms, along the normal."""
        return xp.argsort(depth, kind="stable" if xp is np else None)  # CuPy's is stable, whatever is said

    def part(self, depth: Any, order: Any, held: Sequence[Stretch], rank: int, xp: Any) -> Part:
        """What a process holds, sends and receives, of what `stretches` has found."""
        n, bounds, width = self.n, self.bounds.tolist(), self.width
        slot = xp.empty(n, np.int32)
        for p in range(self.processes):
            begin, end = bounds[p], bounds[p + 1]
            slot[order[begin:end]] = xp.arange(p * width, p * width + end - begin, dtype=np.int32)
        mine = held[rank]

        def numbers(stretch: Stretch, p: int) -> Any:
            """Numbers of the atoms of process p in a stretch, ascending."""
            parts = stretch.within(bounds[p], bounds[p + 1], n)
            found = [order[one] for one in parts]
            return xp.sort(xp.concatenate(found)).astype(np.int32) if found else nobody

        nobody = xp.empty(0, np.int32)
        others = [p != rank for p in range(self.processes)]
        sends = tuple(numbers(held[p], rank) if other else nobody for p, other in enumerate(others))
        receives = tuple(numbers(mine, p) if other else nobody for p, other in enumerate(others))
        is_held = xp.zeros(n, bool)
        for one in mine.within(0, n, n):
            is_held[order[one]] = True
        members = xp.flatnonzero(is_held).astype(np.int32)
        away = self._away(depth[members], slot[members], rank, mine.low, mine.high, xp)
        return Part(slot, members, away, mine.reach, sends, receives)

    def _beside(
        self, along: Any, places: tuple[int, int], ends: tuple[float, float], radii: Any, xp: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many atoms are within each radius below a slab, and above it, of ascending depths `along`."""
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
