"""Slopes with errors, on series whose slope is known."""

import numpy as np
import pytest
from processes import ornstein_uhlenbeck

from taichimd.estimators.slope import slope_of


def test_by_hand():
    """0, 2, 1 at 0, 1, 2: slope 1/2 (sum of (t - 1) x over 2); residuals -1/2, 1, -1/2 about the line."""
    found = slope_of(np.arange(3.0), np.array([0.0, 2.0, 1.0]))
    assert found.value == pytest.approx(0.5)
    assert found.scatter == pytest.approx(np.sqrt(1.5))
    assert found.error is None
    assert not found.measurable
    assert "fewer than 10" in found.note


@pytest.mark.parametrize("tau", [1.0, 10.0])
def test_errors_cover_the_true_slope(tau):
    """Of 300 series with correlated noise 90 to 98 in 100 slopes lie within two errors of the truth."""
    t = np.linspace(0.0, 5.0, 1500)
    noise = ornstein_uhlenbeck(np.random.default_rng(4), (1500, 300), tau).T
    found = [slope_of(t, one + 0.3 * t) for one in noise]
    within = np.mean([abs(one.value - 0.3) < 2 * one.error for one in found])
    assert 0.90 <= within <= 0.98
    flat = [slope_of(t, one) for one in noise]
    assert np.mean([one.measurable for one in flat]) < 0.1


def test_what_has_no_slope():
    assert slope_of(np.arange(2.0), np.ones(2)) is None
    assert slope_of(np.ones(5), np.arange(5.0)) is None
    constant = slope_of(np.arange(20.0), np.full(20, 0.1))
    assert constant.value == pytest.approx(0.0, abs=1e-16)


def test_most_random_walks_have_no_measurable_slope():
    """Residuals are correlated over all of it: white noise of that scatter would give nearly all a slope."""
    rng = np.random.default_rng(8)
    found = [slope_of(np.arange(500.0), rng.standard_normal(500).cumsum()) for _ in range(100)]
    assert np.mean([one.measurable for one in found]) < 0.35
