"""Unit constants against numbers of CODATA, written out: other tests compute with the constants."""

import pytest

from taichimd.core import units

# CODATA 2018, exact but for the atomic mass; ASE's CODATA 2014 differs by less than 1e-6.
CHARGE = 1.602176634e-19
BOLTZMANN = 1.380649e-23
AVOGADRO = 6.02214076e23
AMU = 1.66053906660e-27
TIME = 1.0180505710774743e-14
"""Seconds of one angstrom sqrt(amu/eV)."""


def test_the_unit_of_time():
    assert pytest.approx(1e-10 * (AMU / CHARGE) ** 0.5, rel=1e-12) == TIME


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FS", 0.09822694788),
        ("PS", 98.22694788),
        ("THZ", 0.01018050571),
        ("KB", 8.617333262e-5),
        ("GPA", 6.241509074e-3),
        ("KCAL_PER_MOL", 0.0433641042),
        ("CM2_PER_S", 101.8050571),
        ("PASCAL_SECOND", 6.241509074e-12 * 98.22694788e12),
        ("WATT_PER_METRE_KELVIN", 1e-10 * TIME / CHARGE),
    ],
)
def test_constants_have_the_values_of_codata(name, value):
    assert getattr(units, name) == pytest.approx(value, rel=2e-6)


def test_constants_follow_from_the_definitions():
    expected = {
        "FS": 1e-15 / TIME,
        "KB": BOLTZMANN / CHARGE,
        "GPA": 1e9 * 1e-30 / CHARGE,
        "KCAL_PER_MOL": 4184.0 / AVOGADRO / CHARGE,
        "CM2_PER_S": 1e-4 / 1e-20 * TIME,
        "PASCAL_SECOND": 1e-30 / CHARGE / TIME,
    }
    for name, value in expected.items():
        assert getattr(units, name) == pytest.approx(value, rel=2e-6), name
