"""Rows of parameters by elements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from taichimd.core.errors import MissingParameterError, SettingsError
from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.references import reference_to, restored

Key = tuple[str, ...]
Row = Mapping[str, float]
ANY = "*"
"""Stands for every element in the key of a parameter row."""


@dataclass(frozen=True)
class Table:
    """Parameter rows by element tuple: pairs (i, j) in either order, triples (i, j, k) centred on i.

    Attributes:
        order: 2 or 3.
        columns: names in the order of the compiled function's struct.
        rows: values by elements; the key of `ANY`s holds for all.
        cutoff: longest distance of a row (angstrom), by elements.
        mix: makes the row of an unlike pair from those of the like ones, or None.
    """

    order: int
    columns: tuple[str, ...]
    rows: Mapping[Key, Row]
    mix: Callable[[Row, Row], Row] | None = None

    def __reduce__(self) -> Any:
        """For pickle: the mixing rule by where it is found."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return restored, (type(self), state | {"mix": reference_to(self.mix, "a mixing rule")})

    def row(self, key: Key) -> Row | None:
        """The row for these elements, or None."""
        mirrored = (key[1], key[0]) if self.order == 2 else key
        for candidate in (key, mirrored, (ANY,) * self.order):
            if candidate in self.rows:
                return self.rows[candidate]
        if self.mix and self.order == 2:
            first, second = self.rows.get((key[0],) * 2), self.rows.get((key[1],) * 2)
            if first and second:
                return self.mix(first, second)
        return None

    def values(self, species: Sequence[str], name: str) -> list[Row]:
        """Rows for all tuples of the species, in the kernels' order.

        Raises:
            MissingParameterError: naming the missing tuples and those that are defined.
        """
        keys = list(product(species, repeat=self.order))
        found = {key: self.row(key) for key in keys}
        if missing := [key for key in keys if found[key] is None]:
            kind = "pair" if self.order == 2 else "triple"
            raise MissingParameterError(
                f"{name} has no {kind} {names(missing)}; it defines: {names(list(self.rows))}"
            )
        return [found[key] for key in keys]  # type: ignore[misc]

    def bound_rows(self, species: Sequence[str], name: str) -> dict[Key, Row]:
        """Rows for the tuples of the species, mixed ones included, each pair once.

        Raises:
            MissingParameterError: as `values`.
        """
        rows = dict(zip(product(species, repeat=self.order), self.values(species, name), strict=True))
        if self.order == 2:
            return {key: rows[key] for key in combinations_with_replacement(species, 2)}
        return rows

    def check(self, name: str, kind: str) -> None:
        """Refuse rows that cannot be used; `name` and `kind` are of their term, for the message.

        Raises:
            SettingsError: a value that is missing or not finite, a cutoff that is not positive, or a pair
                that is given twice, differently.
        """
        for key, row in self.rows.items():
            self._check_row(f"{name} {kind} {names([key])}", row)
            # A pair stands for both orders: two answers would break Newton's third law.
            if self.order == 2 and dict(self.rows.get(key[::-1], row)) != dict(row):
                raise SettingsError(
                    f"{name}: rows {names([key])} and {names([key[::-1]])} of one pair differ; give it once"
                )

    def _check_row(self, where: str, row: Row) -> None:
        for column in self.columns:
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


def names(keys: Sequence[Key]) -> str:
    """Element tuples for a message, the first twelve of them."""
    shown = ", ".join("(" + ", ".join(key) + ")" for key in keys[:12])
    return shown + (f" and {len(keys) - 12} more" if len(keys) > 12 else "")
