"""Green-Kubo and driven conductivity, viscosity: exact integrals, honest errors, units by hand."""

import re
import sys

import numpy as np
import pytest
from processes import covers, ornstein_uhlenbeck, trapezoid_of_exponential, z_scores

from taichimd.core.errors import AnalysisError, SettingsError
from taichimd.core.units import WATT_PER_METRE_KELVIN
from taichimd.estimators.green_kubo import integrate, products, read_off, trapezoid_weights
from taichimd.estimators.series import Mean, autocorrelation, running_integral
from taichimd.estimators.transport import (
    green_kubo_conductivity,
    green_kubo_viscosity,
    hnemd_conductivity,
    stacie_conductivity,
)
from taichimd.estimators.without_window import WithoutWindow, check_stacie, disagreement, stacie_integral
from taichimd.observables.green_kubo import green_kubo_result

TAU = 10.0
EXACT = trapezoid_of_exponential(TAU, 1.0)
# CODATA 2014, as in ASE; the internal unit of time is angstrom * sqrt(amu/eV).
CHARGE, AMU, BOLTZMANN = 1.6021766208e-19, 1.660539040e-27, 1.38064852e-23
SECONDS = 1e-10 * np.sqrt(AMU / CHARGE)


@pytest.mark.parametrize("runs", [3, 8])
def test_errors_cover_on_a_given_plateau(runs):
    rng = np.random.default_rng(runs)

    def estimate(_):
        series = [ornstein_uhlenbeck(rng, (4000, 3), TAU) for _ in range(runs)]
        found = integrate(series, 1.0, 100.0, 1.0, (80.0, 100.0))
        assert found.mean.samples == runs
        return found.mean.value, found.mean.error, EXACT

    assert covers(z_scores(estimate, 300), runs)


def test_errors_of_the_running_integral_and_of_components():
    rng = np.random.default_rng(4)
    runs = [ornstein_uhlenbeck(rng, (10_000, 3), TAU) for _ in range(20)]
    found = integrate(runs, 1.0, 100.0, 1.0, (80.0, 100.0))
    a = np.exp(-1 / TAU)
    exact = 0.5 * (1 + a) / (1 - a) * (1 - a ** np.arange(101))
    z = (found.running_mean.value - exact)[1:] / found.running_mean.error[1:]
    assert abs(z).max() < 4.5
    assert (abs(found.channels.value - EXACT) < 4.5 * found.channels.error).all()
    np.testing.assert_allclose(found.correlation.value[0], 1.0, atol=0.05)


def test_conductivity_of_a_known_current_by_hand():
    """J along x with variance 4 (eV angstrom/t)^2 and tau = 10 t; 300 K, 1000 angstrom^3."""
    rng = np.random.default_rng(6)
    current = [2.0 * ornstein_uhlenbeck(rng, (50_000, 3), TAU) * [1, 0.5, 0.25] for _ in range(6)]
    found = green_kubo_conductivity(current, 1.0, 1000.0, 300.0, 120.0, (80.0, 120.0))
    integral = 4.0 * EXACT * (CHARGE * 1e-10) ** 2 / SECONDS
    by_hand = integral / (BOLTZMANN * 300.0**2 * 1000e-30)
    assert by_hand == pytest.approx(812.8, rel=1e-3)
    for value, error, expected in zip(
        found.channels.value, found.channels.error, [by_hand, by_hand / 4, by_hand / 16], strict=True
    ):
        assert abs(value - expected) <= 5 * error
        assert error < 0.15 * expected
    assert found.mean.value == pytest.approx(found.channels.value.mean())


def test_one_run_several_runs_and_a_stacked_array_are_the_same_thing():
    runs = ornstein_uhlenbeck(np.random.default_rng(0), (900, 2, 3), 3.0).transpose(1, 0, 2)
    place = (1.0, 10.0, 300.0, 20.0, (10.0, 20.0))
    a, b = green_kubo_conductivity(runs, *place), green_kubo_conductivity(list(runs), *place)
    assert a.mean == b.mean
    each = [green_kubo_conductivity(run, *place).mean.value for run in runs]
    assert a.mean.value == pytest.approx(np.mean(each))


def test_driven_conductivity_by_hand_and_its_error():
    """A mean current of kappa T V F: kappa = 2 W/(m K) at 300 K, 5000 angstrom^3, 1e-4 / angstrom."""
    rng = np.random.default_rng(7)
    unit = CHARGE / (SECONDS * 1e-10)  # W/(m K) of one eV / (t angstrom K)
    assert unit == pytest.approx(157376.9, rel=1e-6)
    mean = 2.0 / unit * 300.0 * 5000.0 * 1e-4
    scale = 0.1 * mean

    def estimate(_):
        noise = ornstein_uhlenbeck(rng, (4000, 10, 3), TAU).transpose(1, 0, 2)
        runs = scale * noise + np.array([0.0, 0.0, mean])
        runs[:, :100] += 1e3  # the start, to be skipped
        found = hnemd_conductivity(runs, 1.0, 5000.0, 300.0, [0, 0, 1e-4], skip=100.0)
        assert found.kappa.samples == 10
        assert found.time[0] >= 101
        assert found.running.value[-1] == pytest.approx(found.kappa.value, rel=1e-9)
        return found.kappa.value, found.kappa.error, 2.0

    assert covers(z_scores(estimate, 200), 10)


