"""The ASE calculator's properties: conventions, and every kind of cell."""

import numpy as np
import pytest
from argon_systems import (
    ARGON,
    STRUCTURES,
    argon,
    cluster,
    crystal,
    record_evaluations,
    reference,
    skewed,
    unwrapped,
)
from ase.build import bulk
from ase.calculators import calculator as ase_calculator

from taichimd import LennardJones, TaichiMD
from taichimd.core.errors import (
    PropertyError,
)


@pytest.mark.parametrize("name", STRUCTURES)
def test_any_cell_gives_ase_forces_and_stress(name):
    atoms = STRUCTURES[name]()
    atoms.calc = argon()
    twin = atoms.copy()
    twin.calc = reference()
    np.testing.assert_allclose(atoms.get_forces(), twin.get_forces(), atol=1e-11, err_msg=f"{name}: forces")
    if atoms.cell.rank == 3:
        np.testing.assert_allclose(
            atoms.get_stress(), twin.get_stress(), atol=1e-13, err_msg=f"{name}: stress"
        )
        np.testing.assert_allclose(
            atoms.get_stresses(), twin.get_stresses(), atol=1e-13, err_msg=f"{name}: per-atom stresses"
        )


@pytest.mark.parametrize("name", ["left_handed", "unwrapped"])
def test_equivalent_descriptions_give_equal_results(name):
    plain, other = skewed(), STRUCTURES[name]()
    plain.calc, other.calc = argon(), argon()
    np.testing.assert_allclose(other.get_forces(), plain.get_forces(), atol=1e-12)
    np.testing.assert_allclose(other.get_stress(), plain.get_stress(), atol=1e-14)
    assert other.get_potential_energy() == pytest.approx(plain.get_potential_energy(), rel=1e-13)


def test_conventions_of_the_properties():
    atoms = skewed()
    atoms.calc = argon()
    n, volume = len(atoms), atoms.get_volume()
    energy = atoms.get_potential_energy()
    assert {*atoms.calc.results, "charges"} == set(TaichiMD.implemented_properties), (
        "one calculation sets every property but those of ReaxFF"
    )
    assert isinstance(energy, float)
    assert atoms.get_potential_energy(force_consistent=True) == energy, "free_energy must equal energy"
    shapes = {"energies": (n,), "forces": (n, 3), "stress": (6,), "stresses": (n, 6)}
    for name, shape in shapes.items():
        assert atoms.calc.results[name].shape == shape, name
        assert atoms.calc.results[name].dtype == np.float64, name
    assert atoms.get_potential_energies().sum() == pytest.approx(energy, rel=1e-13)
    np.testing.assert_array_equal(atoms.get_stresses().sum(axis=0), atoms.get_stress())
    np.testing.assert_allclose(atoms.get_forces().sum(axis=0), 0.0, atol=1e-13)
    virials = atoms.calc.get_per_atom_virial(atoms)
    assert virials.shape == (n, 3, 3)
    np.testing.assert_allclose(virials.sum(axis=0), -volume * atoms.get_stress(voigt=False), atol=1e-13)
    # ASE's own check of names and shapes.
    assert atoms.calc.export_properties()["natoms"] == n


def test_stress_is_positive_under_tension():
    atoms = bulk("Ar", a=5.5)
    atoms.calc = argon()
    assert (atoms.get_stress()[:3] > 0).all(), "a stretched crystal pulls inwards: ASE's sign is positive"
    assert atoms.get_stress(include_ideal_gas=True).shape == (6,)


@pytest.mark.parametrize("name", ["stress", "stresses"])
@pytest.mark.parametrize(
    "cell",
    [None, [9.0, 9.0, 0.0], [[9, 0, 0], [0, 9, 0], [9, 9, 0]]],
    ids=["no cell", "two vectors", "coplanar"],
)
def test_stress_without_a_volume_is_refused_before_any_work(name, cell, monkeypatch):
    calls = record_evaluations(monkeypatch)
    atoms = cluster()
    atoms.set_cell(cell)
    atoms.calc = argon()
    with pytest.raises(PropertyError, match="span a volume") as caught:
        atoms.calc.get_property(name, atoms)
    assert isinstance(caught.value, ase_calculator.PropertyNotImplementedError)
    assert "\n" not in str(caught.value)
    assert atoms.calc.get_property(name, atoms, allow_calculation=False) is None
    assert len(calls) == 0
    assert atoms.calc.get_per_atom_virial(atoms).shape == (4, 3, 3), "the virial needs no volume"
    assert "stress" not in atoms.calc.results


def test_wrapping_between_calls_does_not_fool_the_lists():
    atoms = skewed()
    atoms.positions += 0.37 * atoms.cell.array[0]
    atoms.calc = argon()
    before = atoms.get_forces()
    atoms.wrap()
    np.testing.assert_allclose(atoms.get_forces(), before, atol=1e-12)


def test_the_users_atoms_are_never_touched():
    atoms = unwrapped()
    atoms.set_tags(range(len(atoms)))
    atoms.calc = argon()
    before = atoms.copy()
    atoms.get_stress()
    assert atoms.arrays.keys() == before.arrays.keys()
    for name, array in before.arrays.items():
        np.testing.assert_array_equal(atoms.arrays[name], array, err_msg=name)
    np.testing.assert_array_equal(atoms.cell.array, before.cell.array)
    assert not atoms.info


def test_single_precision_is_close_to_double():
    atoms, twin = crystal(), crystal()
    atoms.calc = TaichiMD(LennardJones(**ARGON), precision="float32")
    twin.calc = argon()
    assert atoms.get_forces().dtype == np.float64, "ASE computes in double whatever the device does"
    np.testing.assert_allclose(atoms.get_forces(), twin.get_forces(), atol=1e-5)
    np.testing.assert_allclose(atoms.get_stress(), twin.get_stress(), atol=1e-7)
