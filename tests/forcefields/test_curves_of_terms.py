"""Curves in triplet and bond-order terms of one's own: those of cubics have the numbers of formulas."""

import numpy as np
import pytest

from taichimd import bond_order, table, testing, triplet_potential
from taichimd.core.errors import SettingsError
from taichimd.math import exp
from taichimd.program.engine import Engine

CUTOFF = 3.0


def cubic(r):
    """A polynomial of third order, which a curve has exactly."""
    return (1.0 - r / CUTOFF) ** 3


CURVE = table("g", np.linspace(0.0, CUTOFF, 301), cubic)


@triplet_potential(params={"K": "eV"}, derive=True)
def formula(r_ij, r_ik, cos_jik, p):
    ends = (1.0 - r_ij / p.cutoff) ** 3 * (1.0 - r_ik / p.cutoff) ** 3
    return p.K * (cos_jik + 1.0 / 3.0) ** 2 * ends


@triplet_potential(params={"K": "eV"}, tables={"g": "1"})
def tabulated(r_ij, r_ik, cos_jik, p):
    g, dg = p.g(r_ij)
    k, dk = p.g(r_ik)
    x = cos_jik + 1.0 / 3.0
    return p.K * x * x * g * k, p.K * x * x * dg * k, p.K * x * x * g * dk, 2.0 * p.K * x * g * k


def end(r, p):
    f = (1.0 - r / p.cutoff) ** 2
    return (1.0 - r / p.cutoff) * f, -3.0 / p.cutoff * f


def end_of_curve(r, p):
    f, df = p.g(r)
    return f, df


def angle(r_ij, r_ik, cos_jik, p):
    return (1.0 + cos_jik) ** 2, 0.0 * r_ij, 0.0 * r_ik, 2.0 * (1.0 + cos_jik)


def bond(r, f, df, zeta, p):
    attraction, b = p.B * exp(-r), 1.0 / (1.0 + zeta)
    part = p.A * (1.0 - r / p.cutoff) ** 3 - b * attraction
    slope = -3.0 * p.A / p.cutoff * (1.0 - r / p.cutoff) ** 2 + b * attraction
    return f * part, df * part + f * slope, f * attraction * b * b


def bond_of_curve(r, f, df, zeta, p):
    attraction, b = p.B * exp(-r), 1.0 / (1.0 + zeta)
    g, dg = p.g(r)
    part = p.A * g - b * attraction
    return f * part, df * part + f * (p.A * dg + b * attraction), f * attraction * b * b


UNITS = {"A": "eV", "B": "eV"}
BOND = {
    "formula": bond_order("formula", cutoff=end, zeta=angle, bond=bond, params=UNITS),
    "curves": bond_order(
        "curves", cutoff=end_of_curve, zeta=angle, bond=bond_of_curve, params=UNITS, tables={"g": "1"}
    ),
}
TERMS = {
    "triplets": (formula(K=2000.0, cutoff=CUTOFF), tabulated(K=2000.0, g=CURVE, cutoff=CUTOFF)),
    "bond orders": (
        BOND["formula"](A=400.0, B=90.0, cutoff=CUTOFF),
        BOND["curves"](A=400.0, B=90.0, g=CURVE, cutoff=CUTOFF),
    ),
}


@pytest.mark.parametrize("name", TERMS)
def test_a_curve_of_a_cubic_has_the_numbers_of_the_formula(name):
    one, other = (Engine(testing.silicon_cluster(), of, backend="cpu").evaluate() for of in TERMS[name])
    assert abs(one.energy) > 0.1
    assert other.energy == pytest.approx(one.energy, rel=1e-11)
    largest = np.abs(one.forces).max()
    np.testing.assert_allclose(other.forces, one.forces, rtol=0, atol=1e-10 * largest)
    np.testing.assert_allclose(other.virials, one.virials, rtol=0, atol=1e-9 * largest)


def test_mistakes_are_one_line():
    with pytest.raises(SettingsError, match="derive=True cannot differentiate a table"):
        bond_order("x", cutoff=end, zeta=angle, bond=bond, params=UNITS, tables={"g": "1"}, derive=True)
    with pytest.raises(SettingsError, match=r"curves: g = '2\.0', expected a curve"):
        BOND["curves"](A=1.0, B=1.0, g=2.0, cutoff=CUTOFF)
