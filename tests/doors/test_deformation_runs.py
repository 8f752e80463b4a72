"""Deformed cells through the command line: columns, picture, restarts, mistakes."""

import argon_job
import numpy as np
import pytest

from taichimd.app.averages import conditions
from taichimd.app.notes import of_rates
from taichimd.core.errors import SettingsError
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.thermo import DEFORMATION_COLUMNS, read_thermo
from taichimd.report.words import ensemble_words
from taichimd.settings.config import make_settings

RUN = argon_job.RUN + "--temperature 60 "
SIDES = "--ensemble npt-scr --cell-control orthorhombic --cell-axes yz --bulk-modulus 3 "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return argon_job.enter_folder(tmp_path, monkeypatch, a=5.4)


@pytest.mark.long
def test_a_tension_test_has_strains_stresses_work_and_a_picture(call, folder):
    stretch = SIDES + "--stretch x=1e10/s --steps 200 --every 20 "
    assert call(RUN + stretch + "--output whole")[0] == 0
    rows = read_thermo(folder / "whole/thermo.csv")
    assert set(DEFORMATION_COLUMNS) <= rows.keys()
    strain = 1e-5 * rows["time_ps"] * 1e3
    # An action deforms the cell for ten steps at once.
    np.testing.assert_allclose(rows["strain_x"][1:], strain[1:], atol=4e-4 + 1e-12)
    np.testing.assert_allclose(rows["true_strain_x"], np.log1p(rows["strain_x"]), atol=1e-14)
    np.testing.assert_allclose(rows["strain_y"], rows["b_A"] / rows["b_A"][0] - 1, atol=1e-12)
    np.testing.assert_array_equal(rows["stress_xx_GPa"], -rows["pxx_GPa"])
    gained = rows["total_eV"][-1] - rows["total_eV"][0]
    assert np.ptp(rows["conserved_eV"]) < 0.1 * max(abs(gained), 0.1)
    assert rows["work_deformation_eV"][-1] != 0.0
    assert (folder / "whole/stress_strain.png").stat().st_size > 5000
    assert call(RUN + stretch.replace("200", "87") + "--output part")[0] == 0
    assert call("run --restart part --steps 113")[0] == 0
    for file in ("thermo.csv", "trajectory.extxyz"):
        assert (folder / "part" / file).read_bytes() == (folder / "whole" / file).read_bytes()
    bath = read_checkpoint(folder / "part/checkpoint.npz").bath
    assert bath == read_checkpoint(folder / "whole/checkpoint.npz").bath
    assert call("run --restart whole --stretch none --steps 20 --output after")[0] == 0
    assert "strain_x" not in read_thermo(folder / "after/thermo.csv")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stretch": "x=1e-6/step"}, "rates per time along x, y or z, such as"),
        ({"shear": "x=1e9/s"}, "rates per time of yz, xz or xy, such as"),
        ({"remap": "peculiar"}, "nothing is deformed; give --stretch or --shear with it"),
        (
            {"shear": "xy=1e9/s", "barostat_period": 5},
            "barostat_period = 5: SLLOD acts each step; leave it out",
        ),
        (
            {"ensemble": "npt-scr", "stretch": "x=1e9/s"},
            "x is deformed at a given rate, and the barostat would also change it",
        ),
        ({"stretch": "x=1e14/s"}, "changes the cell by"),
    ],
)
def test_mistakes(options, words):
    with pytest.raises(SettingsError) as error:
        make_settings(options)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_rate_that_looks_like_one_per_step_has_a_note():
    assert of_rates({"x": 1e9}, 1.0) == []
    (note,) = of_rates({"x": 1e-6}, 2.0)
    assert "rates are per time, not per step; 1e-06 per step of 2 fs is 5e+08/s" in note
    (note,) = of_rates({"xy": 1e12}, 1.0)
    assert "xy = 1e+12/s changes the cell by 100.0% in a picosecond" in note


def test_words_and_conditions_know_deformations():
    settings = make_settings({"ensemble": "nvt-bussi", "shear": "xy=1e10/s"}).record()
    assert "cell deformed with xy=1e10/s, SLLOD equations of motion" in ensemble_words(settings)
    assert conditions(settings) != conditions({**settings, "shear": None})
    assert make_settings({"stretch": "none"}).ensemble.stretch is None
