"""Vashishta: values, ends of the terms, lists of their own, and files whose entries do not fit together."""

from math import exp, log

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import Vashishta, testing
from taichimd.core.errors import MissingParameterError, ParameterFileError
from taichimd.forcefields import bound
from taichimd.forcefields.formats.vashishta import FIELDS
from taichimd.forcefields.library import find
from taichimd.forcefields.vashishta import COULOMB
from taichimd.program.engine import Engine
from taichimd.testing import assert_consistent

PAIR = "447 9 1.2 -1.1 5 7.8 3 61.5 7 9 1 2.9 5 -0.3"
NUMBERS = dict(zip(FIELDS, map(float, PAIR.split()), strict=True))
ELEMENTS = [(i, j, k) for i in ("C", "Si") for j in ("C", "Si") for k in ("C", "Si")]


def raw(r, p):
    """V(r) and its slope, term by term."""
    charge = COULOMB * p["Zi"] * p["Zj"]
    screened, dipole = exp(-r / p["lambda1"]), p["D"] * exp(-r / p["lambda4"])
    value = p["H"] * r ** -p["eta"] + charge / r * screened - dipole / r**4 - p["W"] / r**6
    slope = -p["eta"] * p["H"] * r ** (-p["eta"] - 1)
    slope -= charge * screened * (1 / r**2 + 1 / (r * p["lambda1"]))
    return value, slope + dipole * (4 / r**5 + 1 / (r**4 * p["lambda4"])) + 6 * p["W"] / r**7


def two_body(r, p=NUMBERS):
    """U2, by the formula of the paper."""
    value, _ = raw(r, p)
    end, slope = raw(p["rc"], p)
    return value - end - (r - p["rc"]) * slope


@pytest.fixture
def carbide(tmp_path):
    """Make a force field of C and Si from changes of the numbers of some entries; None leaves one out."""

    def make(changes=None, **everywhere):
        changes = changes or {}
        file = tmp_path / "SiC.vashishta"
        rows = {t: {**NUMBERS, **everywhere, **(changes.get(t) or {})} for t in ELEMENTS}
        text = [f"{' '.join(t)} {' '.join(map(repr, row.values()))}\n" for t, row in rows.items()]
        kept = [line for t, line in zip(ELEMENTS, text, strict=True) if changes.get(t, 0) is not None]
        file.write_text("".join(kept))
        return Vashishta(file)

    return make


def trimer(r_ij, r_ik, angle):
    return Atoms("Si3", [[0, 0, 0], [r_ij, 0, 0], [r_ik * np.cos(angle), r_ik * np.sin(angle), 0]])


def energy(atoms, forcefield):
    return Engine(atoms, forcefield).evaluate().energy


@pytest.mark.parametrize("eta", [9.0, 0.0, 15.0, 7.5, 16.0])
def test_two_body_values(carbide, eta):
    """Whole powers, and any."""
    forcefield = carbide(eta=eta)
    for r in (1.5, 2.35, 3.1, 6.9):
        found = energy(Atoms("Si2", [[0, 0, 0], [0, 0, r]]), forcefield)
        assert found == pytest.approx(two_body(r, NUMBERS | {"eta": eta}), rel=1e-12), f"r = {r}"


@pytest.mark.parametrize("saturation", [0.0, 5.0])
def test_three_body_values(carbide, saturation):
    """Both forms: quadratic in the cosine, and saturated."""
    r_ij, r_ik, angle = 2.0, 2.3, 2.2
    x = np.cos(angle) + 0.3
    decay = exp(1 / (r_ij - 2.9) + 1 / (r_ik - 2.9))
    expected = 9.0 * x**2 / (1 + saturation * x**2) * decay
    third = np.sqrt(r_ij**2 + r_ik**2 - 2 * r_ij * r_ik * np.cos(angle))
    expected += two_body(r_ij) + two_body(r_ik) + two_body(third)
    found = energy(trimer(r_ij, r_ik, angle), carbide(C=saturation))
    assert found == pytest.approx(expected, rel=1e-13)


