"""Rows of parameters by elements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from taichimd.core.errors import MissingParameterError, SettingsError
from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.references import reference_to, restored
from taichimd.forcefields.tabulated import SMALL, Tabulated

Key = tuple[str, ...]
Row = Mapping[str, Any]
ANY = "*"
"""Stands for every element in the key of a parameter row."""
BACK = "_back"
"""Ends the name under which a function of (i, j) has the value of (j, i)."""


@dataclass(frozen=True)
class Table:
    """Parameter rows by element tuple: pairs (i, j) in either order, triples (i, j, k) centred on i.

    Attributes:
        order: 2 or 3.
        columns: names in the order of the compiled function's struct.
        rows: values by elements; the key of `ANY`s holds for all.
        cutoff: longest distance of a row (angstrom), by elements.
        mix: makes the row of an unlike pair from those of the like ones, or None.
        curves: columns whose values are `Tabulated`.
        of_atoms: columns that belong to an element: the row of the like pair has them.
        ordered: columns of pairs that differ between (i, j) and (j, i); then both rows are given.
    """

    order: int
    columns: tuple[str, ...]
    rows: Mapping[Key, Row]
    mix: Callable[[Row, Row], Row] | None = None
    curves: tuple[str, ...] = ()
    of_atoms: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()

    def __reduce__(self) -> Any:
        """For pickle: the mixing rule by where it is found."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return restored, (type(self), state | {"mix": reference_to(self.mix, "a mixing rule")})

    def row(self, key: Key) -> Row | None:
        """The row for these elements, or None."""
        mirrored = (key[1], key[0]) if self.order == 2 and not self.ordered else key
        for candidate in (key, mirrored, (ANY,) * self.order):
            if candidate in self.rows:
                return self.rows[candidate]
        if self.mix and self.order == 2:
            first, second = self.rows.get((key[0],) * 2), self.rows.get((key[1],) * 2)
            if first and second:
                return self.mix(first, second)
        return None

    def values(self, species: Sequence[str], name: str) -> list[Row]:
        """Rows for all tuples of the species, in the kernels' order, or a MissingParameterError."""
        keys = list(product(species, repeat=self.order))
        found = {key: self.row(key) for key in keys}
        if missing := [key for key in keys if found[key] is None]:
            kind = "pair" if self.order == 2 else "triple"
            raise MissingParameterError(
                f"{name} has no {kind} {names(missing)}; it defines: {names(list(self.rows))}"
            )
        return [found[key] for key in keys]  # type: ignore[misc]

    def bound_rows(self, species: Sequence[str], name: str) -> dict[Key, Row]:
        """Rows for the tuples of the species, mixed ones included, each pair once."""
        rows = dict(zip(product(species, repeat=self.order), self.values(species, name), strict=True))
        if self.order == 2 and not self.ordered:
            return {key: rows[key] for key in combinations_with_replacement(species, 2)}
        return rows

    def value(self, row: Row, column: str, key: Key) -> Any:
        """A number or a `Tabulated` of a row; nothing (None, 0) of an element's column in an unlike pair."""
        if column in self.of_atoms and len(set(key)) > 1:
            return None if column in self.curves else 0.0
        if column in self.curves and self.order == 2 and column not in self.of_atoms:
            return row[column].reaching(row["cutoff"])
        return row[column]

    def digits(self, species: Sequence[str], name: str) -> list[list[str]]:
        """All values for these species as texts that say all bits, for fingerprints."""
        keys = product(species, repeat=self.order)
        return [
            [_bits(self.value(row, column, key)) for column in self.columns]
            for key, row in zip(keys, self.values(species, name), strict=True)
        ]

    def check(self, name: str, kind: str) -> None:
        """Raise a SettingsError for rows that cannot be used; `name` and `kind` are of their term.

        Such are a value that is missing or not finite, a cutoff that is not positive, a pair given twice,
        differently.
        """
        for key, row in self.rows.items():
            self._check_row(f"{name} {kind} {names([key])}", row, key)
            # A pair stands for both orders: two answers would break Newton's third law.
            if self.order == 2 and self._shared(self.rows.get(key[::-1], row)) != self._shared(row):
                both = f"{name}: rows {names([key])} and {names([key[::-1]])} of one pair differ"
                raise SettingsError(
                    f"{both} in more than {', '.join(self.ordered)}; give both the same values"
                    if self.ordered
                    else f"{both}; give it once"
                )

    def _shared(self, row: Row) -> dict[str, Any]:
        """What both orders of a pair have in common."""
        return {column: value for column, value in row.items() if column not in self.ordered}

    def _check_row(self, where: str, row: Row, key: Key) -> None:
        for column in self.columns:
            if column in self.of_atoms and len(set(key)) > 1:
                continue
            if column in row and column in self.curves:
                if self.order == 2 and column not in self.of_atoms:
                    _check_end(where, column, row)
                continue
            if column not in row:
                raise SettingsError(
                    f"{where}: parameter '{column}' is missing; it takes {', '.join(self.columns)}"
                )
            if not np.isfinite(row[column]):
                raise SettingsError(
                    f"{where}: parameter '{column}' is {row[column]}, expected a finite number"
                )
        if row["cutoff"] <= 0:
            raise SettingsError(f"{where}: cutoff is {row['cutoff']} angstrom, expected a positive length")
        if row["cutoff"] > LONGEST:
            raise SettingsError(
                f"{where}: cutoff is {row['cutoff']:g} angstrom, expected {LONGEST:g} or less; check its unit"
            )


def _check_end(where: str, column: str, row: Row) -> None:
    """Refuse a curve of distances that ends before the cutoff with a value that is not small."""
    curve: Any = row[column]
    # One point may be missing: many EAM files end one spacing before their cutoff.
    if curve.last + curve.spacing < row["cutoff"] * (1.0 - 1e-6) and abs(curve.values[-1]) > SMALL:
        raise SettingsError(
            f"{where}: the table '{column}' ends at {curve.last:g} angstrom with the value "
            f"{curve.values[-1]:.3g}, before the cutoff of {row['cutoff']:g}; give points up to the cutoff, "
            "or a shorter cutoff"
        )


def _bits(value: Any) -> str:
    if value is None:
        return "none"
    return value.digest if isinstance(value, Tabulated) else float(value).hex()


def shown(value: Any) -> Any:
    """A value of a row for a record."""
    return value.shown() if isinstance(value, Tabulated) else float(value)


def names(keys: Sequence[Key]) -> str:
    """Element tuples for a message, the first twelve of them."""
    shown = ", ".join("(" + ", ".join(key) + ")" for key in keys[:12])
    return shown + (f" and {len(keys) - 12} more" if len(keys) > 12 else "")
