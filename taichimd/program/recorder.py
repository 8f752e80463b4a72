"""Rows of totals that stay on the device and come to the host together, without waiting for any of them.

    recorder = systems.recorder()
    recorder.add(report)  # queues the sums over atoms, and a copy of what baths and cells are now
    systems.advance(100, timestep)
    recorder.flush()  # `report` is called, and finds the totals of the step at which it was added

On a GPU reports are made while the device does the next steps. Within a report, the systems show step,
totals, heats and cells of the step at which it was added. They do not show its positions, velocities and
forces.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.arrays import Array
from taichimd.core.host_copies import on_host
from taichimd.core.runtime import ti
from taichimd.program.totals import COLUMNS

MAX_ROWS, MAX_BYTES = 16, 2**24
"""Most rows that wait on the device, and their bytes."""
AT_A_TIME = 2
"""Rows that are reported for each row that the device is about: those that wait become fewer."""


class _Kept(Bundle):
    """What a row needs of baths and cells, and room for that of several rows."""

    bath: Any = ArrayField("f64", "as of `Baths`", "state of the baths")
    ledger: Any = ArrayField("i64", "as of `Baths`", "energies that they have given")
    vectors: Any = ArrayField("double_mat", "systems", "cell vectors in rows, angstrom")
    baths: Any = ArrayField("f64", "rows bath", "room for `bath` of each row")
    ledgers: Any = ArrayField("i64", "rows ledger", "likewise")
    cells: Any = ArrayField("double_mat", "rows systems", "likewise")
    row: Any = Number("i32", "where it goes")


@cache
def _keeping() -> Any:
    """Kernel: copy what a row needs."""

    @kernel(types_of(ti.f64), kept=_Kept)
    def keep(kept: Any) -> None:
        for k in range(kept.bath.shape[0]):
            kept.baths[kept.row * kept.bath.shape[0] + k] = kept.bath[k]
        for k in range(kept.ledger.shape[0]):
            kept.ledgers[kept.row * kept.ledger.shape[0] + k] = kept.ledger[k]
        for k in range(kept.vectors.shape[0]):
            kept.cells[kept.row * kept.vectors.shape[0] + k] = kept.vectors[k]

    return keep


class RowRoom:
    """Room on the device for rows of totals of some systems.

    Attributes:
        rows: how many there is room for.
        names: sums that a row has.
    """

    def __init__(self, systems: Any) -> None:
        self._device, self._baths, self._cells = systems.device, systems.baths, systems.cells
        self._keeps = not systems.baths.coupling.none
        self.names = ("totals", "stress") if systems.baths.moves_cell else ("totals",)
        pieces = systems.device.totals.pieces
        size = 8 * pieces * sum(COLUMNS[name] for name in self.names)
        self.rows = rows = max(1, min(MAX_ROWS, MAX_BYTES // size))
        self._sums = {name: ti.ndarray(ti.f64, rows * pieces * COLUMNS[name]) for name in self.names}
        if self._keeps:
            arrays, cells = self._baths.arrays, self._cells.arrays
            n_bath, n_ledger, n_cells = (one.shape[0] for one in (arrays.bath, arrays.ledger, cells.vectors))
            self._kept = _Kept(
                arrays.bath, arrays.ledger, cells.vectors,
                ti.ndarray(ti.f64, rows * n_bath), ti.ndarray(ti.i64, rows * n_ledger),
                ti.ndarray(types_of(ti.f64)["double_mat"], rows * n_cells), 0,
            )  # fmt: skip

    def queue(self, row: int) -> None:
        """Queue the sums of the present state; does not wait."""
        device = self._device
        for name, sums in self._sums.items():
            first = row * device.totals.pieces * COLUMNS[name]
            device.totals.queue(device.state, name, *device.outputs, sums, first)
        if self._keeps:
            self._kept.row = row
            self._device.call(_keeping(), self._kept)

    def fetch(self, rows: int) -> "Fetched":
        """Copy what the first rows hold to the host."""
        arrays = dict(self._sums)
        if self._keeps:
            arrays |= {"bath": self._kept.baths, "ledger": self._kept.ledgers, "cells": self._kept.cells}
        copies = {name: on_host(one, rows * (one.shape[0] // self.rows)) for name, one in arrays.items()}
        return Fetched(rows, copies, self._device.totals)


class Fetched:
    """Rows that have come to the host together; sums over pieces are added up when one of them is reported.

    On a GPU that is during the next steps.
    """

    def __init__(self, rows: int, copies: dict[str, NDArray[Any]], totals: Any) -> None:
        self._rows, self._copies, self._totals = rows, copies, totals

    @cached_property
    def values(self) -> list[dict[str, NDArray[Any]]]:
        """Of each row: (systems, columns) sums by name, "bath", "ledger" and "cells"."""
        rows, found = self._rows, {}
        for name, values in self._copies.items():
            if name in COLUMNS:
                # All rows at once: splitting many columns takes little longer than splitting one.
                pieces = (
                    values.reshape(rows, -1, COLUMNS[name])
                    .transpose(1, 0, 2)
                    .reshape(-1, rows * COLUMNS[name])
                )
                sums = self._totals.of_pieces(pieces)
                found[name] = sums.reshape(len(sums), rows, -1).transpose(1, 0, 2)
            else:
                found[name] = values.reshape(rows, -1, *values.shape[1:])
        return [{name: values[row] for name, values in found.items()} for row in range(rows)]


@dataclass
class Row:
    """Totals of all systems at a step."""

    step: int  # the step
    stopped: dict[int, Any]  # systems that had diverged
    charge_iterations: list[int] | None  # as of a `Device`
    reports: list[Callable[[], None]]  # called when it is reported
    fetched: Fetched | None = None  # with which it came to the host; None while it is on the device
    place: int = 0  # among these rows

    @property
    def sums(self) -> dict[str, Array]:
        """(systems, columns) of `program.totals`, and what else `Fetched.values` has, once it was fetched."""
        assert self.fetched is not None
        return self.fetched.values[self.place]


class Recorder:
    """Has totals reported later than their steps, in their order, if asked while the device is busy."""

    def __init__(self, systems: Any, while_busy: bool) -> None:
        self._systems = systems
        self._on_device: list[Row] = []
        self._fetched: deque[Row] = deque()
        self._error: Exception | None = None
        if while_busy:
            systems.device.meanwhile = self._meanwhile

    def add(self, report: Callable[[], None]) -> None:
        """Have the totals of the present state reported later; raises what an earlier report has raised."""
        self._raise()
        systems = self._systems
        if not self._on_device or self._on_device[-1].step != systems.step:
            if len(self._on_device) == systems.row_room.rows:
                self._fetch()
            systems.evaluate()
            systems.row_room.queue(len(self._on_device))
            self._on_device.append(
                Row(systems.step, dict(systems.stopped), systems.device.evaluators.charge_iterations(), [])
            )
        self._on_device[-1].reports.append(report)

    def most_runs(self, n_steps: int) -> int:
        """How many runs of so many steps there can be with `rows_between`."""
        return self._systems.row_room.rows if self._systems.device.queues_runs(n_steps) else 1

    @contextmanager
    def rows_between(self, runs: int, n_steps: int, report: Callable[[], None]) -> Iterator[list[Any]]:
        """What `stepping.advance` takes as `between`, so that there is a row after each run but the last."""
        systems, first, stopped = self._systems, self._systems.step, dict(self._systems.stopped)
        if len(self._on_device) + runs - 1 > systems.row_room.rows:
            self._fetch()
        place = len(self._on_device)
        try:
            yield [partial(systems.row_room.queue, place + k) for k in range(runs - 1)]
        finally:
            for step in range(first + n_steps, systems.step, n_steps):
                self._on_device.append(Row(step, stopped, None, [report]))

    def flush(self) -> None:
        """Have everything reported now; raises what a report raises."""
        self._fetch()
        while self._fetched and self._error is None:
            self._report()
        self._raise()

    def before_tick(self, all_reported: bool) -> None:
        """Have everything reported now; if that need not be, on a GPU during the next steps."""
        if all_reported or self._systems.device.meanwhile is None:
            self.flush()
        else:
            self._fetch()
            self._raise()

    def close(self) -> None:
        """Report no more."""
        self._systems.device.meanwhile = None
        self._on_device.clear()
        self._fetched.clear()

    def _fetch(self) -> None:
        rows = self._on_device
        if rows:
            fetched = self._systems.row_room.fetch(len(rows))
            for place, row in enumerate(rows):
                row.fetched, row.place = fetched, place
            self._fetched.extend(rows)
            self._on_device = []

    def _meanwhile(self, rows: int) -> None:
        """Report some rows for so many new ones; an error waits until the steps are done."""
        for _ in range(min(AT_A_TIME * rows, len(self._fetched))):
            if self._error is None:
                self._report()

    def _report(self) -> None:
        row = self._fetched.popleft()
        try:
            with _shown(self._systems, row):
                for report in row.reports:
                    report()
        except Exception as error:
            self._error = error

    def _raise(self) -> None:
        if self._error is not None:
            self._on_device.clear()
            self._fetched.clear()
            raise self._error


@contextmanager
def _shown(systems: Any, row: Row) -> Iterator[None]:
    """Within, the systems show the totals of a row."""
    found = row.sums
    before = systems.step, systems.stopped
    systems.step, systems.stopped, systems.shown = row.step, row.stopped, row
    baths = systems.baths.show(found.get("bath"), found.get("ledger"))
    cells = systems.cells.show(found.get("cells"))
    try:
        yield
    finally:
        (systems.step, systems.stopped), systems.shown = before, None
        baths()
        cells()
