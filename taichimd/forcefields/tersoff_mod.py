"""The modified Tersoff potential: `.tersoff.mod` and `.tersoff.modc` files.

    U = 1/2 sum_i sum_{j != i} f_C(r_ij) [A exp(-lambda1 r_ij) - b_ij B exp(-lambda2 r_ij) + c0]
    b_ij = (1 + zeta_ij^eta)^(-1/(2n))
    zeta_ij = sum_{k != i,j} f_C(r_ik) g(theta_ijk) exp[(alpha (r_ij - r_ik))^beta]
    g = c1 + c2 s^2/(c3 + s^2) (1 + c4 exp(-c5 s^2)),   s = cos theta - h
    f_C(r) = 1 below R - D, 0 above R + D, 1/2 - 9/16 sin x - 1/16 sin 3x between, x = pi/2 (r - R)/D.

T. Kumagai, S. Izumi, S. Hara, S. Sakai, Comput. Mater. Sci. 39, 457 (2007),
doi:10.1016/j.commatsci.2006.07.013; c0: G. P. Purja Pun, Y. Mishin, Phys. Rev. B 95, 224103 (2017),
doi:10.1103/PhysRevB.95.224103. For beta = 3, alpha stands inside the power, as in LAMMPS.

f_C has three vanishing derivatives at R - D and at R + D.
"""

from pathlib import Path

from taichimd.core.math import cos, exp, power, sin
from taichimd.core.runtime import literal_type, ti
from taichimd.enumerate.terms import BondOrder
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.tersoff_mod import read_tersoff_mod, read_tersoff_modc
from taichimd.forcefields.table import Key, Row, Table
from taichimd.forcefields.term import BOND_ORDER, Term, about

COLUMNS = (
    "beta", "alpha", "h", "eta", "lambda2", "B", "R", "D", "lambda1", "A", "c0", "c1", "c2", "c3", "c4", "c5",
    "cutoff", "half_over_n",
)  # fmt: skip
UNITS = {
    "alpha": "1/Å", "lambda2": "1/Å", "B": "eV", "R": "Å", "D": "Å", "lambda1": "1/Å", "A": "eV", "c0": "eV",
    "cutoff": "Å",
}  # fmt: skip
HALF_PI = 1.5707963267948966


@ti.func
def cutoff_function(r, p: ti.template()):
    """f_C and its derivative at r < R + D."""
    f, df = 1.0, 0.0
    if r > p.R - p.D:
        x = HALF_PI * (r - p.R) / p.D
        # 9/16 sin x + 1/16 sin 3x = 3/4 s - 1/4 s^3, and its derivative is 3/4 cos^3 x.
        s, c = sin(x), cos(x)
        f = 0.5 - s * (0.75 - 0.25 * (s * s))
        df = -0.75 * HALF_PI / p.D * (c * c * c)
    return f, df


@ti.func
def zeta(r_ij, r_ik, cos_jik, p: ti.template()):
    """One term of zeta_ij but for f_C(r_ik), and its derivatives to r_ij, r_ik, cos."""
    s = cos_jik - p.h
    s2 = s * s
    inverse = 1.0 / (p.c3 + s2)
    e = p.c4 * exp(-p.c5 * s2)
    g = p.c1 + p.c2 * (s2 * inverse) * (1.0 + e)
    dg = 2.0 * p.c2 * s * inverse * (p.c3 * (1.0 + e) * inverse - p.c5 * e * s2)
    x = p.alpha * (r_ij - r_ik)
    cubic = p.beta > 2.0
    slope = p.alpha * ti.select(cubic, 3.0 * x * x, 1.0)
    weight = exp(ti.select(cubic, x * x * x, x))
    z = g * weight
    return z, z * slope, -(z * slope), dg * weight


@ti.func
def bond(r, f, df, zeta, p: ti.template()):
    """Energy of the bond i-j seen from i, and its derivatives to r and zeta; f is f_C(r)."""
    repulsion = p.A * exp(-p.lambda1 * r)
    attraction = p.B * exp(-p.lambda2 * r)
    # An empty sum has b = 1; choices rather than branches, as in `taichimd.core.math`.
    some = zeta > 0.0
    z = ti.select(some, zeta, 1.0)
    x = ti.select(some, power(z, p.eta), 0.0)
    b = power(1.0 + x, -p.half_over_n)
    exponent = p.eta * p.half_over_n
    db = -exponent * b * x / (z * (1.0 + x))
    if ti.static(literal_type() == ti.f32):
        # Where the power leaves the range of numbers, b is zeta^(-eta/(2n)) long since.
        many = x > 1e30
        b = ti.select(many, power(z, -exponent), b)
        db = ti.select(many, -exponent * b / z, db)
    else:
        # Where it leaves the range of float64, b is as good as 0.
        db = ti.select(x < 1e300, db, 0.0)
    v = repulsion - b * attraction + p.c0
    u = f * v
    du = df * v + f * (b * p.lambda2 * attraction - p.lambda1 * repulsion)
    return u, du, -f * attraction * db


FUNCTIONS = BondOrder(cutoff_function, zeta, bond)


def TersoffMod(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """A modified Tersoff force field from a `.tersoff.mod` or `.tersoff.modc` file."""
    path = library.find(file)
    with_c0 = library.kind_of(path) == "tersoff/mod/c"
    parsed = (read_tersoff_modc if with_c0 else read_tersoff_mod)(path)
    rows: dict[Key, Row] = {}
    for key, entry in parsed.entries.items():
        names = [name for name in COLUMNS if hasattr(entry, name)]
        rows[key] = {
            **{name: float(getattr(entry, name)) for name in names},
            # Entries with j != k say nothing of the bond; their n is often 0.
            "half_over_n": 0.5 / entry.n if entry.n else 0.0,
        }
    units = {name: UNITS.get(name, "1") for name in COLUMNS}
    term = Term(BOND_ORDER, FUNCTIONS, Table(3, COLUMNS, rows), units=units, **about(parsed))
    return ForceField.of(parsed.path.name, term)
