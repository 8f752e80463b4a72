"""Conductance of an interface in equilibrium, by frequency, and mean free paths."""

import json
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk
from ase.io import read
from harmonic_chain import Chain

from taichimd.core.errors import SettingsError
from taichimd.core.units import KB, PS
from taichimd.estimators.conduction import exchange_time, without_exchange
from taichimd.estimators.green_kubo import read_off
from taichimd.estimators.series import Mean
from taichimd.estimators.spectra import frequencies
from taichimd.io.analysis_files import read_table, write_table
from taichimd.transport.boundary import boundary_of
from taichimd.transport.free_paths import paths_of
from taichimd.transport.kappa import thermal_conductivity
from taichimd.transport.layout import halves_of, layout_of
from taichimd.transport.nemd import Interface
from taichimd.transport.runs import RunSamples
from taichimd.transport.settings import KappaSettings
from taichimd.transport.spectra import across_interfaces, notes_on_flow

BAR = bulk("Ar", a=5.3, cubic=True).repeat((12, 2, 2))
BETWEEN = {"temperature": 40.0, "method": "interface", "interface": "15,46.8", "backend": "cpu"}


@pytest.mark.parametrize(("masses", "conductance"), [(1.0, 0.2607), (3.0, 0.1201)])
def test_the_integral_of_the_flow_of_a_chain_is_the_landauer_integral(masses, conductance):
    chain, dt = Chain(32, masses, hot=1.0, cold=1.0), 0.5
    w = (np.arange(800) + 0.5) * 2.4 / 800
    landauer = chain.transmission(w).sum() * 2.4 / 800 / (2 * np.pi)
    assert landauer == pytest.approx(conductance, abs=3e-3)
    found = read_off(
        chain.flow_correlation(dt * np.arange(1201))[None, :, None], dt, 1.0, (500.0, 600.0)
    )  # k_B T^2 = 1
    assert found.mean.value == pytest.approx(landauer, rel=0.02)
    # The first maximum is no plateau.
    assert found.running_mean.value.max() > 1.15 * landauer


def test_sides_of_an_interface_and_their_conductance_by_hand():
    halves = halves_of(BAR, KappaSettings(**BETWEEN))
    assert (len(halves.first), len(halves.second), halves.planes) == (96, 96, 2)
    assert halves.area == pytest.approx(2 * 10.6**2)
    free = BAR.copy()
    free.pbc = (False, True, True)
    one = halves_of(free, KappaSettings(**{**BETWEEN, "interface": "30"}))
    assert (len(one.first), one.planes, one.area) == (96, 1, pytest.approx(10.6**2))
    # Steps of +-q that are uncorrelated: the integral is q^2 dt/2.
    rng, dt = np.random.default_rng(3), 0.05
    runs = [
        RunSamples(
            np.zeros((2, 6)),
            40.0,
            found={"interval": np.array([dt]), "flow": 0.1 * rng.choice([-1.0, 1.0], 20_000)},
        )
        for _ in range(4)
    ]
    settings = KappaSettings(
        **BETWEEN, time="1000ps", window="1ps", plateau="50fs,200fs", every=10, timestep=5
    )
    found = boundary_of(runs, halves, 40.0, settings, (0.05 * PS, 0.2 * PS))
    expected = 0.5 * 0.01 * dt / (KB * 1600.0) / halves.area * 1.602176634e13 / 1e6
    value = found.conductance.mean.value
    assert value == pytest.approx(expected, rel=0.05)
    corrected = found.corrected.value
    assert found.exchange == pytest.approx(
        exchange_time(corrected / 1.602176634e7 * halves.area, (96, 96)), rel=1e-6
    )
    times = np.array([0.05, 0.1, 0.15, 0.2])
    assert value == pytest.approx(corrected * np.exp(-times / found.exchange).mean(), rel=1e-6)
    assert found.corrected.error > found.conductance.mean.error
    assert found.resistance.value == pytest.approx(1000.0 / corrected)
    assert found.notes == ()
    early = boundary_of(runs, halves, 4.0, settings, (0.05 * PS, 0.2 * PS))  # G a hundred times as large
    assert np.isnan(early.corrected.value)
    assert "come to one temperature before the plateau" in early.notes[0]
    times = dt * np.arange(20_000)
    for k, run in enumerate(runs):  # a standing wave of 0.2 ps, beside the noise
        run.found["flow"] = run.found["flow"] + np.cos(2 * np.pi * times / 0.2 + k)
    waves = boundary_of(runs, halves, 40.0, settings, (0.05 * PS, 0.2 * PS))
    assert any("sound waves do work against the stress" in note for note in waves.notes)
    slow = halves_of(BAR, KappaSettings(**{**BETWEEN, "interface": "15,20"}))
    assert exchange_time(1.0, (len(slow.first), len(slow.second))) < exchange_time(1.0, (96, 96))


