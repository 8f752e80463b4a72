"""Forces, energies and virials of every force field, against derivatives and what symmetry demands."""

import numpy as np
import pytest
from ase import Atoms
from declared import ANGLE_VALUES, MORSE_VALUES, angle, angle_derived, morse, morse_derived
from every_forcefield import ARGON, FORCEFIELDS, MIXTURE, PERIODIC, TWO_ANGLES, strained_silicon

from taichimd import testing
from taichimd.core.errors import MissingParameterError, SettingsError
from taichimd.forcefields.declare import pair_potential, triplet_potential
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.forcefields.truncate import TRUNCATIONS
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine


@pytest.mark.both
@pytest.mark.parametrize("name", FORCEFIELDS)
def test_forces_and_virial_are_derivatives_of_the_energy(name):
    """Five-point differences in random clusters, dense to loose, of all elements."""
    found = check_forcefield(FORCEFIELDS[name](), clusters=2)
    assert found.force_error < 1e-7, str(found)
    assert found.virial_error < 1e-7, str(found)
    assert found.sum_error < 1e-13, str(found)
    assert found.order_error < 1e-12, str(found)
    assert found.ok
    assert "consistent" in str(found)


def test_a_jump_of_the_second_derivative_is_no_wrong_force():
    """Two atoms of the fourth cluster are 8e-5 angstrom from the distance at which f_C begins to fall."""
    found = check_forcefield(load_forcefield("C_2010.tersoff"), clusters=4, seed=1)
    assert found.force_error < 1e-9
    assert found.virial_error < 1e-9


def test_the_check_finds_what_is_wrong():
    @pair_potential(params={"k": "eV"})
    def wrong_sign(r, p):
        return p.k / r, p.k / (r * r)

    @triplet_potential(params={"k": "eV"})
    def cares_who_comes_first(r_ij, r_ik, cos_jik, p):
        return p.k * r_ij * cos_jik, p.k * cos_jik, 0.0 * r_ik, p.k * r_ij

    found = check_forcefield(wrong_sign(k=1.0, cutoff=4.0), clusters=1)
    assert not found.ok
    assert found.force_error > 1.0
    assert "NOT CONSISTENT" in str(found)
    found = check_forcefield(cares_who_comes_first(k=1.0, cutoff=4.0), clusters=1)
    assert not found.ok
    assert found.order_error > 1e-3
    with pytest.raises(AssertionError, match="NOT CONSISTENT"):
        testing.assert_consistent(wrong_sign(k=1.0, cutoff=4.0), clusters=1)


CASES = pytest.mark.parametrize("name", PERIODIC)


def evaluated(name, atoms):
    return Engine(atoms, FORCEFIELDS[name]()).evaluate()


def assert_same(found, expected, factor=1.0, tolerance=3e-13):
    """Energy, forces (rows may repeat) and stress equal to rounding."""
    largest = abs(expected.forces).max()
    assert largest > 1e-3, "forces must not vanish by symmetry"
    assert found.energy == pytest.approx(factor * expected.energy, rel=tolerance)
    times = int(factor)
    np.testing.assert_allclose(
        found.forces, np.tile(expected.forces, (times, 1)), rtol=0, atol=30 * tolerance * largest
    )
    np.testing.assert_allclose(
        found.stress, expected.stress, rtol=0, atol=30 * tolerance * abs(expected.stress).max()
    )


@CASES
def test_sums_over_atoms(name):
    found = evaluated(name, PERIODIC[name]())
    largest = abs(found.forces).max()
    assert abs(found.forces.sum(axis=0)).max() < 1e-12 * largest, "net force"
    assert found.energies.sum() == pytest.approx(found.energy, rel=1e-13)
    virial = found.virials.sum(axis=0)
    volume = Engine(PERIODIC[name](), FORCEFIELDS[name]()).volume
    expected = -0.5 * (virial + virial.T)[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]] / volume
    np.testing.assert_allclose(found.stress, expected, rtol=1e-12, atol=1e-16)


