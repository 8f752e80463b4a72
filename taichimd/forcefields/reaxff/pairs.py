"""Energy of a pair of ReaxFF's nonbonded terms: van der Waals, and the Coulomb interaction of unit charges.

    U = Tap(r) (D (e^x - 2 e^(x/2)) + wall + dispersion),   x = alpha (1 - rho/r_vdW),
    rho = (r^p + gamma_w^-p)^(1/p), or r without shielding,
    wall = e_core exp(a_core (1 - r/r_core)),   dispersion = -C/(r^6 + R^6):

K. Chenoweth, A. C. T. van Duin, W. A. Goddard, J. Phys. Chem. A 112, 1040 (2008), supporting information;
dispersion: L. Liu, Y. Liu, S. V. Zybin, H. Sun, W. A. Goddard, J. Phys. Chem. A 115, 11016 (2011). K(r):
`taper`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.math import exp, log
from taichimd.core.runtime import ti
from taichimd.enumerate.parameters import reader
from taichimd.forcefields.reaxff.taper import coulomb, taper, taper_slope

Values = NDArray[np.float64]
PAIR = ("depth", "half_alpha", "steepness", "shield", "inverse_gamma3")
WALL = ("wall", "wall_alpha", "wall_steepness")
DISPERSION = ("dispersion", "dispersion_radius6")
"""Columns of the table: x/2 = half_alpha - steepness rho, wall energy = wall exp(wall_alpha - wall_steepness
r)."""
LEAST_R2 = 1e-20
"""Smallest squared distance, angstrom^2: for atoms at one place the force is zero instead of undefined."""


@dataclass(frozen=True)
class Form:
    """Which parts the van der Waals energy of a parameter file has.

    Attributes:
        shielded: shielding of distances. wall: inner wall. dispersion: low-gradient dispersion.
    """

    shielded: bool
    wall: bool
    dispersion: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns of the table of pairs."""
        return PAIR + (WALL if self.wall else ()) + (DISPERSION if self.dispersion else ())


def pair_table(pairs: Mapping[str, Values], form: Form, exponent: float) -> Values:
    """Parameters by kinds, as device functions read them.

    Args:
        pairs: (kinds, kinds) of each: D (eV), alpha, r_vdW (angstrom), gamma_w (1/angstrom), gamma3
            (angstrom^3), and r_core (angstrom), e_core (eV), a_core with a wall, C_lg (eV angstrom^6), R_lg6
            (angstrom^6) with dispersion.
        form: parts that there are.
        exponent: p of the shielding.

    Returns:
        (kinds, kinds, columns of the form).
    """
    d, alpha, radius = pairs["D"], pairs["alpha"], pairs["r_vdW"]
    shield = pairs["gamma_w"] ** -exponent if form.shielded else np.zeros_like(d)
    found = [d, alpha / 2, alpha / (2 * radius), shield, pairs["gamma3"]]
    if form.wall:
        found += [pairs["e_core"], pairs["a_core"], pairs["a_core"] / pairs["r_core"]]
    if form.dispersion:
        found += [pairs["C_lg"], pairs["R_lg6"]]
    return np.stack(found, axis=-1)


class Shapes(Bundle):
    """Numbers and parameters of pairs."""

    half_exponent: Any = Number("f64", "p/2 of the shielding")
    inverse_exponent: Any = Number("f64", "1/p")
    pairs: Any = ArrayField("f64", "kinds^2 columns", "the table of `pair_table`")


def pair_function(form: Form) -> Any:
    """Device function of a pair of kinds a and b: energy and slope U'/r, then K and K'/r."""
    read = reader(form.columns, ti.f64)

    @ti.func
    def pair(r2, a, b, n_kinds, shapes: ti.template(), screening: ti.template()):
        p, r = read(shapes.pairs, a * n_kinds + b), ti.sqrt(r2)
        inverse = 1.0 / r
        t = taper(r, screening.lower, screening.inverse_width)
        dt = taper_slope(r, screening.lower, screening.inverse_width)
        rho, drho = r, 1.0
        if ti.static(form.shielded):
            power_r = exp(shapes.half_exponent * log(r2))
            base = power_r + p.shield
            rho = exp(shapes.inverse_exponent * log(base))
            drho = rho * power_r / base * inverse
        h = exp(p.half_alpha - p.steepness * rho)
        u = p.depth * h * (h - 2.0)
        du = -2.0 * p.depth * p.steepness * h * (h - 1.0) * drho
        if ti.static(form.wall):
            wall = p.wall * exp(p.wall_alpha - p.wall_steepness * r)
            u += wall
            du -= wall * p.wall_steepness
        if ti.static(form.dispersion):
            base = 1.0 / (r2 * r2 * r2 + p.dispersion_radius6)
            part = p.dispersion * base
            u -= part
            du += 6.0 * part * base * (r2 * r2 * r)
        k, dk = coulomb(r2, r, inverse, p.inverse_gamma3, screening)
        return t * u, (t * du + dt * u) * inverse, k, dk

    return pair
