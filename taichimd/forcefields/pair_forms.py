"""Pair potentials of known forms: Buckingham, Born-Mayer-Huggins, Morse, ZBL, and curves.

    Buckingham   A exp(-r/rho) - C/r^6
    Born-Mayer   A exp((sigma - r)/rho) - C/r^6 + D/r^8
    Morse        D0 [exp(-2 alpha (r - r0)) - 2 exp(-alpha (r - r0))]
    ZBL          K Z_i Z_j/r phi(r/a), K = 14.399645 eV angstrom, a = 0.46850/(Z_i^0.23 + Z_j^0.23),
                 phi = 0.18175 e^(-3.19980 x) + 0.50986 e^(-0.94229 x) + 0.28022 e^(-0.40290 x)
                       + 0.02817 e^(-0.20162 x)

R. A. Buckingham, Proc. R. Soc. Lond. A 168, 264 (1938), doi:10.1098/rspa.1938.0173; M. L. Huggins,
J. E. Mayer, J. Chem. Phys. 1, 643 (1933), doi:10.1063/1.1749344; P. M. Morse, Phys. Rev. 34, 57 (1929),
doi:10.1103/PhysRev.34.57; J. F. Ziegler, J. P. Biersack, U. Littmark, The Stopping and Range of Ions in
Matter (1985).
"""

from itertools import combinations_with_replacement
from typing import Any

from ase.data import atomic_numbers

from taichimd.core.math import exp
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.declare import pair_potential

COULOMB = 14.399645
"""e^2/(4 pi epsilon_0), eV angstrom, as LAMMPS's pair style zbl has it."""


@pair_potential(
    params={"A": "eV", "rho": "Å", "C": "eV Å^6"},
    reference="R. A. Buckingham, Proc. R. Soc. Lond. A 168, 264 (1938), doi:10.1098/rspa.1938.0173",
)
def buckingham(r, p):
    """A exp(-r/rho) - C/r^6: at short distances it goes to minus infinity.

    >>> from taichimd import buckingham
    >>> buckingham(A=1388.773, rho=0.362319, C=175.0, cutoff=8.0).cutoff
    8.0
    """
    repulsion = p.A * exp(-r / p.rho)
    inverse = 1.0 / r
    sixth = inverse * inverse * inverse
    attraction = p.C * (sixth * sixth)
    return repulsion - attraction, 6.0 * attraction * inverse - repulsion / p.rho


@pair_potential(
    params={"A": "eV", "rho": "Å", "sigma": "Å", "C": "eV Å^6", "D": "eV Å^8"},
    reference="M. L. Huggins, J. E. Mayer, J. Chem. Phys. 1, 643 (1933), doi:10.1063/1.1749344",
)
def born_mayer(r, p):
    """A exp((sigma - r)/rho) - C/r^6 + D/r^8.

    >>> from taichimd import born_mayer
    >>> born_mayer(A=0.26, rho=0.317, sigma=2.34, C=6.99, D=8.67, cutoff=8.0).cutoff
    8.0
    """
    repulsion = p.A * exp((p.sigma - r) / p.rho)
    inverse2 = 1.0 / (r * r)
    sixth = inverse2 * inverse2 * inverse2
    attraction, eighth = p.C * sixth, p.D * (sixth * inverse2)
    u = repulsion - attraction + eighth
    return u, (6.0 * attraction - 8.0 * eighth) / r - repulsion / p.rho


@pair_potential(
    params={"D0": "eV", "alpha": "1/Å", "r0": "Å"},
    reference="P. M. Morse, Phys. Rev. 34, 57 (1929), doi:10.1103/PhysRev.34.57",
)
def morse(r, p):
    """D0 [exp(-2 alpha (r - r0)) - 2 exp(-alpha (r - r0))].

    >>> from taichimd import morse
    >>> morse(D0=0.343, alpha=1.36, r0=2.866, cutoff=8.0).cutoff
    8.0
    """
    x = exp(-p.alpha * (r - p.r0))
    return p.D0 * (x * x - 2.0 * x), -2.0 * p.alpha * p.D0 * (x * x - x)


@pair_potential(
    params={"charges": "eV Å", "inverse_a": "1/Å"},
    reference="J. F. Ziegler, J. P. Biersack, U. Littmark, The Stopping and Range of Ions in Matter (1985)",
)
def screened(r, p):
    """The universal screened Coulomb repulsion of two nuclei."""
    x = r * p.inverse_a
    e1 = 0.18175 * exp(-3.19980 * x)
    e2 = 0.50986 * exp(-0.94229 * x)
    e3 = 0.28022 * exp(-0.40290 * x)
    e4 = 0.02817 * exp(-0.20162 * x)
    slope = -(3.19980 * e1 + 0.94229 * e2 + 0.40290 * e3 + 0.20162 * e4) * p.inverse_a
    inverse = 1.0 / r
    u = p.charges * inverse * (e1 + e2 + e3 + e4)
    return u, p.charges * inverse * slope - u * inverse


@pair_potential(params={}, tables={"u": "eV"})
def tabulated(r, p):
    """A curve of distances."""
    u, du = p.u(r)
    return u, du


FORMS = {"buckingham": buckingham, "born": born_mayer, "morse": morse, "zbl": screened, "table": tabulated}
"""By the names that `.pair` files have for them."""


def zbl_row(a: str, b: str) -> dict[str, float]:
    """Parameters of two elements."""
    z = atomic_numbers[a], atomic_numbers[b]
    return {"charges": COULOMB * z[0] * z[1], "inverse_a": (z[0] ** 0.23 + z[1] ** 0.23) / 0.46850}


def zbl(*elements: str, cutoff: float, inner: float, truncation: str = "switched") -> ForceField:
    """The screened nuclear repulsion of Ziegler, Biersack and Littmark, for all pairs of some elements.

        >>> from taichimd import zbl
        >>> zbl("Si", "O", cutoff=2.0, inner=1.2).elements
        ('O', 'Si')

    Args:
        elements: chemical symbols.
        cutoff: angstrom.
        inner: distance at which the truncation begins, angstrom.
        truncation: "switched" or "tapered".

    Returns:
        The force field.

    Raises:
        SettingsError: distances that are not 0 < inner < cutoff.
    """
    rows: dict[Any, Any] = {
        (a, b): zbl_row(a, b) for a, b in combinations_with_replacement(sorted(elements), 2)
    }
    return screened(table=rows, cutoff=cutoff, inner=inner, truncation=truncation)
