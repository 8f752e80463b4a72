"""Lines, jumps, steadiness and extrapolation, on numbers that are known exactly."""

import numpy as np
import pytest

from taichimd.core.errors import AnalysisError
from taichimd.estimators.conduction import (
    extrapolate,
    jump,
    line_through,
    notes_on_lengths,
    why_not_steady,
)


def test_lines_find_slopes_and_the_jump_between_them():
    x = np.arange(0.5, 100.0)
    y = np.where(x < 50.0, 400.0 - 0.5 * x, 360.0 - 0.25 * x)
    y[:7], y[45:55] = 1000.0, np.nan  # what margins leave out, and empty bins
    left, right = line_through(x, y, 0.0, 50.0), line_through(x, y, 50.0, 95.0)
    assert (left.slope, right.slope) == (pytest.approx(-0.5), pytest.approx(-0.25))
    assert jump(left, right, 50.0)[0] == pytest.approx(375.0 - 347.5)
    assert line_through(x, y, 0.0, 2.0) is None


def test_the_error_of_a_slope_is_the_scatter_of_slopes():
    rng = np.random.default_rng(1)
    x = np.arange(40.0)
    lines = [line_through(x, 300.0 - x + rng.normal(size=40), -1.0, 41.0) for _ in range(500)]
    assert np.std([one.slope for one in lines]) == pytest.approx(np.mean([o.error for o in lines]), rel=0.1)


def test_unequal_heat_is_not_steady():
    noise = 0.01 * np.array([1.0, -1.0, 0.5, -0.5, 0.0])
    assert why_not_steady(1.0 + noise, 1.0 - noise, False) == ""
    assert "which differ by 0.3" in why_not_steady(1.3 + noise, 1.0 + 0.5 * noise, False)
    assert "no heat flows" in why_not_steady(-1.0 + noise, -1.0 + noise, False)
    assert "follow a trend" in why_not_steady(np.arange(1.0, 6.0), np.arange(1.0, 6.0) + noise, True)


# HEAT of a diffusive chain, exact: Q L/dT at four lengths, kappa = 5.
EXACT = np.array([15.0, 31.0, 63.0, 127.0]), np.array([1.658, 2.447, 3.258, 3.929])


def test_extrapolation_of_an_exact_chain_and_its_notes():
    lengths, kappa = EXACT
    errors = 1e-3 * kappa**2  # equal weights of 1/kappa
    long = extrapolate(lengths[2:], kappa[2:], errors[2:])
    assert long.kappa.value == pytest.approx(4.93, abs=0.01)
    short = extrapolate(lengths[:2], kappa[:2], errors[:2])
    assert short.kappa.value == pytest.approx(4.42, abs=0.01)  # 12% low, below the mean free path
    assert any(
        "below the fitted mean free path" in note
        for note in notes_on_lengths(short, lengths[:2], kappa[:2], errors[:2])
    )
    every = extrapolate(lengths, kappa, errors / 10)
    assert every.freedom == 2
    notes = notes_on_lengths(every, lengths, kappa, errors / 10)
    assert any("not linear in 1/L" in note for note in notes)


def test_the_covariance_is_that_of_fits_to_noise():
    rng = np.random.default_rng(2)
    lengths = np.array([100.0, 200.0, 400.0, 800.0])
    exact = 10.0 / (1.0 + 90.0 / lengths)
    errors = 0.01 * exact
    fits = [extrapolate(lengths, exact + errors * rng.normal(size=4), errors) for _ in range(2000)]
    found = np.cov([[one.kappa.value, one.free_path.value] for one in fits], rowvar=False)
    np.testing.assert_allclose(found, np.mean([one.covariance for one in fits], axis=0), rtol=0.15)
    assert np.mean([one.chi2 for one in fits]) == pytest.approx(2.0, rel=0.1)


def test_lengths_that_do_not_differ_and_lines_that_cannot_be():
    lengths, kappa = np.array([100.0, 110.0]), np.array([5.0, 5.1])
    errors = np.array([0.2, 0.2])
    found = extrapolate(lengths, kappa, errors)
    assert any(
        "differs by less than its errors" in one for one in notes_on_lengths(found, lengths, kappa, errors)
    )
    with pytest.raises(AnalysisError, match="not above 0"):
        extrapolate(lengths, np.array([5.0, 9.0]), errors)
    with pytest.raises(AnalysisError, match="two lengths"):
        extrapolate(lengths[:1], kappa[:1], errors[:1])
    with pytest.raises(AnalysisError, match="take several runs"):
        extrapolate(lengths, kappa, np.zeros(2))