def test_the_conductance_without_exchange_of_two_parts_that_relax():
    # Energies of two parts relax as exp(-t G/C); the integral of their heat flow is G exp(-t G/C).
    times, g, capacity = np.linspace(5.0, 15.0, 41), 2.0, 60.0
    plateau = g * np.exp(-times * g / capacity).mean()
    found, slope = without_exchange(plateau, times, capacity)
    assert found == pytest.approx(g, rel=1e-9)
    near = without_exchange(plateau * 1.001, times, capacity)[0]
    assert slope == pytest.approx((near - found) / (0.001 * plateau), rel=5e-3)
    assert without_exchange(plateau, times, 1e9)[0] == pytest.approx(plateau, rel=1e-6)
    assert np.isnan(without_exchange(3.0 * plateau, times, capacity)[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interface": None}, "expected one place of an interface, or two in a cell"),
        ({"interface": "3,20,40"}, "expected one place of an interface, or two in a cell"),
        ({"interface": "30"}, "the cell is periodic along x; expected two places"),
        ({"interface": "30,30.1"}, "the two sides have 0 and 192 atoms"),
        ({"spectrum": True}, "in equilibrium the mean heat current is zero"),
        ({"ballistic": "x.csv"}, "mean free paths need kappa"),
        ({"difference": 3.0}, "interface does not use it"),
        ({"thickness": 3.0, "along": "z"}, "across the sheet"),
    ],
)
def test_what_is_no_interface_is_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        halves_of(BAR, KappaSettings(**{**BETWEEN, **changes}))


def test_the_flow_through_an_interface_of_nemd_over_its_jump():
    settings = KappaSettings(
        temperature=40.0, method="nemd", difference=16.0, bath_length=10.6, interface=(21.2, 53.0),
        spectrum=True,
    )  # fmt: skip
    layout = layout_of(BAR, settings, reach=6.0)
    assert [len(one) for both in layout.sides for one in both] == [16, 24, 16, 24]
    assert layout.spectrum_of == "path1,path2,before1>after1,before2>after2"
    assert [layout.sign_at(place) for place in (21.2, 53.0)] == [1, -1]
    everything = layout_of(BAR, settings)
    before, after = everything.sides[1]
    assert np.concatenate([before, after]).tolist() == everything.paths[1].tolist()
    # A flow of 2 eV/ps out of the hot bath on both sides.
    k = np.zeros((5, 4, 4, 3))
    k[:, 0, 2, 0], k[:, 0, 3, 0] = 2.0, -2.0
    run = RunSamples(
        np.zeros((2, 6)), 40.0,
        found={"interval": np.array([0.01]), "K_plus": k, "K_minus": k, "carried": np.zeros((5, 4))},
    )  # fmt: skip

    class Jump:
        place, jump = 21.2, Mean(4.0, 0.1, 5)

    class Whole:
        temperature = 40.0

    one, none = across_interfaces([run], layout, [Jump], Whole)
    of_baths = [
        Interface(21.2, Jump.jump, Mean(0.0, 0.0, 5), Mean(1e3 * share * one.total.value, 0.0, 5))
        for share in (1.0, 1.05, 1.4)
    ]
    assert [len(notes_on_flow([one, none], [bath])) for bath in of_baths] == [0, 0, 1]
    assert "flows 71% ± 0% of the heat that the baths give" in notes_on_flow([one], of_baths[2:])[0]
    assert one.total.value == pytest.approx(2.0 / 4.0 / 10.6**2 * 16021.76634)
    assert np.isnan(none.total.value)


