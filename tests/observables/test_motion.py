"""Diffusion, velocity autocorrelation and density of states on motions that are known exactly."""

import numpy as np
import pytest
from processes import covers, ornstein_uhlenbeck, z_scores
from scipy.integrate import trapezoid

from taichimd.core.errors import AnalysisError
from taichimd.estimators.motion import (
    LINE_WIDTH,
    density_of_states,
    diffusion_from_msd,
    fit_diffusion,
    spectrum,
    velocity_autocorrelation,
)


def random_walk(rng, frames, atoms, diffusion=(0.5, 1.0, 2.0), dt=0.5):
    """Brownian motion with a D for each direction."""
    steps = rng.standard_normal((frames, atoms, 3)) * np.sqrt(2 * np.array(diffusion) * dt)
    return np.cumsum(steps, axis=0)


def displacements(x, lags):
    """Mean square displacements along x, y, z at the first lags of a run, (lags + 1, 3)."""
    return diffusion_from_msd(x, 1.0, lags, blocks=1).msd.value


def test_displacement_is_the_plain_mean_far_from_the_origin_too():
    x = random_walk(np.random.default_rng(0), 60, 7) + 1e4
    found = displacements(x, 59)
    for k in range(60):
        plain = ((x[k:] - x[: 60 - k]) ** 2).mean(axis=(0, 1))
        np.testing.assert_allclose(found[k], plain, rtol=1e-9, atol=1e-9)


def test_pieces_of_the_atoms_change_nothing(monkeypatch):
    x = random_walk(np.random.default_rng(0), 60, 7)
    whole = displacements(x, 30)
    monkeypatch.setattr("taichimd.estimators.motion._CHUNK", 1)
    np.testing.assert_allclose(displacements(x, 30), whole, rtol=1e-12)


def test_brownian_motion_has_its_diffusion_coefficient_and_the_error_covers():
    rng = np.random.default_rng(1)

    def estimate(_):
        found = diffusion_from_msd(random_walk(rng, 1000, 4), 0.5, 20.0)
        assert found.fit == (4.0, 20.0)
        return found.mean.value, found.mean.error, 3.5 / 3

    scores = z_scores(estimate, 400)
    assert covers(scores, 5)
    # Without Student's t it would be 88 % of five blocks.
    assert 0.92 < np.mean(np.abs(scores) < 2.0) < 0.98
    found = diffusion_from_msd(random_walk(rng, 4000, 50), 0.5, 20.0, fit=(1.0, 20.0))
    assert (abs(found.components.value - [0.5, 1, 2]) < 6 * found.components.error).all()
    assert (found.components.error < 0.1).all()
    np.testing.assert_allclose(found.total.value, 7.0 * found.time, rtol=0.05, atol=1e-9)


def persistent(t, tau):
    """Displacement of particles whose velocities forget themselves in tau: t^2, later 2 tau t."""
    return 2.0 * tau * (t - tau * (1.0 - np.exp(-t / tau)))


@pytest.mark.parametrize(("tau", "lags"), [(0.001, 2), (0.001, 3), (2.0, 200), (20.0, 200), (40.0, 200)])
def test_the_default_line_leaves_out_what_is_ballistic(tau, lags):
    t = np.arange(lags + 1.0)
    found = fit_diffusion(persistent(t, tau)[None, :, None] * np.ones(3), 1.0)
    start, end = found.fit
    assert found.diffusive
    assert end == lags
    assert start >= max(1.0, round(0.2 * lags), tau)
    # The slope that is left to come: 1 - exp(-t/tau) of D, D = tau.
    assert (1.0 - np.exp(-start / tau)) * tau <= found.mean.value < tau * (1 + 1e-9)


def test_free_flight_has_no_diffusive_part_and_says_so():
    t = np.arange(51.0)
    found = fit_diffusion((t**2)[None, :, None] * np.ones(3), 0.5)
    assert (found.fit, found.diffusive) == ((12.5, 25.0), False)
    assert fit_diffusion((t**2)[None, :, None] * np.ones(3), 0.5, (5.0, 25.0)).diffusive
    assert fit_diffusion(np.zeros((1, 51, 3)), 0.5).mean.value == 0.0
    with pytest.raises(AnalysisError, match="no line through one time alone: expected two or more beyond 0"):
        fit_diffusion(np.ones((1, 2, 3)), 1.0)


def test_free_flight_is_ballistic():
    velocity = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]])
    x = velocity * np.arange(50)[:, None, None] * 0.1
    found = displacements(x, 40)
    time = 0.1 * np.arange(41)
    np.testing.assert_allclose(found, (velocity**2).mean(axis=0) * time[:, None] ** 2, atol=1e-10)


def test_weights_of_the_velocity_autocorrelation():
    v = np.random.default_rng(3).standard_normal((80, 4, 3))
    masses = np.array([1.0, 2, 3, 4])
    found = velocity_autocorrelation(v, 5, masses, blocks=2)
    assert found.shape == (2, 6, 3)
    np.testing.assert_allclose(found[1, 0], (masses[:, None] * v[40:] ** 2).mean(axis=(0, 1)), rtol=1e-12)


