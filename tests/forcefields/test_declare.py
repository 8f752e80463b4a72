"""Declared potentials: what a user may write, and what is said when it cannot work."""

import numpy as np
import pytest
from ase import Atoms
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse, morse_derived, power_law

from taichimd.core.errors import SettingsError
from taichimd.core.math import exp, log, sin
from taichimd.core.runtime import ti
from taichimd.forcefields.declare import pair_potential, triplet_potential
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine


def dimer(r):
    return Atoms("SiSi", [[0, 0, 0], [r, 0, 0]])


def test_morse_has_its_depth_at_its_distance():
    found = Engine(dimer(2.5), morse(**MORSE_VALUES)).evaluate()
    assert found.energy == pytest.approx(-0.35, rel=1e-14)
    assert abs(found.forces).max() < 1e-14


@pytest.mark.parametrize("make", [morse, morse_derived])
def test_parameters_are_separate_for_every_force_field(make):
    """Two force fields of one declaration share kernels, not numbers."""
    shallow, deep = make(**MORSE_VALUES), make(**{**MORSE_VALUES, "depth": 0.7})
    first, second = Engine(dimer(2.8), shallow), Engine(dimer(2.8), deep)
    assert second.evaluate().energy == pytest.approx(2 * first.evaluate().energy, rel=1e-14)
    assert first.evaluate().energy == pytest.approx(2 * second.evaluate().energy / 4, rel=1e-14)


@pytest.mark.both
def test_powers_and_roots_are_derived():
    """u = a (b/r)^n / sqrt(1 + (r/b)^2), its slope by hand here."""
    a, n, b, r = 0.7, 5.5, 2.2, 2.9
    found = Engine(dimer(r), power_law(a=a, n=n, b=b, cutoff=4.0)).evaluate()
    u = a * (b / r) ** n / np.sqrt(1 + (r / b) ** 2)
    slope = u * (-n / r - r / b**2 / (1 + (r / b) ** 2))
    assert found.energy == pytest.approx(u, rel=1e-14)
    assert found.forces[0, 0] == pytest.approx(slope, rel=1e-14)


@pytest.mark.both
def test_logarithm_and_sine_are_derived():
    @pair_potential(params={"a": "eV"}, derive=True)
    def waves(r, p):
        return p.a * sin(3.0 * r) * log(r)

    r = 2.3
    found = Engine(dimer(r), waves(a=0.4, cutoff=5.0)).evaluate()
    assert found.energy == pytest.approx(0.4 * np.sin(3 * r) * np.log(r), rel=1e-14)
    slope = 0.4 * (3 * np.cos(3 * r) * np.log(r) + np.sin(3 * r) / r)
    assert found.forces[0, 0] == pytest.approx(slope, rel=1e-13)


@pytest.mark.both
def test_a_branch_cannot_be_derived():
    with pytest.raises(SettingsError, match=r"stepped: cannot derive it .*without branches, or return the"):

        @pair_potential(params={"a": "eV"}, derive=True)
        def stepped(r, p):
            if r < 2.0:
                return p.a
            return p.a / r


def test_a_foreign_function_cannot_be_derived():
    with pytest.raises(SettingsError, match=r"foreign: cannot derive it"):

        @pair_potential(params={"a": "eV"}, derive=True)
        def foreign(r, p):
            return p.a * np.exp(r)


def whole(r, p):
    return p.a * exp(-r) * exp(-r)


def decay(r):
    return exp(-r)


def of_helpers(r, p):
    once = decay

    def twice(x):
        return once(x) * decay(x)

    return p.a * twice(r)


@pytest.mark.both
def test_helpers_of_the_same_file_are_derived_too():
    of_helpers.__name__ = whole.__name__
    codes = [
        pair_potential(params={"a": "eV"}, derive=True)(one)(a=1.0, cutoff=3.0).describe(["Si"])["terms"][0][
            "code"
        ]
        for one in (whole, of_helpers)
    ]
    assert codes[0] == codes[1]


@pytest.mark.both
def test_a_compiled_helper_cannot_be_derived_and_the_error_says_what_to_do():
    compiled = ti.func(decay)
    with pytest.raises(
        SettingsError, match=r"mine: cannot derive it, .* write that function without @ti\.func"
    ):

        @pair_potential(params={"a": "eV"}, derive=True)
        def mine(r, p):
            return p.a * compiled(r)


def test_an_undeclared_parameter_is_named_when_deriving():
    with pytest.raises(SettingsError, match=r"forgetful: p has no 'b'; it has a, cutoff"):

        @triplet_potential(params={"a": "eV"}, derive=True)
        def forgetful(r_ij, r_ik, cos_jik, p):
            return p.a * p.b * r_ij * r_ik * cos_jik


M, A = MORSE_VALUES, ANGLE_VALUES


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: morse(depth=1.0, width=1.0, cutoff=5.0),
            "parameter 'r0' is missing; it takes depth, width, r0",
        ),
        (lambda: morse(**M, mass=1.0), r"unknown parameter 'mass', it takes depth \(eV\), width \(1/Å\)"),
        (lambda: morse(depth=1.0, width=1.0, r0=2.0), "parameter 'cutoff' is missing"),
        (lambda: morse(**{**M, "cutoff": -2.0}), r"cutoff is -2\.0 angstrom, expected a positive length"),
        (lambda: morse(**{**M, "depth": np.nan}), "parameter 'depth' is nan, expected a finite"),
        (lambda: morse(table={("Si", "C", "C"): M}), "has 3 elements, not 2"),
        (lambda: angle(table={("Si", "C"): A}), "has 2 elements, not 3"),
        (lambda: morse(**M, truncation="sharp"), "truncation is 'sharp', expected one of truncated"),
        (lambda: angle(**A, truncation="force-shifted"), "a triplet term is not shifted; leave it out"),
        (
            lambda: morse(**M) + LennardJones(0.3, 2.5, 6.0, enumeration="all-pairs"),
            'cannot add morse and Lennard-Jones: .* and Lennard-Jones has the enumeration "all-pairs"',
        ),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(SettingsError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_the_cutoff_is_not_declared():
    with pytest.raises(SettingsError, match="'cutoff' is added by itself"):

        @pair_potential(params={"cutoff": "Å"})
        def own(r, p):
            return r, r


@pytest.mark.parametrize("part", [morse(**M), angle(**A)], ids=["pairs", "triplets"])
def test_a_sum_of_a_term_and_itself_has_twice_its_energy(part):
    atoms = Atoms("Si3", [[0.0, 0.0, 0.0], [2.3, 0.0, 0.0], [-0.8, 2.2, 0.0]])
    once, twice = (Engine(atoms, one).evaluate() for one in (part, part + part))
    assert once.energy != 0.0
    assert twice.energy == pytest.approx(2.0 * once.energy, rel=1e-14)
    np.testing.assert_allclose(twice.forces, 2.0 * once.forces, rtol=1e-12, atol=1e-12)


def test_a_sum_describes_both_parts():
    both = angle(**ANGLE_VALUES) + morse(**MORSE_VALUES)
    assert both.cutoff == MORSE_VALUES["cutoff"]
    assert both.name == "angle + morse"
    assert "Stillinger" in both.citation
    assert "Morse" in both.citation
    parts = [Engine(dimer(2.8), part).evaluate().energy for part in (both, morse(**MORSE_VALUES))]
    assert parts[0] == pytest.approx(parts[1], rel=1e-14)
