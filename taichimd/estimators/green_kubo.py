"""Green-Kubo integrals with error bars: the part that conductivity and viscosity share.

Several runs: each is one independent sample. A sample has its own autocorrelation and its own running
integral, and the standard error of anything is the scatter of the samples, at each time. Integrals of
autocorrelations get noisier with time, so where to read them off, the plateau, is a choice that belongs to
the result: each sample is averaged over these times, and the error is the scatter of the averages.

One run: the integral on the plateau is the mean over i of y_i = x_i sum_k w_k x_{i+k}, w_k the weights of
the trapezoid rule. The series y is correlated, and its mean has the error of `average_of`. Only the band of
the running integral is the scatter of five pieces.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taichimd.core.errors import AnalysisError
from taichimd.core.markup import facts
from taichimd.estimators.average import average_of
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.series import (
    Array,
    Mean,
    autocorrelation,
    check_window,
    finite,
    mean_of,
    running_integral,
)

PIECES = 5
"""Number of pieces of one run, whose scatter is the band of the running integral."""
SIGNIFICANT = 2.0
"""Standard errors that a growth must exceed to count."""
NOTABLE = 0.1
"""Share of the whole integral that its growth must exceed to be reported."""


@dataclass(frozen=True)
class GreenKubo:
    """A running Green-Kubo integral and its value on a plateau.

    For one run `channels`, `mean` and `gain` have errors from the autocorrelation. If the run is too short,
    they are NaN, and `note` says why.
    """

    time: Array  # (m,) internal units, from 0 to the window
    correlation: Mean  # of the current, (m, channels), in the square of its unit
    # integral up to each time, (m, channels), in the unit of the result; `running.error` is the standard
    # error at each time
    running: Mean
    running_mean: Mean  # the same for the mean of the channels, (m,)
    channels: Mean  # the value of each channel on the plateau, (channels,)
    mean: Mean  # the value of the mean of the channels on the plateau
    plateau: tuple[float, float]  # (t1, t2), internal units
    # of `running_mean` from the third to the last quarter of the window; its error is of the gains of the
    # samples, without that of what came before
    gain: Mean

    def _repr_html_(self) -> str:
        """What a notebook shows: the values on the plateau."""
        rows = [("mean of the channels", self.mean.texts()[0])]
        rows += [(f"channel {k}", text) for k, text in enumerate(self.channels.texts(), 1)]
        return facts(rows + [("note", self.mean.note)] * bool(self.mean.note))


def runs_of(values: Any, name: str, axes: int) -> list[Array]:
    """One run, or several, as a list of checked arrays of `axes` axes."""
    several = isinstance(values, list | tuple) or np.ndim(values) == axes + 1
    runs = [finite(run, name, axes) for run in values] if several else [finite(values, name, axes)]
    if not runs:
        raise AnalysisError(f"{name}: no run given, expected one or more")
    return runs


def positive(**values: float) -> None:
    """Raise an AnalysisError for the first that is not above zero."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise AnalysisError(f"{name} = {value}: expected a number above 0")


def integrate(
    runs: list[Array], dt: float, window: float, factor: float, plateau: tuple[float, float]
) -> GreenKubo:
    """Factor times the time integral of the autocorrelation of each channel of runs (steps, channels).

    The running integral is averaged between the times of the plateau; the factor has the conversion of units.
    """
    positive(dt=dt, window=window)
    lags = round(window / dt)
    shortest = min(len(run) for run in runs)
    check_window(lags, shortest, "run")
    if len(runs) == 1:
        return _of_one_run(runs[0], lags, dt, factor, plateau)
    # Samples of equal weight are of equal length; what is over is cut off at the start.
    correlation = np.array([autocorrelation(run[len(run) - shortest :], lags) for run in runs])
    return read_off(correlation, dt, factor, plateau)


