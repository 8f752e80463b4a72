"""Uniform electric fields that depend on time: a table, linear in between, or a function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.core.numerals import number_of

EXPECTED = (
    "three finite numbers (V/angstrom), as in field=(0, 0, 0.1), rows of a time (fs) and three numbers, a "
    "file of such rows, or a function of the time (fs)"
)
SAMPLED = 2000
"""Whole femtoseconds from 0 on at which a function is asked along which axes it acts."""


@dataclass(frozen=True)
class FieldOfTime:
    """A field, V/angstrom, of the time, fs. Give one of the two."""

    # a time and three numbers each; before the first and after the last row the field is constant
    rows: tuple[tuple[float, ...], ...] = ()
    function: Callable[[float], Any] | None = None  # of the time, gives three numbers

    def at(self, times: Any) -> Array:
        """(m, 3) V/angstrom at the times, fs.

        Raises:
            SettingsError: the function gives something else than three finite numbers.
        """
        given = np.atleast_1d(np.asarray(times, float))
        if self.function is None:
            table = np.array(self.rows)
            return np.stack([np.interp(given, table[:, 0], table[:, k]) for k in (1, 2, 3)], axis=1)
        found = [self.function(float(time)) for time in given]
        try:
            values = np.array(found, float).reshape(len(given), 3)
        except (TypeError, ValueError):
            values = np.full((1, 3), np.nan)
        if not np.isfinite(values).all():
            raise SettingsError(
                f"field: the function gives {found[0]!r} at {given[0]:g} fs, expected three finite numbers "
                "(V/angstrom)"
            )
        return values

    def samples(self) -> Array:
        """(m, 3) fields that show along which axes it acts."""
        return np.array(self.rows)[:, 1:] if self.function is None else self.at(np.arange(float(SAMPLED)))

    def record(self) -> Any:
        """For a JSON file: the rows, or the name of the function."""
        if self.function is None:
            return [list(row) for row in self.rows]
        of = self.function
        return f"{getattr(of, '__module__', '')}:{getattr(of, '__qualname__', type(of).__name__)}"


def read_field(given: Any) -> tuple[float, ...] | FieldOfTime:
    """A field from what a user gives.

    Args:
        given: three numbers, rows of four, the name of a file with such rows, or a function of the time.

    Returns:
        Three numbers; none of them without a field; or a field of time.

    Raises:
        SettingsError: something else. ParameterFileError: a file that cannot be read.
    """
    if isinstance(given, FieldOfTime):
        return given
    if callable(given):
        return FieldOfTime(function=given)
    if isinstance(given, str | PathLike):
        return _table(_rows_of(Path(fspath(given))), f"field {given}")
    if isinstance(given, Sequence | np.ndarray) and len(given) and np.ndim(given[0]) == 1:
        return _table(given, "field")
    try:
        found = tuple(float(one) for one in given)
    except (TypeError, ValueError):
        raise SettingsError(f"field is {given!r}, expected {EXPECTED}") from None
    if found and (len(found) != 3 or not all(map(isfinite, found))):
        raise SettingsError(f"field is {found}, expected {EXPECTED}")
    return found


def _rows_of(path: Path) -> list[list[float]]:
    """Rows of numbers with commas or blanks between; # begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterFileError(f"field: {path} cannot be read ({error})") from None
    found = []
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].replace(",", " ").split()
        try:
            if words:
                found.append([number_of(word) for word in words])
        except ValueError:
            raise ParameterFileError(
                f"{path}, line {number}: expected four numbers: a time (fs) and a field (V/angstrom)"
            ) from None
    return found


def _table(rows: Any, called: str) -> FieldOfTime:
    try:
        table = np.array([[float(one) for one in row] for row in rows]).reshape(len(rows), 4)
    except (TypeError, ValueError):
        table = np.full((1, 4), np.nan)
    if not len(table) or not np.isfinite(table).all() or (np.diff(table[:, 0]) <= 0.0).any():
        raise SettingsError(
            f"{called}: expected rows of four finite numbers, a time (fs) and a field (V/angstrom), with "
            "times that increase"
        )
    return FieldOfTime(rows=tuple(map(tuple, table.tolist())))
