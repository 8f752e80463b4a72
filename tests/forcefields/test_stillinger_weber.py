"""Stillinger-Weber: values, the end of the potential, and files whose entries do not fit together."""

from math import exp, sqrt

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import StillingerWeber, TaichiMD
from taichimd.core.errors import MissingParameterError, ParameterFileError
from taichimd.forcefields.library import find
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine
from taichimd.testing import assert_consistent

EPSILON, SIGMA, A, B = 2.1683, 2.0951, 7.049556277, 0.6022245584
END = 1.8 * SIGMA
NUMBERS = {"eps": 2.1, "sigma": 2.0, "a": 1.8, "lam": 21.0, "gamma": 1.2, "cos": -0.3, "A": 7.0, "B": 0.6}
NUMBERS |= {"p": 4.0, "q": 0.0, "tol": 0.0}
ELEMENTS = [(i, j, k) for i in ("C", "Si") for j in ("C", "Si") for k in ("C", "Si")]


def pair(r, p=4.0, q=0.0):
    """phi2 of silicon."""
    return A * EPSILON * (B * (SIGMA / r) ** p - (SIGMA / r) ** q) * exp(SIGMA / (r - END))


@pytest.fixture
def alloy(tmp_path):
    """Make a force field of C and Si from changes of the numbers of some entries; None leaves one out."""

    def make(changes=None, **everywhere):
        changes = changes or {}
        file = tmp_path / "SiC.sw"
        rows = {t: {**NUMBERS, **everywhere, **(changes.get(t) or {})} for t in ELEMENTS}
        text = [f"{' '.join(t)} {' '.join(map(repr, row.values()))}\n" for t, row in rows.items()]
        kept = [line for t, line in zip(ELEMENTS, text, strict=True) if changes.get(t, 0) is not None]
        file.write_text("".join(kept))
        return StillingerWeber(file)

    return make


def trimer(r_ij, r_ik, angle):
    """An atom and two neighbours that are beyond each other's reach."""
    return Atoms("Si3", [[0, 0, 0], [r_ij, 0, 0], [r_ik * np.cos(angle), r_ik * np.sin(angle), 0]])


def test_values_of_dimer_trimer_and_crystal():
    forcefield = StillingerWeber("Si.sw")
    for r in (1.9, 2.35, 3.1, 3.7):
        energy = Engine(Atoms("Si2", [[0, 0, 0], [0, 0, r]]), forcefield).evaluate().energy
        assert energy == pytest.approx(pair(r), rel=1e-13), f"r = {r}"
    r_ij, r_ik, angle = 2.4, 2.7, 2.2
    decay = exp(1.2 * SIGMA / (r_ij - END) + 1.2 * SIGMA / (r_ik - END))
    expected = pair(r_ij) + pair(r_ik) + 21.0 * EPSILON * (np.cos(angle) + 0.333333333333) ** 2 * decay
    found = Engine(trimer(r_ij, r_ik, angle), forcefield).evaluate()
    assert found.energy == pytest.approx(expected, rel=1e-13)
    crystal = bulk("Si", a=5.432)
    crystal.calc = TaichiMD("Si.sw")
    # Perfect angles cost nothing: two bonds an atom.
    assert crystal.get_potential_energy() / 2 == pytest.approx(2 * pair(5.432 * sqrt(3) / 4), rel=1e-13)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_nothing_but_numbers_near_the_end(precision):
    """The exponent diverges at the cutoff: every distance there gives zero or next to it."""
    forcefield = StillingerWeber("Si.sw")
    steps = END * (1 - np.array([0.0, 1.1e-16, 2.3e-16, 1e-12, 6e-8, 1.2e-7, 1e-5, 1e-3]))
    for r in [*steps, END * (1 + 1e-12)]:
        for atoms in (Atoms("Si2", [[0, 0, 0], [0, 0, r]]), trimer(2.4, r, 2.2), trimer(r, r, 2.2)):
            found = Engine(atoms, forcefield, precision=precision).evaluate()
            assert np.isfinite(found.energy)
            assert np.isfinite(found.forces).all()
            inner = abs(pair(2.4)) if len(atoms) == 3 and atoms.positions[1, 0] == 2.4 else 0.0
            assert abs(found.energy) == pytest.approx(inner, rel=1e-5, abs=1e-30)


