"""Averages of a time series: where production begins, and the standard error of a mean.

Start of production: MSER, K. P. White, Simulation 69, 323 (1997), 10.1177/003754979706900601: the start in
the first half of the series that makes the variance over the number of later samples smallest.
Statistical inefficiency: J. D. Chodera et al., J. Chem. Theory Comput. 3, 26 (2007), 10.1021/ct0502864,
section 2.4.

MSER and not the start with the most independent samples (J. D. Chodera, J. Chem. Theory Comput. 12, 1799
(2016)): that search prefers starts whose inefficiency is too small by chance, and so makes errors too small.

Few samples: the squared error is itself uncertain, mostly because the inefficiency comes from the same
series. With a sum over C(k) up to lag w its relative variance is 2 (2 w + 1)/n (U. Wolff, Comput. Phys.
Commun. 156, 143 (2004), 10.1016/S0010-4655(03)00467-3), here about 6 g/n: that of a chi square distribution
with a third of the independent samples as degrees of freedom (`widening`).

Short series that oscillate: the sum ends where the oscillation makes C negative, and hides a slow part. So
their error is at least that of the means of eight blocks, which needs no correlation function.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import AnalysisError
from taichimd.core.markup import facts
from taichimd.estimators.series import autocorrelation, finite, mean_of, student, with_error

METHOD = "MSER (White 1997)"
"""How `production_start` finds it, for records."""
MIN_INDEPENDENT = 10
"""Independent samples below which a mean has no error bar: the correlation time is then not known."""
_FEWEST_BLOCKS = 32
"""Blocks whose means have a variance that is known to a quarter."""
_FEW_BLOCKS = 8
"""Blocks whose scatter is the least error of the mean of a series that oscillates."""
_OSCILLATES = 0.2
"""Negative autocorrelation beyond which a series oscillates; of short ones it is three of its own errors."""
_PER_DEGREE = 3.0
"""Independent samples for each degree of freedom of an error."""
_CORRECTIONS = 4
"""Passes of a fixed point that converges in two or three."""
SIGNIFICANT_TREND = 3.0
"""Standard errors by which the halves of a series must differ to count as a trend. At most 1 of 200
stationary series with ten independent samples or more exceeds it."""


@dataclass(frozen=True)
class Average:
    """A mean over the production part of a series.

    Attributes:
        value: mean from sample `start` on.
        error: standard error: sqrt(variance / independent samples) times `widening`. If the series
            oscillates, the error is at least the standard error of the means of eight blocks. None if there
            is no error; `note` says why.
        start: first sample of production. samples: number of samples from there on.
        inefficiency: samples that count as one independent sample, 1 + 2 x integrated correlation time
            (in intervals between samples).
        note: why there is no error; "" if there is one.
    """

    value: float
    error: float | None
    start: int
    samples: int
    inefficiency: float
    note: str = ""

    @property
    def independent(self) -> float:
        """Number of independent samples."""
        return self.samples / self.inefficiency

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        first, last = self.start, self.start + self.samples - 1
        rows = [("mean", with_error(self.value, self.error)), ("samples", f"{first:,} to {last:,}")]
        rows.append(("independent samples", f"{self.independent:.1f}"))
        return facts(rows + [("note", self.note)] * bool(self.note))


@dataclass(frozen=True)
class Trend:
    """Mean of the second half of a series less that of the first, and the error of the difference."""

    difference: float
    error: float

    @property
    def significant(self) -> bool:
        """Whether the difference exceeds its error."""
        return abs(self.difference) > SIGNIFICANT_TREND * self.error

    def __str__(self) -> str:
        """A sentence's beginning."""
        return (
            f"the mean of the second half of production differs from the mean of the first half by "
            f"{self.difference:.2g} ± {self.error:.1g}"
        )


