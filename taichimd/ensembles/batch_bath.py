"""The host's side of thermostats and barostats of a batch: a bath for each system, all in two device arrays."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti
from taichimd.ensembles.barostats import layout
from taichimd.ensembles.bath import Bath
from taichimd.ensembles.registry import Ensemble
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
        SettingsError: ensembles of several classes, or barostats with several controls, axes or periods.

    Attributes:
        members: the baths. ledger, bath, system, firsts: arrays (`BatchBathArrays`).
        coupling: what kernels are compiled for.
        moves_cell: whether there are barostats.
    """

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
        given = zip(ensembles, masses, cells, fixed, strict=True)
        self.members = [MemberBath(one, m, cell, None, held) for one, m, cell, held in given]
        for number, member in enumerate(self.members):
            member.join(self, number)
        coupling = self.members[0].coupling
        if any(member.coupling != coupling for member in self.members):
            raise SettingsError(
                f"barostats of one batch have one control, axes and period, those of {names[0]} differ; make a batch of each"
            )
        self.moves_cell = coupling.moves_cell
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

    def stop(self, number: int) -> None:
        """From now on the barostat of one system leaves its cell and its atoms as they are."""
        if not self.moves_cell:
            return
        values, scale = self.read()[0][number].copy(), layout.VELOCITY_SCALE
        values[layout.AT_REST] = 1.0
        values[scale : scale + 9] = np.eye(3).ravel()
        self.write(number, values, None)

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