def test_energy_and_force_fall_to_zero_without_a_step():
    """What is left out near the end is below 1e-25, in eV and angstrom."""
    forcefield = StillingerWeber("Si.sw")
    assert forcefield.cutoff == pytest.approx(END - SIGMA / 69.0776, abs=1e-6)
    gaps = [0.3, 0.1, 0.06, 0.04, 0.032, 0.03, 0.0]
    found = [Engine(trimer(END - gap, END - gap, 2.2), forcefield).evaluate() for gap in gaps]
    forces = np.array([abs(f.forces).max() for f in found])
    energies = np.array([abs(f.energy) for f in found])
    for values in (energies, forces):
        assert (values[1:5] < 0.02 * values[:4]).all()
        assert 0 < values[4] < 1e-23
        assert values[5] == values[6] == 0.0


@pytest.mark.parametrize("gamma", [0.0, 1e-12])
def test_an_angle_that_does_not_decay_ends_in_finite_numbers(alloy, gamma):
    forcefield = alloy(gamma=gamma)
    for r in 3.6 * (1 - np.array([0.0, 1.2e-16, 1e-9, 2e-7, 4e-7, 1e-5])):
        for precision in ("float64", "float32"):
            found = Engine(trimer(2.2, r, 2.2), forcefield, precision=precision).evaluate()
            assert np.isfinite(found.forces).all()
            assert np.isfinite(found.energy)


@pytest.mark.parametrize(("p", "q"), [(4.0, 0.0), (4.0, 1.0), (5.5, 1.25), (0.0, 0.0)])
def test_any_powers(alloy, p, q):
    forcefield = alloy(p=p, q=q, eps=EPSILON, sigma=SIGMA, A=A, B=B)
    for r in (1.8, 2.9):
        energy = Engine(Atoms("Si2", [[0, 0, 0], [0, 0, r]]), forcefield).evaluate().energy
        assert energy == pytest.approx(pair(r, p, q), rel=1e-12)
    assert_consistent(forcefield, clusters=2)


def test_attraction_alone(alloy):
    forcefield = alloy(q=1.0, B=0.0, eps=EPSILON, sigma=SIGMA, A=A)
    energy = Engine(Atoms("Si2", [[0, 0, 0], [0, 0, 2.9]]), forcefield).evaluate().energy
    assert energy == pytest.approx(-A * EPSILON * SIGMA / 2.9 * exp(SIGMA / (2.9 - END)), rel=1e-12)


def test_a_hard_end_by_tol_is_where_the_file_says(alloy):
    forcefield = alloy(tol=1e-3, sigma=SIGMA, eps=EPSILON, A=A, B=B)
    end = forcefield.cutoff
    assert end < END - 0.3
    for r, acts in ((end - 1e-9, True), (end + 1e-9, False)):
        energy = Engine(Atoms("Si2", [[0, 0, 0], [0, 0, r]]), forcefield).evaluate().energy
        assert energy == pytest.approx(pair(r) * acts, rel=1e-12)


@pytest.mark.parametrize("zero", ["lam", "eps", "A"])
def test_terms_left_out_cost_nothing_wrong(alloy, zero):
    """Silicon with carbon that has no angles, nothing of its own, or no pair terms at C-C."""
    without = {t: {zero: 0.0} for t in ELEMENTS if t[0] == "C" or (zero == "A" and t[1:] == ("C", "C"))}
    if zero in ("A", "eps"):
        without |= {t: {zero: 0.0} for t in (("Si", "C", "C"), ("C", "Si", "Si"))}
    forcefield = alloy(without)
    assert_consistent(forcefield, clusters=2)
    atoms = trimer(2.2, 2.5, 1.9)
    expected = Engine(atoms, forcefield).evaluate().energy
    atoms.symbols = "CSiSi"
    assert Engine(atoms, forcefield).evaluate().energy != expected


def test_all_terms_of_a_pair_left_out(alloy):
    """sigma and a may be 0 where nothing acts; such a pair is at no distance."""
    nothing = {"eps": 0.0, "sigma": 0.0, "a": 0.0}
    forcefield = alloy({("Si", "C", "C"): nothing, ("C", "Si", "Si"): nothing})
    found = Engine(Atoms("SiC", [[0, 0, 0], [0, 0, 1.5]]), forcefield).evaluate()
    assert found.energy == 0.0
    assert not found.forces.any()


