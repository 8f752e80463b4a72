"""Averages: the start of production and standard errors, on series whose truth is known."""

import numpy as np
import pytest
from processes import ornstein_uhlenbeck

from taichimd.core.errors import AnalysisError
from taichimd.estimators.average import (
    average_of,
    inefficiency_of,
    production_start,
    trend_of,
    widening,
)


def test_inefficiency_of_an_ornstein_uhlenbeck_process():
    """exp(-k/tau) sums to g = (1 + a)/(1 - a) with a = exp(-1/tau)."""
    a = np.exp(-1 / 7.0)
    x = ornstein_uhlenbeck(np.random.default_rng(3), (20_000, 40), 7.0).T
    found = np.median([inefficiency_of(one) for one in x])
    assert found == pytest.approx((1 + a) / (1 - a), rel=0.05)


def test_white_noise_has_its_textbook_error():
    x = np.random.default_rng(0).standard_normal(4000)
    found = average_of(x)
    assert found.error == pytest.approx(x.std(ddof=1) / np.sqrt(4000), rel=0.1)
    assert found.inefficiency >= 1.0


@pytest.mark.parametrize(
    ("n", "tau", "decay"),
    [(2000, 1.0, 0.0), (2000, 20.0, 0.0), (200, 5.0, 0.0), (40, 1.0, 0.0), (1000, 5.0, 5.0)],
)
def test_errors_cover_the_truth(n, tau, decay):
    """Of 1,000 series, some behind a decay, 93 to 97 in 100 means lie within two errors of the truth, 0.

    95 would be exact. There are 18 to 920 independent samples.
    """
    noise = ornstein_uhlenbeck(np.random.default_rng(int(tau)), (n, 1000), tau).T
    x = noise + decay * np.exp(-np.arange(n) / (4 * tau))
    found = [average_of(one, production_start([one])) for one in x]
    given = [one for one in found if one.error is not None]
    assert len(given) > 0.85 * len(found)
    assert 0.93 <= np.mean([abs(one.value) < 2 * one.error for one in given]) <= 0.97
    assert 0.66 <= np.mean([abs(one.value) < one.error for one in given]) <= 0.76


def test_errors_from_ten_independent_samples_are_nearly_honest():
    """Half of such series seem to have fewer, and no error; the others seem to have more than they have."""
    x = ornstein_uhlenbeck(np.random.default_rng(1), (100, 1000), 5.0).T
    found = [average_of(one, production_start([one])) for one in x]
    given = [one for one in found if one.error is not None]
    assert 0.5 * len(found) < len(given) < 0.8 * len(found)
    assert np.mean([abs(one.value) < 2 * one.error for one in given]) > 0.87


@pytest.mark.parametrize(("independent", "factor"), [(10.0, 1.92), (30.0, 1.154), (3000.0, 1.001)])
def test_the_factor_of_few_samples(independent, factor):
    """Student's t at 95 % with 7/3, 9 and 999 degrees of freedom over 1.96: 3.76, 2.262, 1.962."""
    assert widening(independent) == pytest.approx(factor, abs=0.005)


def oscillation_with_a_slow_part(rng, n, many):
    """As energies of a crystal with a thermostat: C(k) is soon negative, and yet g is about 9."""
    turn = np.exp(-1 / 5.0 + 2j * np.pi / 5.0)
    noise = rng.standard_normal((n, many)) + 1j * rng.standard_normal((n, many))
    kicks = np.sqrt(1 - abs(turn) ** 2) * noise
    fast = np.empty((n, many), complex)
    fast[0] = rng.standard_normal(many)
    for k in range(1, n):
        fast[k] = turn * fast[k - 1] + kicks[k]
    return (np.sqrt(0.7) * fast.real + np.sqrt(0.3) * ornstein_uhlenbeck(rng, (n, many), 15.0)).T


