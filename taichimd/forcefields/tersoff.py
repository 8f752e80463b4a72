"""Tersoff's bond-order potential, in the generality of the `.tersoff` files.

    U = 1/2 sum_i sum_{j != i} f_C(r_ij) [A exp(-lambda1 r_ij) - b_ij B exp(-lambda2 r_ij)]
    b_ij = (1 + (beta zeta_ij)^n)^(-1/(2n))
    zeta_ij = sum_{k != i,j} f_C(r_ik) g(theta_ijk) exp[(lambda3 (r_ij - r_ik))^m]
    g(theta) = gamma (1 + c^2/d^2 - c^2/(d^2 + (cos theta - cos theta0)^2))
    f_C(r) = 1 below R - D, 0 above R + D, 1/2 - 1/2 sin(pi/2 (r - R)/D) between.

J. Tersoff, Phys. Rev. B 37, 6991 (1988), doi:10.1103/PhysRevB.37.6991; multi-element form Phys. Rev. B 39,
5566 (1989), doi:10.1103/PhysRevB.39.5566; m, gamma as in Nord et al., J. Phys.: Condens. Matter 15, 5649
(2003).

An entry (i, j, k) of a file is for centre i, bond i-j, third body k. f_C(r_ik), g and lambda3, m are taken
from (i, j, k); everything of the bond itself from (i, j, j).
"""

from pathlib import Path

from taichimd.core.math import cos, exp, power, sin
from taichimd.core.runtime import literal_type, ti
from taichimd.enumerate.terms import BondOrder
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.tersoff import TersoffEntry, read_tersoff
from taichimd.forcefields.table import Key, Row, Table
from taichimd.forcefields.term import BOND_ORDER, Term, about

COLUMNS = (
    "m", "gamma", "lambda3", "costheta0", "n", "beta", "lambda2", "B", "R", "D", "lambda1", "A", "cutoff",
    "d2", "c2_over_d2", "half_over_n",
)  # fmt: skip
UNITS = {
    "lambda3": "1/Å", "lambda2": "1/Å", "B": "eV", "R": "Å", "D": "Å", "lambda1": "1/Å", "A": "eV",
    "cutoff": "Å",
}  # fmt: skip
HALF_PI = 1.5707963267948966


@ti.func
def cutoff_function(r, p: ti.template()):
    """f_C and its derivative at r < R + D."""
    f, df = 1.0, 0.0
    if r > p.R - p.D:
        x = HALF_PI * (r - p.R) / p.D
        f = 0.5 - 0.5 * sin(x)
        df = -0.5 * HALF_PI / p.D * cos(x)
    return f, df


def make_zeta(with_lambda3: bool):
    """The third-body function; without lambda3 it needs no exponential."""

    @ti.func
    def zeta(r_ij, r_ik, cos_jik, p: ti.template()):
        """One term of zeta_ij but for f_C(r_ik), and its derivatives to r_ij, r_ik, cos."""
        # g = gamma (1 + c^2/d^2 h^2/(d^2 + h^2)): the same g with one division and no cancellation.
        h = cos_jik - p.costheta0
        inverse = 1.0 / (p.d2 + h * h)
        ratio = p.gamma * p.c2_over_d2
        g = p.gamma + ratio * (h * h * inverse)
        dg = 2.0 * ratio * p.d2 * h * (inverse * inverse)
        z, dz_dij, dz_dik, dz_dcos = g, 0.0, 0.0, dg
        if ti.static(with_lambda3):
            x = p.lambda3 * (r_ij - r_ik)
            cubic = p.m > 2.0
            slope = p.lambda3 * ti.select(cubic, 3.0 * x * x, 1.0)
            e = exp(ti.select(cubic, x * x * x, x))
            z = g * e
            dz_dij = z * slope
            dz_dik = -dz_dij
            dz_dcos = dg * e
        return z, dz_dij, dz_dik, dz_dcos

    return zeta


@ti.func
def bond(r, f, df, zeta, p: ti.template()):
    """Energy of the bond i-j seen from i, and its derivatives to r and zeta; f is f_C(r)."""
    repulsion = p.A * exp(-p.lambda1 * r)
    attraction = p.B * exp(-p.lambda2 * r)
    # An empty sum has b = 1; choices rather than branches, as in `taichimd.core.math`.
    some = zeta > 0.0
    z = ti.select(some, zeta, 1.0)
    x = ti.select(some, power(p.beta * z, p.n), 0.0)
    b = power(1.0 + x, -p.half_over_n)
    db = -0.5 * b * x / (z * (1.0 + x))
    if ti.static(literal_type() == ti.f32):
        # n may be 23: where the power leaves the range of numbers, b is 1/sqrt(beta zeta) long since.
        many = x > 1e30
        b = ti.select(many, 1.0 / ti.sqrt(p.beta * z), b)
        db = ti.select(many, -0.5 * b / z, db)
    else:
        # Where it leaves those of float64, b is as good as 0.
        db = ti.select(x < 1e300, db, 0.0)
    u = f * (repulsion - b * attraction)
    du = df * (repulsion - b * attraction)
    du += f * (b * p.lambda2 * attraction - p.lambda1 * repulsion)
    return u, du, -f * attraction * db


def row_of(entry: TersoffEntry) -> dict[str, float]:
    """The row of an entry of a file."""
    names = [name for name in COLUMNS if hasattr(entry, name)]
    return {
        **{name: float(getattr(entry, name)) for name in names},
        "d2": entry.d**2,
        "c2_over_d2": entry.c**2 / entry.d**2,
        # Entries with j != k say nothing of the bond; their n is often 0.
        "half_over_n": 0.5 / entry.n if entry.n else 0.0,
    }


FUNCTIONS = {flag: BondOrder(cutoff_function, make_zeta(flag), bond) for flag in (False, True)}


def Tersoff(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """A Tersoff force field from a `.tersoff` file (a path, or the name of a shipped file).

        >>> from taichimd import Tersoff
        >>> Tersoff("SiC_1989.tersoff").elements
        ('C', 'Si')

    Returns:
        The force field.

    Raises:
        ParameterFileError: the file cannot be found or read; the message names line and field.
    """
    parsed = read_tersoff(library.find(file))
    rows: dict[Key, Row] = {key: row_of(entry) for key, entry in parsed.entries.items()}
    with_lambda3 = any(row["lambda3"] != 0.0 for row in rows.values())
    term = Term(
        BOND_ORDER,
        FUNCTIONS[with_lambda3],
        Table(3, COLUMNS, rows),
        units={name: UNITS.get(name, "1") for name in COLUMNS},
        **about(parsed),
    )
    return ForceField.of(parsed.path.name, term)
