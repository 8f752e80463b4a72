"""What the ASE calculator keeps between calls, when it must not, and what its copies share."""

import copy
import os
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest
from argon_systems import (
    ARGON,
    ARRAYS,
    argon,
    cluster,
    crystal,
    record_evaluations,
    reference,
    skewed,
)
from ase.build import bulk
from ase.calculators import calculator as ase_calculator

from taichimd import LennardJones, TaichiMD
from taichimd.testing import rattled


def test_one_calculation_serves_all_properties(monkeypatch):
    calls = record_evaluations(monkeypatch)
    atoms = crystal()
    atoms.calc = argon()
    atoms.get_potential_energy()
    atoms.get_forces()
    atoms.get_stress()
    atoms.get_stresses()
    atoms.get_potential_energies()
    atoms.calc.get_per_atom_virial(atoms)
    atoms.calc.get_per_atom_virial()
    assert len(calls) == 1
    assert not atoms.calc.calculation_required(atoms, ["energy", "stress"])


def test_changes_that_matter_recalculate_and_others_do_not(monkeypatch):
    calls = record_evaluations(monkeypatch)
    atoms = crystal()
    atoms.calc = argon()
    atoms.get_forces()
    atoms.set_initial_charges([0.1] * len(atoms))
    atoms.set_initial_magnetic_moments([1.0] * len(atoms))
    atoms.set_tags(range(len(atoms)))
    atoms.set_masses([1.0] * len(atoms))
    atoms.set_momenta(np.ones((len(atoms), 3)))
    atoms.get_forces()
    assert len(calls) == 1, "charges, moments, tags, masses and momenta play no part"
    changes = {
        "positions": lambda: atoms.positions.__iadd__(np.eye(4, 3) * 0.01),
        "cell": lambda: atoms.set_cell(atoms.cell * 1.01, scale_atoms=False),
        "pbc": lambda: atoms.set_pbc((True, True, False)),
        "numbers": lambda: atoms.set_atomic_numbers([36] * len(atoms)),
    }
    for name, change in changes.items():
        change()
        assert atoms.calc.check_state(atoms) == [name]
        before = len(calls)
        forces = atoms.get_forces()
        assert len(calls) == before + 1, f"a change of {name} needs a calculation"
        fresh = atoms.copy()
        fresh.calc = argon()
        np.testing.assert_allclose(
            forces, fresh.get_forces(), atol=1e-13, err_msg=f"stale result after {name}"
        )


def test_changes_are_those_that_ase_sees():
    atoms = crystal()
    calc = argon()
    assert calc.check_state(atoms) == ase_calculator.all_changes
    calc.get_forces(atoms)
    for spoil in (
        lambda a: None,
        lambda a: a.positions.__iadd__(1e-16 * np.eye(4, 3)),
        lambda a: a.positions.__setitem__((0, 0), 1e-15),
        lambda a: a.positions.__setitem__((2, 1), np.nan),
        lambda a: a.cell.__imul__(1.1),
        lambda a: a.set_pbc(False),
        lambda a: a.set_atomic_numbers([18, 18, 36, 18]),
        lambda a: a.set_initial_charges([1, 2, 3, 4]),
        lambda a: a.append("Ar"),
        lambda a: (a.translate(0.1), a.set_pbc(False)),
    ):
        changed = atoms.copy()
        spoil(changed)
        expected = ase_calculator.compare_atoms(calc.atoms, changed, 1e-15, calc.ignored_changes)
        assert sorted(calc.check_state(changed)) == sorted(expected)


def test_returned_arrays_are_the_callers():
    atoms = crystal()
    atoms.calc = argon()
    for name in ARRAYS:
        before = atoms.calc.get_property(name, atoms)
        atoms.calc.get_property(name, atoms)[:] = 99.0
        np.testing.assert_array_equal(atoms.calc.get_property(name, atoms), before, err_msg=name)
    atoms.calc.get_per_atom_virial()[:] = 99.0
    assert (atoms.calc.get_per_atom_virial() != 99.0).all()


