"""Dipole moments of a run, through boundaries and restarts, and its infrared spectrum."""

import json
from pathlib import Path

import numpy as np
import pytest
from ase.build import molecule

from taichimd import Engine, ReaxFF
from taichimd.io.analysis_files import read_table
from taichimd.observables import observable

RUN = "run water.extxyz --potential H2O.ffield --timestep 0.25 --backend cpu --temperature 600 --seed 3 "
OBSERVE = "--every 8 --observe dipole,ir --observe-every 2 --observe-window 2fs "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(observable, "draw", lambda *_: None)
    atoms = molecule("H2O")
    atoms.cell, atoms.pbc = [9.0] * 3, True
    # The molecule lies across a boundary.
    atoms.wrap()
    assert np.ptp(atoms.positions[:, 1]) > 4.5
    atoms.write("water.extxyz")


@pytest.mark.long
def test_a_molecule_across_a_boundary_has_the_dipole_of_the_whole_one(call):
    code, _, err = call(RUN + OBSERVE + "--steps 64 --output whole")
    assert (code, err) == (0, "")
    table = read_table(Path("whole/dipole.csv"))
    assert list(table)[1:4] == ["dipole_x_eA", "dipole_y_eA", "dipole_z_eA"]
    alone = molecule("H2O")
    alone.cell, alone.pbc = [9.0] * 3, True
    engine = Engine(alone, ReaxFF("H2O.ffield"), backend="cpu")
    expected = engine.evaluate().charges @ alone.positions
    found = np.array([table[f"dipole_{axis}_eA"][0] for axis in "xyz"])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(table["polarisation_z_e_per_A2"] * 9.0**3, table["dipole_z_eA"], rtol=1e-9)
    assert np.ptp(table["dipole_z_eA"]) > 0.0
    spectrum = read_table(Path("whole/ir.csv"))
    assert spectrum["frequency_THz"][-1] < 0.36 / 0.0005
    assert (spectrum["absorption_e2A2_per_ps"] > 0.0).all()
    values = json.load(open("whole/run.json"))["observed"]["values"]
    assert {"dipole_x", "ir_position"} <= values.keys()
    code, _, err = call(RUN + OBSERVE + "--steps 32 --output part")
    assert (code, err) == (0, "")


def test_a_potential_without_charges_has_no_dipole(call):
    code, _, err = call("run water.extxyz --potential Ar.lj --steps 8 --observe dipole --backend cpu")
    assert code == 2
    assert len(err.strip().splitlines()) == 1


def series(n=800, dt=0.002, frequency=30.0):
    """A dipole moment that swings at a frequency (THz), with noise, as dipole.csv has it."""
    time = dt * np.arange(n)
    random = np.random.default_rng(5)
    values = np.sin(2.0 * np.pi * frequency * time)[:, None] + 0.01 * random.standard_normal((n, 3))
    rows = [",".join(map(repr, row)) for row in np.column_stack([time, values]).tolist()]
    return "\n".join(["time_ps,dipole_x_eA,dipole_y_eA,dipole_z_eA", *rows]) + "\n"


def test_analyze_gives_the_infrared_spectrum_of_stored_dipole_moments(call):
    Path("dipole.csv").write_text(series())
    code, out, err = call("analyze dipole.csv --output o")
    assert (code, err) == (0, "")
    assert "800 samples, 0.002 ps apart, 5 blocks" in out
    values = json.load(open("o/analysis.json"))["values"]
    assert values["ir_position"]["value"] == pytest.approx(30.0, abs=6.3)
    assert call("analyze dipole.csv --window 0.3ps --blocks 2 --output fine")[0] == 0
    finer = json.load(open("fine/analysis.json"))["values"]["ir_position"]["value"]
    assert finer == pytest.approx(30.0, abs=1.7)
    fine, coarse = (read_table(Path(f"{name}/ir.csv"))["frequency_THz"] for name in ("fine", "o"))
    assert len(fine) > len(coarse)
    for more, words in (
        ("--msd", "needs positions"),
        ("--volume 9", "leave the option out"),
        ("--r-max 9", "leave the option out"),
        ("--window 9ps", "window = 9 ps: expected 0.002 to"),
        ("--skip 795", "5 samples are left"),
        ("", "has ir.csv, "),
    ):
        code, _, err = call(f"analyze dipole.csv {more} --output o")
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert words in err
    Path("uneven.csv").write_text(series().replace("0.004,", "0.0045,", 1))
    assert "equal intervals" in call("analyze uneven.csv --output u")[2]


@pytest.mark.long
def test_analyze_gives_the_spectrum_that_the_run_has(call):
    assert call(RUN + OBSERVE + "--steps 64 --output whole")[0] == 0
    assert call("analyze whole/dipole.csv --window 2fs --output again")[0] == 0
    ours, theirs = read_table(Path("again/ir.csv")), read_table(Path("whole/ir.csv"))
    for name, column in theirs.items():
        np.testing.assert_allclose(ours[name], column, rtol=1e-9, atol=0)
