"""Dipole moments of a run, through boundaries and restarts, and its infrared spectrum."""

import json
from pathlib import Path

import numpy as np
import pytest
from ase.build import molecule

from taichimd import Engine, ReaxFF
from taichimd.io.analysis_files import read_table
from taichimd.observables import observable

pytestmark = pytest.mark.once

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