def test_free_paths_and_kappa_of_a_length(tmp_path):
    w = frequencies(50, 0.01)
    kappa, conductance = 20.0 / (1.0 + w), 0.4 / (1.0 + w) ** 2
    lengths, nu = np.repeat([20.0, 40.0], len(w)), np.tile(w, 2) / (2 * np.pi)
    name = "conductance_GW_per_m2K_per_THz"
    g = np.tile(conductance, 2)
    file = tmp_path / "spectrum.csv"
    write_table(file, {"length_A": lengths, "frequency_THz": nu, name: g, f"error_{name}": 0.1 * g})
    found = paths_of(w, kappa, str(file))
    np.testing.assert_allclose(found.paths, 50.0 * (1.0 + w), rtol=1e-6)
    width = w[1] - w[0]
    total = kappa.sum() * width / (2 * np.pi)
    assert found.accumulated[-1] == pytest.approx(total)
    assert found.accumulated[0] == 0.0
    assert (found.notes, found.unknown) == ((), 0.0)
    at = len(found.lengths) // 2
    exact = (kappa / (1.0 + 50.0 * (1.0 + w) / found.lengths[at])).sum() * width / (2 * np.pi)
    assert found.kappa[at] == pytest.approx(exact, rel=1e-6)
    write_table(
        file,
        {
            "length_A": lengths,
            "frequency_THz": nu,
            name: g * np.where(lengths > 30, 0.7, 1),
            f"error_{name}": g,
        },
    )
    with pytest.raises(SettingsError, match="nowhere above three of its errors"):
        paths_of(w, kappa, str(file))
    write_table(
        file,
        {
            "length_A": lengths,
            "frequency_THz": nu,
            name: g * np.where(lengths > 30, 0.7, 1),
            f"error_{name}": np.where(nu > 20.0, g, 0.1 * g),
        },
    )
    found = paths_of(w, kappa, str(file))
    assert "of 2 and 4 nm differ by 30%: heat is not ballistic" in found.notes[0]
    assert found.unknown == pytest.approx(kappa[w > 40.0 * np.pi].sum() * width / (2 * np.pi), rel=0.1)
    with pytest.raises(SettingsError, match="there is no such file; expected"):
        paths_of(w, kappa, str(tmp_path / "none.csv"))
    write_table(file, {"frequency_THz": w})
    with pytest.raises(SettingsError, match="it has no column length_A"):
        paths_of(w, kappa, str(file))


COMMAND = (
    "kappa bar.extxyz --potential Ar.lj --temperature 40 --equilibrate 400fs --timestep 4 --every 2 "
    "--backend cpu "
)


@pytest.mark.long
def test_the_command_in_equilibrium(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BAR.write("bar.extxyz")
    code, out, err = call(
        COMMAND + "--method interface --interface 15,46.8 --time 4ps --window 400fs --runs 2 --output i"
    )
    assert (code, err) == (0, "")
    assert "m² K/GW, mean of two interfaces" in " ".join(out.split())
    report = json.loads(Path("i/kappa.json").read_text())
    table = read_table(Path("i/kappa.csv"))
    value = report["conductance_MW_per_m2K"]["value"]
    assert table["conductance_MW_per_m2K"][25:].mean() == pytest.approx(value, rel=1e-6)
    settings = KappaSettings(
        **BETWEEN, equilibrate=400.0, timestep=4.0, every=2, time="4ps", window=400.0, runs=2, at_once=1
    )
    again = thermal_conductivity(read("bar.extxyz"), "Ar.lj", settings)
    assert again.mean.value == value
    code, out, err = call("report i --output page.html")
    assert (code, err) == (0, "")
    assert "conductance of an interface" in Path("page.html").read_text()


@pytest.mark.exhaustive
def test_the_command_with_baths(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BAR.write("bar.extxyz")
    code, out, err = call(
        COMMAND
        + "--method nemd --difference 30 --bath-length 10.6 --interface 21.2,53 --time 8ps --spectrum "
        "--spectrum-window 200fs --runs 1 --output n"
    )
    assert (code, err) == (0, "")
    assert "spectrum: 25 lags of" in out
    of = read_table(Path("n/spectrum_interfaces.csv"))
    assert sorted(set(of["place_A"])) == [21.2, 53.0]
    code, out, err = call("report n --output page.html")
    assert (code, err) == (0, "")
