"""ForceField: tuple functions with parameter values, and its binding to the species of a structure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.errors import MissingParameterError, SettingsError
from taichimd.forcefields.terms import AngleTerm, BondOrder, BondOrderTerm, PairTerm, Terms, TripletTerm
from taichimd.forcefields.truncate import EXTRA, at_cutoff, truncated

Key = tuple[str, ...]
Row = Mapping[str, float]
ANY = "*"
"""Stands for every element in the key of a parameter row."""
SHORT = 0.7
"""Up to this part of the pair term's cutoff (a third of its volume) a three-body term has its own list."""


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
                f"{name} has no {kind} {_names(missing)}; it defines: {_names(list(self.rows))}"
            )
        return [found[key] for key in keys]  # type: ignore[misc]


def _names(keys: Sequence[Key]) -> str:
    shown = ", ".join("(" + ", ".join(key) + ")" for key in keys[:12])
    return shown + (f" and {len(keys) - 12} more" if len(keys) > 12 else "")


@dataclass(frozen=True)
class Bound:
    """A force field on the species of one structure.

    Attributes:
        terms: what to compile.
        pair_table, body_table: flat parameter arrays, row by row.
        cutoffs: (species, species) list cutoff of each pair, angstrom; -1 where nothing acts.
        near_cutoffs: the same of the near list: of the three-body term alone, if it is short.
        pair_cutoffs: the same of the pair term alone.
    """

    terms: Terms
    pair_table: NDArray[np.float64]
    body_table: NDArray[np.float64]
    cutoffs: NDArray[np.float64]
    near_cutoffs: NDArray[np.float64]
    pair_cutoffs: NDArray[np.float64]


