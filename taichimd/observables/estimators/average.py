"""Averages of a time series: where production begins, and the standard error of a mean.

Start of production: J. D. Chodera, J. Chem. Theory Comput. 12, 1799 (2016), 10.1021/acs.jctc.5b00784:
the start that leaves the most independent samples. Statistical inefficiency: J. D. Chodera et al.,
J. Chem. Theory Comput. 3, 26 (2007), 10.1021/ct0502864, section 2.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import AnalysisError
from taichimd.observables.estimators.series import autocorrelation, finite

MIN_INDEPENDENT = 10
"""Independent samples below which a mean has no error bar: the correlation time is then not known."""
_RESOLUTION = 1000
"""Blocks of a long series among which the start of production is looked for."""
_STARTS = 100
"""Starts that are compared."""


@dataclass(frozen=True)
class Average:
    """A mean over the production part of a series.

    Attributes:
        value: mean from sample `start` on.
        error: standard error, sqrt(variance x inefficiency / samples); None if `note` says why not.
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


def inefficiency_of(series: NDArray[np.float64]) -> float:
    """Statistical inefficiency g = 1 + 2 sum_k (1 - k/n) C(k) of a series, 1 or more.

    C is the normalised autocorrelation. The sum ends at the first C(k) that is not positive.

    Args:
        series: (n,) samples at equal intervals.
    """
    n = len(series)
    deviation = series - series.mean()
    variance = float(np.mean(deviation**2))
    # A constant: what is left is rounding of the mean.
    if n < 2 or variance <= (4 * np.finfo(float).eps * np.abs(series).max()) ** 2:
        return 1.0
    # Each C(k) is a sum over n: that of n - k terms is multiplied by (1 - k/n).
    weighted = autocorrelation(deviation, n - 1) * (1.0 - np.arange(n) / n) / variance
    end = int(np.argmax(weighted <= 0.0)) if (weighted <= 0.0).any() else n
    return max(1.0, 1.0 + 2.0 * float(weighted[1:end].sum()))


def production_start(series: Sequence[NDArray[np.float64]]) -> int:
    """First sample of production: the latest of the starts that several series of one run need.

    Args:
        series: (n,) each, all of one length; those that are not finite are left out.
    """
    starts = [_start_of(np.asarray(one, np.float64)) for one in series if np.isfinite(one).all()]
    return max(starts, default=0)


def _start_of(series: NDArray[np.float64]) -> int:
    size = max(1, len(series) // _RESOLUTION)
    blocks = len(series) // size
    means = series[: blocks * size].reshape(blocks, size).mean(axis=1)
    starts = np.unique(np.linspace(0, max(blocks - 2, 0), _STARTS).astype(int))
    independent = [(blocks - start) / inefficiency_of(means[start:]) for start in starts]
    return int(starts[int(np.argmax(independent))]) * size


def average_of(series: NDArray[np.float64], start: int = 0) -> Average:
    """Mean of a series from a sample on, with its standard error from the autocorrelation.

    Args:
        series: (n,) samples at equal intervals.
        start: first sample of production (`production_start`).

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
    return Average(value, float(production.std(ddof=1) * np.sqrt(g / n)), start, n, g)
