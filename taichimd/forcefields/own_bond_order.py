"""The public way to add a bond-order potential: three small functions.

    U = 1/2 sum_i sum_{j != i} bond(r_ij, f(r_ij), zeta_ij; p_ijj)
    zeta_ij = sum_{k != i,j} f(r_ik; p_ijk) z(r_ij, r_ik, cos theta_jik; p_ijk)

f is the cutoff function, which is 0 from p.cutoff on.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti
from taichimd.enumerate.terms import BondOrder
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.code import label
from taichimd.forcefields.declare import HasParameters, check_tables, rows_of
from taichimd.forcefields.derive import derived_function
from taichimd.forcefields.source import Expected, check_attributes, check_function
from taichimd.forcefields.table import Row, Table
from taichimd.forcefields.term import BOND_ORDER, Term, source_of
from taichimd.forcefields.traced import traced

Function = Callable[..., Any]
_CUTOFF = Expected(("r", "p"), ("f", "df/dr"))
_ZETA = ("r_ij", "r_ik", "cos_jik")
_BOND = ("r", "f", "zeta")
_BY_HAND = {
    "zeta": Expected(
        (*_ZETA, "p"), ("z", "dz/dr_ij", "dz/dr_ik", "dz/dcos"), hint="or z alone with derive=True"
    ),
    "bond": Expected(
        ("r", "f", "df", "zeta", "p"), ("u", "du/dr", "du/dzeta"), hint="or f(r, f, zeta, p) with derive=True"
    ),
}
_ALONE = {
    "zeta": Expected((*_ZETA, "p"), ("z",), derived=True),
    "bond": Expected((*_BOND, "p"), ("u",), derived=True),
}


class BondOrderPotential(HasParameters):
    """A bond-order term with named parameters (`bond_order`); called with values it gives a `ForceField`."""

    def __init__(
        self,
        name: str,
        cutoff: Function,
        zeta: Function,
        bond: Function,
        params: Mapping[str, str],
        reference: str | None,
        derive: bool,
        tables: Mapping[str, str] | None = None,
    ) -> None:
        self.tables = check_tables(name, params, tables)
        if derive and self.tables:
            raise SettingsError(
                f"{name}: derive=True cannot differentiate a table; return the derivatives yourself: value, "
                "slope = p.name(r)"
            )
        self.name, self.params, self.reference = name, {**params, **self.tables}, reference
        expected = {"cutoff": _CUTOFF, **(_ALONE if derive else _BY_HAND)}
        given = {"cutoff": cutoff, "zeta": zeta, "bond": bond}
        for part, function in given.items():
            check_function(function, expected[part])
            check_attributes(function, expected[part], {"p": self.columns})
        weight = traced(cutoff, _CUTOFF)
        if derive:
            of_zeta = derived_function(zeta, _ZETA, self.columns)
            of_bond = _with_cutoff(derived_function(bond, _BOND, self.columns))
        else:
            of_zeta, of_bond = traced(zeta, _BY_HAND["zeta"]), traced(bond, _BY_HAND["bond"])
        for function in (weight, of_zeta, of_bond):
            # For `references`: what is derived or wrapped is of another module.
            function.declared_in = cutoff.__globals__  # type: ignore[attr-defined]
        self.function = BondOrder(weight, of_zeta, of_bond)
        self.written_as = ", ".join(map(label, given.values()))
        file = Path(cutoff.__code__.co_filename)  # type: ignore[attr-defined]
        self.source = source_of(file) if file.is_file() else None

    def __call__(
        self, *, table: Mapping[Any, Row] | None = None, cutoff: float | None = None, **values: Any
    ) -> ForceField:
        """A force field with these parameter values.

        Args:
            table: values by elements: (centre, bond partner, third body). The bond takes those of (i, j, j).
            cutoff: angstrom; the default of every row of the table.
            values: one keyword for each declared parameter.

        Raises:
            SettingsError: a parameter that is missing or unknown, or a value that is not finite.
        """
        rows = rows_of(self.name, self.params, 3, table, cutoff, values, tuple(self.tables))
        term = Term(
            BOND_ORDER,
            self.function,
            Table(3, self.columns, rows, None, tuple(self.tables)),
            self.name,
            citation=self.reference,
            source=self.source,
            units=self.units,
            written_as=self.written_as,
        )
        return ForceField.of(self.name, term)


def _with_cutoff(derived: Any) -> Any:
    """(r, f, df, zeta, p) -> (u, du/dr, du/dzeta) from u and its derivatives to r, f and zeta."""

    @ti.func
    def bond(r, f, df, zeta, p):
        u, u_r, u_f, u_zeta = derived(r, f, zeta, p)
        return u, u_r + u_f * df, u_zeta

    return bond


def bond_order(
    name: str,
    *,
    cutoff: Function,
    zeta: Function,
    bond: Function,
    params: Mapping[str, str],
    reference: str | None = None,
    derive: bool = False,
    tables: Mapping[str, str] | None = None,
) -> BondOrderPotential:
    """Declare U = 1/2 sum over bonds of bond(r_ij, f(r_ij), zeta_ij), zeta_ij = sum over k of f(r_ik) z.

        >>> from taichimd import bond_order
        >>> def cutoff(r, p):
        ...     return (1.0 - r / p.cutoff) ** 2, -2.0 * (1.0 - r / p.cutoff) / p.cutoff
        >>> def angle(r_ij, r_ik, cos_jik, p):
        ...     return (1.0 + cos_jik) ** 2
        >>> def bond(r, f, zeta, p):
        ...     return -p.k * f / (1.0 + zeta)
        >>> own = bond_order("own", cutoff=cutoff, zeta=angle, bond=bond, params={"k": "eV"}, derive=True)
        >>> own(k=1.0, cutoff=3.0).cutoff
        3.0

    Args:
        name: for reports and messages.
        cutoff: `f(r, p)`, which returns f and df/dr and is 0 from p.cutoff on; such as
            `taichimd.math.smooth_cutoff`.
        zeta: `z(r_ij, r_ik, cos_jik, p)`, which returns z and its derivatives with respect to r_ij, r_ik and
            cos_jik.
        bond: `bond(r, f, df, zeta, p)`, which returns the energy of the bond seen from i (eV), its total
            derivative with respect to r (df is df/dr) and its derivative with respect to zeta. zeta may be 0.
        params: unit of each parameter by name; every potential also has `cutoff` (angstrom).
        reference: citation of the formula.
        derive: True: `zeta` returns z alone, and `bond(r, f, zeta, p)` the energy alone; SymPy derives them.
        tables: unit of each parameter that is a curve (`taichimd.table`); `p.name(r)` is its value and slope.

    Returns:
        A term. Called with values for the parameters, it returns a force field.

    Raises:
        SettingsError: a function that cannot be compiled or derived, with file and line.
    """
    if not isinstance(name, str):
        raise SettingsError(
            "bond_order begins with a name, as bond_order('mine', cutoff=..., zeta=..., bond=...)"
        )
    return BondOrderPotential(name, cutoff, zeta, bond, params, reference, derive, tables)