@dataclass(frozen=True)
class ForceField:
    """A sum of at most one pair term and one three-body term, with parameters.

    Made by `LennardJones`, `Tersoff`, `StillingerWeber`, a declared potential, or `+` of two of them.

    Attributes:
        name: for reports and messages. citation, source: where the numbers come from.
    """

    name: str
    pair: tuple[Any, Table] | None = None
    triplet: tuple[Any, Table] | None = None
    bond_order: tuple[BondOrder, Table] | None = None
    angle: tuple[Any, Table] | None = None
    citation: str | None = None
    source: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    truncation: str = "truncated"
    enumeration: str = "neighbours"

    def __post_init__(self) -> None:
        for name, table in self._tables().items():
            for key, row in table.rows.items():
                _check_row(f"{self.name} {name} {_names([key])}", table, row)
                # A pair stands for both orders: two answers would break Newton's third law.
                if table.order == 2 and dict(table.rows.get(key[::-1], row)) != dict(row):
                    raise SettingsError(
                        f"{self.name}: rows {_names([key])} and {_names([key[::-1]])} of one pair differ; "
                        "give it once"
                    )

    def _tables(self) -> dict[str, Table]:
        parts = {
            "pair": self.pair, "triplet": self.triplet, "bond order": self.bond_order, "angle": self.angle,
        }  # fmt: skip
        return {name: part[-1] for name, part in parts.items() if part is not None}

    def __add__(self, other: "ForceField") -> "ForceField":
        if not isinstance(other, ForceField):
            return NotImplemented
        both_pair = self.pair and other.pair
        both_body = self.body and other.body
        if both_pair or both_body:
            raise SettingsError(
                f"cannot add {self.name} and {other.name}: a force field holds one pair term and one "
                "three-body term; write their sum as one function"
            )
        return ForceField(
            name=f"{self.name} + {other.name}",
            pair=self.pair or other.pair,
            triplet=self.triplet or other.triplet,
            bond_order=self.bond_order or other.bond_order,
            angle=self.angle or other.angle,
            citation="; ".join(c for c in (self.citation, other.citation) if c) or None,
            source=self.source or other.source,
            settings={**self.settings, **other.settings},
            truncation=self.truncation if self.pair else other.truncation,
        )

    @property
    def body(self) -> tuple[Any, Table] | None:
        """The three-body term, of whichever kind."""
        return self.triplet or self.bond_order or self.angle

    @property
    def cutoff(self) -> float:
        """Longest distance at which anything acts, angstrom."""
        return self.cutoffs[-1]

    @property
    def body_cutoff(self) -> float:
        """Longest distance at which a three-body term acts, angstrom; `cutoff` if there is none."""
        return max(row["cutoff"] for row in self.body[-1].rows.values()) if self.body else self.cutoff

    @property
    def cutoffs(self) -> list[float]:
        """The distinct cutoffs of all rows, angstrom, ascending."""
        return sorted({row["cutoff"] for table in self._tables().values() for row in table.rows.values()})

    @property
    def elements(self) -> tuple[str, ...] | None:
        """Elements with parameters, or None if it takes any."""
        sets = [{e for key in table.rows for e in key} - {ANY} for table in self._tables().values()]
        named = [s for s in sets if s]
        return tuple(sorted(set.intersection(*named))) if named else None

    def describe(self) -> dict[str, Any]:
        """Name, citation, cutoff and settings for reports: a JSON-able dictionary."""
        return {
            "name": self.name,
            "citation": self.citation,
            "source": self.source,
            "elements": list(self.elements or []) or "any",
            "cutoff_A": self.cutoff,
            **self.settings,
        }

    def bind(self, species: Sequence[str]) -> Bound:
        """Tables for these species, in this order.

        Raises:
            MissingParameterError: elements, pairs or triples without parameters.
        """
        elements = self.elements
        if elements is not None and (unknown := [s for s in species if s not in elements]):
            defined = ", ".join(elements) or "none in all of its terms"
            raise MissingParameterError(
                f"{self.name} has no parameters for {', '.join(unknown)}; it defines: {defined}"
            )
        n = len(species)
        cutoffs = near_cutoffs = pair_cutoffs = np.full((n, n), -1.0)
        short = False
        pair_table = body_table = np.zeros(1)
        pair = triplet = bond_order = angle = None
        # First: where one file gives both terms, it is its triples that a user looks for.
        if self.body:
            table = self.body[-1]
            rows = table.values(species, self.name)
            reach = _reaches(np.reshape([row["cutoff"] for row in rows], (n, n, n)), bool(self.bond_order))
            cutoffs = near_cutoffs = np.maximum(cutoffs, reach)
            columns = (*table.columns, "reach")
            flat = np.array([[row[c] for c in table.columns] for row in rows])
            body_table = np.hstack([flat, np.repeat(reach.ravel(), n)[:, None]]).ravel()
            if self.triplet:
                triplet = TripletTerm(self.triplet[0], columns)
            elif self.bond_order:
                bond_order = BondOrderTerm(self.bond_order[0], columns)
            elif self.angle:
                angle = AngleTerm(self.angle[0], columns)
        if self.pair:
            function, table = self.pair
            rows = table.values(species, self.name)
            pair_cutoffs = np.reshape([row["cutoff"] for row in rows], (n, n))
            cutoffs = np.maximum(cutoffs, pair_cutoffs)
            short = bool(self.body) and near_cutoffs.max() < SHORT * cutoffs.max()
            flat = np.array([[row[c] for c in table.columns] for row in rows])
            columns = table.columns
            if self.truncation != "truncated":
                flat = at_cutoff(function, columns, flat)
                columns = (*columns, *EXTRA)
            pair_table = flat.ravel()
            pair = PairTerm(truncated(function, self.truncation), columns)
        terms = Terms(pair, triplet, bond_order, n, angle, short)
        return Bound(terms, pair_table, body_table, cutoffs, near_cutoffs if short else cutoffs, pair_cutoffs)


def _reaches(cutoff: NDArray[np.float64], bond_order: bool) -> NDArray[np.float64]:
    """Longest distance of pair (i, j) in any triple centred on either, from cutoffs of (i, j, k).

    A triplet's row (i, j, k) limits r_ij, its mirror (i, k, j) limits r_ik; a bond order's row (i, j, k)
    limits r_ik, and (i, j, j) the bond.
    """
    one_way = cutoff.max(axis=1) if bond_order else cutoff.max(axis=2)
    return np.maximum(one_way, one_way.T)


def _check_row(where: str, table: Table, row: Row) -> None:
    for column in table.columns:
        if column not in row:
            raise SettingsError(
                f"{where}: parameter '{column}' is missing; it takes {', '.join(table.columns)}"
            )
        if not np.isfinite(row[column]):
            raise SettingsError(f"{where}: parameter '{column}' is {row[column]}, expected a finite number")
    if row["cutoff"] <= 0:
        raise SettingsError(f"{where}: cutoff is {row['cutoff']} angstrom, expected a positive length")