def test_the_quadratic_form_is_the_limit_of_the_other(carbide):
    """Two enumerations of one potential, on a crystal without symmetry, to rounding."""
    atoms = testing.rattled(bulk("SiC", "zincblende", a=4.4, cubic=True).repeat(2), 0.15, seed=3)
    quadratic, limit = carbide(C=0.0), carbide(C=1e-30)
    kinds = [{term.kind for term in forcefield.terms} for forcefield in (quadratic, limit)]
    assert kinds == [{"pair", "angle"}, {"pair", "triplet"}]
    one, two = (Engine(atoms, forcefield).evaluate() for forcefield in (quadratic, limit))
    largest = abs(one.forces).max()
    np.testing.assert_allclose(one.forces, two.forces, rtol=0, atol=1e-13 * largest)
    np.testing.assert_allclose(one.energies, two.energies, rtol=0, atol=1e-13 * largest)
    np.testing.assert_allclose(one.virials, two.virials, rtol=0, atol=1e-12 * largest)


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("SiO2_1990.vashishta", testing.silica_triclinic),
        ("SiO2_1990.vashishta", testing.silica_cluster),
        ("InP_2009.vashishta", testing.indium_phosphide),
    ],
)
def test_lists_of_their_own_find_what_a_common_one_finds(name, build, monkeypatch):
    atoms = testing.with_velocities(build(), 600.0, 1)
    short = Engine(atoms, Vashishta(name))
    monkeypatch.setattr(bound, "SHORT", 0.0)
    common = Engine(atoms, Vashishta(name))
    one, two = short.evaluate(), common.evaluate()
    widths = [engine.device.lists.near[0].near.width for engine in (short, common)]
    assert 3 * widths[0] < widths[1]
    largest = abs(one.forces).max()
    for what in ("forces", "energies", "virials"):
        found, expected = getattr(one, what), getattr(two, what)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * max(largest, abs(expected).max()))
    np.testing.assert_allclose(short.heat_current(), common.heat_current(), rtol=0, atol=1e-11 * largest)


def test_a_long_three_body_term_shares_the_list(carbide):
    forcefield = carbide(rc=3.5)
    assert not forcefield.bind(["C", "Si"])[0].terms.short_body
    assert carbide().bind(["C", "Si"])[0].terms.short_body
    assert_consistent(forcefield, clusters=2)


@pytest.mark.parametrize("saturation", [0.0, 5.0])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_nothing_but_numbers_near_the_ends(carbide, saturation, precision):
    """The exponent diverges at r0: every distance there gives what pairs give, and so does rc."""
    forcefield = carbide(C=saturation)
    for end in (2.9, 2.9 + 1 / log(1e-30), 7.0):
        for r in end * (1 - np.array([0.0, 1.1e-16, 2.3e-16, 1e-12, 6e-8, 1.2e-7, 1e-5, -1e-12])):
            found = Engine(trimer(2.4, r, np.pi), forcefield, precision=precision).evaluate()
            assert np.isfinite(found.forces).all()
            pairs = two_body(2.4) + two_body(2.4 + r) * (2.4 + r < 7) + (two_body(r) if r < 7 else 0)
            assert found.energy == pytest.approx(pairs, rel=1e-5 if precision == "float32" else 1e-12)


def test_energy_and_force_of_a_pair_fall_to_zero_at_rc(carbide):
    gaps = [1e-1, 1e-2, 1e-3, 1e-4]
    found = [Engine(Atoms("Si2", [[0, 0, 0], [0, 0, 7 - gap]]), carbide()).evaluate() for gap in gaps]
    energies = np.array([abs(f.energy) for f in found])
    forces = np.array([abs(f.forces).max() for f in found])
    assert 0 < energies[-1] < 1e-9
    np.testing.assert_allclose(energies[1:] / energies[:-1], 0.01, rtol=0.1)
    np.testing.assert_allclose(forces[1:] / forces[:-1], 0.1, rtol=0.1)


@pytest.mark.parametrize("gamma", [0.0, 1e-12])
def test_an_angle_that_does_not_decay_ends_in_finite_numbers(carbide, gamma):
    for saturation in (0.0, 5.0):
        forcefield = carbide(gamma=gamma, C=saturation)
        for r in 2.9 * (1 - np.array([0.0, 1.2e-16, 1e-9, 2e-7, 4e-7, 1e-5])):
            for precision in ("float64", "float32"):
                found = Engine(trimer(2.2, r, 2.2), forcefield, precision=precision).evaluate()
                assert np.isfinite(found.forces).all()


