"""Infrared spectrum from a series of dipole moments."""

from typing import Any

import numpy as np

from taichimd.core.errors import AnalysisError
from taichimd.estimators.blocks import with_note
from taichimd.estimators.motion import DensityOfStates, joint_note, parzen, velocity_autocorrelation
from taichimd.estimators.series import finite, mean_of

FASTEST = 0.35
"""Highest frequency of a spectrum, times the time between samples: beyond it a difference quotient is no
derivative (at 0.35 it has 37 % of it, which is made up for)."""


def infrared_spectrum(dipoles: Any, dt: float, lags: int, blocks: int = 5) -> DensityOfStates:
    """Power spectrum of the derivative of a dipole moment M (samples, 3), at frequencies up to `FASTEST`/dt.

    F(f) = integral over all t of <dM/dt(0) . dM/dt(t)> cos(2 pi f t), with Parzen's window. The absorption
    coefficient times the refractive index is F/(6 eps0 c V kB T) of a classical system (D. A. McQuarrie,
    Statistical Mechanics, 1976, chapter 21). The derivative is a central difference, whose factor sin(x)/x, x
    = 2 pi f dt, is divided out. F is in the unit of the dipole squared per time; its error is of `blocks`
    pieces.
    """
    series = finite(dipoles, "dipole moments", 2)
    if len(series) < 4 or series.shape[1] != 3:
        raise AnalysisError(f"dipole moments have the shape {series.shape}, expected (4 or more, 3)")
    slope = (series[2:] - series[:-2]) / (2.0 * dt)
    correlation = velocity_autocorrelation(slope[:, None, :], lags, blocks=blocks).sum(axis=2)
    windowed = correlation * parzen(lags)
    even = np.concatenate([windowed, windowed[:, -2:0:-1]], axis=1)
    density = dt * np.fft.rfft(even, axis=1).real
    frequency = np.arange(lags + 1) / (2.0 * lags * dt)
    kept = frequency * dt <= FASTEST
    note = joint_note(correlation) if (correlation[:, 0] > 0.0).all() else "no error: M is constant"
    # np.sinc(x) is sin(pi x)/(pi x).
    density = density[:, kept] / np.sinc(2.0 * frequency[kept] * dt) ** 2
    return DensityOfStates(frequency[kept], with_note(mean_of(density), note))
