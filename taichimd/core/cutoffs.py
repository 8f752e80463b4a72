"""Smooth cutoffs for own potentials: 1 below an inner distance, 0 from an outer one on."""

from taichimd.core.math import cos, sin
from taichimd.core.runtime import ti

_PI = 3.141592653589793


@ti.func
def smooth_cutoff(r, inner, outer):
    """The polynomial 1 - 10 x^3 + 15 x^4 - 6 x^5 with x = (r - inner)/(outer - inner), and its slope.

    Value, slope and second derivative are continuous at both ends.

    Returns:
        f and df/dr.
    """
    inverse = 1.0 / (outer - inner)
    x = ti.max(0.0, ti.min(1.0, (r - inner) * inverse))
    f = 1.0 + x * x * x * (x * (15.0 - 6.0 * x) - 10.0)
    rest = x * (1.0 - x)
    return f, -30.0 * (rest * rest) * inverse


@ti.func
def cosine_cutoff(r, inner, outer):
    """The function (1 + cos(pi x))/2 with x = (r - inner)/(outer - inner), and its slope.

    Value and slope are continuous at both ends.

    Returns:
        f and df/dr.
    """
    inverse = 1.0 / (outer - inner)
    x = ti.max(0.0, ti.min(1.0, (r - inner) * inverse))
    return 0.5 + 0.5 * cos(_PI * x), -0.5 * _PI * inverse * sin(_PI * x)
