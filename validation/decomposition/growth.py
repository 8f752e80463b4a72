"""How fast two trajectories part, and whether they sample the same: arithmetic of `divergence`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.estimators.series import mean_of

LOW, HIGH = 1e-12, 1e-2
"""angstrom: above what rounding adds in each step, below the size of a cage."""
PIECES = 5


def growth(times: NDArray[np.float64], distance: NDArray[np.float64]) -> dict[str, Any] | None:
    """Rate of exponential growth of distances (angstrom) at times (ps) between LOW and HIGH; or None.

    The mean of least-squares slopes of log(distance) in equal pieces of that time, its error from their
    scatter: the rates of pieces are nearly independent, the deviations from one line through all are not.
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


def mean_rate(found: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Mean of the rates of several pairs of runs; None if there is none.

    The error is that of one of them on average: while they are close, all pairs sample the same trajectory.
    """
    rates = [one for one in found if one is not None]
    if not rates:
        return None
    return {
        "rate_per_ps": float(np.mean([one["rate_per_ps"] for one in rates])),
        "error": float(np.mean([one["error"] for one in rates])),
        "pairs": len(rates),
    }


def same(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """Difference of two growth rates and its error; the same up to two errors."""
    if one is None or other is None:
        return None
    error = float(np.hypot(one["error"], other["error"]))
    apart = abs(one["rate_per_ps"] - other["rate_per_ps"])
    return {"difference_per_ps": apart, "error": error, "same_within_two_errors": apart < 2.0 * error}


def compare_groups(one: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, Any]:
    """Whether the means of two groups of independent runs are the same: Student's t with a common variance.

    Blocks of one run would not do: a crystal that relaxes slowly differs from run to run by more than they
    tell. For averages (runs,): `difference`, `error`, `in_errors`; for curves (runs, bins) their rms over the
    bins in which there is anything, and the part of the bins that differ by more than two errors.
    `by_chance`: how often that is so of equal means.
    """
    from scipy.stats import t as student

    freedom = len(one) + len(other) - 2
    squares = sum(((group - group.mean(axis=0)) ** 2).sum(axis=0) for group in (one, other))
    error = np.sqrt(squares / freedom * (1.0 / len(one) + 1.0 / len(other)))
    difference = one.mean(axis=0) - other.mean(axis=0)
    chance = float(2.0 * student.sf(2.0, freedom))
    means = [group.mean(axis=0) for group in (one, other)]
    if one.ndim == 1:
        return {
            "means": [float(mean) for mean in means],
            "difference": float(difference),
            "error": float(error),
            "in_errors": float(abs(difference) / error) if error > 0.0 else None,
            "by_chance": chance,
        }
    seen = (np.minimum(*means) > 0.05) & (error > 0.0)
    if not seen.any():
        return {"bins": 0}
    return {
        "bins": int(seen.sum()),
        "rms_difference": float(np.sqrt(np.mean(difference[seen] ** 2))),
        "rms_error": float(np.sqrt(np.mean(error[seen] ** 2))),
        "beyond_two_errors": float(np.mean(np.abs(difference[seen]) > 2.0 * error[seen])),
        "by_chance": chance,
    }
