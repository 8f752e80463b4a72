"""The public way to add a force field: decorate a function of one pair or one triplet.

    @pair_potential(params={"depth": "eV", "width": "1/Å", "r0": "Å"}, reference="P. M. Morse (1929)")
    def morse(r, p):
        x = exp(-p.width * (r - p.r0))
        u = p.depth * (x * x - 2.0 * x)
        du_dr = -2.0 * p.width * p.depth * (x * x - x)
        return u, du_dr

    forcefield = morse(depth=0.35, width=1.4, r0=2.8, cutoff=8.0)

The engine owns vectors, images, Newton's third law, virial, species and cutoffs; the author writes scalars.
With `derive=True` the function returns the energy alone and SymPy finds the derivatives. Take exp, log,
sqrt, sin, cos, power from `taichimd.math`: they give the same bits on every backend, and can be derived.

Taichi compiles the function: no early return, no string annotations, names from the module or literals.
"""

from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from pathlib import Path
from typing import Any

from taichimd.core.elements import is_symbol
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.code import label
from taichimd.forcefields.derive import VARIABLES, derived_function
from taichimd.forcefields.formats.text import shorten
from taichimd.forcefields.screening import NOWHERE
from taichimd.forcefields.source import check_attributes, check_function, expected_of
from taichimd.forcefields.table import ANY, Row, Table
from taichimd.forcefields.tabulated import Tabulated
from taichimd.forcefields.term import PAIR, TRIPLET, Term, source_of
from taichimd.forcefields.traced import traced
from taichimd.forcefields.truncate import TRUNCATIONS, WITH_INNER, check_truncation


class HasParameters:
    """What users declare, with units of parameters by name, but for the cutoff (Å), which all have."""

    params: dict[str, str]

    @property
    def units(self) -> dict[str, str]:
        """Unit of each parameter and of the cutoff, by name."""
        return {**self.params, "cutoff": "Å"}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the parameters and of the cutoff."""
        return tuple(self.units)

    @property
    def takes(self) -> str:
        """The parameters with their units, for messages."""
        return ", ".join(f"{name} ({unit})" for name, unit in self.units.items())


class Declared(HasParameters):
    """A tuple function with named parameters; called with values it gives a `ForceField`.

    Attributes:
        order: 2 for pairs, 3 for triplets.
        params: unit of each parameter by name; `cutoff` (Å) belongs to every potential besides.
        reference: where the formula comes from.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        order: int,
        params: Mapping[str, str],
        reference: str | None,
        derive: bool,
        tables: Mapping[str, str] | None = None,
    ) -> None:
        expected = expected_of(order, derive)
        check_function(function, expected)
        self.tables = check_tables(function.__name__, params, tables)
        if derive and self.tables:
            raise SettingsError(
                f"{function.__name__}: derive=True cannot differentiate a table; return the derivatives "
                "yourself: value, slope = p.name(r)"
            )
        params = {**params, **self.tables}
        check_attributes(function, expected, {"p": (*params, "cutoff")})
        self.name = function.__name__
        self.written_as = label(function)
        # Of a function that was typed in there is no file.
        file = Path(function.__code__.co_filename)
        self.source = source_of(file) if file.is_file() else None
        self.__doc__ = function.__doc__
        self.order = order
        self.params = dict(params)
        self.reference = reference
        compiled = (
            derived_function(function, VARIABLES[order], self.columns)
            if derive
            else traced(function, expected)
        )
        self.function = _in_squared_distance(compiled) if order == 2 else compiled
        # For `references`: what is derived or wrapped is of another module.
        self.function.declared_in = function.__globals__

    def __call__(
        self,
        *,
        table: Mapping[Any, Row] | None = None,
        cutoff: float | None = None,
        truncation: str = "truncated",
        mix: Callable[[Row, Row], Row] | None = None,
        enumeration: str = "neighbours",
        inner: float | None = None,
        on: str | Sequence[str] | None = None,
        **values: Any,
    ) -> ForceField:
        """A force field with these parameter values.

        Args:
            table: values by elements: ("Si", "C") for pairs, in either order; (centre, j, k) for triplets,
                where (i, j, k) and (i, k, j) are looked up separately and must describe one energy.
                Without a table the values given as keywords hold for all elements.
            cutoff: angstrom; the default of every row of the table.
            truncation: of a pair potential: truncated, energy-shifted, force-shifted, tapered or switched.
            mix: makes the row of an unlike pair from the rows of the like ones.
            enumeration: "neighbours", or "all-pairs" for a pair potential without lists.
            inner: where a tapered or switched end begins, angstrom.
            on: the pairs of elements that a pair potential acts on, as "Si-O" or ["Si-O", "O-O"]; other pairs
                do not interact. Without it all pairs need parameters.
            values: one keyword for each declared parameter.

        Raises:
            SettingsError: a parameter that is missing or unknown, or a value that is not finite.
        """
        rows = rows_of(self.name, self.params, self.order, table, cutoff, values, tuple(self.tables))
        end = check_truncation(truncation, (*TRUNCATIONS, *WITH_INNER))
        columns = self.columns
        if end in WITH_INNER:
            rows, columns = with_inner(self.name, rows, end, inner), (*columns, "inner")
        elif inner is not None:
            raise SettingsError(
                f"{self.name}: inner = {inner:g} is for truncation tapered or switched; truncation is '{end}'"
            )
        if on is not None:
            rows = _acting_on(self.name, rows, on, self.order, table)
        if self.order == 3 and end != "truncated":
            raise SettingsError(
                f"{self.name}: truncation is '{truncation}', but a triplet term is not shifted; leave it out"
            )
        term = Term(
            PAIR if self.order == 2 else TRIPLET,
            self.function,
            Table(self.order, columns, rows, mix, tuple(self.tables)),
            self.name,
            truncation=end if self.order == 2 else None,
            mixing=None if mix is None else label(mix),
            citation=self.reference,
            source=self.source,
            units=self.units,
            written_as=self.written_as,
        )
        return ForceField.of(self.name, term, enumeration=enumeration)


