"""Every energy term, charges, forces and stress of ReaxFF against LAMMPS's pair style reaxff."""

import functools

import numpy as np
import pytest
from peers import path_of
from reaxff_samples import SYSTEMS

from taichimd.forcefields.reaxff.forcefield import ReaxFF
from taichimd.lammps.reaxff import lammps_reaxff
from taichimd.program.engine import Engine

pytestmark = pytest.mark.lammps

LIGHT = {"water dimer", "water", "ethylene and oxygen", "carbon monoxide", "hydrogen cyanide", "nitromethane"}
"""LAMMPS's forces are the gradient: no pi bond of a light atom to a heavy one, no bond order near 1e-10."""


@functools.cache
def evaluated(name, lammps_forces=False):
    """Terms, charges and evaluation of a system, charges to 1e-12."""
    make, file = SYSTEMS[name]
    forcefield = ReaxFF(path_of(file), charge_tolerance=1e-12, lammps_forces=lammps_forces)
    engine = Engine(make(), forcefield, backend="cpu")
    found = engine.evaluate()
    evaluator = engine.device.evaluators[0]
    return evaluator.terms()[0], evaluator.charges.charges(), found


@functools.cache
def reference(name):
    make, file = SYSTEMS[name]
    return lammps_reaxff(make(), path_of(file))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_term_and_charge_agrees(name):
    terms, charges, found = evaluated(name)
    for term, value in reference(name).terms.items():
        assert terms[term] == pytest.approx(value, rel=1e-9, abs=1e-30), term
    assert sum(terms.values()) == pytest.approx(found.energy, rel=1e-13)
    np.testing.assert_allclose(charges, reference(name).charges, rtol=0, atol=1e-8)


def test_the_systems_have_every_term():
    """A term that is 0 everywhere would agree with anything."""
    largest = {
        term: max(abs(evaluated(name)[0][term]) for name in SYSTEMS) for term in reference("water").terms
    }
    assert min(largest.values()) > 0.01, largest


@pytest.mark.parametrize(("name", "least"), [("silica", 0.05), ("hot SiOH", 0.5)])
def test_torsions_of_silica_agree(name, least):
    """A published GPU program had this term wrong by a factor of 440."""
    expected = reference(name).terms["torsion"]
    assert abs(expected) > least
    assert evaluated(name)[0]["torsion"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", SYSTEMS)
def test_forces_and_stress_agree_with_lammps_factor(name):
    """LAMMPS's factor in pi bonds of light and heavy atoms, and its slope of bond orders below 1e-10."""
    _compare(evaluated(name, lammps_forces=True)[2], reference(name), 1e-7)


@pytest.mark.parametrize("name", sorted(LIGHT))
def test_forces_and_stress_agree(name):
    _compare(evaluated(name)[2], reference(name), 1e-7)


def test_where_lammps_forces_are_no_gradient_ours_differ():
    """`test_forces` shows that ours are the gradient."""
    difference = abs(evaluated("hot SiOH")[2].forces - reference("hot SiOH").forces).max()
    assert difference > 0.1


@pytest.mark.parametrize("name", ["hot CHON", "ethylene and oxygen"])
def test_bonds_lone_pairs_and_charges_of_atoms_are_those_of_fix_reaxff_bonds(name, tmp_path):
    """Of three decimals: id, type, number of bonds, ids, molecule, orders, their sum, lone pairs, charge."""
    make, file = SYSTEMS[name]
    lammps_reaxff(make(), path_of(file), bonds=tmp_path / "bonds")
    engine = Engine(make(), ReaxFF(path_of(file), charge_tolerance=1e-12), backend="cpu")
    bonds, charges = engine.bonds(), engine.atom_values()["charges"]
    lines = [line.split() for line in (tmp_path / "bonds").read_text().splitlines() if line[:1] != "#"]
    near, seen = bonds.of_atoms(0.3), 0
    for words in lines:
        i, count = int(words[0]) - 1, int(words[2])
        theirs = zip(
            map(int, words[3 : 3 + count]), map(float, words[4 + count : 4 + 2 * count]), strict=True
        )
        ids, orders = zip(*sorted(theirs), strict=True) if count else ((), ())
        assert tuple(near[i][0] + 1) == ids
        np.testing.assert_allclose(near[i][1], orders, rtol=0, atol=6e-4)
        ours = bonds.total[i], bonds.lone_pairs[i], charges[i]
        np.testing.assert_allclose(ours, np.array(words[4 + 2 * count :], float), rtol=0, atol=6e-4)
        seen += count
    assert len(lines) == engine.n_atoms
    assert seen > 10
    assert 0.5 < np.ptp(bonds.lone_pairs) < 4.0


def _compare(found, expected, accuracy):
    np.testing.assert_allclose(found.forces, expected.forces, rtol=0, atol=accuracy)
    np.testing.assert_allclose(found.virials.sum(0), expected.virial, rtol=0, atol=10 * accuracy)
    assert abs(expected.forces).max() > 1e-3
