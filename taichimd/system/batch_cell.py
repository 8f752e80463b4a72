"""The cells of a batch: one for each system, elements of the same device arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.system.cell import MOST_STRETCH, Cell, cell_arrays
from taichimd.system.frame import Frame


class MemberCell(Cell):
    """The cell of one system: once it has joined a batch whose cells move, a part of the arrays of that."""

    _batch: "BatchCell | None"
    _number: int

    def _begin(self) -> None:
        self._batch = None

    def join(self, batch: "BatchCell", number: int) -> None:
        """From now on the arrays are those of system `number` of a batch."""
        self._batch, self._number = batch, number

    def raw(self) -> NDArray[np.float64]:
        """(3, 3) angstrom, be there a volume or not."""
        return self._vectors.copy() if self._known or self._batch is None else self._get("vectors")

    def moved(self) -> None:
        """As of one cell; the batch takes another frame."""
        super().moved()
        if self._batch is not None:
            self._batch.renew()

    def _get(self, name: str) -> NDArray[np.float64]:
        assert self._batch is not None
        return self._batch.read(name)[self._number].copy()

    def _put(self, name: str, matrix: NDArray[np.float64]) -> None:
        if self._batch is not None:
            self._batch.write(name, self._number, matrix)


class BatchCell:
    """Cells of all systems; a `Cell` for the `Device`.

    Args:
        cells: of each system.
        system: (n) array, the system of each place, where kernels move cells; else None.

    Attributes:
        cells: as given. arrays: `Cells`; None where no kernel moves a cell.
    """

    arrays: Any = None

    def __init__(self, cells: Sequence[MemberCell], system: Any = None) -> None:
        self.cells = list(cells)
        self._seen: dict[str, NDArray[np.float64]] = {}
        self._frame: tuple[Frame, ...] | None = None
        if system is None:
            return
        self.arrays = cell_arrays(len(cells), system)
        one = np.eye(3)
        first = {"vectors": [cell.vectors for cell in cells], "stretch": [0.0 * one] * len(cells)}
        for name, matrices in {**first, "drift": [one] * len(cells)}.items():
            getattr(self.arrays, name).from_numpy(np.array(matrices))
        for number, cell in enumerate(self.cells):
            cell.join(self, number)

    @property
    def frame(self) -> Any:
        """The present lattices of all systems."""
        if self._frame is None:
            self._frame = tuple(cell.frame for cell in self.cells)
        return self._frame

    def renew(self) -> None:
        """Take other lattices."""
        self._frame = None

    def forget(self) -> None:
        """The device has gone on."""
        self._seen.clear()

    def moved(self) -> None:
        """The device has moved the cells: the host's copies are void."""
        self.forget()
        for cell in self.cells:
            cell.moved()

    def read(self, name: str) -> NDArray[np.float64]:
        """(systems, 3, 3): an array as the device has it; waits for the device."""
        if name not in self._seen:
            self._seen[name] = getattr(self.arrays, name).to_numpy()
        return self._seen[name]

    def write(self, name: str, number: int, matrix: NDArray[np.float64]) -> None:
        """Replace what is one system's."""
        of_all = self.read(name)
        of_all[number] = matrix
        getattr(self.arrays, name).from_numpy(of_all)
        self.renew()

    def run_away(self) -> list[int]:
        """Numbers of the systems whose cell changes too much in the drift that comes next, or is over."""
        sizes = np.sqrt(np.square(self.read("stretch")).sum(axis=(1, 2)))
        return [int(k) for k in np.flatnonzero(~(sizes <= MOST_STRETCH))]
