"""The ASE calculator's promises: conventions, every kind of cell, caching, copies, errors."""

import copy
import pickle

import fake_engine_ase
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, make_supercell
from ase.calculators import calculator as ase_calculator
from ase.calculators.lj import LennardJones as AseLennardJones

FAKE = fake_engine_ase.install()

from taichimd import LennardJones, TaichiMD  # noqa: E402
from taichimd.errors import (  # noqa: E402
    MissingParameterError,
    ParameterFileError,
    PropertyError,
    SettingsError,
    StructureError,
    TaichimdError,
)

ARGON = {"epsilon": 0.0104, "sigma": 3.40, "cutoff": 6.0}
ARRAYS = ("energies", "forces", "stress", "stresses")


def argon():
    """A new calculator each time: its caches and its engine are what is tested."""
    return TaichiMD(LennardJones(**ARGON))


def reference():
    """ASE's own pair potential; its energy is shifted at the cutoff, forces and stress are the same."""
    return AseLennardJones(epsilon=ARGON["epsilon"], sigma=ARGON["sigma"], rc=ARGON["cutoff"], ro=1e-3)


def rattled(atoms, seed=1, scale=0.1):
    atoms.positions += np.random.default_rng(seed).normal(scale=scale, size=atoms.positions.shape)
    return atoms


def crystal():
    return rattled(bulk("Ar", a=5.26, cubic=True))


def skewed():
    return rattled(make_supercell(bulk("Ar", a=5.26), [[2, 0, 0], [1, 2, 0], [-1, 1, 2]]))


def left_handed():
    atoms = skewed()
    atoms.set_cell(atoms.cell.array[[1, 0, 2]])
    assert np.linalg.det(atoms.cell) < 0, "this structure must have a left-handed cell"
    return atoms


def unwrapped():
    atoms = skewed()
    atoms.positions += np.random.default_rng(2).integers(-3, 4, size=(len(atoms), 3)) @ atoms.cell.array
    return atoms


def thin():
    """Wide in two directions, in the third thinner than half the cutoff."""
    return rattled(
        Atoms("Ar2", cell=[14.0, 14.0, 2.9], positions=[[0, 0, 0], [4.0, 0.5, 1.0]], pbc=True), scale=0.05
    )


def slab():
    return rattled(fcc111("Ar", (2, 2, 2), a=5.26, vacuum=6.0))


def slab_outside_its_box():
    atoms = slab()
    atoms.positions[:, 2] += 100.0
    return atoms


def wire():
    """One periodic direction; the other two cell vectors are zero."""
    atoms = Atoms("Ar3", positions=[[0, 0, 0], [1.0, 3.5, 0.2], [2.0, 1.5, 3.0]], pbc=(True, False, False))
    atoms.cell[0] = (3.9, 0.4, 0.1)
    return atoms


def cluster():
    return rattled(Atoms("Ar4", positions=[[0, 0, 0], [3.8, 0, 0], [0, 3.8, 0], [0, 0, 3.8]]))


