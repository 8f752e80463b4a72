"""Lennard-Jones: u(r) = 4 epsilon [(sigma/r)^12 - (sigma/r)^6]."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.table import ANY, Row, Table
from taichimd.forcefields.term import PAIR, Term, source_of
from taichimd.forcefields.truncate import check_truncation

COLUMNS = ("epsilon", "sigma", "cutoff")
UNITS = {"epsilon": "eV", "sigma": "Å", "cutoff": "Å"}
CITATION = "J. E. Jones, Proc. R. Soc. Lond. A 106, 463 (1924), doi:10.1098/rspa.1924.0082"


@ti.func
def lennard_jones(r2, p):
    """Energy and u'/r of a pair at squared distance r2 (angstrom^2); no square root is needed."""
    inverse = 1.0 / r2
    s2 = p.sigma * p.sigma * inverse
    s6 = s2 * s2 * s2
    u = 4.0 * p.epsilon * s6 * (s6 - 1.0)
    w = -24.0 * p.epsilon * s6 * (2.0 * s6 - 1.0) * inverse
    return u, w


def lorentz_berthelot(a: Row, b: Row) -> Row:
    """Arithmetic means of sigma and cutoff, geometric mean of epsilon (LAMMPS's `mix arithmetic`)."""
    return {
        "epsilon": sqrt(a["epsilon"] * b["epsilon"]),
        "sigma": 0.5 * (a["sigma"] + b["sigma"]),
        "cutoff": 0.5 * (a["cutoff"] + b["cutoff"]),
    }


def geometric(a: Row, b: Row) -> Row:
    """Geometric means of sigma, epsilon and the cutoff (as LAMMPS's `mix geometric`)."""
    return {
        "epsilon": sqrt(a["epsilon"] * b["epsilon"]),
        "sigma": sqrt(a["sigma"] * b["sigma"]),
        "cutoff": sqrt(a["cutoff"] * b["cutoff"]),
    }


MIXING = {"lorentz-berthelot": lorentz_berthelot, "geometric": geometric, "none": None}


def LennardJones(  # noqa: N802 - reads as the force field it makes
    epsilon: float | None = None,
    sigma: float | None = None,
    cutoff: float | None = None,
    *,
    pairs: Mapping[Any, Mapping[str, float]] | None = None,
    mixing: str = "lorentz-berthelot",
    truncation: str = "truncated",
    enumeration: str = "neighbours",
    name: str = "Lennard-Jones",
    citation: str | None = CITATION,
    source: str | None = None,
) -> ForceField:
    """A Lennard-Jones force field, u(r) = 4 epsilon ((sigma/r)^12 - (sigma/r)^6).

    One set of parameters for all atoms, or one per pair of elements:
    `LennardJones(cutoff=10.0, pairs={"Ar": {"epsilon": 0.0104, "sigma": 3.4}, ("Ar", "Kr"): {...}})`.

        >>> from taichimd import LennardJones
        >>> argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5, truncation="force-shifted")
        >>> argon.cutoff
        8.5

    Args:
        epsilon: depth of the well, eV; 0 switches a pair off.
        sigma: distance of zero energy, angstrom.
        cutoff: angstrom; also the default of every pair in `pairs`.
        pairs: by element ("Ar" or ("Ar", "Ar")) or by pair of elements, in either order.
        mixing: rule for pairs that are not given: lorentz-berthelot, geometric, or none.
        truncation: truncated, energy-shifted or force-shifted (see `truncate`).
        enumeration: "neighbours", or "all-pairs" (no list; for isolated clusters, and for boxes whose widths
            are at least twice the cutoff).
        name: for reports.
        citation: publication of the parameters.
        source: file of the parameters.

    Returns:
        The force field.

    Raises:
        SettingsError: a parameter that is missing, not positive or unknown.
    """
    if mixing not in MIXING:
        raise SettingsError(f"mixing is '{mixing}', expected one of {', '.join(MIXING)}")
    given: dict[tuple[str, ...], dict[str, float]] = {}
    if pairs is None:
        given[(ANY, ANY)] = _row("(any, any)", {"epsilon": epsilon, "sigma": sigma, "cutoff": cutoff})
    else:
        for key, values in pairs.items():
            elements = (key, key) if isinstance(key, str) else tuple(key)
            given[elements] = _row(str(key), {"cutoff": cutoff, **values})
    term = Term(
        PAIR,
        lennard_jones,
        Table(2, COLUMNS, given, MIXING[mixing]),
        name,
        truncation=check_truncation(truncation),
        mixing=mixing,
        citation=citation,
        source=source_of(source),
        units=UNITS,
    )
    return ForceField.of(name, term, enumeration=enumeration)


def _row(where: str, values: Mapping[str, Any]) -> dict[str, float]:
    if unknown := set(values) - set(COLUMNS):
        raise SettingsError(f"Lennard-Jones {where}: unknown parameter {sorted(unknown)}, expected {COLUMNS}")
    for column in COLUMNS:
        value = values.get(column)
        # No depth is no interaction: what mixing rules cannot say of a pair.
        if column == "epsilon" and value is not None and float(value) == 0.0:
            continue
        if value is None or not float(value) > 0.0:
            raise SettingsError(f"Lennard-Jones {where}: {column} is {value}, expected a positive number")
    return {column: float(values[column]) for column in COLUMNS}
