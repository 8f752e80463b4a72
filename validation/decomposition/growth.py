"""How fast two trajectories part, and whether they sample the same: arithmetic of `divergence`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.analysis.series import block_means, mean_of

LOW, HIGH = 1e-12, 1e-2
"""angstrom: above what rounding adds in each step, below the size of a cage."""
PIECES = 5


def growth(times: NDArray[np.float64], distance: NDArray[np.float64]) -> dict[str, Any] | None:
    """Rate of exponential growth between LOW and HIGH.

    The mean of least-squares slopes of log(distance) in equal pieces of that time, its error from their
    scatter: the rates of pieces are nearly independent, the deviations from one line through all are not.

    Args:
        times: ps, increasing.
        distance: angstrom, at these times.

    Returns:
        None where fewer than two snapshots a piece lie between LOW and HIGH.
    """
    above = np.flatnonzero(distance > LOW)
    first = int(above[0]) if above.size else len(times)
    beyond = np.flatnonzero(distance[first:] > HIGH)
    end = first + int(beyond[0]) if beyond.size else len(times)
    t, d = times[first:end], distance[first:end]
    if len(t) < 2 * PIECES or not (d > 0.0).all():
        return None
    slopes = np.array(
        [np.polyfit(t[piece], np.log(d[piece]), 1)[0] for piece in np.array_split(np.arange(len(t)), PIECES)]
    )
    rate = mean_of(slopes)
    return {
        "rate_per_ps": rate.value,
        "error": rate.error,
        "pieces": slopes.tolist(),
        "from_ps": float(t[0]),
        "to_ps": float(t[-1]),
    }


def same(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """Difference of two growth rates in units of its error; the same up to two."""
    if one is None or other is None:
        return None
    error = float(np.hypot(one["error"], other["error"]))
    apart = abs(one["rate_per_ps"] - other["rate_per_ps"])
    return {"difference_per_ps": apart, "error": error, "same_within_two_errors": apart < 2.0 * error}


def paired(one: Any, other: Any, blocks: int) -> dict[str, Any]:
    """Difference of the means of two series over the same time, its error from the differences of blocks.

    What both do alike, such as a slow relaxation, is in neither.
    """
    means = block_means(one, blocks), block_means(other, blocks)
    difference = mean_of(means[0] - means[1])
    return {
        "means": [float(m.mean()) for m in means],
        "difference": difference.value,
        "error": difference.error,
        "in_errors": abs(difference.value) / difference.error if difference.error else None,
    }


def paired_curves(one: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, Any]:
    """The same of curves, (blocks, bins): how many bins differ by two errors, and would by chance."""
    from scipy.stats import t as student

    difference = mean_of(one - other)
    seen = (np.minimum(one.mean(axis=0), other.mean(axis=0)) > 0.05) & (difference.error > 0.0)
    if not seen.any():
        return {"bins": 0}
    ratio = np.abs(difference.value[seen]) / difference.error[seen]
    return {
        "bins": int(seen.sum()),
        "rms_difference": float(np.sqrt(np.mean(difference.value[seen] ** 2))),
        "rms_error": float(np.sqrt(np.mean(difference.error[seen] ** 2))),
        "fraction_beyond_two_errors": float(np.mean(ratio > 2.0)),
        "expected_by_chance": float(2.0 * student.sf(2.0, len(one) - 1)),
    }
