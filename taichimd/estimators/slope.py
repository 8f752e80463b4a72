"""The slope of a time series, with a standard error that knows its correlations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.estimators.average import MIN_INDEPENDENT, inefficiency_of, widening
from taichimd.estimators.series import finite


@dataclass(frozen=True)
class Slope:
    """A least-squares line through a series."""

    value: float  # slope, unit of the series per unit of the times
    error: float | None  # standard error; None if `note` says why not
    scatter: float  # standard deviation of the series about the line
    note: str = ""  # why there is no error; "" if there is one

    @property
    def measurable(self) -> bool:
        """Whether the slope is two errors or more away from zero."""
        return self.error is not None and abs(self.value) >= 2.0 * self.error


def slope_of(times: NDArray[np.float64], series: NDArray[np.float64]) -> Slope | None:
    """Least-squares slope of a series (n,); None below three samples, or where all are of one time.

    Error: sqrt(g s^2 / sum (t - <t>)^2) with the variance s^2 of the residuals (n - 2 degrees of freedom) and
    their statistical inefficiency g (`inefficiency_of`), times `widening` for few samples.
    """
    t, x = finite(times, "times", 1), finite(series, "series", 1)
    n = len(x)
    if n < 3 or not np.ptp(t):
        return None
    t, x = t - t.mean(), x - x.mean()
    spread = float(t @ t)
    value = float(t @ x) / spread
    residuals = x - value * t
    variance = float(residuals @ residuals) / (n - 2)
    g = inefficiency_of(residuals)
    if n / g < MIN_INDEPENDENT:
        note = f"no error: {n} samples hold {n / g:.1f} independent ones, fewer than {MIN_INDEPENDENT}"
        return Slope(value, None, float(np.sqrt(variance)), note)
    error = widening(n / g) * float(np.sqrt(g * variance / spread))
    return Slope(value, error, float(np.sqrt(variance)))
