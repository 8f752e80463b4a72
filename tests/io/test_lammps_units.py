"""Factors between LAMMPS' unit systems and ours: literal values, and ASE's independent table."""

from typing import get_args

import numpy as np
import pytest
from ase import units

from taichimd.errors import StructureError
from taichimd.io.lammps_units import ASSUMED, UNITS, units_named, units_of_header
from taichimd.settings.types import InputUnits


def test_real_and_metal_are_what_the_manual_says():
    real, metal = UNITS["real"], UNITS["metal"]
    assert real.energy == pytest.approx(0.0433641, rel=1e-6)
    assert real.time_ps == pytest.approx(1e-3, rel=1e-12)
    assert metal.time_ps == pytest.approx(1.0, rel=1e-12)
    # An ångström a femtosecond is 1,000 ångström a picosecond, and 10.18 of ASE's.
    assert real.velocity == pytest.approx(10.1805057, rel=1e-7)
    assert real.velocity / metal.velocity == pytest.approx(1000.0, rel=1e-12)
    assert (real.length, real.mass, real.charge) == (metal.length, metal.mass, metal.charge) == (1, 1, 1)
    assert metal.energy == 1.0
    assert ASSUMED is metal


def test_a_velocity_gives_the_temperature_that_it_has():
    # Argon at 300 K: sqrt(3 kB T / m) = 432.9 m/s = 4.329e-3 Å/fs.
    speed = 4.329e-3 * UNITS["real"].velocity
    assert 39.948 * speed**2 / (3 * units.kB) == pytest.approx(300.0, rel=1e-3)
    speed = 432.9 * UNITS["si"].velocity
    assert 39.948 * speed**2 / (3 * units.kB) == pytest.approx(300.0, rel=1e-3)


@pytest.mark.parametrize("name", ["metal", "real", "electron", "si", "cgs"])
@pytest.mark.parametrize("quantity", ["length", "mass", "energy", "charge", "time", "velocity", "force"])
def test_ase_has_the_same_factors(name, quantity):
    convert = pytest.importorskip("ase.calculators.lammps").convert
    word = {"length": "distance"}.get(quantity, quantity)
    # The statcoulomb and the atomic time of LAMMPS' manual have six digits.
    assert getattr(UNITS[name], quantity) == pytest.approx(convert(1.0, word, name, "ASE"), rel=1e-6)


@pytest.mark.parametrize("name", ["si", "cgs", "micro", "nano"])
def test_a_mechanical_system_is_one(name):
    one = UNITS[name]
    assert np.isclose(one.energy, one.mass * one.velocity**2, rtol=1e-9)
    assert np.isclose(one.velocity, one.length / one.time, rtol=1e-12)


def test_the_option_has_the_same_names():
    assert set(get_args(InputUnits)) == set(UNITS)


def test_reduced_units_are_refused():
    with pytest.raises(StructureError, match=r"a\.dump: units lj are ratios .* give --input-units metal"):
        units_named("lj", "a.dump")
    with pytest.raises(StructureError, match="unknown units 'reel'; expected one of metal, real"):
        units_named("reel", "a.dump")


def test_the_header_of_write_data_states_units():
    line = "LAMMPS data file via write_data, version 2 Aug 2023, timestep = 1000, units = real"
    assert units_of_header(line) == "real"
    assert units_of_header("water, 64 molecules") is None
