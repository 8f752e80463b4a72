"""Time series: autocorrelation, its integral, means over independent samples.

Times are internal (angstrom*sqrt(amu/eV)) throughout the estimators, or any unit: they come out as they
go in, unless a docstring names a unit. M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids,
2nd ed. (2017), chapter 8.
"""

from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.markup import joined, paragraph, table

_NORMAL = 1.959963984540054
"""Standard deviations that hold 95 % of a normal distribution: 97.5 % are below."""
_SHOWN = 10
"""Values of a mean that a notebook shows."""


@dataclass(frozen=True)
class Mean:
    """A mean and its standard error."""

    value: Any  # mean, of any shape
    # standard error of it, same shape, widened if there are few samples (`student`), so that two errors cover
    # 95 %; NaN if there was one sample
    error: Any
    samples: int  # independent samples it was taken from
    note: str = ""  # why there is no error, or what is wrong with it; "" if nothing is

    def texts(self, unit: str = "") -> list[str]:
        """Each value with its error and unit."""
        values, errors = np.ravel(self.value), np.ravel(self.error)
        found = [with_error(*both) for both in zip(values.tolist(), errors.tolist(), strict=True)]
        return [f"{one} {unit}".rstrip() for one in found]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [(text,) for text in self.texts()]
        shown = table(("mean ± standard error",), rows[:_SHOWN])
        left = f"{len(rows) - _SHOWN} more values. " if len(rows) > _SHOWN else ""
        return joined([shown, paragraph(f"{left}{self.samples} independent samples. {self.note}".strip())])


def with_error(value: float, error: float | None) -> str:
    """A value with two digits of its standard error; with eight digits if there is no error."""
    if error is None or not np.isfinite(error) or error <= 0.0:
        return f"{value:.8g}"
    places = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{value:.{places}f} ± {error:.{places}f}"


def student(degrees: float) -> float:
    """Factor of a standard error from few samples that makes two errors cover 95 %, as of many.

    Student's t at 95 %, of so many degrees of freedom, over the normal distribution's 1.96.
    """
    return quantile_975(degrees) / _NORMAL


def mean_of(samples: Array) -> Mean:
    """Mean and standard error over the first axis of independent samples, the error times `student`."""
    n = len(samples)
    value = samples.mean(axis=0)
    error = np.full(np.shape(value), np.nan)
    if n > 1:
        error = student(n - 1) * samples.std(axis=0, ddof=1) / np.sqrt(n)
    # Where all samples agree, the mean rounds: no scatter.
    error = np.where(error <= 4 * np.finfo(float).eps * np.abs(value), 0.0, error)
    if np.ndim(value) == 0:
        return Mean(float(value), float(error), n)
    return Mean(value, error, n)


def finite(values: Any, name: str, axes: int) -> Array:
    """Values as a float64 array of so many axes, all finite, or an AnalysisError."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != axes:
        raise AnalysisError(f"{name} has {array.ndim} axes, expected {axes}")
    if not np.isfinite(array).all():
        raise AnalysisError(f"{name} holds a number that is not finite (index {_first_bad(array)})")
    return array


def _first_bad(array: Array) -> list[int]:
    return [int(k) for k in np.argwhere(~np.isfinite(array))[0]]


def check_window(lags: int, length: int, name: str) -> None:
    """Raise an AnalysisError for a correlation window that the series cannot fill."""
    if lags < 1:
        raise AnalysisError(f"correlation window of {lags} samples: expected 1 or more")
    if lags >= length:
        raise AnalysisError(
            f"correlation window of {lags} samples is not shorter than the {name} of {length}; "
            "choose a shorter window or take a longer run"
        )


def autocorrelation(series: Any, lags: int) -> Array:
    """C(k) = 1/(n-k) sum_i x_i x_{i+k}, (lags + 1, ...), unbiased, by FFT; the mean is not subtracted.

    Allen and Tildesley, section 8.3.2: padding to twice the length keeps the ends from meeting.
    """
    x = np.asarray(series, np.float64)
    x = finite(x, "series", max(x.ndim, 1))
    n = len(x)
    check_window(lags, n, "series")
    size = 1 << (n + lags).bit_length()
    power = np.abs(np.fft.rfft(x, size, axis=0)) ** 2
    sums = np.fft.irfft(power, size, axis=0)[: lags + 1]
    return np.asarray(sums / (n - np.arange(lags + 1)).reshape(-1, *[1] * (x.ndim - 1)))


def running_integral(values: Array, dt: float) -> Array:
    """Integral from 0 to each time by the trapezoid rule; (n, ...) to (n, ...)."""
    steps = 0.5 * dt * (values[1:] + values[:-1])
    return np.concatenate([np.zeros_like(values[:1]), np.cumsum(steps, axis=0)])


_MANY = 300.0
"""Degrees of freedom from which on the expansion is exact to 1e-12."""


def quantile_975(degrees: float) -> float:
    """Value below which 97.5 % of Student's t distribution are, to a relative 1e-12."""
    if degrees >= _MANY:
        # NIST Handbook of Mathematical Functions, M. Abramowitz and I. A. Stegun (1964), eq. 26.7.5.
        z2, v = _NORMAL * _NORMAL, 1.0 / degrees
        g1 = (z2 + 1.0) / 4.0
        g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0
        g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0
        g4 = ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0
        return _NORMAL * (1.0 + v * (g1 + v * (g2 + v * (g3 + v * g4))))
    low, high = log(_NORMAL), log(_NORMAL) + 5.0 / degrees + 3.0
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