@pytest.mark.parametrize("zero", ["H", "Zi", "D", "W", "B"])
def test_terms_left_out_cost_nothing_wrong(carbide, zero):
    """Silicon with carbon that lacks a term of its own; screening lengths of no charge may be zero."""
    without = {t: {zero: 0.0} for t in ELEMENTS if t[0] == "C" and t[1:] == ("C", "C")}
    if zero in ("Zi", "D"):
        without["C", "C", "C"] |= {"lambda1" if zero == "Zi" else "lambda4": 0.0}
    assert_consistent(carbide(without), clusters=2)


def test_all_terms_of_a_pair_left_out(carbide):
    nothing = dict.fromkeys(FIELDS, 0.0)
    forcefield = carbide({("Si", "C", "C"): nothing, ("C", "Si", "Si"): nothing})
    found = Engine(Atoms("SiC", [[0, 0, 0], [0, 0, 1.5]]), forcefield).evaluate()
    assert found.energy == 0.0
    assert not found.forces.any()


@pytest.mark.parametrize(
    ("first", "second", "changes", "message"),
    [
        ("Si C C", "C Si Si", {"H": 400.0}, "pair, but H is 400 in one and 447 in the other"),
        ("Si C C", "C Si Si", {"eta": 8.0}, "pair, but eta is 8 in one and 9 in the other"),
        ("Si C C", "C Si Si", {"Zi": 1.1}, "pair, but Zi Zj e^2 is -17.4"),
        ("Si C C", "C Si Si", {"lambda4": 4.0}, "pair, but 1/lambda4 is 0.25 in one and 0.333333 in the"),
        ("Si C C", "C Si Si", {"rc": 8.0}, "pair, but rc is 8 in one and 7 in the other"),
        ("Si C Si", "Si Si C", {"B": 8.0}, "angle, but B is 8 in one and 9 in the other"),
        ("C C Si", "C Si C", {"C": 3.0}, "angle, but C is 3 in one and 5 in the other"),
        ("C C Si", "C Si C", {"costheta0": 0.3}, "angle, but costheta0 is 0.3 in one and -0.3 in the other"),
    ],
)
def test_entries_that_contradict_each_other_are_named(carbide, first, second, changes, message):
    with pytest.raises(ParameterFileError) as caught:
        carbide({tuple(first.split()): changes})
    text = str(caught.value)
    one, two = (f"({', '.join(t.split())})" for t in (first, second))
    assert text.split("SiC.vashishta: ")[1].startswith(("entries " + one, "entries " + two))
    assert f"describe one {message.split(' is ')[0]} is " in text
    assert text.endswith("; make them agree")
    assert "\n" not in text


def test_gamma_and_r0_of_a_pair_may_depend_on_the_centre(carbide):
    changes = {("Si", "C", "C"): {"gamma": 0.8, "r0": 2.8}, ("C", "Si", "Si"): {"gamma": 1.3, "r0": 3.0}}
    for saturation in (0.0, 5.0):
        assert_consistent(carbide(changes, C=saturation), clusters=2)


@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ([("Si", "C", "Si")], r"no triple \(Si, C, Si\); it defines"),
        ([("C", "Si", "Si"), ("Si", "C", "C")], r"no triple \(C, Si, Si\), \(Si, C, C\); it defines"),
    ],
)
def test_a_missing_entry_is_named_when_it_is_needed(carbide, left_out, named):
    forcefield = carbide(dict.fromkeys(left_out))
    silicon = bulk("Si", a=5.4)
    assert energy(silicon, forcefield) == energy(silicon, carbide())
    with pytest.raises(MissingParameterError, match=r"SiC\.vashishta has " + named):
        Engine(Atoms("SiC", [[0, 0, 0], [0, 0, 1.9]]), forcefield)


def test_doors_that_take_the_file(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("build silica --cells 1 --lattice-constant 7.4415 --out silica.xyz")[0] == 0
    code, out, _ = call("energy silica.xyz --potential SiO2_1990.vashishta")
    assert (code, "energy per atom -8.9467" in out) == (0, True)
    code, out, _ = call("potentials")
    assert (code, "SiC_2007.vashishta" in out) == (0, True)
    text = find("SiO2_1990.vashishta").read_text(encoding="utf-8")
    (tmp_path / "mine.vashishta").write_text(text.replace(" 1 2.60 ", " 1 12.60 "))
    code, _, err = call("energy silica.xyz --potential mine.vashishta")
    assert (code, err) == (
        2,
        "error: mine.vashishta line 17: field 'r0' of entry (Si, O, O) is 12.6, expected at most rc, 10: "
        "three-body terms end within the two-body term\n",
    )
