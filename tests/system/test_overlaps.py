"""Overlapping atoms are found on the host, through any boundary, before anything is compiled."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.data import covalent_radii
from hypothesis import given, settings
from hypothesis import strategies as st

from taichimd.core.errors import StructureError
from taichimd.system import overlaps
from taichimd.system.overlaps import closest, notes_on_overlap


def dimer(distance, **more):
    return Atoms("Si2", positions=[[0, 0, 0], [0, 0, distance]], **more)


def test_two_atoms_half_an_angstrom_apart_are_named():
    (note,) = notes_on_overlap(dimer(0.5))
    assert note.startswith(
        "atoms 0 (Si) and 1 (Si), counted from 0, are 0.5 Å apart, 23% of the sum of their"
    )
    assert notes_on_overlap(dimer(1.2)) == []


@pytest.mark.parametrize("cell", [np.diag([20.0, 20.0, 8.0]), [[20, 0, 0], [7, 20, 0], [-3, 5, 8]]])
def test_a_boundary_hides_nothing(cell):
    atoms = Atoms("Si2", positions=[[0, 0, 0.2], [0, 0, 0.2]], cell=cell, pbc=True)
    atoms.positions[1] += 3 * atoms.cell[2] - 2 * atoms.cell[1] - [0, 0, 0.6]
    found = closest(atoms)
    assert (found.i, found.j) == (0, 1)
    assert found.distance == pytest.approx(0.6)
    atoms.pbc = False
    assert closest(atoms) is None


def test_an_atom_overlaps_with_its_image_in_a_cell_of_one_angstrom():
    (note,) = notes_on_overlap(Atoms("Ar", cell=[1, 1, 1], pbc=True))
    assert note.startswith("atom 0 (Ar, counted from 0) and its periodic image are 1 Å apart, 47%")


def test_atoms_at_one_place_are_refused_where_they_must_be():
    with pytest.raises(StructureError, match=r"atoms 0 \(Si\) and 1 \(Si\).* are at one place, 0 Å apart"):
        notes_on_overlap(dimer(0.0), refuse=True)
    assert len(notes_on_overlap(dimer(0.0))) == 1
    assert len(notes_on_overlap(dimer(0.5), refuse=True)) == 1


def test_many_atoms_at_one_place_take_no_time():
    assert closest(Atoms("Si5000", positions=np.full((5000, 3), 0.1))).distance == 0.0


def test_what_exists_is_no_overlap():
    for name in ("H2", "H2O", "N2", "C2H2", "CO", "LiF", "HCN"):
        assert closest(molecule(name)) is None, name
    for name, structure in (("C", "diamond"), ("Cs", "bcc"), ("W", "bcc"), ("Ar", "fcc"), ("Al", "fcc")):
        assert closest(bulk(name, structure) if name != "Ar" else bulk(name, structure, a=5.26)) is None, name


def test_what_others_refuse_is_left_to_them():
    assert closest(Atoms()) is None
    assert closest(Atoms("Si2", positions=[[0, 0, 0], [np.nan, 0, 0]])) is None


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_it_is_what_all_pairs_say(seed, n, pbc):
    rng = np.random.default_rng(seed)
    cell = np.diag(rng.uniform(2.5, 5.0, 3)) + rng.uniform(-1.0, 1.0, (3, 3)) * ~np.eye(3, dtype=bool)
    atoms = Atoms(rng.choice(["H", "O", "Si"], n), positions=rng.uniform(-4, 8, (n, 3)), cell=cell, pbc=pbc)
    images = np.array(np.meshgrid(*([range(-7, 8) if on else [0] for on in pbc]))).reshape(3, -1).T @ cell
    radii, worst = covalent_radii[atoms.numbers], np.inf
    for i in range(n):
        apart = np.linalg.norm(atoms.positions[i] - atoms.positions[:, None] - images, axis=2)
        apart[i, (images == 0).all(axis=1)] = np.inf
        worst = min(worst, (apart.min(axis=1) / (radii[i] + radii)).min())
    found = closest(atoms)
    if worst >= overlaps.TOO_CLOSE:
        assert found is None
    else:
        assert found.share == pytest.approx(worst)
