"""Errors of means over consecutive blocks of one run: none where the blocks are not independent.

The statistical inefficiency of the series of blocks says how many of them count as one independent block:
J. D. Chodera et al., J. Chem. Theory Comput. 3, 26 (2007), doi:10.1021/ct0502864. Of blocks with many
channels, such as the bins of a histogram, the autocovariances of all channels are added up first.
"""

from dataclasses import replace

import numpy as np

from taichimd.core.arrays import Array
from taichimd.estimators.average import MIN_INDEPENDENT, inefficiency_from, widening
from taichimd.estimators.series import Mean, autocorrelation, mean_of

PIECES = 64
"""Blocks of a record whose errors come from their autocorrelation."""
FEW = 5
"""Blocks below which the error itself is uncertain by more than a third."""
_BY_CHANCE = 0.01
"""Share of blocks without a trend that count as a trend."""


def pieces_of(samples: int) -> int:
    """Number of pieces, at most `PIECES`, into which so many samples are cut: nearly equal ones."""
    return samples // -(-samples // PIECES)


def consecutive_mean(samples: Array) -> Mean:
    """Mean of many short consecutive blocks (blocks, ...), with its error from their autocorrelation.

    The error is NaN, and `note` says why, where the blocks hold fewer than `MIN_INDEPENDENT` independent
    ones.
    """
    n, plain = len(samples), mean_of(samples)
    if n < MIN_INDEPENDENT:
        there = "is one block" if n == 1 else f"are {n} blocks"
        return _without_error(plain, f"no error: there {there}, fewer than {MIN_INDEPENDENT}")
    flat = samples.reshape(n, -1)
    deviation = flat - flat.mean(axis=0)
    # A constant: what is left is rounding of the mean.
    still = bool((np.abs(deviation).max(axis=0) <= 8 * np.finfo(float).eps * np.abs(flat).max(axis=0)).all())
    g = 1.0 if still else _inefficiency(deviation)
    if n / g < MIN_INDEPENDENT:
        return _without_error(
            plain, f"no error: the record holds {n / g:.1f} independent samples, fewer than {MIN_INDEPENDENT}"
        )
    error = widening(n / g) * samples.std(axis=0) * np.sqrt(g / (n - g))
    error = np.where(error <= 4 * np.finfo(float).eps * np.abs(plain.value), 0.0, error)
    return Mean(plain.value, float(error) if np.ndim(error) == 0 else error, max(1, int(n / g)))


def _inefficiency(deviation: Array) -> float:
    """Inefficiency of all channels together, (n, channels), as `average.inefficiency_of` of one channel."""
    return inefficiency_from(autocorrelation(deviation, len(deviation) - 1).sum(axis=1))


def block_note(values: Array, consecutive: bool = True) -> str:
    """Why a few long blocks, or independent runs, give no error, or how uncertain it is.

    "" if nothing is to say.
    A note that begins with "no error" says that there must be none.
    """
    n, what = len(values), "block" if consecutive else "run"
    if n < 2:
        return f"no error: there is one {what} of samples"
    scatter = float(np.ptp(values))
    if consecutive and n > 3 and scatter > 1e-9 * float(np.abs(values).max()):
        from scipy.stats import linregress  # takes half a second to import

        line = linregress(np.arange(n), values)
        if line.pvalue < _BY_CHANCE:
            return f"no error: the {n} blocks follow a trend, so the run was not stationary"
    if n < FEW:
        return f"the error is from {n} {what}s, and itself uncertain by {100 / np.sqrt(2 * (n - 1)):.0f}%"
    return ""


def with_note(mean: Mean, note: str) -> Mean:
    """A mean with a note of `block_note`, and without its error if the note says so."""
    return _without_error(mean, note) if note.startswith("no error") else replace(mean, note=note)


def _without_error(mean: Mean, note: str) -> Mean:
    error = np.full(np.shape(mean.value), np.nan)
    return Mean(mean.value, float(error) if np.ndim(error) == 0 else error, mean.samples, note)
