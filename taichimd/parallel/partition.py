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

from taichimd.neighbours.box import Frame


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
        low, high = float(depth[int(order[begin])]), float(depth[int(order[end - 1])])
        away = xp.maximum(low - depth, depth - high)
        if self.period != inf:
            away = xp.minimum(away, self.period - xp.maximum(high - depth, depth - low))
        away = xp.maximum(away, 0.0)
        away[order[begin:end]] = -1.0
        if room is None:
            room = int(xp.count_nonzero(away <= wanted))
            room += (room - (end - begin)) // 8 + 8
        if room >= n:
            return Part(slot, xp.arange(n, dtype=np.int32), away, inf)
        nearest = xp.argpartition(away, room)
        members = xp.sort(nearest[:room]).astype(np.int32)
        return Part(slot, members, away[members], float(away[int(nearest[room])]))