def test_engine_and_lists_survive_small_moves():
    atoms = crystal() * (2, 2, 2)
    atoms.calc = TaichiMD(LennardJones(**ARGON), skin=1.0)
    atoms.get_forces()
    engine, rebuilds = atoms.calc.engine, atoms.calc.engine.statistics()["rebuilds"]
    rng = np.random.default_rng(3)
    start = atoms.get_positions()
    for _ in range(10):
        atoms.positions = start + rng.uniform(-0.2, 0.2, start.shape)
        atoms.get_forces()
    assert atoms.calc.engine is engine
    assert engine.statistics()["rebuilds"] == rebuilds, "moves within half the skin need no new lists"
    atoms.positions[5] += (0.9, 0.0, 0.0)
    atoms.get_forces()
    assert engine.statistics()["rebuilds"] > rebuilds, "a move beyond half the skin needs new lists"


def test_results_do_not_depend_on_what_came_before():
    atoms = skewed()
    fresh = argon()
    expected = {name: fresh.get_property(name, atoms) for name in ARRAYS}
    used = argon()
    for seed in range(3):
        used.get_forces(rattled(atoms.copy(), seed=seed, amplitude=0.3))
    for name in ARRAYS:
        np.testing.assert_array_equal(used.get_property(name, atoms), expected[name], err_msg=name)


def test_cell_changes_keep_the_engine_and_species_or_pbc_do_not():
    atoms = crystal()
    atoms.calc = argon()
    atoms.get_forces()
    engine = atoms.calc.engine
    atoms.set_cell(atoms.cell * (1.0, 1.02, 0.99), scale_atoms=True)
    twin = atoms.copy()
    twin.calc = reference()
    np.testing.assert_allclose(atoms.get_stress(), twin.get_stress(), atol=1e-13)
    assert atoms.calc.engine is engine
    atoms.pbc = (True, False, True)
    atoms.get_forces()
    assert atoms.calc.engine is not engine


def test_atoms_added_and_removed_between_calls():
    atoms = cluster()
    atoms.calc = argon()
    assert atoms.get_forces().shape == (4, 3)
    atoms.append("Ar")
    atoms.positions[-1] = (3.9, 3.7, 0.1)
    for _ in range(2):
        twin = atoms.copy()
        twin.calc = reference()
        np.testing.assert_allclose(atoms.get_forces(), twin.get_forces(), atol=1e-12)
        del atoms[[0, 1]]
    assert atoms.calc.get_per_atom_virial(atoms).shape == (len(atoms), 3, 3)


def test_several_calculators_live_side_by_side():
    small, large = crystal(), skewed()
    small.calc = argon()
    large.calc = TaichiMD(LennardJones(epsilon=0.02, sigma=3.0, cutoff=5.0))
    first = small.get_forces(), large.get_forces()
    for _ in range(2):
        for atoms in (small, large):
            atoms.positions += 0.01
        small.get_forces(), large.get_forces()
        for atoms in (small, large):
            atoms.positions -= 0.01
        np.testing.assert_allclose(small.get_forces(), first[0], atol=1e-12)
        np.testing.assert_allclose(large.get_forces(), first[1], atol=1e-12)


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_independent(duplicate):
    atoms = bulk("Si")
    atoms.calc = TaichiMD("Si.tersoff", skin=0.7)
    energy = atoms.get_potential_energy()
    twin = duplicate(atoms.calc)
    assert twin.parameters == atoms.calc.parameters
    assert twin.results["energy"] == energy, "results travel with the copy"
    assert twin.engine is None, "an engine is never shared"
    moved = atoms.copy()
    moved.positions[0] += 0.1
    moved.calc = twin
    assert moved.get_potential_energy() != energy
    assert atoms.calc.engine is not twin.engine
    assert atoms.calc.results["energy"] == energy, "the original keeps its results"
    twin.set(skin=0.5)
    assert atoms.calc.parameters["skin"] == 0.7


def test_a_dropped_calculator_is_freed_at_once():
    atoms = crystal()
    atoms.calc = argon()
    atoms.get_forces()
    alive = weakref.ref(atoms.calc)
    atoms.calc = None
    assert alive() is None, "a reference cycle would keep device memory until garbage collection"


def test_dropped_engines_give_their_memory_back():
    """Arrays of vectors leak under Taichi 1.7 unless the runtime shim frees them."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("needs Linux to ask for this process's memory")
    atoms = bulk("Si", cubic=True) * (10, 10, 10)
    resident = []
    for _ in range(14):
        atoms.calc = TaichiMD("Si.tersoff")
        atoms.get_potential_energy()
        resident.append(int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
    assert resident[-1] - resident[3] < 30.0, f"resident memory after each engine, MB: {resident}"
