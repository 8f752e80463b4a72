"""Force constants: the sum rule, symmetry, and derivatives of what they are derivatives of."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import evaluate_many, second_order, third_order, write_force_constants
from taichimd.core.errors import SettingsError
from taichimd.force_constants import forces_of


def test_second_and_third_order_are_derivatives_of_forces(tmp_path):
    atoms = bulk("Si", cubic=True)
    found = second_order(atoms, "Si.sw", backend="cpu")
    assert found.shape == (8, 8, 3, 3)
    np.testing.assert_allclose(found, found.transpose(1, 0, 3, 2), atol=1e-3)
    assert abs(found.sum(axis=1)).max() < 1e-6
    rng = np.random.default_rng(3)
    u = 1e-3 * rng.normal(size=(8, 3))
    moved = atoms.copy()
    moved.positions += u
    forces = evaluate_many([atoms, moved], "Si.sw", backend="cpu")
    change = forces[1].forces - forces[0].forces
    np.testing.assert_allclose(-np.einsum("ijab,ia->jb", found, u), change, atol=2e-2 * abs(change).max())
    some = second_order(atoms, "Si.sw", of=[3], backend="cpu")
    np.testing.assert_array_equal(some[0], found[3])

    third = third_order(atoms, "Si.sw", of=[0], cutoff=2.6, backend="cpu")
    near = np.flatnonzero(atoms.get_distances(0, range(8), mic=True) < 2.6)
    assert np.flatnonzero(abs(third[0]).max(axis=(1, 2, 3, 4))).tolist() == near.tolist()
    h = 0.02
    for j in near[:2]:
        both = []
        for sign in (1, -1):
            shifted = atoms.copy()
            shifted.positions[j, 1] += sign * h
            both.append(second_order(shifted, "Si.sw", of=[0], step=h, backend="cpu")[0])
        np.testing.assert_allclose(
            third[0, j, :, :, 1].transpose(0, 1, 2), ((both[0] - both[1]) / (2 * h)), atol=1e-6
        )

    write_force_constants(tmp_path / "FORCE_CONSTANTS", some, of=[3])
    lines = (tmp_path / "FORCE_CONSTANTS").read_text().splitlines()
    assert lines[:2] == ["1 8", "4 1"]
    assert float(lines[2].split()[0]) == some[0, 0, 0, 0]
    with pytest.raises(SettingsError, match="there is no atom 9 among 8"):
        second_order(atoms, "Si.sw", of=[9])
    with pytest.raises(SettingsError, match="expected a displacement above 0"):
        second_order(atoms, "Si.sw", step=0.0)


def test_launches_leave_room_for_atoms_and_images_in_list_entries(monkeypatch):
    launches = []

    class Found:
        forces = np.zeros((64, 3))

    def evaluate(structures, potential):
        launches.append(len(structures))
        return [Found] * len(structures)

    monkeypatch.setattr("taichimd.force_constants.evaluate_many", evaluate)
    found = forces_of([bulk("Si", cubic=True).repeat(2)] * 1000, "Si.sw")
    assert found.shape == (1000, 64, 3)
    images = 5**3  # up to two cells away
    assert all(n * 64 * n * images <= 2**30 for n in launches)
    assert sum(launches) == 1000
