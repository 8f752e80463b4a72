"""Rows of parameters as one flat array: numbers by columns, then the points of curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.enumerate.parameters import ENDS, START, columns_of
from taichimd.forcefields.table import BACK, Row, Table
from taichimd.forcefields.tabulated import Tabulated

MAX_NUMBERS = 2**24
"""Numbers of all curves together: where each begins is exact in float32."""


@dataclass(frozen=True)
class Flat:
    """Rows of parameters, and the points of their curves."""

    rows: Array  # (rows, columns); where curves begin is counted from the first point of all
    columns: tuple[str, ...]  # their names
    points: Array  # coefficients of all curves, one after the other

    def with_column(self, name: str, values: Array) -> "Flat":
        """The same with one more column."""
        return Flat(np.hstack([self.rows, values[:, None]]), (*self.columns, name), self.points)

    def joined(self) -> Array:
        """One array: all rows, then the points; where curves begin is counted from the first row."""
        rows = self.rows.copy()
        for k, name in enumerate(self.columns):
            if name.endswith(START):
                rows[:, k] += rows.size
        return np.concatenate([rows.ravel(), self.points])


def flat_rows(table: Table, species: Sequence[str], name: str) -> Flat:
    """Rows for all tuples of the species, in the kernels' order."""
    keys = list(product(species, repeat=table.order))
    found = dict(zip(keys, table.values(species, name), strict=True))
    pool = _Pool()
    names: list[str] = []
    columns: list[list[float]] = []
    grid: list[list[float]] = []

    def put(column: str, label: str, rows: Sequence[Row]) -> None:
        values = [table.value(row, column, key) for row, key in zip(rows, keys, strict=True)]
        if column not in table.curves:
            names.append(label)
            columns.append([float(value) for value in values])
            return
        numbers = list(map(list, zip(*(pool.numbers(value) for value in values), strict=True)))
        # Where it is the grid of the curve before, one look for the piece serves both.
        own = len(ENDS) if numbers[1:] != grid else 1
        grid[:] = numbers[1:]
        names.extend(columns_of(label)[:own])
        columns.extend(numbers[:own])

    for column in table.columns:
        put(column, column, [found[key] for key in keys])
    for column in table.ordered:
        put(column, column + BACK, [found[key[::-1]] for key in keys])
    points = pool.joined()
    if len(points) > MAX_NUMBERS:
        raise SettingsError(
            f"{name}: its tables have {len(points) // 4:,} points, expected at most {MAX_NUMBERS // 4:,}; "
            "take a larger spacing"
        )
    return Flat(np.array(columns).T.copy(), tuple(names), points)


class _Pool:
    """Points of curves, each curve once."""

    def __init__(self) -> None:
        self._starts: dict[Tabulated, int] = {}
        self._points: list[Array] = []
        self._size = 0

    def numbers(self, curve: Any) -> tuple[float, float, float, float]:
        """The columns of a curve (`enumerate.parameters.ENDS`); of none zeros, which nothing reads."""
        if curve is None:
            return 0.0, 0.0, 0.0, 0.0
        if curve not in self._starts:
            self._starts[curve] = self._size
            self._points.append(curve.pieces.ravel())
            self._size += len(self._points[-1])
        return float(self._starts[curve]), float(len(curve.values)), curve.first, 1.0 / curve.spacing

    def joined(self) -> Array:
        return np.concatenate(self._points) if self._points else np.zeros(0)