def with_inner(
    name: str, rows: Mapping[tuple[str, ...], Row], end: str, inner: float | None
) -> dict[tuple[str, ...], Row]:
    """Rows with the distance at which a tapered or switched end begins, between 0 and the cutoff."""
    found: dict[tuple[str, ...], Row] = {}
    for key, row in rows.items():
        value = row.get("inner", inner)
        if value is None or not 0.0 < float(value) < row.get("cutoff", 0.0):
            raise SettingsError(
                f"{name}: inner is {value}, expected a distance between 0 and the cutoff at which the {end} "
                "end begins"
            )
        found[key] = {**row, "inner": float(value)}
    return found


def off(row: Row) -> Row:
    """The row of pairs that do not interact."""
    nowhere = {"cutoff": NOWHERE, **({"inner": 0.5 * NOWHERE} if "inner" in row else {})}
    return {**row, **nowhere}


def _acting_on(
    name: str, rows: Mapping[tuple[str, ...], Row], on: Any, order: int, table: Any
) -> dict[tuple[str, ...], Row]:
    """Rows of some pairs, which have the values of all."""
    if order != 2 or table is not None:
        raise SettingsError(
            f"{name}: on = {on!r} is for a pair potential with one set of values; with a table give the rows "
            "of the pairs"
        )
    (row,) = rows.values()
    found: dict[tuple[str, ...], Row] = {(ANY, ANY): off(row)}
    pairs = [on] if isinstance(on, str) or not isinstance(on, Sequence) else on
    if not pairs:
        raise SettingsError(f"{name}: on = {on!r}, expected one pair or more, as 'Si-O'")
    for pair in pairs:
        elements = tuple(str(pair).split("-"))
        if len(elements) != 2 or not all(map(is_symbol, elements)):
            raise SettingsError(f"{name}: on = {pair!r}, expected two chemical symbols, as 'Si-O'")
        found[elements] = row
    return found


def rows_of(
    name: str,
    params: Mapping[str, str],
    order: int,
    table: Mapping[Any, Row] | None,
    cutoff: float | None,
    values: Mapping[str, Any],
    tables: Sequence[str] = (),
) -> dict[tuple[str, ...], Row]:
    """Rows of parameters by elements, from a table and values that all rows have.

    `order`: elements of a key; `cutoff`: of all rows that give none; `tables`: parameters that are curves.
    SettingsError: a parameter that is unknown, a key of another length.
    """
    if unknown := set(values) - set(params):
        takes = ", ".join(f"{k} ({u})" for k, u in params.items())
        raise SettingsError(f"{name}: unknown parameter '{sorted(unknown)[0]}', it takes {takes}, cutoff (Å)")
    if table is not None and not isinstance(table, Mapping):
        raise SettingsError(
            f"{name}: table is of type {type(table).__name__}, expected values by elements, as "
            '{("Si", "C"): {"cutoff": 3.0}}'
        )
    common = {**({} if cutoff is None else {"cutoff": cutoff}), **values}
    rows: dict[tuple[str, ...], Row] = {}
    for key, row in (table or {(ANY,) * order: {}}).items():
        elements = (key,) * order if isinstance(key, str) else tuple(key)
        if len(elements) != order:
            raise SettingsError(f"{name}: table key {key} has {len(elements)} elements, not {order}")
        if not isinstance(row, Mapping):
            raise SettingsError(
                f"{name}: row {key} of the table is {row!r}, expected values by name, as {{'cutoff': 3.0}}"
            )
        rows[elements] = {
            column: (_curve if column in tables else _number)(name, column, value)
            for column, value in {**common, **row}.items()
        }
    return rows