@CASES
def test_torque_vanishes_on_a_cluster(name):
    """With zero torque the total virial is symmetric."""
    atoms = PERIODIC[name]()
    found = evaluated(name, Atoms(atoms.symbols, atoms.positions))
    virial = found.virials.sum(axis=0)
    assert abs(virial - virial.T).max() < 1e-12 * abs(found.virials).max() * len(atoms)
    assert abs(np.cross(atoms.positions, found.forces).sum(axis=0)).max() < 1e-11
    assert found.stress is None


@CASES
def test_stress_is_the_strain_derivative_in_a_triclinic_cell(name):
    atoms = PERIODIC[name]()
    engine = Engine(atoms, FORCEFIELDS[name]())
    stress, volume = engine.evaluate().stress, engine.volume
    h = 2e-5

    def energy(a, b, amount):
        strain = np.eye(3)
        strain[a, b] += 0.5 * amount
        strain[b, a] += 0.5 * amount
        engine.set_state(positions=atoms.positions @ strain, cell=atoms.cell[:] @ strain)
        return engine.evaluate().energy

    for c, (a, b) in enumerate([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]):
        e = [energy(a, b, k * h) for k in (-2, -1, 1, 2)]
        slope = (e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h) / volume
        assert stress[c] == pytest.approx(slope, abs=2e-7 * abs(stress).max()), (
            f"component {'xyz'[a]}{'xyz'[b]}"
        )


@CASES
def test_translation_and_rewrapping_change_nothing(name):
    atoms = PERIODIC[name]()
    expected = evaluated(name, atoms)
    moved = atoms.copy()
    moved.positions += (13.7, -2.9, 101.3)
    assert_same(evaluated(name, moved), expected)
    turns = np.random.default_rng(1).integers(-3, 4, (len(atoms), 3))
    unwrapped = atoms.copy()
    unwrapped.positions += turns @ atoms.cell[:]
    assert_same(evaluated(name, unwrapped), expected)
    moved.wrap()
    assert_same(evaluated(name, moved), expected)


@CASES
def test_rotation_turns_forces_and_stress(name):
    """Rotations and a reflection, which makes the cell left-handed."""
    atoms = PERIODIC[name]()
    expected = evaluated(name, atoms)
    q = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    q *= -np.sign(np.linalg.det(q))
    turned = atoms.copy()
    turned.set_cell(atoms.cell[:] @ q)
    turned.positions = atoms.positions @ q
    found = evaluated(name, turned)
    largest = abs(expected.forces).max()
    assert found.energy == pytest.approx(expected.energy, rel=1e-13)
    np.testing.assert_allclose(found.forces, expected.forces @ q, rtol=0, atol=1e-11 * largest)
    full = expected.virials.sum(axis=0)
    np.testing.assert_allclose(
        found.virials.sum(axis=0), q.T @ full @ q, rtol=0, atol=1e-12 * abs(full).max()
    )


@CASES
def test_permutation_permutes(name):
    atoms = PERIODIC[name]()
    expected = evaluated(name, atoms)
    order = np.random.default_rng(3).permutation(len(atoms))
    found = evaluated(name, atoms[order])
    assert found.energy == pytest.approx(expected.energy, rel=1e-13)
    largest = abs(expected.forces).max()
    np.testing.assert_allclose(found.forces, expected.forces[order], rtol=0, atol=1e-12 * largest)
    np.testing.assert_allclose(found.energies, expected.energies[order], rtol=1e-12, atol=1e-14)


@CASES
def test_a_supercell_is_the_cell_many_times(name):
    atoms = PERIODIC[name]()
    expected = evaluated(name, atoms)
    assert_same(evaluated(name, atoms.repeat((2, 1, 3))), expected, factor=6)


