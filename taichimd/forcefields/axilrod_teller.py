"""Axilrod-Teller: u = nu (1 + 3 cos_i cos_j cos_k)/(r_ij r_ik r_jk)^3 of each triple of atoms.

B. M. Axilrod, E. Teller, J. Chem. Phys. 11, 299 (1943). With a = r_ij^2, b = r_ik^2, c = r_jk^2, q = abc and
x = a + b - c, y = a - b + c, z = -a + b + c, which are 2 r r' times the cosines at i, j, k:

    u = nu (q^(-3/2) + 3/8 xyz q^(-5/2)),  f_i = 2 (du/da (r_j - r_i) + du/db (r_k - r_i))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf, isinf
from typing import Any, ClassVar

import numpy as np

from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti
from taichimd.core.scalars import is_number
from taichimd.enumerate.triangles import triangle_kernels
from taichimd.forcefields.base import Bound, ForceField
from taichimd.forcefields.code import Code, code_of
from taichimd.forcefields.table import ANY, Key, Row, Table, names
from taichimd.forcefields.term import QUEUED, Term, source_of
from taichimd.forcefields.terms import Terms, Triples
from taichimd.forcefields.triangles import TriangleEvaluator

COLUMNS = ("nu", "cutoff", "product_cutoff")
UNITS = {"nu": "eV Å^9", "cutoff": "Å", "product_cutoff": "Å"}
CITATION = "B. M. Axilrod, E. Teller, J. Chem. Phys. 11, 299 (1943), doi:10.1063/1.1723844"


@ti.func
def axilrod_teller(d, e, a, b, c, nu):
    """Energy of a triple and force on atom i, from d = r_j - r_i, e = r_k - r_i and the squared sides."""
    # Written so that j and k may change places: every operation then has the same bits.
    x, y, z = a + b - c, (a - b) + c, (b - a) + c
    q = a * b * c
    t = nu / (q * ti.sqrt(q))
    g = 0.375 * t / q
    v = g * (x * (y * z))
    slope = -1.5 * t - 2.5 * v
    first = slope / a + g * (y * z + x * (z - y))
    second = slope / b + g * (y * z + x * (y - z))
    return t + v, 2.0 * (first * d + second * e)


@dataclass(frozen=True)
class _Functions:
    """What is computed: the energy, and how it is added up."""

    triple: Any = axilrod_teller
    sums: Any = triangle_kernels.__wrapped__


@dataclass(frozen=True)
class TripleTable(Table):
    """Rows of unordered triples of elements; an infinite cutoff is none."""

    def row(self, key: Key) -> Row | None:
        """The row for these elements, in any order, or None."""
        return self.rows.get(tuple(sorted(key)), self.rows.get((ANY,) * 3))

    def check(self, name: str, kind: str) -> None:
        """Nothing: `AxilrodTeller` has checked the numbers."""


@dataclass(frozen=True)
class AxilrodTellerTerm(Term):
    """All triples, or those within a cutoff."""

    unbounded: ClassVar[bool] = True

    def bind(self, species: Sequence[str]) -> list[Bound]:
        """A near list as long as the cutoff, or an empty one, with what evaluates the triples.

        Raises:
            MissingParameterError: triples without nu.
        """
        rows, n = self.table.values(species, self.name), len(species)
        nu = np.reshape([row["nu"] for row in rows], (n, n, n))
        reach = np.full((n, n), -1.0 if isinf(self.cutoff) else self.cutoff)
        terms, nothing = Terms(None, None, None, n, queued=True), np.zeros(1)
        triples = Triples(axilrod_teller, nu, self.cutoff, rows[0]["product_cutoff"])
        evaluator = partial(TriangleEvaluator, axilrod_teller, nu, self.cutoff, rows[0]["product_cutoff"])
        return [
            Bound(
                terms,
                nothing,
                nothing,
                reach,
                reach,
                reach,
                self.name,
                evaluator=evaluator,
                span=1,
                triples=triples,
            )
        ]

    @cached_property
    def code(self) -> Code:
        """What is computed with the parameters."""
        return code_of(_Functions())

    def describe(self, species: Sequence[str] | None = None) -> dict[str, Any]:
        """The record of this term: a JSON-able dictionary, with None for a cutoff that there is not."""
        record = super().describe(species)
        record["cutoff_A"] = _or_none(record["cutoff_A"])
        for row in record["parameters"].values():
            row |= {column: _or_none(value) for column, value in row.items()}
        return record


def AxilrodTeller(  # noqa: N802 - reads as the force field it makes
    nu: float | Mapping[Any, float] = 45.69,
    cutoff: float | None = None,
    product_cutoff: float | None = None,
    *,
    name: str = "Axilrod-Teller",
    citation: str | None = CITATION,
    source: str | None = None,
) -> ForceField:
    """The triple-dipole dispersion energy of Axilrod and Teller.

        >>> from taichimd import AxilrodTeller, LennardJones
        >>> argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5) + AxilrodTeller(nu=45.69, cutoff=8.5)
        >>> argon.cutoff
        8.5

    It has no lower bound where three atoms in a row come close: add it to a pair potential that repels.

    Args:
        nu: eV angstrom^9, of all triples, or by element ("Ar" is ("Ar", "Ar", "Ar")) or triple of elements,
            in any order. The default is that of argon.
        cutoff: angstrom; a triple counts if all three sides are below it. None: all triples, of a structure
            that is not periodic.
        product_cutoff: angstrom; a triple counts if the product of its sides is below its cube. None: all do.
        name: for reports.
        citation: where formula or parameters come from.
        source: the file they come from.

    Raises:
        SettingsError: a number that makes no sense, a triple that is given twice, differently, a product
            cutoff without a cutoff.
    """
    limits = {
        "cutoff": _length("cutoff", cutoff),
        "product_cutoff": _length("product_cutoff", product_cutoff),
    }
    if cutoff is None and product_cutoff is not None:
        raise SettingsError(f"{name}: product_cutoff without a cutoff; give the cutoff of the sides, too")
    rows: dict[Key, Row] = {}
    for key, value in (nu if isinstance(nu, Mapping) else {(ANY,) * 3: nu}).items():
        elements = (key,) * 3 if isinstance(key, str) else tuple(sorted(key))
        if len(elements) != 3:
            raise SettingsError(f"{name}: nu is given for {key}, expected an element or three")
        if not is_number(value):
            raise SettingsError(
                f"{name} {names([elements])}: nu is {value!r}, expected a finite number, eV Å^9"
            )
        if rows.get(elements, {"nu": value})["nu"] != value:
            raise SettingsError(f"{name}: two numbers for the triple {names([elements])}; give it once")
        rows[elements] = {"nu": float(value), **limits}
    if not rows:
        raise SettingsError(f"{name}: nu has no triple, expected a number or one for each triple of elements")
    term = AxilrodTellerTerm(
        QUEUED, _Functions(), TripleTable(3, COLUMNS, rows), name,
        citation=citation, source=source_of(source), units=UNITS,
    )  # fmt: skip
    return ForceField.of(name, term)


def _length(what: str, value: float | None) -> float:
    """A positive length; infinity for None."""
    if value is None:
        return inf
    if not is_number(value) or value <= 0.0:
        raise SettingsError(
            f"Axilrod-Teller: {what} is {value!r} angstrom, expected a positive length or None"
        )
    return float(value)


def _or_none(value: float) -> float | None:
    return None if isinf(value) else value
