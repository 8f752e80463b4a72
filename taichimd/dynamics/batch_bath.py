"""The host's side of the thermostats of a batch: a bath for each system, all in two device arrays."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti
from taichimd.dynamics.bath import Bath
from taichimd.dynamics.ensembles import Ensemble
from taichimd.program.results import Array
from taichimd.system.cell import Cell


class MemberBath(Bath):
    """The bath of one system, whose arrays are parts of those of a `BatchBath`.

    Attributes:
        first_values: of bath and ledger, before the batch is made.
    """

    _batch: "BatchBath"
    _number: int

    def join(self, batch: "BatchBath", number: int) -> None:
        """From now on the arrays are those of system `number` of a batch."""
        self._batch, self._number = batch, number

    def _begin(self, values: Array, ledger: NDArray[np.int64]) -> None:
        self.first_values = values, ledger

    def _values(self) -> Array:
        return self._batch.read()[0][self._number].copy()

    def _ledger(self) -> NDArray[np.int64]:
        return self._batch.read()[1][self._number].copy()

    def _write(self, values: Array | None = None, ledger: NDArray[np.int64] | None = None) -> None:
        self._batch.write(self._number, values, ledger)


class BatchBath:
    """Baths of all systems; a `Bath` for the kernels.

    Args:
        ensembles: one for each system, all of one class.
        masses: (n,) amu of each system.
        cells: of each system.
        fixed: of each system, (n,) which atoms are fixed, or None.
        state: the atoms of all.

    Raises:
        SettingsError: ensembles of several classes, or a barostat.

    Attributes:
        members: the baths. ledger, bath, system, firsts: arrays (`BatchBathArrays`).
        coupling: what kernels are compiled for.
    """

    moves_cell = False

    def __init__(
        self,
        ensembles: Sequence[Ensemble],
        masses: Sequence[Array],
        cells: Sequence[Cell],
        fixed: Sequence[NDArray[np.bool_] | None],
        state: Any,
    ) -> None:
        names = sorted({ensemble.name for ensemble in ensembles})
        if len(names) > 1:
            raise SettingsError(
                f"systems of one batch have one kind of ensemble, got {', '.join(names)}; make a batch of each"
            )
        if ensembles[0].moves_cell:
            raise SettingsError(
                f"{names[0]} moves the cell, which a batch does not do yet; choose nve or a thermostat, or run the systems "
                "one after the other"
            )
        given = zip(ensembles, masses, cells, fixed, strict=True)
        self.members = [MemberBath(one, m, cell, None, held) for one, m, cell, held in given]
        for number, member in enumerate(self.members):
            member.join(self, number)
        coupling = self.members[0].coupling
        self.coupling = coupling if coupling.none else replace(coupling, batch=True)
        values, ledgers = (
            np.array(parts) for parts in zip(*(m.first_values for m in self.members), strict=True)
        )
        self.bath, self.ledger = ti.ndarray(ti.f64, values.size), ti.ndarray(ti.i64, ledgers.size)
        self.system, self.firsts = state.system, ti.ndarray(ti.i32, len(self.members))
        self.firsts.from_numpy(state.firsts.astype(np.int32))
        self._shapes = values.shape, ledgers.shape
        self.bath.from_numpy(values.ravel())
        self.ledger.from_numpy(ledgers.ravel())
        self._seen: tuple[Array, NDArray[np.int64]] | None = None

    def forget(self) -> None:
        """The device has gone on."""
        self._seen = None

    def read(self) -> tuple[Array, NDArray[np.int64]]:
        """The arrays, a row for each system; waits for the device."""
        if self._seen is None:
            bath, ledger = self._shapes
            self._seen = self.bath.to_numpy().reshape(bath), self.ledger.to_numpy().reshape(ledger)
        return self._seen

    def write(self, number: int, values: Array | None, ledger: NDArray[np.int64] | None) -> None:
        """Replace the rows of one system."""
        baths, ledgers = self.read()
        if values is not None:
            baths[number] = values
            self.bath.from_numpy(baths.ravel())
        if ledger is not None:
            # Steps are counted in the first ledger.
            ledgers[number] = ledger
            self.ledger.from_numpy(ledgers.ravel())
