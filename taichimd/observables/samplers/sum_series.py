"""Sums over atoms, sample after sample, kept on the device and fetched rarely: heat current, stress.

Each sample leaves the sums of `taichimd.program.totals` over pieces of atoms in a buffer; the host adds the
pieces up, exactly rounded, when the buffer is full. So a sample has the bits of `Engine.heat_current`,
whatever the spatial order, the thread count and (quadrants) the backend, and costs one kernel call.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import AnalysisError
from taichimd.core.runtime import ti
from taichimd.core.saved import MISSING, saved_array
from taichimd.program.totals import COLUMNS, LABORATORY, PIECE, Centre, column_sums, queue_sums
from taichimd.system.state import State

BUFFER = 2**19
"""Numbers on the device (4 MB), unless one sample needs more."""
MAX_SAMPLES = 1024
"""Samples that wait on the device at most."""


class SumSeries:
    """A time series of sums over n atoms.

    Args:
        what: "heat": heat current, potential part x y z, kinetic part x y z (eV angstrom / internal time),
            and kinetic energy (eV). "stress": -volume * stress with its kinetic part, xx yy zz yz xz xy, and
            kinetic energy (eV).
        n: number of atoms.

    Raises:
        AnalysisError: another word.
    """

    def __init__(self, what: str, n: int) -> None:
        if what not in ("heat", "stress"):
            raise AnalysisError(f"no sums over atoms are called {what!r}; expected heat or stress")
        self._what, self.columns = what, COLUMNS[what]
        self._pieces = -(-n // PIECE)
        self._size = self._pieces * self.columns
        self._capacity = max(1, min(MAX_SAMPLES, BUFFER // self._size))
        self._buffer: Any = None
        self._waiting = 0
        self._rows: list[list[float]] = []

    def __len__(self) -> int:
        return len(self._rows) + self._waiting

    def sample(self, state: State, energies: Any, virials: Any, centre: Centre = LABORATORY) -> None:
        """Add one sample, from what `Engine.observe` lends; velocities count relative to the centre's."""
        if self._buffer is None:
            self._buffer = ti.ndarray(ti.f64, self._capacity * self._size)
        first = self._waiting * self._size
        queue_sums(state, energies, virials, self._what, self._buffer, first, centre.velocity)
        self._waiting += 1
        if self._waiting == self._capacity:
            self._drain()

    def _drain(self) -> None:
        if not self._waiting:
            return
        parts = self._buffer.to_numpy().reshape(self._capacity, self._pieces, self.columns)[: self._waiting]
        self._rows += map(column_sums, parts)
        self._waiting = 0

    def rows(self) -> NDArray[np.float64]:
        """(samples, columns) so far."""
        self._drain()
        return np.array(self._rows).reshape(-1, self.columns)

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep."""
        return {"rows": self.rows()}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave.

        Raises:
            AnalysisError: it is of another series.
        """
        shape = np.shape(saved.get("rows", MISSING))
        if len(shape) != 2 or shape[1] != self.columns:
            raise AnalysisError(f"saved sums have the shape {shape}, expected (n, {self.columns})")
        self._rows, self._waiting = saved_array(saved, "rows", "f", None, self.columns).tolist(), 0
