"""The Vashishta potential of any number of elements, as the `.vashishta` files define it.

    U = sum_i sum_{j > i} U2(r_ij) + sum_i sum_{j != i} sum_{k > j} U3(r_ij, r_ik, theta_jik)
    V(r) = H/r^eta + Zi Zj e^2/r exp(-r/lambda1) - D/r^4 exp(-r/lambda4) - W/r^6
    U2(r) = V(r) - V(rc) - (r - rc) V'(rc),  r < rc
    U3 = B x^2/(1 + C x^2) exp[gamma_ij/(r_ij - r0_ij) + gamma_ik/(r_ik - r0_ik)],  x = cos theta - cos theta0

V has steric repulsion, screened Coulomb, screened charge-dipole and van der Waals terms; energy and force
end at zero. U2 takes its parameters from the entry (i, j, j); U3 takes B, C, cos theta0 from (i, j, k),
gamma and r0 from (i, j, j) and (i, k, k). Angles end at r0; where no float64 could show them (`NEGLIGIBLE`)
they are left out. Those of a file with C = 0 are quadratic in the cosine (`Terms.angle`).

P. Vashishta, R. K. Kalia, J. P. Rino, I. Ebbsjo, Phys. Rev. B 41, 12197 (1990),
doi:10.1103/PhysRevB.41.12197; with C and W: P. Vashishta, R. K. Kalia, A. Nakano, J. P. Rino, J. Appl.
Phys. 101, 103515 (2007), doi:10.1063/1.2724570; several elements as in the LAMMPS manual, page pair_style
vashishta.
"""

from functools import partial
from itertools import product
from math import log
from pathlib import Path

from taichimd.core.math import exp, power
from taichimd.core.runtime import ti
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.vashishta import VashishtaEntry, VashishtaFile, read_vashishta
from taichimd.forcefields.screening import (
    GAP,
    NEGLIGIBLE,
    NOWHERE,
    UNITS,
    agree,
    mean_of_angle,
    pair_rows,
    weight,
)
from taichimd.forcefields.table import Key, Row, Table
from taichimd.forcefields.term import ANGLE, PAIR, TRIPLET, Term, about

COULOMB = 14.399645
"""e^2/(4 pi epsilon_0) in eV angstrom: that of LAMMPS's metal units, in which the files are written."""
PAIR_COLUMNS = ("H", "eta", "charges", "screening1", "D", "screening4", "W", "cutoff")
ANGLE_COLUMNS = ("strength", "costheta0", "decay", "end", "range", "cutoff")
TRIPLET_COLUMNS = ("strength", "C", "costheta0", "decay_j", "end_j", "decay_k", "end_k", "cutoff")
PAIR_UNITS = {
    "H": "eV Å^eta", "eta": "1", "charges": "eV Å", "screening1": "1/Å", "D": "eV Å^4", "screening4": "1/Å",
    "W": "eV Å^6", "cutoff": "Å",
}  # fmt: skip
TRIPLET_UNITS = {
    "strength": "eV", "C": "1", "costheta0": "1", "decay_j": "Å", "end_j": "Å", "decay_k": "Å", "end_k": "Å",
    "cutoff": "Å",
}  # fmt: skip
NAMES = {
    "charges": "Zi Zj e^2", "screening1": "1/lambda1", "screening4": "1/lambda4", "cutoff": "rc",
    "strength": "B",
}  # fmt: skip
MAX_POWER = 15
"""Largest power that is made of squares."""


@ti.func
def whole_power(x, n):
    """x^n for a whole number n from 0 to 15."""
    x2 = x * x
    x4 = x2 * x2
    y = ti.select(n & 1, x, 1.0)
    y *= ti.select(n & 2, x2, 1.0)
    y *= ti.select(n & 4, x4, 1.0)
    return y * ti.select(n & 8, x4 * x4, 1.0)


def make_pair(whole: bool, disperses: bool):
    """The pair function V: powers eta that are whole numbers, or any; van der Waals terms, or none."""

    @ti.func
    def pair(r2, p):
        """Energy and u'/r of a pair at squared distance r2."""
        r = ti.sqrt(r2)
        x = 1.0 / r
        x2 = x * x
        steric = p.H
        if ti.static(whole):
            steric *= whole_power(x, ti.cast(p.eta, ti.i32))
        else:
            steric *= power(x, p.eta)
        reach1, reach4 = r * p.screening1, r * p.screening4
        coulomb = p.charges * x * exp(-reach1)
        dipole = p.D * (x2 * x2) * exp(-reach4)
        u = steric + coulomb - dipole
        slope = (4.0 + reach4) * dipole - p.eta * steric - (1.0 + reach1) * coulomb
        if ti.static(disperses):
            dispersion = p.W * (x2 * x2 * x2)
            u -= dispersion
            slope += 6.0 * dispersion
        return u, slope * x2

    return pair


