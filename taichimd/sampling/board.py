"""Cells of the space, coloured as a checkerboard, for trial moves of single atoms at the same time.

Cells are wider than the range of the energy. So atoms in two cells of one colour do not interact, and a
cell's moves, one after the other, need to know nothing of moves in other cells. A move that would leave its
cell is rejected: then who is in which cell does not change while a board is in use, and each move keeps the
Boltzmann distribution. The planes between cells are shifted at random for each sweep, and colours come in a
random order.

J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, J. Comput. Phys. 254, 27 (2013),
doi:10.1016/j.jcp.2013.07.023.
"""

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.host_copies import to_device
from taichimd.core.runtime import ti
from taichimd.neighbours.scan import scan_size
from taichimd.sampling.board_kernels import LAYOUT, Board, board_kernel
from taichimd.system.frame import Frame
from taichimd.system.state import State

WIDER = 1.0 + 1e-9
"""Width of a cell over the range: rounding brings no atoms together."""


class Boards:
    """Boards of systems, one after the other.

    Args:
        state: the atoms.
        reach: range of the energy, angstrom.

    Attributes:
        board: the present ones, as kernels take them. size: most cells of a colour in a system.
        turns: colours of the system that has most of them.
    """

    def __init__(self, state: State, reach: float) -> None:
        self._state, self._reach, systems = state, reach, len(state.sizes)
        self._place = board_kernel(state.real)
        ints = [ti.ndarray(ti.i32, state.n) for _ in range(3)]
        grid = ti.ndarray(ti.types.vector(3, ti.f64), 4 * systems)
        self.board = Board(grid, ti.ndarray(ti.i32, LAYOUT * systems), state.system, *ints)
        self._ends = np.zeros(systems, int)
        self.size = self.turns = self._room = 0

    def place(self, frames: Sequence[Frame], uniform: Sequence[NDArray[np.float64]], call: Any) -> None:
        """Lay out cells and put the atoms there.

        11 random numbers of each system: shifts of the planes in cells, and the order of colours.
        """
        positions = None if all(frame.pbc.all() for frame in frames) else self._state.get("pos")
        grid, layout, cells, self.size, self.turns = [], [], 0, 0, 0
        for k, (frame, numbers) in enumerate(zip(frames, uniform, strict=True)):
            first = int(self._state.firsts[k])
            own = None if positions is None else positions[first : first + int(self._state.sizes[k])]
            rows, half, periods, colours = self._laid_out(frame, numbers[:3], own)
            size = int(np.prod(half))
            order = [colour for colour in np.argsort(numbers[3:]).tolist() if colour in colours]
            turns = [cells + size * colour for colour in order] + [-1] * (8 - len(order))
            grid.append(rows)
            layout.append([*half, *periods, cells, size, *turns])
            cells += 8 * size
            self._ends[k] = cells
            self.size, self.turns = max(self.size, size), max(self.turns, len(order))
        to_device(self.board.grid, np.vstack(grid))
        to_device(self.board.layout, np.array(layout, np.int32).reshape(-1))
        self._reserve(cells)
        call(self._place, self._state, self.board, cells)

    def _laid_out(
        self, frame: Frame, shift: NDArray[np.float64], positions: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Rows of the grid, cells of a colour along vectors, cells along periodic ones, and colours."""
        pairs = np.floor(frame.heights / (2.0 * WIDER * self._reach))
        periods = np.where(frame.pbc, np.where(pairs >= 1.0, 2.0 * pairs, 1.0), 0.0)
        # A single cell has no planes.
        per_unit = np.where(frame.pbc, np.where(pairs >= 1.0, periods, 0.0), 1.0 / (WIDER * self._reach))
        origin, spread = shift.copy(), periods
        if positions is not None and not frame.pbc.all():
            scaled = positions @ (frame.inverse * per_unit)
            # Even numbers, so that colours do not change with the atoms that lie farthest.
            low = 2.0 * np.floor(0.5 * (scaled.min(axis=0) + shift)) - 2.0
            origin = np.where(frame.pbc, shift, shift - low)
            spread = np.where(frame.pbc, periods, np.floor(scaled.max(axis=0) + origin) + 3.0)
        half = ((spread + 1) // 2).astype(int)
        several = [1 if k > 1 else 0 for k in spread]
        colours = [c for c in range(8) if all((c >> (2 - a)) & 1 <= several[a] for a in range(3))]
        return np.vstack([frame.inverse * per_unit, origin]), half, periods.astype(int), colours

    def results(self) -> list[tuple[float, int]]:
        """For each system the change of the energy (eV) and the accepted moves; waits for the device."""
        gain, accepted = (
            np.split(array.to_numpy()[: self._ends[-1]], self._ends[:-1])
            for array in (self.board.gain, self.board.accepted)
        )
        return [(fsum(one.tolist()), int(many.sum())) for one, many in zip(gain, accepted, strict=True)]

    def _reserve(self, cells: int) -> None:
        if cells <= self._room:
            return
        self._room = room = cells + cells // 4
        self.board.starts, self.board.sums = ti.ndarray(ti.i32, room + 1), ti.ndarray(ti.i32, scan_size(room))
        self.board.counts, self.board.accepted = ti.ndarray(ti.i32, room), ti.ndarray(ti.i32, room)
        self.board.gain = ti.ndarray(ti.f64, room)
        self.board.counts.fill(0)