@pytest.mark.parametrize("truncation", TRUNCATIONS)
def test_lennard_jones_values_of_a_dimer(truncation):
    """Against the formula, with the shifts as Allen and Tildesley define them."""
    e, s, c = ARGON["epsilon"], ARGON["sigma"], ARGON["cutoff"]

    def u(r):
        return 4 * e * ((s / r) ** 12 - (s / r) ** 6)

    def slope(r):
        return -24 * e * (2 * (s / r) ** 12 - (s / r) ** 6) / r

    shift = {"truncated": (0.0, 0.0), "energy-shifted": (u(c), 0.0), "force-shifted": (u(c), slope(c))}[
        truncation
    ]
    forcefield = LennardJones(**ARGON, truncation=truncation)
    for r in (3.0, 3.4, 4.4, c * (1 - 1e-12), c):
        found = Engine(Atoms("Ar2", [[0, 0, 0], [0, 0, r]]), forcefield).evaluate()
        inside = r < c
        energy = inside * (u(r) - shift[0] - (r - c) * shift[1])
        assert found.energy == pytest.approx(energy, rel=1e-12, abs=1e-17), f"r = {r}"
        assert found.forces[0, 2] == pytest.approx(inside * (slope(r) - shift[1]), rel=1e-12, abs=1e-15), (
            f"r = {r}"
        )


@pytest.mark.parametrize(
    "name", ["lj-force-shifted", "Si.tersoff", "SiC_2005.tersoff", "Si.sw", "angle", "morse"]
)
def test_energy_and_force_end_smoothly_at_the_cutoff(name):
    """Both go to zero, the force linearly or faster, or to what no sum shows."""
    forcefield = FORCEFIELDS[name]()
    element = (forcefield.elements or ["Ar"])[-1]
    cutoff = max(
        part.table.row((element,) * part.table.order)["cutoff"]
        for part in forcefield.terms
        if part.kind != "angle"
    )
    near = 0.75 * cutoff if name in ("angle", "SiC_2005.tersoff") else 0.6 * cutoff
    energies, forces = [], []
    for gap in (1e-2, 1e-4, 1e-6, -1e-9):
        r = cutoff - gap
        atoms = Atoms([element] * 3, [[0, 0, 0], [near, 0.1, 0], [-0.3 * r, 0, r * np.sqrt(1 - 0.09)]])
        found = Engine(atoms, forcefield).evaluate()
        energies.append(found.energy)
        forces.append(found.forces[2])
    energies = abs(np.array(energies[:-1]) - energies[-1])
    forces = abs(np.array(forces[:-1])).max(axis=1)
    assert forces[0] > 0, "nothing acts near the cutoff"
    assert (forces[1:] <= 0.02 * forces[:-1] + 1e-24).all(), f"the force jumps: {forces}"
    assert (energies < 1e-2 * forces.max() + 1e-15).all(), f"the energy jumps: {energies}"
    assert not Engine(atoms, forcefield).evaluate().forces[2].any(), "forces beyond the cutoff"


@pytest.mark.parametrize("box", [None, 22.0])
def test_all_pairs_and_neighbours_give_the_same_bits(box):
    atoms = testing.argon_256()
    if box is None:
        atoms = Atoms(atoms.symbols, atoms.positions)
    found = [
        Engine(atoms, LennardJones(**ARGON, enumeration=e)).evaluate() for e in ("all-pairs", "neighbours")
    ]
    assert found[0].energy == found[1].energy
    for what in ("energies", "forces", "virials"):
        np.testing.assert_array_equal(getattr(found[0], what), getattr(found[1], what), err_msg=what)


def test_all_pairs_refuses_what_it_cannot_do():
    atoms = testing.argon_256()
    with pytest.raises(SettingsError, match=r"at least twice the cutoff across \(24\.000 angstrom\)"):
        Engine(atoms, LennardJones(**{**ARGON, "cutoff": 12.0}, enumeration="all-pairs"))


