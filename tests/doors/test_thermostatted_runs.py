"""Thermostats through the command line: options, files, restarts, mistakes."""

import json
import os
import re
import shutil
import signal

import ase.io
import numpy as np
import pytest
from argon_job import RUN, enter_folder

from taichimd import Bussi, LennardJones, Simulation
from taichimd.core.errors import SettingsError
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.thermo import read_thermo
from taichimd.program.engine import Engine
from taichimd.settings.config import make_settings
from taichimd.system.velocities import drift_share, maxwell_boltzmann

ENSEMBLES = ["nvt-langevin", "nvt-berendsen", "nvt-bussi", "nvt-nose-hoover"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return enter_folder(tmp_path, monkeypatch, a=5.5)


def same_files(one, other):
    for name in ("trajectory.extxyz", "thermo.csv"):
        assert open(f"{one}/{name}", "rb").read() == open(f"{other}/{name}", "rb").read(), name
    a, b = (read_checkpoint(f"{name}/checkpoint.npz") for name in (one, other))
    assert a.positions.tobytes() == b.positions.tobytes()
    assert a.velocities.tobytes() == b.velocities.tobytes()
    assert (a.bath, a.step, a.first_total) == (b.bath, b.step, b.first_total)


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_restart_is_bit_for_bit(call, ensemble):
    run = RUN + f"--ensemble {ensemble} --temperature 150 --coupling-time 60 "
    assert call(run + "--steps 200 --output straight")[0] == 0
    assert call(run + "--steps 90 --output cut")[0] == 0
    assert call("run --restart cut/checkpoint.npz --steps 110")[0] == 0
    same_files("straight", "cut")
    report = json.loads(open("cut/run.json").read())
    assert report["settings"]["ensemble"] == ensemble
    assert report["settings"]["coupling_time"] == 60.0


def test_velocities_drawn_in_a_restart_begin_a_new_bath(call):
    run = RUN + "--ensemble nvt-nose-hoover --temperature 150 --coupling-time 0.06ps --timestep 4fs "
    assert call(run + "--steps 100 --output warm")[0] == 0
    rows = read_thermo("warm/thermo.csv")
    assert abs(rows["conserved_eV"][-1] - rows["total_eV"][-1]) > 1e-3
    drawn = "run --restart warm --velocities draw --temperature 300 --seed 3 --steps 20 --output "
    assert call(drawn + "hot")[0] == 0
    rows = read_thermo("hot/thermo.csv")
    assert rows["step"].tolist() == [100, 120]
    assert rows["temperature_K"][0] == pytest.approx(300, rel=1e-12)
    assert rows["conserved_eV"][0] == rows["total_eV"][0]
    assert call(drawn + "again")[0] == 0
    same_files("hot", "again")


@pytest.mark.parametrize("ensemble", ["nvt-langevin", "nvt-bussi"])
def test_an_interrupted_ramp_goes_on_where_it_was(call, ensemble, monkeypatch):
    run = RUN + f"--ensemble {ensemble} --temperature 100 --final-temperature 300 --coupling-time 60 "
    assert call(run + "--steps 200 --output straight")[0] == 0
    advance = Engine.advance

    def interrupted(engine, steps, timestep):
        advance(engine, steps, timestep)
        if engine.step >= 80:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "advance", interrupted)
        assert call(run + "--steps 200 --output cut")[0] == 143
    assert 80 <= read_checkpoint("cut/checkpoint.npz").step < 200
    shutil.copy("cut/checkpoint.npz", "cut-copy.npz")
    assert call("run --restart cut/checkpoint.npz")[0] == 0
    same_files("straight", "cut")
    again = "run --restart cut-copy.npz --ensemble nvt-berendsen --steps 20 --output other"
    out = " ".join(call(again)[1].split())
    assert re.search(
        r"was to end at step 200, is given up at step \d+: what is not given starts at its f", out
    )
    assert "nvt-berendsen, 300 K" in out
    rows = read_thermo("straight/thermo.csv")
    assert rows["temperature_K"][-1] > 1.5 * rows["temperature_K"][:5].mean()
    drift = np.ptp(rows["conserved_eV"]) / np.ptp(rows["total_eV"])
    assert drift < 0.01


def test_equilibrate_then_produce(call):
    """From a thermostat to constant energy, to another thermostat: each bath starts again."""
    start = RUN + "--ensemble nvt-bussi --temperature 120 --coupling-time 40 --final-temperature 140 "
    assert call(start + "--steps 100 --output warm")[0] == 0
    code, out, _ = call("run --restart warm/checkpoint.npz --ensemble nve --steps 60 --output flat")
    assert code == 0
    assert "nve" in out
    rows = read_thermo("flat/thermo.csv")
    np.testing.assert_array_equal(rows["conserved_eV"], rows["total_eV"])
    assert np.ptp(rows["total_eV"]) / 108 < 1e-4
    again = "run --restart flat/checkpoint.npz --ensemble nvt-langevin --temperature 90 --seed 5 --steps 40"
    code, out, _ = call(again + " --output cold")
    assert code == 0
    assert "nvt-langevin, 90 K, coupling time 100 fs" in " ".join(out.split())
    rows = read_thermo("cold/thermo.csv")
    assert rows["conserved_eV"][0] == rows["total_eV"][0]