def test_the_error_of_driven_runs_is_their_scatter():
    """Runs that differ from each other and hardly within: pieces of them would say that there is no error."""
    rng = np.random.default_rng(3)

    def estimate(_):
        means = rng.normal(5.0, 1.0, size=6)
        runs = [np.full((50, 3), mean) + 0.01 * rng.normal(size=(50, 3)) for mean in means]
        found = hnemd_conductivity(runs, 1.0, 1.0, 1.0, [0, 1.0, 0], skip=10.0)
        assert found.kappa.samples == 6
        np.testing.assert_allclose(found.of_runs / 157376.9, means, atol=0.02)
        return found.kappa.value, found.kappa.error, 5.0 * 157376.9

    assert covers(z_scores(estimate, 200), 6)
    one = hnemd_conductivity(rng.normal(size=(50, 3)), 1.0, 1.0, 1.0, [0, 1.0, 0])
    assert 30 <= one.kappa.samples <= 50
    assert one.kappa.error > 0


@pytest.mark.parametrize(("samples", "window"), [(4000, 100), (4000, 300), (2000, 50)])
def test_the_error_of_one_run_covers_its_integral(samples, window):
    """Scores of a skewed estimate; five pieces cover 78 to 88 % within two errors."""
    rng, a = np.random.default_rng(samples), np.exp(-1 / TAU)
    first, last = window // 2, window
    running = 0.5 * (1 + a) / (1 - a) * (1 - a ** np.arange(window + 1))
    exact = running[first:].mean()
    scores = []
    for _ in range(200):
        run = ornstein_uhlenbeck(rng, (samples, 1), TAU)
        found = integrate([run], 1.0, window, 1.0, (first, last))
        assert found.mean.error == pytest.approx(found.channels.error[0], rel=1e-9)
        assert found.mean.value == pytest.approx(found.running_mean.value[first:].mean(), rel=1e-9)
        scores.append((found.mean.value - exact) / found.mean.error)
    size = np.abs(scores)
    assert 0.6 < (size < 1).mean() < 0.8
    assert (size < 2).mean() > 0.91
    assert (size < 4).mean() > 0.97


def test_products_of_one_run_by_hand():
    """y_i = x_i sum_k w_k x_(i+k), and weights that average running integrals."""
    run, window = np.random.default_rng(0).normal(size=(40, 2)), 9
    for first, last in ((0, 0), (0, 9), (1, 1), (3, 7), (9, 9)):
        weights = trapezoid_weights(first, last, 0.5)
        y = products(run, weights)
        assert y.shape == (40 - last, 2)
        by_hand = [
            sum(weights[k] * run[i, 1] * run[i + k, 1] for k in range(last + 1)) for i in range(40 - last)
        ]
        np.testing.assert_allclose(y[:, 1], by_hand, atol=1e-12)
        correlation = autocorrelation(run, window)
        expected = running_integral(correlation, 0.5)[first : last + 1].mean(axis=0)
        np.testing.assert_allclose(weights @ correlation[: last + 1], expected, atol=1e-12)


def test_one_short_run_has_no_error():
    rng = np.random.default_rng(5)
    few = integrate([ornstein_uhlenbeck(rng, (60, 3), 20.0)], 1.0, 20.0, 1.0, (10.0, 20.0)).mean
    assert np.isnan(few.error)
    assert re.match(r"no error: 40 samples hold [\d.]+ independent ones, fewer than 10", few.note)
    long = integrate([rng.normal(size=(1000, 3))], 1.0, 600.0, 1.0, (300.0, 600.0))
    assert np.isnan(long.mean.error)
    assert np.isnan(long.channels.error).all()
    assert long.mean.note == "no error: the correlation time reaches beyond half of the run"


def test_driven_runs_leave_their_start_out():
    """A response that builds up hidden in the noise of each run, and seen in the mean of them."""
    rng = np.random.default_rng(4)
    approach = -2.0 * np.exp(-np.arange(6000) / 400.0)
    noise = np.stack([ornstein_uhlenbeck(rng, (6000, 3), TAU) for _ in range(40)])
    runs = noise + np.array([5.0, 0.0, 0.0]) + approach[:, None]
    found = hnemd_conductivity(runs, 1.0, 1.0, 1.0, [1.0, 0, 0], skip=50.0)
    first = int(found.time[0]) - 1
    assert 800 < first <= 3025
    assert abs(found.kappa.value / 157376.9 - 5.0) < 3 * found.kappa.error / 157376.9
    np.testing.assert_allclose(found.of_runs / 157376.9, runs[:, first:, 0].mean(axis=1), rtol=1e-6)
    # All of it would be far off.
    assert runs[:, 50:, 0].mean() < 5.0 - 4 * found.kappa.error / 157376.9


