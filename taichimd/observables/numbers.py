"""Means as text, as entries of a report and as bands of a picture."""

import math
from typing import Any

import numpy as np

from taichimd.observables.estimators.series import Mean
from taichimd.program.results import Array


def plus_minus(mean: Mean) -> str:
    """Value and standard error, two digits of the error: 78 ± 39, (2.450 ± 0.031)e-05."""
    value, error = float(mean.value), float(mean.error)
    if not error > 0.0 or not np.isfinite([value, error]).all():
        return f"{value:.3g}" + ("" if np.isnan(error) else f" ± {error:.2g}")
    largest = math.floor(math.log10(max(abs(value), error)))
    shift = 0 if -4 < largest < 6 else largest
    places = max(0, 1 - math.floor(math.log10(error)) + shift)
    both = f"{value * 10.0**-shift:.{places}f} ± {error * 10.0**-shift:.{places}f}"
    return f"({both})e{shift:+03d}" if shift else both


def entry(value: Any, error: Any, unit: str) -> dict[str, Any]:
    """Of a report: a value with its standard error, None where there is none, and its unit."""
    # JSON knows no NaN, which the error of a single sample is.
    known = error is not None and math.isfinite(error)
    return {"value": float(value), "error": float(error) if known else None, "unit": unit}


def band(mean: Mean) -> tuple[Array, Array]:
    """A line and the half width of its band."""
    return mean.value, np.nan_to_num(mean.error)
