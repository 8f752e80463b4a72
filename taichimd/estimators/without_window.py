"""Green-Kubo integrals without a window to choose: STACIE fits the spectrum of the current.

The zero-frequency limit of the power spectrum is the integral of the autocorrelation. STACIE fits a rational
function, (p0 + p2 f^2)/(1 + q2 f^2), up to a cutoff frequency, and averages over cutoffs with weights that it
finds: G. Toraman, D. Fauconnier, T. Verstraelen, J. Chem. Inf. Model. 65, 10445 (2025),
10.1021/acs.jcim.5c01475. The package is an optional extra.
"""

from dataclasses import dataclass

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError, SettingsError
from taichimd.estimators.series import Mean

FEWEST = 100
"""Samples of a run, of which a fit at low frequencies needs some."""


@dataclass(frozen=True)
class WithoutWindow:
    """An integral of STACIE."""

    mean: Mean  # in the unit of the result; the error is that of the fit
    cutoff: float  # mean cutoff frequency, 1/time
    points: int  # frequencies that the fit counts


def check_stacie() -> None:
    """Raise a SettingsError if the package is not installed."""
    try:
        import stacie  # noqa: F401
    except ImportError:
        raise SettingsError(
            "stacie: the package is not installed; in the checkout: pip install '.[stacie]', or leave "
            "--stacie out"
        ) from None


def stacie_integral(runs: list[Array], dt: float, factor: float) -> WithoutWindow:
    """Factor times the integral of the autocorrelation, mean of all channels of all runs (steps, channels).

    Channels are independent and alike, as x, y and z of a cubic crystal. SettingsError: STACIE is not
    installed. AnalysisError: runs of fewer than `FEWEST` samples, or no fit.
    """
    check_stacie()
    from stacie import PadeModel, compute_spectrum, estimate_acint

    shortest = min(len(run) for run in runs)
    if shortest < FEWEST:
        raise AnalysisError(
            f"stacie: a run has {shortest} samples; expected {FEWEST} or more: take a longer --time"
        )
    series = np.concatenate([run[len(run) - shortest :].T for run in runs])
    # Of the mean current nothing is known beside what a finite run leaves over.
    spectrum = compute_spectrum(series, prefactors=factor, timestep=dt, include_zero_freq=False)
    try:
        found = estimate_acint(spectrum, PadeModel([0, 2], [2]))
    except (RuntimeError, ValueError, AssertionError, np.linalg.LinAlgError) as error:
        raise AnalysisError(
            f"stacie found no fit to the spectrum ({error}); take longer runs, or leave --stacie out"
        ) from error
    mean = Mean(float(found.acint), float(found.acint_std), len(series))
    return WithoutWindow(mean, float(found.fcut), int(found.ncut))


def disagreement(plateau: Mean, other: WithoutWindow) -> str:
    """A note if a plateau and STACIE differ by more than two errors; empty if they agree.

    A slow part of the correlation that is weak at first can carry half of the integral. The fit of one
    relaxation up to a high cutoff frequency leaves such a part out.
    """
    apart = abs(plateau.value - other.mean.value)
    if not apart > 2.0 * float(np.hypot(plateau.error, other.mean.error)):
        return ""
    return (
        f"the plateau ({plateau.value:.3g} W/(m K)) and STACIE ({other.mean.value:.3g}) differ by more than "
        "two errors: STACIE may leave out a slow and weak part of the correlation, and a plateau depends on "
        "its window; look at kappa.png, and take longer or more runs"
    )
