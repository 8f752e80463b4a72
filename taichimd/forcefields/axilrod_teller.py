"""Axilrod-Teller: u = nu (1 + 3 cos_i cos_j cos_k)/(r_ij r_ik r_jk)^3 of each triple of atoms.

B. M. Axilrod, E. Teller, J. Chem. Phys. 11, 299 (1943). With a = r_ij^2, b = r_ik^2, c = r_jk^2, q = abc and
x = a + b - c, y = a - b + c, z = -a + b + c, which are 2 r r' times the cosines at i, j, k:

    u = nu (q^(-3/2) + 3/8 xyz q^(-5/2)),  f_i = 2 (du/da (r_j - r_i) + du/db (r_k - r_i))

With t = b - c, v = b + c - a and g = t^2 - a^2 = -xy, where a belongs to a pair that meets many third atoms:

    u = 3/8 nu q^(-5/2) (8/3 a bc - g v),  du/da = 3/8 nu q^(-5/2) (g (5/2 v/a + 2) - v^2)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf, isinf
from typing import Any, ClassVar

import numpy as np
from ase import Atoms

from taichimd.core.errors import SettingsError, StructureError
from taichimd.core.runtime import ti
from taichimd.core.scalars import is_number
from taichimd.enumerate.near_triangles import near_triangle_kernel
from taichimd.enumerate.terms import Terms, Triples, TripletFunction
from taichimd.enumerate.triangles import triangle_kernel
from taichimd.enumerate.triple_forces import gather_kernel
from taichimd.enumerate.triple_tiles import tile_kernels
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import Bound
from taichimd.forcefields.code import Code, code_of
from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.table import ANY, Key, Row, Table, names
from taichimd.forcefields.term import QUEUED, Term, source_of
from taichimd.forcefields.triangles import TriangleEvaluator
from taichimd.forcefields.triple_matrix import DEGREE, MatrixEvaluator
from taichimd.forcefields.triple_products import Products

VISITS = {"cuda": 3e11, "cpu": 1e8}
"""Visits of triples a second, of a large GPU and of two cores; forces visit each triple three times."""
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


@ti.func
def inverse_fifth(r2):
    """r^-5 of r^2 > 0, of powers of (1 - e) to e^3 with e = 1 - r2 y^2.

    The bits of r2 give a first guess y of 1/r to 4 %, as in `core.math.inverse_cube_root`. (1 - e)^(-1/2)
    makes 1e-5 of that, (1 - e)^(-5/2) leaves 1e-18.
    """
    upper = ti.cast(ti.bit_cast(r2, ti.i64) >> 32, ti.i32)
    y = ti.bit_cast(ti.cast(_HALF - (upper >> 1), ti.i64) << 32, ti.f64)
    e = 1.0 - r2 * (y * y)
    y += y * (e * (0.5 + e * (0.375 + e * 0.3125)))
    y2 = y * y
    y5 = y2 * y2 * y
    e = 1.0 - r2 * y2
    return y5 + y5 * (e * (2.5 + e * (4.375 + e * 6.5625)))


@ti.func
def _constants(a):
    return ti.Vector([a * a, 2.5 / a, (8.0 / 3.0) * a])


@ti.func
def _energy(k, a, b, c, w_b, w_c):
    v, t = b + c - a, b - c
    return (k[2] * (b * c) - (t * t - k[0]) * v) * (w_b * w_c)


@ti.func
def _slope(k, a, b, c, w_b, w_c):
    v, t = b + c - a, b - c
    return ((t * t - k[0]) * (k[1] * v + 2.0) - v * v) * (w_b * w_c)


@ti.func
def _factor(a, w):
    return 0.375 * w


@ti.func
def _whole(a, b, c):
    q, v, t = a * b * c, b + c - a, b - c
    return ((8.0 / 3.0) * q - (t * t - a * a) * v) * (0.375 * inverse_fifth(q))


_HALF = 0x5FE6EB50
"""Upper half of the bits of 1/sqrt(x) is about this less half of those of x."""
TRIPLET = TripletFunction(inverse_fifth, _constants, 3, _energy, _slope, _factor, _factor, _whole, DEGREE)
ALL_TRIPLES, DIRECT, MATRIX = ENUMERATIONS = "all-triples", "direct", "matrix"


@dataclass(frozen=True)
class _Functions:
    """What is computed: the energy, and how it is added up."""

    triple: Any = axilrod_teller
    sums: Any = triangle_kernel.__wrapped__


@dataclass(frozen=True)
class _InTiles(_Functions):
    """The same of all triples in tiles."""

    slope: Any = _slope
    tiles: Any = tile_kernels.__wrapped__
    gather: Any = gather_kernel.__wrapped__


@dataclass(frozen=True)
class _WithinCutoff(_Functions):
    """The same of the triangles of a near list."""

    sums: Any = near_triangle_kernel.__wrapped__
    slope: Any = _slope


@dataclass(frozen=True)
class _ByProducts(_Functions):
    """The same of all triples by products of matrices."""

    products: Any = Products


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

    @property
    def enumeration(self) -> str:
        """Return how triples are visited: "all-triples" (tiles of atoms), "matrix" (products) or "direct"."""
        return {_InTiles: ALL_TRIPLES, _ByProducts: MATRIX}.get(type(self.function), DIRECT)

    @property
    def of_one_system(self) -> bool:
        """See `Term`."""
        return self.enumeration == MATRIX

    def seconds(self, n: int, backend: str) -> float:
        """See `Term`."""
        # With a cutoff the number of neighbours is limited.
        return 0.0 if self.cutoff < inf else n**3 / 2 / VISITS[backend]

    def check_structure(self, atoms: Atoms) -> None:
        """See `Term`."""
        if not atoms.pbc.any():
            check_triples(len(atoms))
        elif self.enumeration == MATRIX:
            raise SettingsError(
                f"{self.name}: enumeration {MATRIX} is for structures that are not periodic; use "
                f"{ALL_TRIPLES} with a cutoff, or pbc=False"
            )

    def strengths(self, species: Sequence[str]) -> Any:
        """(kinds, kinds, kinds) nu, eV angstrom^9, in the order of the species."""
        rows, n = self.table.values(species, self.name), len(species)
        return np.reshape([row["nu"] for row in rows], (n, n, n))

    def bind(self, species: Sequence[str]) -> list[Bound]:
        """A near list as long as the cutoff, or an empty one, with what evaluates the triples."""
        nu, n = self.strengths(species), len(species)
        reach = np.full((n, n), -1.0 if isinf(self.cutoff) else self.cutoff)
        terms, nothing = Terms(None, None, None, n, queued=True), np.zeros(1)
        product_cutoff = next(iter(self.table.rows.values()))["product_cutoff"]
        given = axilrod_teller, nu, self.cutoff, product_cutoff
        direct = isinf(self.cutoff) and self.enumeration == DIRECT
        evaluator: Any = partial(TriangleEvaluator, *given, tiles=None if direct else TRIPLET)
        if self.enumeration == MATRIX:
            evaluator = partial(MatrixEvaluator, *given)
        triples = Triples(axilrod_teller, nu, self.cutoff, product_cutoff, TRIPLET)
        reaches = reach, reach, reach
        return [
            Bound(terms, nothing, nothing, *reaches, self.name, evaluator=evaluator, span=1, triples=triples)
        ]

    @cached_property
    def code(self) -> Code:
        """What is computed with the parameters."""
        return code_of(self.function)

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
    enumeration: str = ALL_TRIPLES,
    name: str = "Axilrod-Teller",
    citation: str | None = CITATION,
    source: str | None = None,
) -> ForceField:
    """The triple-dipole dispersion energy of Axilrod and Teller.

        >>> from taichimd import AxilrodTeller, LennardJones
        >>> argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5) + AxilrodTeller(nu=45.69, cutoff=8.5)
        >>> argon.cutoff
        8.5

    The energy has no lower bound if three atoms in a row come close. Add this force field to a pair potential
    that is repulsive at short distances.

    Args:
        nu: eV angstrom^9, of all triples, or by element ("Ar" is ("Ar", "Ar", "Ar")) or triple of elements,
            in any order. The default is the value of argon.
        cutoff: angstrom; a triple counts if all three sides are below the cutoff. None: all triples count,
            and the structure must not be periodic.
        product_cutoff: angstrom; a triple counts if the product of its sides is below the cube of this
            length. None: no such condition.
        enumeration: without a cutoff: "all-triples": tiles of atoms; "direct": each atom visits its triples;
            "matrix": forces from products of matrices (on CUDA by PyTorch), whose rounding depends on the
            library. With a cutoff triples come from a neighbour list, except for "matrix".
        name: for reports.
        citation: publication of the formula or the parameters.
        source: file of the parameters.

    Returns:
        The force field.

    Raises:
        SettingsError: an invalid number, a triple that is given twice with different values, or a product
            cutoff without a cutoff.
    """
    if enumeration not in ENUMERATIONS:
        raise SettingsError(f"enumeration is '{enumeration}', expected {', '.join(ENUMERATIONS)}")
    if enumeration == MATRIX and product_cutoff is not None:
        raise SettingsError(f"{name}: enumeration {MATRIX} has no product_cutoff; use {ALL_TRIPLES}")
    limits = {
        "cutoff": _length("cutoff", cutoff),
        "product_cutoff": _length("product_cutoff", product_cutoff),
    }
    if cutoff is None and product_cutoff is not None:
        raise SettingsError(f"{name}: product_cutoff without a cutoff; also give the cutoff of the sides")
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
        QUEUED, _functions(enumeration, cutoff), TripleTable(3, COLUMNS, rows), name,
        citation=citation, source=source_of(source), units=UNITS,
    )  # fmt: skip
    return ForceField.of(name, term)


def _functions(enumeration: str, cutoff: float | None) -> _Functions:
    """What is computed."""
    if enumeration == MATRIX:
        return _ByProducts()
    if cutoff is not None:
        return _WithinCutoff()
    return _InTiles() if enumeration == ALL_TRIPLES else _Functions()


def check_triples(n: int) -> None:
    """Raise a StructureError for n atoms that make no triple."""
    if n < 3:
        raise StructureError(f"the structure has {n} atoms; a triple has three: give it more atoms")


def _length(what: str, value: float | None) -> float:
    """A positive length; infinity for None."""
    if value is None:
        return inf
    if not is_number(value) or not 0.0 < value <= LONGEST:
        raise SettingsError(
            f"Axilrod-Teller: {what} is {value!r} angstrom, expected a positive length, {LONGEST:g} or less, "
            "or None"
        )
    return float(value)


def _or_none(value: float) -> float | None:
    return None if isinf(value) else value