PAIRS = {flags: make_pair(*flags) for flags in product((False, True), repeat=2)}


@ti.func
def triplet(r_ij, r_ik, cosine, p):
    """U3 with its slopes to r_ij, r_ik and the cosine."""
    gap_j, gap_k = 1.0 / (r_ij - p.end_j), 1.0 / (r_ik - p.end_k)
    x_j, x_k = p.decay_j * gap_j, p.decay_k * gap_k
    x = cosine - p.costheta0
    saturation = 1.0 / (1.0 + p.C * x * x)
    scale = p.strength * saturation * x * exp(x_j + x_k)
    h = scale * x
    return h, -h * x_j * gap_j, -h * x_k * gap_k, 2.0 * scale * saturation


def Vashishta(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """A Vashishta force field from a `.vashishta` file (a path, or the name of a shipped file).

        >>> from taichimd import Vashishta
        >>> Vashishta("SiO2_1990.vashishta").elements
        ('O', 'Si')

    Returns:
        The force field.

    Raises:
        ParameterFileError: the file cannot be found or read, or its entries contradict each other; the
            message names line and field.
    """
    parsed = read_vashishta(library.find(file))
    pairs = pair_rows(parsed, _pair_row, _agree)
    whole = all(row["eta"] in range(MAX_POWER + 1) for row in pairs.values())
    disperses = any(row["W"] for row in pairs.values())
    angles = _angle_rows(parsed)
    quadratic = not any(row["C"] for row in angles.values())
    pair = Term(
        PAIR,
        PAIRS[whole, disperses],
        Table(2, PAIR_COLUMNS, pairs),
        truncation="force-shifted",
        units=PAIR_UNITS,
        **about(parsed),
    )
    if quadratic:
        body = Term(ANGLE, weight, Table(3, ANGLE_COLUMNS, angles), units=UNITS, **about(parsed))
    else:
        body = Term(TRIPLET, triplet, Table(3, TRIPLET_COLUMNS, angles), units=TRIPLET_UNITS, **about(parsed))
    return ForceField.of(parsed.path.name, pair, body)


_agree = partial(agree, names=NAMES)


def _pair_row(entry: VashishtaEntry) -> Row:
    """Parameters of U2; numbers of what does not act are zero, whatever the file says."""
    charges = COULOMB * entry.Zi * entry.Zj
    return {
        "H": entry.H,
        "eta": entry.eta if entry.H else 0.0,
        "charges": charges,
        "screening1": 1.0 / entry.lambda1 if charges else 0.0,
        "D": entry.D,
        "screening4": 1.0 / entry.lambda4 if entry.D else 0.0,
        "W": entry.W,
        "cutoff": entry.rc if entry.has_pair else NOWHERE,
    }


def _angle_rows(parsed: VashishtaFile) -> dict[Key, Row]:
    """Parameters of U3 by (i, j, k), for either form."""
    rows: dict[Key, Row] = {}
    for (i, j, k), entry in parsed.entries.items():
        mean = mean_of_angle(parsed, (i, j, k), _angle_row, _agree)
        # An entry without its pairs is never used: their absence is what a structure of i, j, k is told.
        side, far = (parsed.entries.get((i, end, end), entry) for end in (j, k))
        rows[i, j, k] = {
            **mean,
            "decay": side.gamma,
            "end": side.r0,
            "decay_j": side.gamma,
            "end_j": side.r0,
            "decay_k": far.gamma,
            "end_k": far.r0,
            # Weights are of pairs; an angle may have no strength with one third body, and some with another.
            "range": _reach(side),
            "cutoff": _reach(side) if mean["strength"] else NOWHERE,
        }
    return rows


def _angle_row(entry: VashishtaEntry) -> Row:
    if not entry.B:
        return {"strength": 0.0, "C": 0.0, "costheta0": 0.0}
    return {"strength": entry.B, "C": entry.C, "costheta0": entry.costheta0}


def _reach(side: VashishtaEntry) -> float:
    """Where exp[gamma/(r - r0)] has fallen to nothing, angstrom."""
    return max(NOWHERE, min(side.r0 + side.gamma / log(NEGLIGIBLE), side.r0 - GAP))
