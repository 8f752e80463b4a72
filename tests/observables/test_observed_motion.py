"""Observations of what changes or flies far: cells that shrink, atoms of a gas."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from argon_job import RUN, enter_folder
from ase import Atoms

from taichimd.core.units import GPA
from taichimd.io.analysis_files import read_table
from taichimd.program.engine import Engine


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return enter_folder(tmp_path, monkeypatch, a=5.5)


def stopped_at(step):
    advance = Engine.advance

    def interrupted(engine, steps, timestep):
        advance(engine, steps, timestep)
        if engine.step >= step:
            os.kill(os.getpid(), signal.SIGTERM)

    return interrupted


@pytest.mark.parametrize("cut", [False, True])
def test_distances_in_a_cell_that_shrinks_count_with_its_volumes(call, cut):
    npt = "--ensemble npt-berendsen --pressure 2 --pressure-coupling-time 400 --bulk-modulus 10 "
    run = RUN + npt + "--temperature 60 --every 10 --observe rdf,viscosity --observe-every 10 --output o "
    with pytest.MonkeyPatch.context() as patched:
        if cut:
            patched.setattr(Engine, "advance", stopped_at(120))
        assert call(run + "--steps 300")[0] == (143 if cut else 0)
    if cut:
        assert call("run --trust --restart o/checkpoint.npz")[0] == 0
    assert call("analyze o/trajectory.extxyz --rdf --equilibrate 0fs --output a --backend cpu")[0] == 0
    found, expected = read_table(Path("o/rdf.csv")), read_table(Path("a/rdf.csv"))
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, atol=1e-7, err_msg=name)
    rows = read_table(Path("o/thermo.csv"))
    assert rows["volume_A3"].min() < 0.9 * rows["volume_A3"].max()
    # Stress with the volume of its own step; thermo.csv has pressures.
    stress = read_table(Path("o/stress.csv"))["xx_eV_per_A3"]
    np.testing.assert_allclose(-stress[: len(rows["step"])] / GPA, rows["pxx_GPa"], rtol=1e-5, atol=1e-6)


def test_a_free_flight_is_longer_than_what_is_expected_of_liquids(call):
    gas = Atoms("Ar8", 20.0 * np.random.default_rng(0).uniform(size=(8, 3)), cell=[90, 90, 90], pbc=True)
    gas.positions += 9.0 * np.arange(8)[:, None]
    gas.write("gas.extxyz")
    run = RUN.replace("ar.extxyz", "gas.extxyz") + "--temperature 3000 "
    run += "--timestep 10 --steps 1600 --every 40 --observe msd --observe-every 40 --output o "
    assert call(run + "--observe-window 14.4ps")[0] == 0
    found = read_table(Path("o/msd.csv"))["msd_Ar_A2"]
    assert found.max() > 100.0**2
    analyze = "analyze o/trajectory.extxyz --msd --blocks 1 --equilibrate 0fs --output a --backend cpu "
    assert call(analyze + "--window 14.4ps")[0] == 0
    np.testing.assert_allclose(found, read_table(Path("a/msd.csv"))["msd_Ar_A2"], rtol=1e-6, atol=1e-5)