def read_off(correlation: Array, dt: float, factor: float, plateau: tuple[float, float]) -> GreenKubo:
    """Factor times the integral of correlations (samples, m, channels) at the times 0, dt, 2 dt ..."""
    time: Array = dt * np.arange(correlation.shape[1], dtype=np.float64)
    integral = factor * np.array([running_integral(c, dt) for c in correlation])
    across = integral.mean(axis=2)
    rows, quarter = _rows(time, plateau), max(1, len(time) // 4)
    of_samples = across[:, rows].mean(axis=1)
    note = block_note(of_samples, consecutive=False)
    return GreenKubo(
        time=time,
        correlation=mean_of(correlation),
        running=mean_of(integral),
        running_mean=mean_of(across),
        channels=with_note(mean_of(integral[:, rows].mean(axis=1)), note),
        mean=with_note(mean_of(of_samples), note),
        plateau=(float(plateau[0]), float(plateau[1])),
        gain=mean_of(across[:, -quarter:].mean(axis=1) - across[:, -2 * quarter : -quarter].mean(axis=1)),
    )


def _of_one_run(run: Array, lags: int, dt: float, factor: float, plateau: tuple[float, float]) -> GreenKubo:
    """`integrate` of one run: errors from the autocorrelation, bands from pieces if the window fits them."""
    found = read_off(autocorrelation(run, lags)[None], dt, factor, plateau)
    rows, quarter = _rows(found.time, plateau), max(1, (lags + 1) // 4)
    on_plateau = factor * products(run, trapezoid_weights(rows.start, rows.stop - 1, dt))
    end = trapezoid_weights(lags + 1 - quarter, lags, dt)
    before = trapezoid_weights(max(0, lags + 1 - 2 * quarter), lags - quarter, dt)
    end[: len(before)] -= before
    channels = [
        _averaged(value, series, len(run))
        for value, series in zip(found.channels.value, on_plateau.T, strict=True)
    ]
    note = next((one.note for one in channels if one.note), "")
    errors = np.array([np.nan if note else one.error for one in channels])
    whole = replace(
        found,
        channels=Mean(found.channels.value, errors, min(one.samples for one in channels), note),
        mean=_averaged(found.mean.value, on_plateau.mean(axis=1), len(run)),
        gain=_averaged(found.gain.value, factor * products(run, end).mean(axis=1), len(run)),
    )
    length = len(run) // PIECES
    if lags >= length - 1:
        return whole
    pieces = run[len(run) - PIECES * length :].reshape(PIECES, length, -1)
    bands = read_off(np.array([autocorrelation(piece, lags) for piece in pieces]), dt, factor, plateau)
    curves = {
        name: replace(getattr(found, name), error=getattr(bands, name).error, samples=PIECES)
        for name in ("correlation", "running", "running_mean")
    }
    return replace(whole, **curves)


def _averaged(value: float, series: Array, samples: int) -> Mean:
    """A value of a run with the error of a series whose mean it is, up to the ends of the run."""
    average = average_of(series)
    note = average.note
    if 2 * len(series) < samples:
        note = "no error: the correlation time reaches beyond half of the run"
    error = np.nan if note or average.error is None else average.error
    return Mean(value, error, max(1, int(average.independent)), note)


def trapezoid_weights(first: int, last: int, dt: float) -> Array:
    """Weights (last + 1,) of C(k) in the mean of its running integrals up to `first` ... `last`, as dt."""
    k = np.arange(last + 1)
    weights = dt * (last - np.maximum(k, first - 1) + 0.5 * (k >= first)) / (last - first + 1)
    weights[0] = 0.5 * dt * (last - max(first - 1, 0)) / (last - first + 1)
    return np.asarray(weights, np.float64)


def products(run: Array, weights: Array) -> Array:
    """y_i = x_i sum_k w_k x_{i+k} of each channel, (n - m + 1, channels), where all x_{i+k} are there."""
    n, m = len(run), len(weights)
    size = 1 << (n + m).bit_length()
    spectrum = np.fft.rfft(run, size, axis=0) * np.conj(np.fft.rfft(weights, size))[:, None]
    return np.asarray(run[: n - m + 1] * np.fft.irfft(spectrum, size, axis=0)[: n - m + 1])


def growing(found: GreenKubo) -> bool:
    """Whether the mean running integral gains over its last quarters: two errors, and a tenth of its end."""
    gain = abs(found.gain.value)
    return bool(gain > SIGNIFICANT * found.gain.error and gain > NOTABLE * abs(found.running_mean.value[-1]))


def scaled(found: GreenKubo, factor: float) -> GreenKubo:
    """The same integral in another unit, `factor` times as large in numbers."""

    def times(mean: Mean) -> Mean:
        return replace(mean, value=mean.value * factor, error=mean.error * factor)

    return replace(
        found, running=times(found.running), running_mean=times(found.running_mean),
        channels=times(found.channels), mean=times(found.mean), gain=times(found.gain),
    )  # fmt: skip


def _rows(time: Array, plateau: tuple[float, float]) -> slice:
    step = time[1]
    first, last = round(plateau[0] / step), round(plateau[1] / step)
    if not 0 <= first <= last < len(time):
        raise AnalysisError(
            f"plateau from {plateau[0]:g} to {plateau[1]:g}: expected times in rising order within the "
            f"correlation window of {time[-1]:g} (internal units)"
        )
    return slice(first, last + 1)