def test_a_slow_part_behind_an_oscillation_counts():
    x = oscillation_with_a_slow_part(np.random.default_rng(6), 2000, 200)
    found = [average_of(one) for one in x]
    assert 7 < np.median([one.inefficiency for one in found]) < 12
    within = np.mean([abs(one.value) < 2 * one.error for one in found])
    assert 0.90 <= within <= 0.98


def test_a_short_record_that_oscillates_has_the_scatter_of_its_blocks():
    """Without them 86 of 100 means lie within two errors of the truth."""
    x = oscillation_with_a_slow_part(np.random.default_rng(6), 250, 1000)
    given = [one for one in map(average_of, x) if one.error is not None]
    assert len(given) > 950
    assert np.mean([abs(one.value) < 2 * one.error for one in given]) > 0.88


def test_equilibration_is_left_out():
    """Twenty correlation times of a decay of five deviations before 2,000 samples of a stationary series."""
    noise = ornstein_uhlenbeck(np.random.default_rng(5), (2000, 50), 3.0).T
    decay = 5.0 * np.exp(-np.arange(2000) / 60.0)
    starts = [production_start([one + decay]) for one in noise]
    found = [average_of(one + decay, start) for one, start in zip(noise, starts, strict=True)]
    assert 60 < np.median(starts) < 500
    assert np.mean([abs(one.value) < 3 * one.error for one in found]) >= 0.9
    whole = np.mean([average_of(one + decay).value for one in noise])
    assert whole > 5 * abs(np.mean([one.value for one in found]))


def test_the_slowest_of_several_series_decides():
    rng, decay = np.random.default_rng(1), 8.0 * np.exp(-np.arange(1000) / 50.0)
    fast, slow = rng.standard_normal(1000), rng.standard_normal(1000) + decay
    assert production_start([fast, slow]) == production_start([slow]) > production_start([fast])
    assert production_start([np.full(1000, np.nan)]) == 0


def test_a_trend_has_no_error_bar():
    rng = np.random.default_rng(2)
    trend = np.linspace(0.0, 30.0, 500) + rng.standard_normal(500)
    found = average_of(trend)
    assert found.error is None
    assert found.independent < 10
    assert "independent ones, fewer than 10" in found.note


def test_a_constant_has_no_scatter():
    found = average_of(np.full(50, 0.1))
    assert found.value == pytest.approx(0.1)
    assert found.error == pytest.approx(0.0, abs=1e-15)
    assert found.inefficiency == 1.0


def test_too_few_samples():
    assert average_of(np.array([1.0])).error is None
    assert average_of(np.arange(5.0) % 2).error is None
    with pytest.raises(AnalysisError, match="has 3 samples, and production begins at sample 3"):
        average_of(np.ones(3), 3)
    with pytest.raises(AnalysisError, match="not finite"):
        average_of(np.array([1.0, np.nan]))


@pytest.mark.parametrize(("n", "tau"), [(200, 2.0), (2000, 20.0)])
def test_a_stationary_series_has_no_trend(n, tau):
    """Of 1,000 series that have an error bar, five at most."""
    x = ornstein_uhlenbeck(np.random.default_rng(1), (n, 1000), tau).T
    trends = [trend_of(one) for one in x if average_of(one).error is not None]
    assert len(trends) > 800
    assert sum(one.significant for one in trends) <= 5


def test_a_trend_is_the_difference_of_the_halves():
    """Of white noise on a step: by hand."""
    x = np.random.default_rng(3).standard_normal(1000) + np.repeat([0.0, 1.0], 500)
    found = trend_of(np.concatenate([np.full(7, 99.0), x]), 7)
    assert found.difference == pytest.approx(x[500:].mean() - x[:500].mean())
    assert found.error == pytest.approx(np.sqrt(2 / 500), rel=0.4)
    assert found.significant
    assert not trend_of(np.full(40, 0.1)).significant
    with pytest.raises(AnalysisError, match="a trend needs four samples, and production has 3"):
        trend_of(np.ones(5), 2)
