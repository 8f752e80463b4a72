"""Quantile of Student's t distribution, without SciPy, whose import takes longer than many runs."""

from math import exp, lgamma, log, log1p

_Z = 1.959963984540054
"""Standard deviations below which 97.5 % of a normal distribution are."""
_MANY = 300.0
"""Degrees of freedom from which on the expansion is exact to 1e-12."""


def quantile_975(degrees: float) -> float:
    """Value below which 97.5 % of Student's t distribution are, to a relative 1e-12."""
    if degrees >= _MANY:
        # NIST Handbook of Mathematical Functions, M. Abramowitz and I. A. Stegun (1964), eq. 26.7.5.
        z2, v = _Z * _Z, 1.0 / degrees
        g1 = (z2 + 1.0) / 4.0
        g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0
        g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0
        g4 = ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0
        return _Z * (1.0 + v * (g1 + v * (g2 + v * (g3 + v * g4))))
    low, high = log(_Z), log(_Z) + 5.0 / degrees + 3.0
    value = 0.5 * (low + high)
    for _ in range(200):
        # Newton in log t, kept between bounds: the tail is nearly a power of t.
        tail, density = _tail(exp(value), degrees)
        low, high = (value, high) if tail > 0.025 else (low, value)
        following = value + log(tail / 0.025) * tail / density
        following = following if low <= following <= high else 0.5 * (low + high)
        if abs(following - value) <= 1e-15 * max(abs(value), 1.0):
            break
        value = following
    return exp(following)


def _tail(t: float, degrees: float) -> tuple[float, float]:
    """Probability of values above t, and t times the density at t."""
    a, b, x = 0.5 * degrees, 0.5, degrees / (degrees + t * t)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) - a * log1p(t * t / degrees) + b * log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return 0.5 * front * _fraction(a, b, x) / a, front
    return 0.5 - 0.5 * front * _fraction(b, a, 1.0 - x) / b, front


def _fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function, DLMF 8.17.22, by the modified Lentz algorithm."""
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    c, found = 1.0, d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1.0 / (1.0 + term * d), 1.0 + term / c
            found *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return found
