"""Spectra of heat: the estimator on chains that are solved exactly, and the device's sums by NumPy."""

import json
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk
from harmonic_chain import Chain

from taichimd import Force, Langevin, Simulation
from taichimd.app.live import Observations
from taichimd.core.errors import SettingsError
from taichimd.core.units import PS
from taichimd.estimators.spectra import (
    accumulation,
    free_paths,
    frequencies,
    integral,
    kappa_of_length,
    quantum,
    spectrum,
)
from taichimd.io.analysis_files import read_table
from taichimd.observables.planning import make_plan
from taichimd.program.across import Between


@pytest.mark.parametrize("masses", [1.0, 3.0])
def test_the_spectrum_of_a_ballistic_chain_is_its_transmission(masses):
    chain, group = Chain(masses=masses), np.arange(7, 11)
    plus, minus = chain.correlations(2500, 0.4, group)
    assert plus[0] == pytest.approx(chain.heat(), rel=1e-10)
    found, w = spectrum(plus, minus, 0.4), frequencies(2500, 0.4)
    wanted = 0.4 * chain.transmission(w[w < 2.1])
    deviation = found[w < 2.1] - wanted
    assert np.sqrt((deviation**2).mean()) < 0.02 * np.sqrt((wanted**2).mean())
    one = spectrum(plus, plus.copy(), 0.4)[w < 2.1] - wanted
    assert np.sqrt((one**2).mean()) > 0.5 * np.sqrt((wanted**2).mean()), "both signs of t are needed"
    # Whatever interval and window are.
    for lags, interval in ((40, 0.4), (100, 0.4), (100, 1.7)):
        one = spectrum(*chain.correlations(lags, interval, group), interval)
        assert integral(one, lags, interval) == pytest.approx(chain.heat(), rel=1e-12)


def test_quantum_correction_free_paths_and_lengths():
    w = (np.arange(600_000) + 0.5) * 1e-3
    of = quantum(w, 10.0).sum() * 1e-3 / (2 * np.pi)
    assert of == pytest.approx(np.pi * 10.0 / (6 * 7.638233), rel=1e-6)  # pi^2 k^2 T/(3 h) over k
    assert quantum(np.array([1e-9]), 300.0)[0] == pytest.approx(1.0)
    # Diffusive chain: kappa(w) = lambda(w) = 2 v/gamma, G = 1; kappa(L) of section "lengths", exact.
    w = (np.arange(4000) + 0.5) * 2.0 / 4000
    kappa = 20.0 * np.sqrt(1.0 - w * w / 4)
    paths = free_paths(kappa, np.ones(4000), np.full(4000, 0.01))
    np.testing.assert_allclose(paths, kappa)
    found = kappa_of_length(kappa, paths, np.array([20.0, 60.0, 120.0]), 2.0 / 4000)
    np.testing.assert_allclose(found, [2.732, 3.906, 4.383], atol=1e-3)
    assert accumulation(kappa, paths, 2.0 / 4000)[1][-1] == pytest.approx(5.0, rel=1e-3)
    assert np.isnan(free_paths(kappa, np.ones(4000), np.ones(4000))).all()


def bar():
    return bulk("Si", cubic=True).repeat((4, 1, 1))


GROUPS = {"left": "fx < 0.5", "right": "fx >= 0.5", "some": "index 3 9 30"}


def observed(simulation, lags=4, samples=20):
    plan = make_plan(
        ("heat", "spectrum", "interface"), 0, 2 * samples, 1.0, 2, None,
        spectrum=("y", "all,left,some,left>right", 2.0 * lags), interface="right>left",
    )  # fmt: skip
    return Observations(simulation.engine, plan, simulation.groups)


def simulation():
    return Simulation(bar(), "Si.sw", temperature=300.0, groups=GROUPS, backend="cpu")


