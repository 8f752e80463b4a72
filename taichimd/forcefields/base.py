"""ForceField: tuple functions with parameter values, and its binding to the species of a structure."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.errors import MissingParameterError, SettingsError
from taichimd.forcefields.fingerprint import fingerprint_of
from taichimd.forcefields.table import ANY
from taichimd.forcefields.term import ANGLE, BOND_ORDER, PAIR, TRIPLET, Source, Term
from taichimd.forcefields.terms import AngleTerm, BondOrderTerm, PairTerm, Terms, TripletTerm
from taichimd.forcefields.truncate import EXTRA, at_cutoff, truncated

ENUMERATIONS = ("neighbours", "all-pairs")
SHORT = 0.7
"""Up to this part of the pair term's cutoff (a third of its volume) a three-body term has its own list."""


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
        name: for reports and messages.
        terms: each with its function, parameters, truncation, citation and file.
        enumeration: "neighbours", or "all-pairs" without lists.
        file: the Python file that it was loaded from, or None.

    Raises:
        SettingsError: two pair terms or two three-body terms, or parameters that cannot be used.
    """

    name: str
    terms: tuple[Term, ...]
    enumeration: str = "neighbours"
    file: Source | None = None
    _described: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.enumeration not in ENUMERATIONS:
            raise SettingsError(f"enumeration is '{self.enumeration}', expected {' or '.join(ENUMERATIONS)}")
        for term in self.terms:
            term.table.check(self.name, term.kind)

    def __add__(self, other: "ForceField") -> "ForceField":
        if not isinstance(other, ForceField):
            return NotImplemented
        if (self.pair and other.pair) or (self.body and other.body):
            raise SettingsError(
                f"cannot add {self.name} and {other.name}: a force field holds one pair term and one "
                "three-body term; write their sum as one function"
            )
        if self.enumeration != other.enumeration:
            raise SettingsError(
                f"cannot add {self.name} (enumeration {self.enumeration}) and {other.name} (enumeration "
                f"{other.enumeration}): give both the same enumeration"
            )
        return ForceField(f"{self.name} + {other.name}", (*self.terms, *other.terms), self.enumeration)

    def _term(self, kind: str) -> Term | None:
        return next((term for term in self.terms if term.kind == kind), None)

    @property
    def pair(self) -> Term | None:
        """The pair term, or None."""
        return self._term(PAIR)

    @property
    def triplet(self) -> Term | None:
        """The triplet term, or None."""
        return self._term(TRIPLET)

    @property
    def bond_order(self) -> Term | None:
        """The bond-order term, or None."""
        return self._term(BOND_ORDER)

    @property
    def angle(self) -> Term | None:
        """The angle term, or None."""
        return self._term(ANGLE)

    @property
    def body(self) -> Term | None:
        """The three-body term, of whichever kind."""
        return self.triplet or self.bond_order or self.angle

    @property
    def citation(self) -> str | None:
        """Where formulas and parameters come from, each citation once."""
        return "; ".join(dict.fromkeys(term.citation for term in self.terms if term.citation)) or None

    @property
    def source(self) -> str | None:
        """The file that it was loaded from; else the files of its terms, each once."""
        return "; ".join(file.path for file in self._sources) or None

    @property
    def _sources(self) -> list[Source]:
        if self.file is not None:
            return [self.file]
        return list(dict.fromkeys(term.source for term in self.terms if term.source))

    @property
    def cutoff(self) -> float:
        """Longest distance at which anything acts, angstrom."""
        return self.cutoffs[-1]

    @property
    def body_cutoff(self) -> float:
        """Longest distance at which a three-body term acts, angstrom; `cutoff` if there is none."""
        return self.body.cutoff if self.body else self.cutoff

    @property
    def cutoffs(self) -> list[float]:
        """The distinct cutoffs of all rows, angstrom, ascending."""
        return sorted({row["cutoff"] for term in self.terms for row in term.table.rows.values()})

    @property
    def elements(self) -> tuple[str, ...] | None:
        """Elements with parameters, or None if it takes any."""
        sets = [{e for key in term.table.rows for e in key} - {ANY} for term in self.terms]
        named = [s for s in sets if s]
        return tuple(sorted(set.intersection(*named))) if named else None

    def describe(self, species: Sequence[str] | None = None) -> dict[str, Any]:
        """The record of this potential: a JSON-able dictionary.

        Args:
            species: elements of a structure, in any order; None without a structure.

        Returns:
            Name, elements, citation, file, longest cutoff, enumeration, and under `terms` each term apart,
            with every row of its parameters (`Term.describe`). With species the rows that are bound for them,
            the code of each term, and the `fingerprint`. It is of the moment when it was first asked for.

        Raises:
            MissingParameterError: species without parameters.
        """
        kinds = None if species is None else tuple(sorted(set(species)))
        if kinds not in self._described:
            self._described[kinds] = self._record(kinds)
        found: dict[str, Any] = deepcopy(self._described[kinds])
        return found

    def _record(self, kinds: tuple[str, ...] | None) -> dict[str, Any]:
        record: dict[str, Any] = {
            "name": self.name,
            "elements": list(self.elements or []) or "any",
            "citation": self.citation,
            "source": self.source,
            "source_sha256": self._sources[0].sha256 if len(self._sources) == 1 else None,
            "cutoff_A": self.cutoff,
            "enumeration": self.enumeration,
            "terms": [term.describe(kinds) for term in self.terms],
        }
        if kinds is not None:
            record |= {"species": list(kinds), "fingerprint": fingerprint_of(self.terms, kinds)}
        return record

    def fingerprint(self, species: Sequence[str]) -> str:
        """A number of what is computed for these species: parameters that are bound, and all code.

        Names, citations, comments and files do not count, nor does the order of a sum.

        Returns:
            "v2:" and a SHA-256 in hexadecimal digits.

        Raises:
            MissingParameterError: species without parameters.
        """
        return str(self.describe(species)["fingerprint"])

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
            table = self.body.table
            rows = table.values(species, self.name)
            reach = _reaches(np.reshape([row["cutoff"] for row in rows], (n, n, n)), bool(self.bond_order))
            cutoffs = near_cutoffs = np.maximum(cutoffs, reach)
            columns = (*table.columns, "reach")
            flat = np.array([[row[c] for c in table.columns] for row in rows])
            body_table = np.hstack([flat, np.repeat(reach.ravel(), n)[:, None]]).ravel()
            if self.triplet:
                triplet = TripletTerm(self.triplet.function, columns)
            elif self.bond_order:
                bond_order = BondOrderTerm(self.bond_order.function, columns)
            elif self.angle:
                angle = AngleTerm(self.angle.function, columns)
        if self.pair:
            function, table = self.pair.function, self.pair.table
            truncation = self.pair.truncation or "truncated"
            rows = table.values(species, self.name)
            pair_cutoffs = np.reshape([row["cutoff"] for row in rows], (n, n))
            cutoffs = np.maximum(cutoffs, pair_cutoffs)
            short = bool(self.body) and near_cutoffs.max() < SHORT * cutoffs.max()
            flat = np.array([[row[c] for c in table.columns] for row in rows])
            columns = table.columns
            if truncation != "truncated":
                flat = at_cutoff(function, columns, flat)
                columns = (*columns, *EXTRA)
            pair_table = flat.ravel()
            pair = PairTerm(truncated(function, truncation), columns)
        terms = Terms(pair, triplet, bond_order, n, angle, short)
        return Bound(terms, pair_table, body_table, cutoffs, near_cutoffs if short else cutoffs, pair_cutoffs)


def _reaches(cutoff: NDArray[np.float64], bond_order: bool) -> NDArray[np.float64]:
    """Longest distance of pair (i, j) in any triple centred on either, from cutoffs of (i, j, k).

    A triplet's row (i, j, k) limits r_ij, its mirror (i, k, j) limits r_ik; a bond order's row (i, j, k)
    limits r_ik, and (i, j, j) the bond.
    """
    one_way = cutoff.max(axis=1) if bond_order else cutoff.max(axis=2)
    return np.maximum(one_way, one_way.T)
