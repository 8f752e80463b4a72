"""The Stillinger-Weber potential of any number of elements, as the `.sw` files define it.

    U = sum_i sum_{j > i} phi2(r_ij) + sum_i sum_{j != i} sum_{k > j} phi3(r_ij, r_ik, theta_jik)
    phi2(r) = A epsilon [B (sigma/r)^p - (sigma/r)^q] exp[sigma/(r - a sigma)]
    phi3 = lambda epsilon (cos theta - cos theta0)^2 exp[gamma_ij sigma_ij/(r_ij - a_ij sigma_ij)
                                                         + gamma_ik sigma_ik/(r_ik - a_ik sigma_ik)]

phi2 takes its parameters from the entry (i, j, j); phi3 takes lambda, epsilon, cos theta0 from (i, j, k) and
the others from (i, j, j) and (i, k, k). Each term ends at a sigma, or at the cutoff that tol makes; where no
float64 could show it (`NEGLIGIBLE`) it is left out.

F. H. Stillinger and T. A. Weber, Phys. Rev. B 31, 5262 (1985), doi:10.1103/PhysRevB.31.5262, eqs. 2.3-2.5;
several elements as in the LAMMPS manual, page pair_style sw.
"""

from pathlib import Path

from taichimd.core.math import exp, power
from taichimd.core.runtime import ti
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.sw import SWEntry, SWFile, read_sw
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
from taichimd.forcefields.term import ANGLE, PAIR, Term, about

PAIR_COLUMNS = ("repulsion", "attraction", "sigma", "p", "q", "end", "cutoff")
ANGLE_COLUMNS = ("strength", "costheta0", "decay", "end", "range", "cutoff")
PAIR_UNITS = {
    "repulsion": "eV", "attraction": "eV", "sigma": "Å", "p": "1", "q": "1", "end": "Å", "cutoff": "Å",
}  # fmt: skip
NAMES = {
    "attraction": "A epsilon", "repulsion": "A B epsilon", "strength": "lambda epsilon", "end": "a sigma",
    "cutoff": "the cutoff that tol makes",
}  # fmt: skip


def make_pair(general: bool):
    """The pair function; without general powers p = 4 and q = 0."""

    @ti.func
    def pair(r2, p):
        """Energy and u'/r of a pair at squared distance r2."""
        r = ti.sqrt(r2)
        gap = r - p.end
        # One division for 1/r and 1/gap.
        both = 1.0 / (r * gap)
        inverse, inverse_gap = gap * both, r * both
        s = p.sigma * inverse
        decay = exp(p.sigma * inverse_gap)
        repulsion, attraction, slope = 0.0, 0.0, 0.0
        if ti.static(general):
            repulsion = p.repulsion * power(s, p.p) * decay
            attraction = p.attraction * power(s, p.q) * decay
            slope = p.q * attraction - p.p * repulsion
        else:
            s2 = s * s
            repulsion = p.repulsion * (s2 * s2) * decay
            attraction = p.attraction * decay
            slope = -4.0 * repulsion
        u = repulsion - attraction
        w = (slope * inverse - u * p.sigma * (inverse_gap * inverse_gap)) * inverse
        return u, w

    return pair


PAIRS = {flag: make_pair(flag) for flag in (False, True)}


def StillingerWeber(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """A Stillinger-Weber force field from a `.sw` file (a path, or the name of a shipped file).

        >>> from taichimd import StillingerWeber
        >>> StillingerWeber("Si.sw").elements
        ('Si',)

    Returns:
        The force field.

    Raises:
        ParameterFileError: the file cannot be found or read, or its entries contradict each other; the
            message names line and field.
    """
    parsed = read_sw(library.find(file))
    angle = Term(ANGLE, weight, Table(3, ANGLE_COLUMNS, angle_rows(parsed)), units=UNITS, **about(parsed))
    return ForceField.of(parsed.path.name, pair_term(parsed), angle)


def pair_term(parsed: SWFile) -> Term:
    """The term of phi2."""
    pairs = pair_rows(parsed, _pair_row, _agree)
    general = any(row["attraction"] and (row["p"], row["q"]) != (4.0, 0.0) for row in pairs.values())
    return Term(
        PAIR,
        PAIRS[general],
        Table(2, PAIR_COLUMNS, pairs),
        truncation="truncated",
        units=PAIR_UNITS,
        **about(parsed),
    )


def _pair_row(entry: SWEntry) -> Row:
    """Parameters of phi2."""
    strength = entry.A * entry.epsilon
    return {
        "repulsion": strength * entry.B,
        "attraction": strength,
        "sigma": entry.sigma,
        "p": entry.p,
        "q": entry.q,
        "end": entry.end,
        "cutoff": _cutoff(entry, strength),
    }


def _cutoff(pair: SWEntry, strength: float) -> float:
    """Where a term of this strength ends along a pair of atoms, angstrom."""
    if strength == 0.0:
        return NOWHERE
    return max(NOWHERE, min(pair.cutoff, pair.reach(NEGLIGIBLE), pair.end - GAP))


def angle_rows(parsed: SWFile) -> dict[Key, Row]:
    """Parameters of phi3 by (i, j, k): strength and angle are those of (i, k, j), too, the others of i, j."""
    rows: dict[Key, Row] = {}
    for (i, j, k), entry in parsed.entries.items():
        mean = mean_of_angle(parsed, (i, j, k), _angle_row, _agree)
        # An entry without its pairs is never used: their absence is what a structure of i, j, k is told.
        side = parsed.entries.get((i, j, j), entry)
        rows[i, j, k] = {
            **mean,
            "decay": side.gamma * side.sigma,
            "end": side.end,
            # Weights are of pairs; an angle may have no strength with one third body, and some with another.
            "range": _cutoff(side, 1.0),
            "cutoff": _cutoff(side, mean["strength"]),
        }
    return rows


def _angle_row(entry: SWEntry) -> Row:
    return {"strength": entry.lam * entry.epsilon, "costheta0": entry.costheta0}


def _agree(parsed: SWFile, first: Key, second: Key, one: Row, two: Row) -> None:
    """Refuse two entries that describe one thing differently, unless it is nothing in both."""
    strengths = ("attraction", "strength")
    if any(row.get(name) for row in (one, two) for name in strengths):
        agree(parsed, first, second, one, two, NAMES)