@pytest.mark.parametrize(
    ("first", "second", "changes", "message"),
    [
        ("Si C C", "C Si Si", {"sigma": 2.1}, "pair, but sigma is 2.1 in one and 2 in the other"),
        ("Si C C", "C Si Si", {"eps": 1.0}, "pair, but A B epsilon is 4.2 in one and 8.82 in the other"),
        ("Si C C", "C Si Si", {"a": 1.7}, "pair, but a sigma is 3.4 in one and 3.6 in the other"),
        ("Si C C", "C Si Si", {"tol": 1e-4}, "pair, but the cutoff that tol makes is 3.38"),
        ("Si C Si", "Si Si C", {"lam": 20.0}, "angle, but lambda epsilon is 42 in one and 44.1 in the other"),
        ("C C Si", "C Si C", {"cos": 0.3}, "angle, but costheta0 is 0.3 in one and -0.3 in the other"),
    ],
)
def test_entries_that_contradict_each_other_are_named(alloy, first, second, changes, message):
    with pytest.raises(ParameterFileError) as caught:
        alloy({tuple(first.split()): changes})
    one, two = (f"({', '.join(t.split())})" for t in (first, second))
    text = str(caught.value)
    assert text.split("SiC.sw: ")[1].startswith(("entries " + one, "entries " + two))
    described = message.split(" is ")[0]
    assert f"describe one {described} is " in text
    assert text.endswith("; make them agree")
    assert "\n" not in text


def test_gamma_of_a_pair_may_depend_on_the_centre(alloy):
    """It belongs to angles alone: entries i j j and j i i may give two."""
    forcefield = alloy({("Si", "C", "C"): {"gamma": 1.0}, ("C", "Si", "Si"): {"gamma": 1.3}})
    assert_consistent(forcefield, clusters=2)


def test_rounding_of_mixed_entries_is_averaged(alloy):
    """Two roundings of one number: the energy does not depend on which neighbour comes first."""
    forcefield = alloy({("C", "C", "Si"): {"lam": 21.000001}, ("C", "Si", "C"): {"lam": 20.999999}})
    assert check_forcefield(forcefield, clusters=2).order_error < 1e-13
    atoms = Atoms("CSiC", trimer(2.2, 2.5, 1.9).positions)
    exact = Engine(atoms, alloy()).evaluate().energy
    assert Engine(atoms, forcefield).evaluate().energy == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ([("Si", "C", "Si")], r"no triple \(Si, C, Si\); it defines"),
        ([("C", "Si", "Si")], r"no triple \(C, Si, Si\); it defines"),
        ([("C", "Si", "Si"), ("Si", "C", "C")], r"no triple \(C, Si, Si\), \(Si, C, C\); it defines"),
    ],
)
def test_a_missing_entry_is_named_when_it_is_needed(alloy, left_out, named):
    forcefield = alloy(dict.fromkeys(left_out))
    silicon = Engine(bulk("Si"), forcefield).evaluate().energy
    assert silicon == Engine(bulk("Si"), alloy()).evaluate().energy
    with pytest.raises(MissingParameterError, match=r"SiC\.sw has " + named):
        Engine(Atoms("SiC", [[0, 0, 0], [0, 0, 1.9]]), forcefield)


def test_doors_that_take_the_file(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bulk("Si", cubic=True).write("si.extxyz")
    code, out, _ = call("energy si.extxyz --potential Si.sw")
    assert (code, "-34.69" in out) == (0, True)
    code, out, _ = call("check GaN_2006.sw")
    assert (code, "GaN_2006.sw: consistent" in out) == (0, True)
    code, out, _ = call("potentials")
    assert (code, "GaN_2006.sw" in out) == (0, True)
    (tmp_path / "mine.sw").write_text(find("Si.sw").read_text(encoding="utf-8").replace(" 1.8 ", " x "))
    code, _, err = call("energy si.extxyz --potential mine.sw")
    assert (code, err) == (2, "error: mine.sw line 13: field 'a' is 'x', expected a number\n")