def test_mixing_rules_and_explicit_pairs():
    e, s = np.array([0.0104, 0.0140]), np.array([3.4, 3.65])
    own = {"Ar": {"epsilon": e[0], "sigma": s[0]}, "Kr": {"epsilon": e[1], "sigma": s[1]}}
    rules = {
        "lorentz-berthelot": (np.sqrt(e.prod()), s.mean()),
        "geometric": (np.sqrt(e.prod()), np.sqrt(s.prod())),
    }
    dimer = Atoms("ArKr", [[0, 0, 0], [0, 0, 3.9]])

    def expected(epsilon, sigma):
        return 4 * epsilon * ((sigma / 3.9) ** 12 - (sigma / 3.9) ** 6)

    for mixing, values in rules.items():
        found = Engine(dimer, LennardJones(cutoff=9.0, pairs=own, mixing=mixing)).evaluate()
        assert found.energy == pytest.approx(expected(*values), rel=1e-12), mixing
    explicit = {**own, ("Kr", "Ar"): {"epsilon": 0.02, "sigma": 3.3}}
    for mixing in (*rules, "none"):
        found = Engine(dimer, LennardJones(cutoff=9.0, pairs=explicit, mixing=mixing)).evaluate()
        assert found.energy == pytest.approx(expected(0.02, 3.3), rel=1e-12), "an explicit pair comes first"


def test_cutoffs_of_each_pair_hold():
    """Kr-Kr reaches 5.6 angstrom, Ar-Ar 5.2, and a mixed pair the mean."""
    forcefield = LennardJones(**MIXTURE)
    for symbols, cutoff in (("Ar2", 5.2), ("Kr2", 5.6), ("ArKr", 5.4)):
        for r, acts in ((cutoff - 1e-6, True), (cutoff + 1e-6, False)):
            energy = Engine(Atoms(symbols, [[0, 0, 0], [r, 0, 0]]), forcefield).evaluate().energy
            assert (energy != 0) == acts, f"{symbols} at {r}"


def test_two_rows_for_one_pair_must_agree():
    pairs = {"Ar": {"epsilon": 0.01, "sigma": 3.4}, "Kr": {"epsilon": 0.014, "sigma": 3.6}}
    pairs |= {("Ar", "Kr"): {"epsilon": 0.02, "sigma": 3.3}, ("Kr", "Ar"): {"epsilon": 0.03, "sigma": 3.3}}
    with pytest.raises(SettingsError, match=r"\(Ar, Kr\) and \(Kr, Ar\) .*differ"):
        LennardJones(cutoff=9.0, pairs=pairs)


@pytest.mark.parametrize(
    ("forcefield", "symbols", "message"),
    [
        ("Si.tersoff", "SiGe", r"Si\.tersoff has no parameters for Ge; it defines: Si"),
        ("SiC_1989.tersoff", "SiGe", r"no parameters for Ge; it defines: C, Si"),
        ("GaN_2006.sw", "GaAs", r"GaN_2006\.sw has no parameters for As; it defines: Ga, N"),
        ("Ar.lj", "ArKr", r"Ar\.lj has no parameters for Kr; it defines: Ar"),
    ],
)
def test_an_element_without_parameters_is_named(forcefield, symbols, message):
    with pytest.raises(MissingParameterError, match=message):
        Engine(Atoms(symbols, [[0, 0, 0], [0, 0, 2.5]]), load_forcefield(forcefield))


def test_a_pair_or_triple_without_parameters_is_named():
    atoms = Atoms("SiC", [[0, 0, 0], [0, 0, 1.9]])
    pairs = LennardJones(
        cutoff=5.0, pairs={e: {"epsilon": 0.1, "sigma": 2.0} for e in ("Si", "C")}, mixing="none"
    )
    with pytest.raises(
        MissingParameterError, match=r"no pair \(C, Si\), \(Si, C\); it defines: \(Si, Si\), \(C, C\)"
    ):
        Engine(atoms, pairs)
    table = {key: ANGLE_VALUES for key in TWO_ANGLES if key != ("C", "Si", "C")}
    with pytest.raises(MissingParameterError, match=r"no triple \(C, Si, C\); it defines: \(C, C, C\), "):
        Engine(atoms, angle(table=table))


@pytest.mark.both
@pytest.mark.parametrize(
    ("by_hand", "derived", "values"),
    [(morse, morse_derived, MORSE_VALUES), (angle, angle_derived, ANGLE_VALUES)],
)
def test_derived_equals_written(by_hand, derived, values):
    atoms = strained_silicon()
    expected, found = (Engine(atoms, make(**values)).evaluate() for make in (by_hand, derived))
    assert_same(found, expected, tolerance=1e-13)
