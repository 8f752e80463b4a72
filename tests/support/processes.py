"""Random processes whose correlation functions are known exactly."""

import numpy as np
from scipy import stats
from scipy.signal import lfilter

from taichimd.estimators.series import student


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
    """(estimate - truth) / error of many synthetic runs; estimate(k) gives (value, error, truth).

    A few that have no error, because their blocks follow a trend by chance, are left out.
    """
    scores = np.array([(v - t) / e for v, e, t in map(estimate, range(repeats))])
    known = scores[np.isfinite(scores)]
    assert len(known) >= 0.97 * repeats
    return known


def covers(z, samples):
    """Whether z scores scatter as Student's t with samples - 1 degrees of freedom: error bars are honest.

    The scores are of widened errors, which two of them make 95 % of any t.

    Two looks: the distribution (Kolmogorov-Smirnov), and the sum of squares of the scores turned into normal
    ones (chi square), which sees errors that are a few per cent off.
    """
    t = stats.t(samples - 1)
    z = z * student(samples - 1)
    squares = (stats.norm.ppf(t.cdf(z)) ** 2).sum()
    tail = stats.chi2(len(z)).sf(squares)
    return stats.kstest(z, t.cdf).pvalue > 1e-3 and 5e-4 < tail < 1 - 5e-4