def test_one_driven_run_leaves_its_start_out_and_covers():
    rng = np.random.default_rng(9)

    def run():
        approach = -8.0 * np.exp(-np.arange(6000) / 80.0)
        return (ornstein_uhlenbeck(rng, (6000, 3), TAU) + [5.0, 0, 0]) + approach[:, None]

    found = [hnemd_conductivity(run(), 1.0, 1.0, 1.0, [1.0, 0, 0], skip=50.0) for _ in range(200)]
    scores = [(one.kappa.value / 157376.9 - 5.0) / (one.kappa.error / 157376.9) for one in found]
    assert min(one.time[0] for one in found) > 51
    assert found[0].running.value[-1] == pytest.approx(found[0].kappa.value)
    assert found[0].of_runs[0] == pytest.approx(found[0].kappa.value)
    assert (np.abs(scores) < 2).mean() > 0.9
    short = hnemd_conductivity(run()[-9:], 1.0, 1.0, 1.0, [1.0, 0, 0]).kappa
    assert np.isnan(short.error)
    assert short.note.startswith("no error: ")


def test_driving_force_in_any_direction():
    current = np.tile([3.0, 4.0, 0.0], (100, 1))
    along = hnemd_conductivity(current, 1.0, 1.0, 1.0, [0.3, 0.4, 0.0]).kappa.value
    assert along == pytest.approx(5.0 / 0.5 * 157376.9, rel=1e-6)
    found = hnemd_conductivity(current, 1.0, 1.0, 1.0, [0, 0, -0.5])
    np.testing.assert_allclose(found.components.value, np.array([3, 4, 0]) / 0.5 * 157376.9, rtol=1e-4)


def isotropic_stress(rng, n, tau):
    """Six components, ASE's order: shear of variance 1, traceless normal stress, a pressure of its own."""
    five = ornstein_uhlenbeck(rng, (n, 5), tau)
    pressure = 5.0 + 3.0 * ornstein_uhlenbeck(rng, n, 50.0)
    normal = [five[:, 3] + five[:, 4], five[:, 4] - five[:, 3], -2.0 * five[:, 4]]
    return np.stack([*(pressure + part for part in normal), *five.T[:3]], axis=1)


def test_viscosity_by_hand():
    """Shear stress of variance 1e-6 (eV/angstrom^3)^2, tau = 10 t: 8000 angstrom^3, 100 K."""
    rng = np.random.default_rng(8)
    stress = [1e-3 * isotropic_stress(rng, 100_000, TAU) for _ in range(5)]
    found = green_kubo_viscosity(stress, 1.0, 8000.0, 100.0, 120.0, (80.0, 120.0))
    pressure_unit = CHARGE / 1e-30
    by_hand = 8000e-30 / (BOLTZMANN * 100.0) * (1e-3 * pressure_unit) ** 2 * EXACT * SECONDS
    assert by_hand == pytest.approx(0.01517, rel=1e-3)
    assert abs(found.mean.value - by_hand) < 5 * found.mean.error
    assert found.mean.error < 0.1 * by_hand
    # Channels are xy, xz, yz.
    yz = [np.stack([s[:, 0], s[:, 1], s[:, 2], s[:, 3], 0 * s[:, 3], 0 * s[:, 3]], axis=1) for s in stress]
    alone = green_kubo_viscosity(yz, 1.0, 8000.0, 100.0, 120.0, (80.0, 120.0)).channels.value
    np.testing.assert_array_equal(alone, [0.0, 0.0, found.channels.value[2]])