def test_sums_of_the_device_are_those_of_numpy_and_a_restart_has_the_same_bits(monkeypatch):
    one = simulation()
    found, work, speed, across = observed(one), [], [], []
    flow = Between(one.engine, one.groups["left"], one.groups["right"])

    class Host:
        every = 2

        def sample(self, of):
            work.append(of.engine.evaluate().virials[:, 1, :])
            speed.append(of.velocities())
            flow.update()
            across.append(flow.work.to_numpy().reshape(-1, 3))

    one.run(40, samplers=[found, Host()])
    spectra = found.observables["spectrum"]
    plus, minus, carried = spectra.correlations()
    pairs = spectra._pairs
    assert pairs.sum() == 21 + 20 + 19 + 18
    w, v, q = np.array(work), np.array(speed), np.array(across)
    every = (plus * pairs[:, :, None, None]).sum(axis=0), (minus * pairs[:, :, None, None]).sum(axis=0)
    whole = np.arange(32)
    for g, atoms in enumerate((whole, one.groups["left"], one.groups["some"], whole)):
        of = w if g < 3 else q
        for lag in range(4):
            forward = (of[: 21 - lag, atoms] * v[lag:, atoms]).sum(axis=(0, 1)) * PS
            back = (v[: 21 - lag, atoms] * of[lag:, atoms]).sum(axis=(0, 1)) * PS
            np.testing.assert_allclose(every[0][lag, g], forward, rtol=1e-6, atol=1e-5)
            np.testing.assert_allclose(every[1][lag, g], back, rtol=1e-6, atol=1e-5)
    # What flows from left to right: K(0), and each sample; from right to left the opposite.
    flows = (q * v).sum(axis=(1, 2))
    assert every[0][0, 3].sum() == pytest.approx(flows.sum() * PS, rel=1e-6)
    np.testing.assert_allclose(found.observables["interface"].series.rows(), -flows, rtol=1e-6, atol=1e-9)
    assert carried[0, 3] == 0.0
    # K(0) of all atoms is the mean potential part of the heat current, and so is the integral of J(w).
    rows = found.observables["heat"].series.rows()
    assert every[0][0, 0].sum() / 21 == pytest.approx(rows[:, 1].mean() * PS, rel=1e-6)
    assert (carried[:, 0] * pairs[:, 0]).sum() / 21 == pytest.approx(
        rows[:, 4].mean() * PS, rel=1e-5, abs=1e-4
    )
    results = found.found()
    table = results["spectrum"].tables[0]
    mean = np.mean([p[0, 3].sum() for p in plus])
    assert results["spectrum"].values["flow_left_to_right"].value == pytest.approx(mean)
    assert integral(table["J_left_to_right"], 4, 0.002) == pytest.approx(mean, rel=1e-10)
    assert results["interface"].values["flow_right_to_left"].value == pytest.approx(
        -flows.mean() * PS, rel=1e-6
    )
    k0 = np.mean([(p[0, 0]).sum() for p in plus])
    assert integral(table["J_all"], 4, 0.002) == pytest.approx(k0, rel=1e-10)

    # Again in the threads of a GPU.
    monkeypatch.setattr("taichimd.observables.samplers.spectrum.backend", lambda: "cuda")
    again = simulation()
    part = observed(again)
    again.run(14, samplers=[part])
    rest = observed(again)
    rest.load(part.save())
    again.run(26, samplers=[rest])
    for mine, theirs in zip(rest.observables["spectrum"].correlations(), (plus, minus, carried), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    mine, theirs = (of.observables["interface"].series.rows() for of in (rest, found))
    np.testing.assert_array_equal(mine, theirs)


def test_in_equilibrium_time_reversal_leaves_no_spectrum():
    """K(-t) = -K(t) where no heat flows, and it is not zero."""
    plus, minus = Chain(masses=3.0, hot=1.0, cold=1.0).correlations(300, 0.4, np.arange(13, 16))
    assert np.abs(plus).max() > 0.01
    np.testing.assert_allclose(minus, -plus, atol=1e-9)
    assert np.abs(spectrum(plus, minus, 0.4)).max() < 1e-7


def test_what_has_no_spectrum_is_refused():
    with pytest.raises(SettingsError, match="longer than a fifth of the run, which takes 21 samples"):
        make_plan(("spectrum",), 0, 40, 1.0, 2, spectrum=("x", "all", 20.0))
    with pytest.raises(SettingsError, match="expected two samples of 2 fs or more"):
        make_plan(("spectrum",), 0, 40, 1.0, 2, spectrum=("x", "all", 2.0))
    plan = make_plan(("spectrum",), 0, 40, 1.0, 2, spectrum=("x", "left", 8.0))
    for acts in (Langevin(320.0, on="some"), Force((0.0, 0.0, 0.01), on="some")):
        one = Simulation(bar(), "Si.sw", temperature=300.0, groups=GROUPS, acting=[acts], backend="cpu")
        with pytest.raises(
            SettingsError, match="2 atoms of the group left are in some, where baths or forces act"
        ):
            Observations(one.engine, plan, one.groups)
    far = simulation()
    for of, message in (
        ("left>left", "left and left share 16 atoms"),
        ("left>", 'expected two groups, such as "left>right"'),
        ("left>new", "there is no group 'new'"),
    ):
        plan = make_plan(("spectrum",), 0, 40, 1.0, 2, spectrum=("x", of, 8.0))
        with pytest.raises(SettingsError, match=message):
            Observations(far.engine, plan, far.groups)
    with pytest.raises(SettingsError, match="also give two groups between which heat flows"):
        make_plan(("interface",), 0, 40, 1.0, 2)
    coarse = make_plan(("spectrum",), 0, 900, 1.0, 60, spectrum=("x", "left", 120.0))
    far.run(30)
    with pytest.raises(
        SettingsError, match=r"samples 60 fs apart resolve frequencies up to 8\.33 THz, and atoms"
    ):
        far.run(120, samplers=[Observations(far.engine, coarse, far.groups)])


@pytest.mark.long
def test_kappa_by_frequency_has_the_kappa_of_the_run_as_its_integral(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bar().repeat((1, 2, 2)).write("bar.extxyz")
    line = (
        "kappa bar.extxyz --potential Si.sw --temperature 300 --equilibrate 50fs --time 400fs "
        "--every 2 --runs 2 "
        "--backend cpu --spectrum --spectrum-window 60fs --timestep 1 --window 20fs"
    )
    code, out, err = call(f"{line} --method hnemd --driving-force 1e-3 --output h")
    assert (code, err) == (0, "")
    table, report = read_table(Path("h/spectrum.csv")), json.loads(Path("h/kappa.json").read_text())
    runs = [np.load(file) for file in sorted(Path("h").glob("run-??.npz"))]
    volume = report["volume_A3"]
    first = 10  # samples that the window leaves out
    mean = np.mean([run["current"][first:, 0].mean() for run in runs]) * PS
    wanted = 1602.176634 * mean / (volume * report["temperature_K"]["value"] * 1e-3)
    lags = len(table["frequency_THz"]) // 2
    assert lags == 30
    whole = integral(table["kappa_W_per_mK_per_THz"], lags, 0.002)
    assert whole == pytest.approx(report["spectra"][0]["integral"]["value"], rel=1e-9)
    # Blocks weigh alike, and one of them has a few samples more.
    assert whole == pytest.approx(wanted, rel=0.1)
    assert "for a crystal, where phonons" in " ".join(out.split())
    code, out, err = call(
        f"{line} --method nemd --difference 60 --bath-length 2.8 --output n --supercell 2 1 1"
    )
    assert (code, err) == (0, "")
    table = read_table(Path("n/spectrum.csv"))
    assert np.isfinite(table["conductance_GW_per_m2K_per_THz"]).all()
    code, _, err = call(f"{line} --output g")
    assert code == 2
    assert "in equilibrium the mean heat current is zero" in err