def slope_per_atom(rows, of):
    """µeV/ps for each of the 108 atoms."""
    return np.polyfit(rows["time_ps"][of], rows["conserved_eV"][of] / 108 * 1e6, 1)[0]


def test_the_drift_counts_from_where_the_ensemble_was_changed(call):
    assert (
        call(RUN + "--ensemble nvt-bussi --temperature 120 --coupling-time 40 --steps 100 --output on")[0]
        == 0
    )
    before = read_thermo("on/thermo.csv")["conserved_eV"]
    assert call("run --restart on/checkpoint.npz --ensemble nve --steps 60")[0] == 0
    rows = read_thermo("on/thermo.csv")
    leap = abs(rows["conserved_eV"][6] - rows["conserved_eV"][5])
    assert leap > 100 * np.ptp(before), "the bath's account ends, so what is conserved leaps"
    drift = json.loads(open("on/run.json").read())["energy_drift"]
    assert drift["slope"] == pytest.approx(slope_per_atom(rows, rows["step"] > 100), rel=1e-6)
    assert read_checkpoint("on/checkpoint.npz").counted_from == 101
    # The same ensemble continues with that; another folder has no other rows.
    assert call("run --restart on/checkpoint.npz --steps 40")[0] == 0
    rows = read_thermo("on/thermo.csv")
    drift = json.loads(open("on/run.json").read())["energy_drift"]
    assert drift["slope"] == pytest.approx(slope_per_atom(rows, rows["step"] > 100), rel=1e-6)
    assert call("run --restart on/checkpoint.npz --ensemble nvt-bussi --steps 40 --output other")[0] == 0
    assert read_checkpoint("other/checkpoint.npz").counted_from == 0


@pytest.mark.parametrize("change", ["--coupling-time 60", "--temperature 100"])
def test_a_chain_of_other_masses_begins_anew(call, change):
    run = RUN + "--ensemble nvt-nose-hoover --temperature 120 --coupling-time 200 --steps 100 --output on"
    assert call(run)[0] == 0
    code, out, _ = call(f"run --restart on/checkpoint.npz {change} --steps 100")
    assert (code, "its bath begins again" in " ".join(out.split())) == (0, True)
    rows = read_thermo("on/thermo.csv")
    drift = json.loads(open("on/run.json").read())["energy_drift"]
    assert drift["slope"] == pytest.approx(slope_per_atom(rows, rows["step"] > 100), rel=1e-6)
    assert read_checkpoint("on/checkpoint.npz").counted_from == 101
    code, out, _ = call("run --restart on/checkpoint.npz --steps 20")
    assert (code, "begins again" in out) == (0, False)
    assert read_checkpoint("on/checkpoint.npz").counted_from == 101


@pytest.mark.parametrize("ensemble", ["nvt-langevin", "nvt-bussi", "nvt-berendsen"])
def test_an_account_goes_on_with_another_temperature(call, ensemble):
    run = RUN + f"--ensemble {ensemble} --temperature 120 --coupling-time 60 --steps 100 --output on"
    assert call(run)[0] == 0
    assert call("run --restart on/checkpoint.npz --temperature 60 --coupling-time 40 --steps 100")[0] == 0
    rows = read_thermo("on/thermo.csv")
    assert read_checkpoint("on/checkpoint.npz").counted_from == 0
    assert np.ptp(rows["conserved_eV"]) < 0.05 * np.ptp(rows["total_eV"])


def test_the_temperature_of_a_file_is_that_of_the_table(call):
    atoms = ase.io.read("ar.extxyz")[:3]
    atoms.pbc = False
    atoms.set_velocities(maxwell_boltzmann(atoms.get_masses(), 90.0, 1))
    atoms.write("three.extxyz")
    run = RUN.replace("ar.extxyz", "three.extxyz") + "--steps 20 --output three"
    code, out, _ = call(run)
    assert code == 0
    assert "(90.0 K)" in out
    assert read_thermo("three/thermo.csv")["temperature_K"][0] == pytest.approx(90.0)
    refused = call(run + "b --temperature 50")
    assert (refused[0], "(90 K)" in refused[2]) == (2, True)


def test_a_table_without_columns_is_noted_where_a_barostat_and_terms_join(call):
    assert call(RUN + "--steps 40 --temperature 60 --output on")[0] == 0
    barostat = "--ensemble npt-scr --temperature 60 --pressure 0.1 --bulk-modulus 2 --terms"
    for more, noted in ((" --output other", False), ("", True)):
        code, out, _ = call(f"run --restart on/checkpoint.npz {barostat} --steps 40{more}")
        for what in ("a barostat", "terms"):
            assert (code, f"begun without {what}" in " ".join(out.split())) == (0, noted)
    before, rows = read_thermo("on/thermo.csv"), read_thermo("other/thermo.csv")
    (term,) = (name for name in rows if name.startswith("E_"))
    assert "a_A" in rows
    assert not {"a_A", term} & set(before)
    np.testing.assert_array_equal(rows[term], rows["potential_eV"])