J = np.ones((100, 3))
END = (0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: green_kubo_conductivity(J, 1, 1, 1, 100, END),
            "window of 100 samples is not shorter",
        ),
        (lambda: green_kubo_conductivity(J, 1, 1, 1, 10, (5, 11)), "plateau from 5 to 11: expected"),
        (lambda: green_kubo_conductivity(J, 1, 1, 1, 10, (6, 5)), "plateau from 6 to 5: expected"),
        (lambda: green_kubo_conductivity(J, 1, 0, 1, 10, END), "volume = 0: expected a number above 0"),
        (lambda: green_kubo_conductivity(J, -1, 1, 1, 10, END), "dt = -1: expected a number above 0"),
        (lambda: green_kubo_conductivity([], 1, 1, 1, 10, END), "heat current: no run given"),
        (lambda: green_kubo_conductivity([J, J[:3]], 1, 1, 1, 3, END), "shorter than the run of 3"),
        (
            lambda: green_kubo_conductivity(J[:, :1], 1, 1, 1, 10, END),
            "heat current has 1 components, expected 3",
        ),
        (
            lambda: green_kubo_conductivity(J * np.nan, 1, 1, 1, 10, END),
            "heat current holds a number that is not",
        ),
        (
            lambda: hnemd_conductivity(J, 1, 1, 1, [0, 0, 0]),
            "expected three numbers in 1/Å, not all of them 0",
        ),
        (lambda: hnemd_conductivity(J, 1, 1, 1, [0, 0, 1], skip=100), "skip = 100 leaves nothing of a run"),
        (lambda: green_kubo_viscosity(J, 1, 1, 1, 10, END), "stress has 3 components, expected 6"),
        (lambda: green_kubo_viscosity(np.ones(9), 1, 1, 1, 10, END), "stress"),
    ],
)
def test_mistakes_name_what_is_wrong(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()


def coefficient(correlation, unit="Pa s"):
    """What is said of a viscosity whose stress has this autocorrelation, (samples, lags)."""
    found = read_off(np.repeat(correlation[:, :, None], 3, axis=2), 1.0, 1.0, (10.0, 20.0))
    return green_kubo_result(found, ("xy", "xz", "yz"), "viscosity", unit)


def test_status_and_note_of_a_transport_coefficient():
    rng, t = np.random.default_rng(0), np.arange(21.0)
    decaying = np.exp(-t / 1.5) * (1.0 + 0.05 * rng.normal(size=(5, 1)))
    good = coefficient(decaying)
    assert good.status == "ok"
    assert good.values["viscosity"].note == ""
    growing_on = coefficient(np.ones(21) * (1.0 + 0.01 * rng.normal(size=(5, 1))))
    assert growing_on.values["viscosity"].status == "not converged"
    assert growing_on.rows[0][1].endswith("(NOT CONVERGED: the running integral still changes)")
    noise = coefficient(np.exp(-t / 1.5) * np.array([[1.0], [-1.0], [0.5], [-0.7], [0.1]]))
    one = noise.values["viscosity"]
    assert one.status == "zero within error"
    assert "does not differ from zero by more than 2 standard errors" in one.note
    below = coefficient(-decaying)
    one = below.values["viscosity"]
    assert (one.value, one.error, one.status) == (None, None, "no value")
    assert re.match(r"-1\.\d+ ± 0\.\d+ Pa s was found, and it cannot be negative", one.note)
    assert below.summary() == {
        "status": "no value", "note": "; ".join(f"{name}: {v.note}" for name, v in below.values.items()),
    }  # fmt: skip
    two = coefficient(decaying[:2])
    assert two.values["viscosity"].note == "the error is from 2 runs, and itself uncertain by 71%"
    alone = coefficient(decaying[:1])
    assert (alone.values["viscosity"].error, alone.values["viscosity"].note) == (
        None, "no error: there is one run of samples",
    )  # fmt: skip


@pytest.mark.long
def test_stacie_finds_the_integral_of_a_decay_without_a_window():
    """An exponential decay: the trapezoid sum of exp(-t/tau) is dt/2 (1 + a)/(1 - a), a = exp(-dt/tau)."""
    pytest.importorskip("stacie")
    rng = np.random.default_rng(2)
    runs = [ornstein_uhlenbeck(rng, (3000, 3), TAU) for _ in range(4)]
    found = stacie_integral(runs, 1.0, 3.0)
    assert found.mean.value == pytest.approx(3.0 * EXACT, abs=3 * found.mean.error)
    assert found.mean.error < 0.1 * found.mean.value
    factor = 1.0 / (BOLTZMANN / CHARGE * 300.0**2 * 1000.0) / WATT_PER_METRE_KELVIN
    conductivity = stacie_conductivity(runs, 1.0, 1000.0, 300.0).mean.value
    assert conductivity == pytest.approx(found.mean.value / 3.0 * factor, rel=1e-3)
    with pytest.raises(AnalysisError, match="a run has 50 samples; expected 100 or more"):
        stacie_integral([run[:50] for run in runs], 0.1, 1.0)


def test_a_plateau_and_stacie_that_differ_are_reported():
    other = WithoutWindow(Mean(0.22, 0.03, 15), 2.0, 400)
    assert "leave out a slow and weak part" in disagreement(Mean(0.49, 0.04, 5), other)
    assert disagreement(Mean(0.30, 0.04, 5), other) == ""
    assert disagreement(Mean(0.49, np.nan, 1), other) == ""


def test_without_stacie_one_line_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "stacie", None)
    with pytest.raises(SettingsError, match=r"pip install '\.\[stacie\]', or leave --stacie out"):
        check_stacie()
