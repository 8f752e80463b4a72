"""Random processes whose correlation functions are known exactly."""

import numpy as np
from scipy.signal import lfilter


def ornstein_uhlenbeck(rng, shape, tau, dt=1.0):
    """Stationary series of variance 1 with the autocorrelation exp(-t/tau), along the first axis."""
    a = np.exp(-dt / tau)
    noise = rng.standard_normal(shape)
    noise[1:] *= np.sqrt(1 - a * a)
    return lfilter([1.0], [1.0, -a], noise, axis=0)


def trapezoid_of_exponential(tau, dt):
    """Integral of exp(-t/tau) from 0 to infinity by the trapezoid rule."""
    a = np.exp(-dt / tau)
    return dt * (1 + a) / (2 * (1 - a))


def z_scores(estimate, repeats):
    """(estimate - truth) / error of many synthetic runs; estimate(k) gives (value, error, truth)."""
    return np.array([(v - t) / e for v, e, t in map(estimate, range(repeats))])


def covers(z, samples):
    """Whether z scores scatter as Student's t with samples - 1 degrees of freedom: error bars are honest.

    The mean must vanish within its own error, and the share within the two-sided 90 % bounds be 90 %.
    """
    from scipy import stats

    n, inside = len(z), np.mean(np.abs(z) < stats.t.ppf(0.95, samples - 1))
    return abs(np.median(z)) < 4 * 1.25 / np.sqrt(n) and abs(inside - 0.9) < 4 * np.sqrt(0.09 / n)