def _curve(name: str, column: str, value: Any) -> Tabulated:
    if not isinstance(value, Tabulated):
        raise SettingsError(
            f"{name}: {column} = {shorten(str(value))}, expected a curve, as taichimd.table('{column}', r, "
            "values) makes it"
        )
    return value


def check_tables(name: str, params: Mapping[str, str], tables: Mapping[str, str] | None) -> dict[str, str]:
    """The curves; a SettingsError for declared parameters and curves that are no names with units."""
    check_params(name, params)
    given = {} if tables is None else tables
    check_params(name, given)
    if twice := [one for one in given if one in params]:
        raise SettingsError(f"{name}: '{twice[0]}' is a parameter and a table; give it one name")
    return dict(given)


def _number(name: str, column: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(f"{name}: {column} = {shorten(str(value))}, expected a number") from None


def check_params(name: str, params: Any) -> None:
    """Raise a SettingsError for declared parameters that are no names with units."""
    if not isinstance(params, Mapping):
        raise SettingsError(
            f"{name}: params is of type {type(params).__name__}, expected the unit of each parameter by "
            'name, as {"k": "eV"}'
        )
    for key in params:
        if not (isinstance(key, str) and key.isidentifier() and not iskeyword(key)):
            raise SettingsError(
                f"{name}: parameter {key!r} is not a name that Python can read as an attribute"
            )
    if "cutoff" in params:
        raise SettingsError(f"{name}: 'cutoff' is added by itself; leave it out of params")


def _in_squared_distance(function: Any) -> Any:
    """(r2, p) -> (u, u'/r), the form that the enumerations use, from (r, p) -> (u, u')."""

    @ti.func
    def pair(r2, p):
        r = ti.sqrt(r2)
        u, du_dr = function(r, p)
        return u, du_dr / r

    return pair


Decorator = Callable[[Callable[..., Any]], Declared]


def pair_potential(
    *,
    params: Mapping[str, str],
    tables: Mapping[str, str] | None = None,
    reference: str | None = None,
    derive: bool = False,
) -> Decorator:
    """Declare u(r, p) of a pair at distance r (angstrom), 0 < r < p.cutoff.

        >>> from taichimd import pair_potential
        >>> @pair_potential(params={"k": "eV/Å^2"})
        ... def spring(r, p):
        ...     return 0.5 * p.k * (r - p.cutoff) ** 2, p.k * (r - p.cutoff)
        >>> soft = spring(k=0.5, cutoff=3.0)
        >>> soft.cutoff
        3.0

    Args:
        params: unit of each parameter by name, e.g. {"epsilon": "eV"}; read as attributes of p.
        tables: unit of each parameter that is a curve (`taichimd.table`); `p.name(r)` is its value and slope.
        reference: citation of the formula.
        derive: True: the function returns u alone (eV), and taichimd derives du/dr. False: the function
            returns u and du/dr (eV/angstrom).

    Returns:
        A decorator. The decorated function, called with parameters and `cutoff`, returns a force field.
    """
    return lambda function: Declared(function, 2, params, reference, derive, tables)


def triplet_potential(
    *,
    params: Mapping[str, str],
    tables: Mapping[str, str] | None = None,
    reference: str | None = None,
    derive: bool = False,
) -> Decorator:
    """Declare h(r_ij, r_ik, cos_jik, p), called once per atom i and unordered pair of its neighbours {j, k}.

    r_ij is below the cutoff of the row (i, j, k), and r_ik is below the cutoff of (i, k, j). The function
    must be symmetric in its two neighbours and must go to zero at both cutoffs; `check_forcefield` tests it.

        >>> from taichimd import triplet_potential
        >>> @triplet_potential(params={"k": "eV"})
        ... def bend(r_ij, r_ik, cos, p):
        ...     end = (p.cutoff - r_ij) * (p.cutoff - r_ik)
        ...     h = p.k * (cos + 1.0 / 3.0) ** 2
        ...     slope = 2.0 * p.k * (cos + 1.0 / 3.0)
        ...     return h * end, -h * (p.cutoff - r_ik), -h * (p.cutoff - r_ij), slope * end
        >>> stiff = bend(k=0.1, cutoff=3.0)
        >>> stiff.cutoff
        3.0

    Args:
        params: unit of each parameter by name.
        tables: unit of each parameter that is a curve (`taichimd.table`); `p.name(r)` is its value and slope.
        reference: citation of the formula.
        derive: True: the function returns h alone (eV), and taichimd derives the rest. False: the function
            returns h, dh/dr_ij, dh/dr_ik (eV/angstrom) and dh/dcos (eV).

    Returns:
        A decorator. The decorated function, called with parameters and `cutoff`, returns a force field.
    """
    return lambda function: Declared(function, 3, params, reference, derive, tables)