def test_oscillators_show_as_lines_of_the_right_place_height_and_sum():
    """Ten oscillators of 3 and 5 heavier ones of 8 cycles per time, each in one direction."""
    rng = np.random.default_rng(4)
    dt, frames = 0.02, 20_000
    time = dt * np.arange(frames)[:, None]
    v = np.zeros((frames, 15, 3))
    masses = np.where(np.arange(15) < 10, 2.0, 5.0)
    frequency = np.where(np.arange(15) < 10, 3.0, 8.0)
    # Equal energies, so equal weights of all oscillators.
    v[:, :, 1] = np.cos(2 * np.pi * (frequency * time + rng.uniform(size=15))) / np.sqrt(masses)
    found = density_of_states(v, masses, dt, 10.0)
    g, f = found.density.value, found.frequency
    assert f[-1] == pytest.approx(1 / (2 * dt))
    assert trapezoid(g, f) == pytest.approx(45.0, rel=1e-12)
    low = f < 5.5
    assert f[low][g[low].argmax()] == pytest.approx(3.0, abs=0.051)
    assert f[~low][g[~low].argmax()] == pytest.approx(8.0, abs=0.051)
    assert trapezoid(g[low], f[low]) == pytest.approx(30.0, rel=0.01)
    assert g.min() > -0.03 * g.max()
    wide = f[low][g[low] > 0.5 * g.max()]
    assert np.ptp(wide) < 0.25


def test_a_line_leaks_nothing_negative_and_stays_where_it_is():
    """An exact spectrum: lines of 5 and 9.7 THz, in a ratio of 2 to 1."""
    dt, lags, atoms = 0.01, 200, 4
    t = dt * np.arange(lags + 1)
    correlation = (2.0 * np.cos(2 * np.pi * 5.0 * t) + np.cos(2 * np.pi * 9.7 * t)) / 3.0
    found = spectrum(np.array([correlation, correlation]), atoms, dt)
    density, f = found.density.value, found.frequency
    assert density.min() > -1e-12
    # Hann's window leaks -0.1 of a line of this height to where no state is.
    assert density[f < 2.0].max() < 1e-4 * density.max()
    assert trapezoid(density, f) == pytest.approx(3 * atoms, rel=1e-12)
    assert trapezoid(density[f < 7.4], f[f < 7.4]) == pytest.approx(2 * atoms, rel=1e-3)
    assert f[density.argmax()] == pytest.approx(5.0, abs=0.5 * f[1])
    upper = f > 7.4
    assert f[upper][density[upper].argmax()] == pytest.approx(9.7, abs=0.51 * f[1])
    # Of one line, exactly: (sin x / x)^4 about it, of the stated width.
    alone = spectrum(np.cos(2 * np.pi * 12.5 * t)[None], atoms, dt)
    x = np.pi * (alone.frequency - 12.5) * t[-1] / 2
    shape = np.sinc(x / np.pi) ** 4
    np.testing.assert_allclose(alone.density.value, alone.density.value.max() * shape, atol=2e-3)
    half = 12.5 + 0.5 * LINE_WIDTH / t[-1]
    assert np.sinc((half - 12.5) * t[-1] / 2) ** 4 == pytest.approx(0.5, abs=1e-3)


def test_a_spectrum_of_a_short_record_has_no_error_but_a_sentence():
    t = 0.01 * np.arange(101)
    three = np.cos(2 * np.pi * 5.0 * t)[None] * np.array([[1.0], [1.1], [0.9]])
    found = spectrum(three, 1, 0.01)
    assert np.isnan(found.density.error).all()
    assert found.density.note == "no error: the record is 6.0 correlation times long, shorter than 10"
    # One that forgets itself in a tenth of the window is long enough.
    damped = spectrum(three * np.exp(-t / 0.05), 1, 0.01)
    assert np.isfinite(damped.density.error).all()
    assert damped.density.note.startswith("the error is from 3 blocks")


def test_a_diffusion_that_drifts_has_no_error():
    t = np.arange(21.0)
    squares = t[None, :, None] * (1.0 + np.arange(5.0))[:, None, None] * np.ones(3)
    found = fit_diffusion(squares, 1.0)
    assert found.mean.value == pytest.approx(1.5)
    assert np.isnan(found.mean.error)
    assert "follow a trend" in found.mean.note


def test_density_of_states_of_a_decaying_correlation_and_its_error():
    """exp(-t/tau) has a Lorentzian with g(0) = 3N 4 tau."""
    rng = np.random.default_rng(5)
    found = density_of_states(
        ornstein_uhlenbeck(rng, (60_000, 4, 3), 1.0, 0.1), np.ones(4), 0.1, 40.0, blocks=20
    )
    f = found.frequency
    exact = 12 * 4 / (1 + (2 * np.pi * f) ** 2)
    low = f < 1.0
    assert np.median(abs(found.density.value - exact)[low] / found.density.error[low]) < 1.0
    np.testing.assert_allclose(found.density.value[low], exact[low], rtol=0.2)


X = np.random.default_rng(6).standard_normal((40, 3, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: displacements(X, 40), "window of 40 samples is not shorter than the run of 40"),
        (lambda: diffusion_from_msd(X, 1.0, 10.0), r"shorter than the block \(5 of 40 frames\) of 8"),
        (lambda: diffusion_from_msd(X, 1.0, 7.0, fit=(3.0, 8.0)), "line from 3 to 8: expected two times"),
        (lambda: diffusion_from_msd(X, 1.0, 7.0, fit=(3.0, 3.2)), "at least one frame"),
        (lambda: diffusion_from_msd(X, 0.0, 7.0), "dt = 0.0: expected a number above 0"),
        (lambda: diffusion_from_msd(X[..., :2], 1.0, 5.0), r"positions have the shape \(40, 3, 2\)"),
        (lambda: velocity_autocorrelation(X, 5, np.ones(2)), "2 weights for 3 atoms"),
        (lambda: velocity_autocorrelation(X, 5, blocks=0), "0 blocks: expected 1 or more"),
        (lambda: density_of_states(0 * X, np.ones(3), 1.0, 5.0), "atoms at rest"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()
