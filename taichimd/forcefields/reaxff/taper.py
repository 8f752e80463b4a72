"""The shielded and tapered 1/r of ReaxFF's charges, and its taper.

    Tap(r) = 20 u^7 - 70 u^6 + 84 u^5 - 35 u^4 + 1,  u = (r - lower)/(upper - lower),
    K(r) = Tap(r) (r^3 + gamma^-3)^(-1/3):

A. C. T. van Duin, S. Dasgupta, F. Lorant, W. A. Goddard, J. Phys. Chem. A 105, 9396 (2001); the taper, whose
first three derivatives are zero at both ends: the supporting information of K. Chenoweth, A. C. T. van Duin,
W. A. Goddard, J. Phys. Chem. A 112, 1040 (2008).
"""

from taichimd.core.math import inverse_cube_root
from taichimd.core.runtime import ti


@ti.func
def taper(r, lower, inverse_width):
    """Tap(r), not clamped below the lower radius. `inverse_width`: 1/(upper - lower)."""
    u = (r - lower) * inverse_width
    u2 = u * u
    return (((20.0 * u - 70.0) * u + 84.0) * u - 35.0) * (u2 * u2) + 1.0


@ti.func
def taper_slope(r, lower, inverse_width):
    """dTap/dr = 140 u^3 (u - 1)^3/(upper - lower)."""
    u = (r - lower) * inverse_width
    v = u * (u - 1.0)
    return 140.0 * (v * v * v) * inverse_width


@ti.func
def shielded(r2, r, inverse_gamma3):
    """(r^3 + gamma^-3)^(-1/3), 1/angstrom."""
    return inverse_cube_root(r2 * r + inverse_gamma3)


@ti.func
def coulomb(r2, r, inverse_r, inverse_gamma3, screening: ti.template()):
    """K and K'/r at a distance, of which the square and the inverse are known."""
    t = taper(r, screening.lower, screening.inverse_width)
    dt = taper_slope(r, screening.lower, screening.inverse_width)
    c = shielded(r2, r, inverse_gamma3)
    c2 = c * c
    return t * c, dt * c * inverse_r - t * r * (c2 * c2)


@ti.func
def coulomb_value(r2, a, b, n_kinds, screening: ti.template()):
    """Element of the charge matrix for atoms of kinds a and b at a distance squared, eV."""
    r = ti.sqrt(r2)
    tapered = taper(r, screening.lower, screening.inverse_width)
    return screening.coupling * tapered * shielded(r2, r, screening.inverse_gamma3[a * n_kinds + b])