def inefficiency_of(series: NDArray[np.float64]) -> float:
    """Statistical inefficiency g = 1 + 2 sum_k (1 - k/n) C(k) of a series, 1 or more.

    C is the normalised autocorrelation. The sum ends at the first C(k) that is not positive. An oscillation
    can make C negative long before a slow part has decayed, so g is also taken from the means of blocks of 2,
    4, 8 ... samples, as long as there are 32 (H. Flyvbjerg and H. G. Petersen, J. Chem. Phys. 91, 461 (1989),
    10.1063/1.457480). A longer block counts if its g is larger by three standard errors of its variance.

    Args:
        series: (n,) samples at equal intervals.
    """
    if _constant(series):
        return 1.0
    variance = float(np.var(series))
    found, size = _from_autocorrelation(series), 2
    while (blocks := len(series) // size) >= _FEWEST_BLOCKS:
        means = series[len(series) - blocks * size :].reshape(blocks, size).mean(axis=1)
        coarse = size * float(np.var(means)) / variance * _from_autocorrelation(means)
        if coarse * (1.0 - 3.0 * np.sqrt(2.0 / blocks)) > found:
            found = coarse
        size *= 2
    return min(found, len(series) / 2)


def _from_autocorrelation(series: NDArray[np.float64]) -> float:
    """Statistical inefficiency by the sum over C(k) alone; 1 of a constant."""
    return inefficiency_from(autocorrelation(series - series.mean(), len(series) - 1))


def inefficiency_from(covariance: NDArray[np.float64]) -> float:
    """The same from the autocovariance at all lags, (n,)."""
    n, variance = len(covariance), float(covariance[0])
    weights, g = 1.0 - np.arange(n) / n, 1.0
    # Deviations from the sample's own mean make all covariances too small by the variance of that mean.
    for _ in range(_CORRECTIONS if variance > 0.0 else 0):
        corrected = covariance + variance * g / (n - g)
        terms = weights * corrected / corrected[0]
        end = int(np.argmax(terms <= 0.0)) if (terms <= 0.0).any() else n
        g = min(max(1.0, 1.0 + 2.0 * float(terms[1:end].sum())), n / 2)
    return g


def _constant(series: NDArray[np.float64]) -> bool:
    """Whether all that differs is the rounding of the mean."""
    return bool(np.abs(series - series.mean()).max() <= 4 * np.finfo(float).eps * np.abs(series).max())


def production_start(series: Sequence[NDArray[np.float64]]) -> int:
    """First sample of production, in the first half: the latest start that one of several series needs."""
    starts = [_start_of(np.asarray(one, np.float64)) for one in series if np.isfinite(one).all()]
    return max(starts, default=0)


def _start_of(series: NDArray[np.float64]) -> int:
    n = len(series)
    if n < 4:
        return 0
    backwards = (series - series[n // 2 :].mean())[::-1]
    counts = np.arange(1, n + 1)
    variances = np.cumsum(backwards**2) / counts - (np.cumsum(backwards) / counts) ** 2
    squared_error = np.maximum(variances, 0.0) / counts
    kept = np.arange(n - n // 2, n + 1)
    # Of equal ones, as of a constant, the longest.
    best = kept[::-1][int(np.argmin(squared_error[kept - 1][::-1]))]
    return n - int(best)


def average_of(series: NDArray[np.float64], start: int = 0) -> Average:
    """Mean of the production part of a series, with its standard error from the autocorrelation.

    Args:
        series: (n,) samples at equal intervals.
        start: first sample of production (`production_start`).

    Returns:
        Mean and standard error in the unit of the series, and the statistical inefficiency.

    Raises:
        AnalysisError: no sample from `start` on, or a number that is not finite.
    """
    production = finite(series[start:], "series", 1)
    if not len(production):
        raise AnalysisError(f"the series has {len(series)} samples, and production begins at sample {start}")
    n, g = len(production), inefficiency_of(production)
    value = float(production.mean())
    if n / g < MIN_INDEPENDENT:
        note = f"no error: {n} samples hold {n / g:.1f} independent ones, fewer than {MIN_INDEPENDENT}"
        return Average(value, None, start, n, g, note)
    error = widening(n / g) * _error_of(production, g)
    if _oscillates(production):
        size = n // _FEW_BLOCKS
        blocks = production[n - size * _FEW_BLOCKS :].reshape(_FEW_BLOCKS, size).mean(axis=1)
        error = max(error, mean_of(blocks).error)
    return Average(value, error, start, n, g)


def _oscillates(series: NDArray[np.float64]) -> bool:
    """Whether the autocorrelation becomes clearly negative, at lags that are well known."""
    covariance = autocorrelation(series - series.mean(), max(1, len(series) // 4))
    least = max(_OSCILLATES, 3.0 / np.sqrt(len(series)))
    return not _constant(series) and bool(covariance.min() < -least * covariance[0])


def widening(independent: float) -> float:
    """Factor of an error from autocorrelation: `student` of a third of the independent samples less one."""
    return student(independent / _PER_DEGREE - 1.0)


def _error_of(samples: NDArray[np.float64], g: float) -> float:
    """Standard error of a mean: variance s2 g/n; the samples about their own mean have s2 (1 - g/n)."""
    return 0.0 if _constant(samples) else float(samples.std() * np.sqrt(g / (len(samples) - g)))


def trend_of(series: NDArray[np.float64], start: int = 0) -> Trend:
    """Difference between the means of the halves of production from `start` on, each with its error.

    AnalysisError: fewer than four samples, or a number that is not finite.
    """
    production = finite(series[start:], "series", 1)
    if len(production) < 4:
        raise AnalysisError(f"a trend needs four samples, and production has {len(production)}")
    half = len(production) // 2
    halves = production[:half], production[-half:]
    errors = [_error_of(one, inefficiency_of(one)) for one in halves]
    return Trend(float(halves[1].mean() - halves[0].mean()), float(np.hypot(errors[0], errors[1])))
