"""Tersoff's potential with the ZBL repulsion of close atoms: `.tersoff.zbl` files.

    V_ij = (1 - f_F) V_Z + f_F V_Tersoff,   f_F(r) = 1/(1 + exp(-A_F (r - r_C)))
    V_Z = K Z_i Z_j/r phi(r/a),   a = 0.8854 * 0.529/(Z_i^0.23 + Z_j^0.23)
    phi(x) = 0.1818 e^(-3.2 x) + 0.5099 e^(-0.9423 x) + 0.2802 e^(-0.4029 x) + 0.02817 e^(-0.2016 x)

R. Devanathan, T. Diaz de la Rubia, W. J. Weber, J. Nucl. Mater. 253, 47 (1998),
doi:10.1016/S0022-3115(97)00304-8. V_Tersoff is the bond energy of `tersoff`. The constants are those of
LAMMPS's tersoff/zbl; its pair style zbl has slightly different ones. V_Z ends with the bond, at R + D.
"""

from math import pi
from pathlib import Path

from taichimd.core.math import exp
from taichimd.core.runtime import ti
from taichimd.enumerate.terms import BondOrder
from taichimd.forcefields import library, tersoff
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.tersoff_zbl import read_tersoff_zbl
from taichimd.forcefields.table import Key, Row, Table
from taichimd.forcefields.term import BOND_ORDER, Term, about

COULOMB = 1.0 / (4.0 * pi * 0.00552635)
"""e^2/(4 pi epsilon_0), eV angstrom."""
COLUMNS = (*tersoff.COLUMNS, "charges", "inverse_a", "r_c", "a_f")
UNITS = {**tersoff.UNITS, "charges": "eV Å", "inverse_a": "1/Å", "r_c": "Å", "a_f": "1/Å"}
FARTHEST = 80.0
"""exp of it is a number of float32; where f_F is exp(-80), V_Tersoff counts for nothing."""


@ti.func
def repulsion(r, p: ti.template()):
    """V_Z and its derivative."""
    x = r * p.inverse_a
    e1 = 0.1818 * exp(-3.2 * x)
    e2 = 0.5099 * exp(-0.9423 * x)
    e3 = 0.2802 * exp(-0.4029 * x)
    e4 = 0.02817 * exp(-0.2016 * x)
    phi = e1 + e2 + e3 + e4
    slope = -(3.2 * e1 + 0.9423 * e2 + 0.4029 * e3 + 0.2016 * e4) * p.inverse_a
    inverse = 1.0 / r
    v = p.charges * inverse * phi
    return v, p.charges * inverse * slope - v * inverse


@ti.func
def bond(r, f, df, zeta, p: ti.template()):
    """Energy of the bond i-j seen from i, and its derivatives to r and zeta; f is f_C(r)."""
    u, du, du_dzeta = tersoff.bond(r, f, df, zeta, p)
    v, dv = repulsion(r, p)
    e = exp(ti.min(-p.a_f * (r - p.r_c), FARTHEST))
    fermi = 1.0 / (1.0 + e)
    rest = e * fermi
    dfermi = p.a_f * (fermi * rest)
    return rest * v + fermi * u, rest * dv + fermi * du + dfermi * (u - v), fermi * du_dzeta


FUNCTIONS = {
    flag: BondOrder(of_tersoff.weight, of_tersoff.zeta, bond)
    for flag, of_tersoff in tersoff.FUNCTIONS.items()
}


def TersoffZBL(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """A Tersoff force field with ZBL repulsion from a `.tersoff.zbl` file."""
    parsed = read_tersoff_zbl(library.find(file))
    rows: dict[Key, Row] = {}
    for key, entry in parsed.entries.items():
        rows[key] = {
            **tersoff.row_of(entry),
            "charges": COULOMB * entry.Z_i * entry.Z_j,
            "inverse_a": (entry.Z_i**0.23 + entry.Z_j**0.23) / (0.8854 * 0.529),
            "r_c": entry.ZBLcut,
            "a_f": entry.ZBLexpscale,
        }
    with_lambda3 = any(row["lambda3"] != 0.0 for row in rows.values())
    units = {name: UNITS.get(name, "1") for name in COLUMNS}
    term = Term(BOND_ORDER, FUNCTIONS[with_lambda3], Table(3, COLUMNS, rows), units=units, **about(parsed))
    return ForceField.of(parsed.path.name, term)