STRUCTURES = {
    "crystal": crystal,
    "one_atom_primitive_cell": lambda: bulk("Ar", a=5.26),
    "two_atom_cell_below_cutoff": lambda: rattled(make_supercell(bulk("Ar", a=5.26), np.diag([2, 1, 1]))),
    "skewed": skewed,
    "left_handed": left_handed,
    "unwrapped": unwrapped,
    "thin": thin,
    "slab": slab,
    "slab_outside_its_box": slab_outside_its_box,
    "wire": wire,
    "cluster": cluster,
    "cluster_in_a_box": lambda: Atoms(cluster(), cell=[20.0, 21.0, 22.0]),
    "cluster_beyond_a_small_box": lambda: Atoms(cluster(), cell=[2.0, 2.0, 2.0]),
    "dimer": lambda: Atoms("Ar2", positions=[[0, 0, 0], [0, 0, 3.7]]),
    "isolated_atom": lambda: Atoms("Ar", positions=[[7.0, -3.0, 1.0]]),
    "isolated_atom_in_vacuum": lambda: Atoms("Ar", cell=[30.0, 30.0, 30.0], pbc=True),
}


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
    assert set(atoms.calc.results) == set(TaichiMD.implemented_properties), (
        "one calculation sets every property"
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
    virials = atoms.calc.per_atom_virial(atoms)
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
def test_stress_without_a_volume_is_refused_before_any_work(name, cell, count_evaluations):
    atoms = cluster()
    atoms.set_cell(cell)
    atoms.calc = argon()
    with pytest.raises(PropertyError, match="span a volume") as caught:
        atoms.calc.get_property(name, atoms)
    assert isinstance(caught.value, ase_calculator.PropertyNotImplementedError)
    assert "\n" not in str(caught.value)
    assert atoms.calc.get_property(name, atoms, allow_calculation=False) is None
    assert count_evaluations() == 0
    assert atoms.calc.per_atom_virial(atoms).shape == (4, 3, 3), "the virial needs no volume"
    assert "stress" not in atoms.calc.results


@pytest.fixture
def count_evaluations(monkeypatch):
    """A function that says how many evaluations all engines made since the test began."""
    from taichimd.engine import Engine

    calls, evaluate = [], Engine.evaluate
    monkeypatch.setattr(Engine, "evaluate", lambda self: calls.append(1) or evaluate(self))
    return lambda: len(calls)


def test_one_calculation_serves_all_properties(count_evaluations):
    atoms = crystal()
    atoms.calc = argon()
    atoms.get_potential_energy()
    atoms.get_forces()
    atoms.get_stress()
    atoms.get_stresses()
    atoms.get_potential_energies()
    atoms.calc.per_atom_virial(atoms)
    atoms.calc.per_atom_virial()
    assert count_evaluations() == 1
    assert not atoms.calc.calculation_required(atoms, ["energy", "stress"])


def test_changes_that_matter_recalculate_and_others_do_not(count_evaluations):
    atoms = crystal()
    atoms.calc = argon()
    atoms.get_forces()
    atoms.set_initial_charges([0.1] * len(atoms))
    atoms.set_initial_magnetic_moments([1.0] * len(atoms))
    atoms.set_tags(range(len(atoms)))
    atoms.set_masses([1.0] * len(atoms))
    atoms.set_momenta(np.ones((len(atoms), 3)))
    atoms.get_forces()
    assert count_evaluations() == 1, "charges, moments, tags, masses and momenta play no part"
    changes = {
        "positions": lambda: atoms.positions.__iadd__(np.eye(4, 3) * 0.01),
        "cell": lambda: atoms.set_cell(atoms.cell * 1.01, scale_atoms=False),
        "pbc": lambda: atoms.set_pbc((True, True, False)),
        "numbers": lambda: atoms.set_atomic_numbers([36] * len(atoms)),
    }
    for name, change in changes.items():
        change()
        assert atoms.calc.check_state(atoms) == [name]
        before = count_evaluations()
        forces = atoms.get_forces()
        assert count_evaluations() == before + 1, f"a change of {name} needs a calculation"
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
    atoms.calc.per_atom_virial()[:] = 99.0
    assert (atoms.calc.per_atom_virial() != 99.0).all()


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


def test_wrapping_between_calls_does_not_fool_the_lists():
    atoms = skewed()
    atoms.positions += 0.37 * atoms.cell.array[0]
    atoms.calc = argon()
    before = atoms.get_forces()
    atoms.wrap()
    np.testing.assert_allclose(atoms.get_forces(), before, atol=1e-12)


def test_results_do_not_depend_on_what_came_before():
    atoms = skewed()
    fresh = argon()
    expected = {name: fresh.get_property(name, atoms) for name in ARRAYS}
    used = argon()
    for seed in range(3):
        used.get_forces(rattled(atoms.copy(), seed=seed, scale=0.3))
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
    assert atoms.calc.per_atom_virial(atoms).shape == (len(atoms), 3, 3)


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
    import weakref

    atoms = crystal()
    atoms.calc = argon()
    atoms.get_forces()
    alive = weakref.ref(atoms.calc)
    atoms.calc = None
    assert alive() is None, "a reference cycle would keep device memory until garbage collection"


def test_settings_are_plain_data_and_can_be_changed(count_evaluations):
    calc = TaichiMD("Si.tersoff")
    assert calc.name == "taichimd"
    assert calc.todict() == {"potential": "Si.tersoff"}
    assert calc.todict(skip_default=False)["precision"] == "float64"
    assert repr(TaichiMD("Si.tersoff", skin=0.5)) == "TaichiMD('Si.tersoff', skin=0.5)"
    assert isinstance(argon().todict()["potential"], dict), "a force-field object is described"
    atoms = bulk("Si")
    atoms.calc = TaichiMD(**calc.todict())
    atoms.get_forces()
    atoms.calc.set(skin=None)
    atoms.get_forces()
    assert count_evaluations() == 1, "setting the value it has changes nothing"
    atoms.calc.set(skin=0.4)
    assert not atoms.calc.results
    assert atoms.calc.engine is None
    atoms.get_forces()
    assert count_evaluations() == 2


def test_bad_settings_leave_the_calculator_as_it_was(tmp_path):
    calc = TaichiMD("Si.tersoff")
    with pytest.raises(SettingsError, match=r"unknown setting 'precison'.*precision"):
        calc.set(precison="float32")
    with pytest.raises(ParameterFileError) as caught:
        calc.set(potential=tmp_path / "missing.tersoff")
    assert isinstance(caught.value, ase_calculator.CalculatorSetupError)
    assert calc.todict() == {"potential": "Si.tersoff"}
    calc.get_potential_energy(bulk("Si"))


def test_a_missing_potential_is_reported_when_named(tmp_path):
    with pytest.raises(ParameterFileError):
        TaichiMD(str(tmp_path / "missing.tersoff"))


def test_no_atoms_to_compute():
    with pytest.raises(StructureError, match="no atoms to compute"):
        argon().get_potential_energy()
    with pytest.raises(StructureError, match="no atoms to compute"):
        argon().calculate()
    with pytest.raises(StructureError, match="no atoms"):
        argon().get_potential_energy(Atoms())


def _nan(atoms):
    atoms.positions[1, 2] = np.nan


def _coincident(atoms):
    atoms.positions[1] = atoms.positions[0]


@pytest.mark.parametrize("spoil", [_nan, _coincident], ids=["nan", "coincident"])
@pytest.mark.parametrize("warm", [False, True], ids=["first call", "later call"])
def test_a_bad_structure_is_reported_and_forgotten(spoil, warm):
    atoms = crystal()
    calc = argon()
    expected = argon().get_forces(atoms)
    if warm:
        calc.get_forces(atoms)
    bad = atoms.copy()
    spoil(bad)
    for _ in range(2):
        with pytest.raises(ase_calculator.CalculatorError) as caught:
            calc.get_forces(bad)
        assert isinstance(caught.value, TaichimdError), "every error a user can cause is a TaichimdError"
        assert "\n" not in str(caught.value)
        assert not calc.results
    np.testing.assert_array_equal(calc.get_forces(atoms), expected, err_msg="the calculator must recover")


def test_forces_that_are_not_finite_are_reported(monkeypatch):
    from taichimd.engine import Engine

    evaluate = Engine.evaluate

    def broken(self):
        found = evaluate(self)
        found.forces[2, 1] = np.inf
        return found

    monkeypatch.setattr(Engine, "evaluate", broken)
    with pytest.raises(
        ase_calculator.CalculationFailed, match=r"force on atom 2 \(Ar\).*on top of each other"
    ):
        argon().get_forces(crystal())


def test_an_element_without_parameters():
    with pytest.raises(MissingParameterError, match="Ar") as caught:
        TaichiMD("Si.tersoff").get_potential_energy(crystal())
    assert isinstance(caught.value, ase_calculator.InputError)


def test_properties_that_do_not_exist():
    with pytest.raises(ase_calculator.PropertyNotImplementedError):
        argon().get_dipole_moment(crystal())
