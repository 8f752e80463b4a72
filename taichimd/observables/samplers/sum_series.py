"""Sums over atoms, sample after sample, kept on the device and fetched rarely: heat current, stress.

Each sample leaves the sums of `taichimd.program.totals` over pieces of atoms in a buffer; the host adds the
pieces up, exactly rounded, when the buffer is full. So a sample has the bits of `Engine.heat_current`,
whatever the spatial order, the thread count and (quadrants) the backend, and costs one kernel call.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import AnalysisError
from taichimd.core.runtime import ti
from taichimd.core.saved import MISSING, saved_array
from taichimd.observables.samplers.joint import Sample, Tenant
from taichimd.program.totals import COLUMNS, LABORATORY, Sums
from taichimd.system.state import State

BUFFER = 2**19
"""Numbers on the device (4 MB), unless one sample needs more."""
MAX_SAMPLES = 1024
"""Samples that wait on the device at most."""


class _Room:
    """Samples of several systems that wait on the device."""

    def __init__(self, each: Sequence["SumSeries"], numbers: Sequence[int], state: State) -> None:
        self._each, self._numbers, self.what = each, numbers, each[0].what
        self._sums = Sums(state)
        self._size = self._sums.pieces * COLUMNS[self.what]
        self._capacity = max(1, min(MAX_SAMPLES, BUFFER // self._size))
        self._buffer = ti.ndarray(ti.f64, self._capacity * self._size)
        self._waiting = 0

    def add(self, sample: Sample) -> None:
        """Add a sample."""
        state, energies, virials = sample.lent
        centres = [LABORATORY] * len(state.sizes)
        for number, centre in zip(sample.numbers, sample.centres, strict=True):
            centres[number] = centre
        first = self._waiting * self._size
        self._sums.queue(state, self.what, energies, virials, self._buffer, first, centres)
        self._waiting += 1
        if self._waiting == self._capacity:
            self.leave()

    def leave(self) -> None:
        """Bring the samples to the host."""
        if not self._waiting:
            return
        shape = self._capacity, self._sums.pieces, COLUMNS[self.what]
        for parts in self._buffer.to_numpy().reshape(shape)[: self._waiting]:
            found = self._sums.of_pieces(parts, self._numbers)
            for one, row in zip(self._each, found.tolist(), strict=True):
                one.found.append(row)
        self._waiting = 0


class SumSeries(Tenant[_Room]):
    """A time series of sums over the atoms of a system; rows are in `found` on the host.

    "heat": heat current, potential part x y z, kinetic part x y z (eV angstrom / internal time), and kinetic
    energy (eV). "stress": -volume * stress with its kinetic part, xx yy zz yz xz xy, and kinetic energy (eV).
    """

    def __init__(self, what: str) -> None:
        if what not in ("heat", "stress"):
            raise AnalysisError(f"no sums over atoms are called {what!r}; expected heat or stress")
        self.what, self.columns = what, COLUMNS[what]
        self.found: list[list[float]] = []

    @classmethod
    def sample_all(cls, each: Sequence["SumSeries"], sample: Sample) -> None:
        """Add one sample to each; velocities count relative to the centre's."""
        cls.together(each, lambda: _Room(each, sample.numbers, sample.lent.state)).add(sample)

    def rows(self) -> NDArray[np.float64]:
        """(samples, columns) so far."""
        if self.room is not None:
            self.room.leave()
        return np.array(self.found).reshape(-1, self.columns)

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep."""
        return {"rows": self.rows()}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave."""
        shape = np.shape(saved.get("rows", MISSING))
        if len(shape) != 2 or shape[1] != self.columns:
            raise AnalysisError(f"saved sums have the shape {shape}, expected (n, {self.columns})")
        self.leave()
        self.found = saved_array(saved, "rows", "f", None, self.columns).tolist()
