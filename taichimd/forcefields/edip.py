"""The environment-dependent interatomic potential (EDIP): `.edip` files of one element or several.

    U = sum_i [sum_j phi2(r_ij, Z_i) + sum_{j < k} phi3(r_ij, r_ik, theta_jik, Z_i)],   Z_i = sum_j f(r_ij)
    f = 1 below c, exp[alpha x^3/(x^3 - 1)] between c and a, 0 above a;   x = (r - c)/(a - c)
    phi2 = A [(B/r)^rho - exp(-beta Z^2)] exp[sigma/(r - a)]
    phi3 = exp[gamma/(r_ij - a) + gamma/(r_ik - a)] h(cos theta, Z)
    h = lambda [1 - exp(-T) + eta T],   T = Q0 exp(-mu Z) [cos theta + tau(Z)]^2
    tau = u1 + u2 [u3 exp(-u4 Z) - exp(-2 u4 Z)]

The sum over j is over all neighbours, without 1/2.

J. F. Justo, M. Z. Bazant, E. Kaxiras, V. V. Bulatov, S. Yip, Phys. Rev. B 58, 2539 (1998),
doi:10.1103/PhysRevB.58.2539; several elements: C. Jiang, D. Morgan, I. Szlufarska, Phys. Rev. B 86,
144118 (2012), doi:10.1103/PhysRevB.86.144118, as in the LAMMPS manual, page pair_style edip.

A, B, c, a, alpha, beta, sigma, rho and gamma of the pair i-j are those of the entry (i, j, j); eta, lambda,
mu, Q0 and u1 to u4 of an angle are those of (i, j, k). The entries (i, j, j) and (j, i, i) may differ,
because each belongs to the energy of its own centre.
"""

from math import log
from pathlib import Path

from taichimd.core.math import exp, power
from taichimd.core.runtime import ti
from taichimd.enumerate.terms import Coordination
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.edip import ANGLE_FIELDS, PAIR_FIELDS, EdipEntry, read_edip
from taichimd.forcefields.screening import GAP, NEGLIGIBLE, agree, mean_of_angle
from taichimd.forcefields.table import Key, Row, Table
from taichimd.forcefields.term import COORDINATION, Term, about

_RENAMED = {"cutoffA": "end", "cutoffC": "inner", "lambda": "lam"}
COLUMNS = (*(_RENAMED.get(name, name) for name in (*PAIR_FIELDS, *ANGLE_FIELDS)), "cutoff")
UNITS = {
    "A": "eV",
    "B": "Å",
    "end": "Å",
    "inner": "Å",
    "gamma": "Å",
    "sigma": "Å",
    "lam": "eV",
    "cutoff": "Å",
}


@ti.func
def coordinate(r, p: ti.template()):
    """What a neighbour adds to Z and its derivative, r < a."""
    f, df = 1.0, 0.0
    if r > p.inner:
        inverse = 1.0 / (p.end - p.inner)
        x = (r - p.inner) * inverse
        x2 = x * x
        gap = 1.0 / (x2 * x - 1.0)
        f = exp(p.alpha * x2 * x * gap)
        df = -3.0 * p.alpha * f * (x2 * (gap * gap) * inverse)
    return f, df


@ti.func
def pair(r, z, p: ti.template()):
    """phi2 and its derivatives to r and Z, r < a."""
    gap, inverse = 1.0 / (r - p.end), 1.0 / r
    q = power(p.B * inverse, p.rho)
    e = exp(-p.beta * (z * z))
    w = p.A * exp(p.sigma * gap)
    u = w * (q - e)
    return u, -w * p.rho * q * inverse - u * p.sigma * (gap * gap), 2.0 * p.beta * z * w * e


@ti.func
def weight(r, p: ti.template()):
    """exp[gamma/(r - a)] and its derivative, r < a."""
    gap = 1.0 / (r - p.end)
    w = exp(p.gamma * gap)
    return w, -w * p.gamma * (gap * gap)


@ti.func
def of_coordination(z, p: ti.template()):
    """Q, tau and dtau/dZ of a coordination number."""
    e = exp(-p.u4 * z)
    tau = p.u1 + p.u2 * e * (p.u3 - e)
    return ti.Vector([p.Q0 * exp(-p.mu * z), tau, p.u2 * p.u4 * e * (2.0 * e - p.u3)])


@ti.func
def angle(cosine, numbers, p: ti.template()):
    """The angular function h and its derivatives to the cosine and Z."""
    q, tau, dtau = numbers[0], numbers[1], numbers[2]
    x = cosine + tau
    t = q * x * x
    e = exp(-t)
    factor = p.lam * (e + p.eta)
    h = p.lam * (1.0 - e + p.eta * t)
    return h, 2.0 * factor * q * x, factor * (2.0 * q * x * dtau - p.mu * t)


FUNCTIONS = Coordination(coordinate, pair, weight, of_coordination, angle)


def Edip(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """An environment-dependent force field from an `.edip` file."""
    parsed = read_edip(library.find(file))
    rows: dict[Key, Row] = {}
    for (i, j, k), entry in parsed.entries.items():
        # An entry without its pair is never used: a structure of i, j, k is told that the pair is missing.
        side = parsed.entries.get((i, j, j), entry)
        rows[i, j, k] = {
            **{_RENAMED.get(name, name): side.numbers[name] for name in PAIR_FIELDS},
            **mean_of_angle(parsed, (i, j, k), _angle_row, agree),
            "cutoff": _cutoff(side),
        }
    units = {name: UNITS.get(name, "1") for name in COLUMNS}
    term = Term(COORDINATION, FUNCTIONS, Table(3, COLUMNS, rows), units=units, **about(parsed))
    return ForceField.of(parsed.path.name, term)


def _angle_row(entry: EdipEntry) -> Row:
    return {_RENAMED.get(name, name): entry.numbers[name] for name in ANGLE_FIELDS}


def _cutoff(pair: EdipEntry) -> float:
    """Where the last of the three exponentials of a pair has fallen to `NEGLIGIBLE`, angstrom."""
    many, of = -log(NEGLIGIBLE), pair.numbers
    end, inner = of["cutoffA"], of["cutoffC"]
    # alpha x^3/(1 - x^3) = many
    ends = inner + (end - inner) * (many / (many + of["alpha"])) ** (1.0 / 3.0)
    return min(max(ends, end - min(of["sigma"], of["gamma"]) / many), end - GAP)