def drifts(folder):
    """Share of the kinetic energy that the centre of mass has, in each frame."""
    return [
        drift_share(atoms.get_masses(), atoms.get_velocities())
        for atoms in ase.io.read(f"{folder}/trajectory.extxyz", index=":")
    ]


@pytest.mark.parametrize("ensemble", ["nve", "nvt-bussi"])
def test_the_centre_of_mass_rests_behind_langevin(call, ensemble):
    warm = RUN + "--ensemble nvt-langevin --temperature 120 --coupling-time 40 --steps 60 --output warm"
    assert call(warm)[0] == 0
    assert drifts("warm")[-1] > 1e-4
    code, out, _ = call(f"run --restart warm/checkpoint.npz --ensemble {ensemble} --steps 40 --output on")
    assert code == 0
    assert "the centre of mass, which moves in nvt-langevin, was brought to rest" in " ".join(out.split())
    assert max(drifts("on")) < 1e-12
    # What continues in the same ensemble keeps its bits, so nothing is taken out of it.
    again = call("run --restart warm/checkpoint.npz --steps 4 --output again")
    assert (again[0], "brought to rest" in again[1]) == (0, False)
    assert drifts("again")[0] > 1e-4


def test_a_file_whose_centre_of_mass_moves_is_noted(call):
    atoms = ase.io.read("ar.extxyz")
    atoms.set_velocities(maxwell_boltzmann(atoms.get_masses(), 100.0, 1) + np.array([0.01, 0.0, 0.0]))
    atoms.write("moving.extxyz")
    code, out, _ = call(RUN.replace("ar.extxyz", "moving.extxyz") + "--steps 4 --output moving")
    assert code == 0
    assert re.search(
        r"the centre of mass moves, with \d+\.\d\d% of the kinetic energy", " ".join(out.split())
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--ensemble nvt-bussi --coupling-time 0", "coupling_time = '0': expected a number above 0 (fs)"),
        (
            "--ensemble nvt-langevin --coupling-time 3",
            "coupling_time = 3 fs is shorter than the time step of 4 fs",
        ),
        (
            "--ensemble nvt-bussi --final-temperature -1",
            "final_temperature = -1.0: expected a number above 0 (K)",
        ),
        ("--ensemble nvt-bussi --temperature 0", "temperature = 0.0: expected a number above 0 (K)"),
        ("--coupling-time 50", "coupling_time = 50.0 needs a thermostat, but the ensemble is nve"),
        ("--final-temperature 500", "final_temperature = 500.0 needs a thermostat, but the ensemble is nve"),
        ("--ensemble nvt-boussi", "ensemble = 'nvt-boussi': expected nve, nvt-langevin"),
    ],
)
def test_mistakes_are_one_line(call, folder, options, words):
    code, _, err = call(RUN + "--steps 5 " + options)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert not (folder / "taichimd-run" / "run.json").exists()


def test_what_a_restart_takes_over():
    old = make_settings(
        {"ensemble": "nvt-bussi", "temperature": 100.0, "final_temperature": 200.0, "coupling_time": 50.0}
    ).record()
    same = make_settings({"restart": "c"}, None, old).ensemble
    assert (same.temperature, same.final_temperature, same.coupling_time) == (100.0, 200.0, 50.0)
    held = make_settings({"restart": "c", "temperature": 150.0}, None, old).ensemble
    assert (held.temperature, held.final_temperature) == (150.0, None)
    further = make_settings({"restart": "c", "final_temperature": 300.0}, None, old).ensemble
    assert (further.temperature, further.final_temperature) == (200.0, 300.0)
    other = make_settings({"restart": "c", "ensemble": "nvt-langevin"}, None, old).ensemble
    assert (other.coupling_time, other.temperature, other.final_temperature) == (100.0, 200.0, None)
    with pytest.raises(SettingsError, match="needs a thermostat, but the ensemble is nve"):
        make_settings({"restart": "c", "ensemble": "nve", "coupling_time": 10.0}, None, old)


def test_python_door():
    argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="force-shifted")
    bath = Bussi(150.0, coupling_time=50.0, seed=4)
    simulation = Simulation(ase.io.read("ar.extxyz"), argon, timestep=4.0, ensemble=bath)
    assert simulation.thermo().temperature == pytest.approx(150.0)
    first = simulation.thermo().conserved
    simulation.run(200)
    thermo = simulation.thermo()
    assert abs(thermo.conserved - first) < 0.02 * abs(thermo.potential + thermo.kinetic - first)
