"""Autocorrelation, its integral and block means on series that are known exactly."""

import numpy as np
import pytest
from processes import ornstein_uhlenbeck
from scipy.integrate import trapezoid

from taichimd.core.errors import AnalysisError
from taichimd.estimators.series import (
    autocorrelation,
    mean_of,
    running_integral,
)


def test_autocorrelation_is_the_plain_sum():
    x = np.random.default_rng(0).standard_normal((57, 2, 3)) + 0.3
    found = autocorrelation(x, 56)
    for k in range(57):
        np.testing.assert_allclose(found[k], (x[: 57 - k] * x[k:]).mean(axis=0), rtol=1e-12, atol=1e-13)


def test_autocorrelation_of_an_ornstein_uhlenbeck_process():
    x = ornstein_uhlenbeck(np.random.default_rng(1), (4000, 400), 7.0)
    c = autocorrelation(x, 40)
    error = c.std(axis=1, ddof=1) / np.sqrt(400)
    assert (np.abs(c.mean(axis=1) - np.exp(-np.arange(41) / 7.0)) < 4 * error).all()


def test_running_integral_is_the_trapezoid_rule():
    values = np.random.default_rng(0).standard_normal((9, 2))
    found = running_integral(values, 0.3)
    assert (found[0] == 0).all()
    np.testing.assert_allclose(found[-1], trapezoid(values, dx=0.3, axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: autocorrelation(np.ones(5), 5), "window of 5 samples is not shorter than the series of 5"),
        (lambda: autocorrelation(np.ones(5), 0), "correlation window of 0 samples: expected 1 or more"),
        (lambda: autocorrelation([1, np.nan, 2], 1), r"not finite \(index \[1\]\)"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()


def test_standard_error_by_hand():
    """Of 1, 2, 4, 9: deviations -3, -2, 0, 5, squares 38; 38/3 over four samples; t_3 at 95 % is 3.182446."""
    found = mean_of(np.array([1.0, 2.0, 4.0, 9.0]))
    assert (found.value, found.samples) == (4.0, 4)
    assert found.error == pytest.approx(1.7795130420052185 * 3.1824463 / 1.959964, rel=1e-7)
    columns = mean_of(np.array([[0.0, 5.0], [2.0, 5.0]]))
    # t_1 at 95 % is the tangent of 0.475 pi.
    np.testing.assert_allclose(columns.error, [np.tan(0.475 * np.pi) / 1.959964, 0.0], rtol=1e-7)
    assert np.isnan(mean_of(np.array([3.0])).error)


def test_samples_that_agree_have_no_error_of_rounding():
    """The mean of five times a number rounds; the scatter is none."""
    same = np.full((5, 2), 0.9350724237877682)
    assert (same.std(axis=0) > 0.0).all()
    assert (mean_of(same).error == 0.0).all()
    assert mean_of(np.array([1.0, 1.0 + 1e-9])).error > 0.0
