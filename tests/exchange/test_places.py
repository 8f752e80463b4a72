"""Which molecules come and go: places, distances, velocities, formulas, regions; what is refused."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from taichimd import Delete, Insert
from taichimd.core.errors import SettingsError
from taichimd.core.units import FS, KB
from taichimd.exchange.base import named
from taichimd.exchange.delete import bonds_by_distance
from taichimd.exchange.ledger import Ledger
from taichimd.exchange.renumbered import changed, held_atoms


def slab():
    """Argon with vacuum above it."""
    atoms = bulk("Ar", cubic=True, a=5.26).repeat((3, 3, 2))
    atoms.cell[2, 2] = 40.0
    return atoms


def gas(*names):
    """Molecules 6 angstrom apart along x."""
    atoms = Atoms(cell=[6.0 * len(names), 10.0, 10.0], pbc=True)
    for k, name in enumerate(names):
        one = molecule(name)
        one.translate([6.0 * k + 3.0, 5.0, 5.0])
        atoms += one
    return atoms


def test_a_molecule_has_room_its_region_and_its_velocity():
    item = Insert(
        "H2O", every=1000.0, region="z > 30", velocity=(0.0, 0.0, -5.0), temperature=300.0, at_once=3
    )
    atoms = slab()
    change = item.change(atoms, 500, 0)
    assert change.kept.all()
    assert change.molecules == 3
    assert str(change.new.symbols) == "OH2" * 3
    whole = atoms + change.new
    near = whole.get_all_distances(mic=True)
    for k in range(3):
        one = change.new[3 * k : 3 * k + 3]
        assert one.get_center_of_mass()[2] > 30.0
        own = np.arange(len(atoms) + 3 * k, len(atoms) + 3 * k + 3)
        others = np.setdiff1d(np.arange(len(whole)), own)
        assert near[np.ix_(own, others)].min() >= 3.0
        assert np.allclose(one.get_all_distances(), molecule("H2O").get_all_distances())
        drift = (one.get_masses()[:, None] * one.get_velocities()).sum(0) / one.get_masses().sum()
        assert np.allclose(drift, np.array([0.0, 0.0, -5.0]) / (1000.0 * FS))
    assert not np.array_equal(change.new.positions, item.change(atoms, 501, 0).new.positions)
    assert np.array_equal(change.new.positions, item.change(atoms, 500, 0).new.positions)


def test_thermal_velocities_and_orientations_have_their_distributions():
    item = Insert("N2", every=1000.0, temperature=500.0)
    box = Atoms("Ar", cell=[30.0] * 3, pbc=True)
    one = [item.change(box, step, 0).new for step in range(400)]
    twice = np.array([(2.0 * atoms.get_kinetic_energy()) / (6.0 * KB) for atoms in one])
    assert twice.mean() == pytest.approx(500.0, abs=4 * 500.0 / np.sqrt(3 * 400))
    axes = np.array([np.diff(atoms.positions, axis=0)[0] for atoms in one])
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    assert abs((axes**2).mean(axis=0) - 1.0 / 3.0).max() < 4 * np.sqrt(4 / 45 / 400)
    fixed = Insert("N2", every=1.0, temperature=0.0, orientation="fixed").change(box, 1, 0).new
    assert np.allclose(np.diff(fixed.positions, axis=0), np.diff(molecule("N2").positions, axis=0))
    assert not fixed.get_velocities().any()


def test_number_limits_and_masses_of_the_system_are_kept():
    atoms = slab()
    atoms.set_masses(np.full(len(atoms), 36.0))
    item = Insert("Ar", every=1.0, temperature=1.0, at_once=4, number=10)
    assert item.change(atoms, 7, 8).molecules == 2
    assert (item.change(atoms, 7, 8).new.get_masses() == 36.0).all()


def test_molecules_are_found_by_formula_region_and_what_holds_them():
    atoms = gas("H2O", "CO2", "H2O", "O2")
    item = Delete("OH2", every=1.0)
    assert item.formula == "H2O"
    assert item.called == "delete_H2O"
    nobody = np.zeros(len(atoms), bool)
    change = item.change(atoms, None, 0, nobody)
    assert change.molecules == 2
    assert sorted(atoms[change.kept].symbols) == ["C", "O", "O", "O", "O"]
    part = Delete("H2O", every=1.0, region="x > 10").change(atoms, None, 0, nobody)
    assert part.kept[:3].all()
    assert part.molecules == 1
    held = nobody.copy()
    held[1] = True
    assert item.change(atoms, None, 0, held).kept[:3].all()
    assert Delete("H2O", every=1.0, number=5).change(atoms, None, 4, nobody).molecules == 1
    assert Delete("any", every=1.0, region="x < 13").change(atoms, None, 0, nobody).molecules == 2
    assert item.change(gas("CO2"), None, 0, np.zeros(3, bool)) is None
    # Bonds that a force field gives win over distances.
    none = np.empty(0, np.int32)
    assert Delete("O", every=1.0).change(atoms, (none, none), 0, nobody).molecules == 6
    assert len(bonds_by_distance(slab())[0]) == 0


def test_states_are_renumbered():
    n = 6
    state = {
        "positions": np.arange(18.0).reshape(n, 3), "velocities": np.ones((n, 3)), "masses": np.ones(n),
        "forces": np.ones((n, 3)), "turns": None, "fixed": np.array([True] + [False] * 5),
        "groups": {"a": [[0, 2], [4, 6]], "gone": [[2, 3]]}, "states": {"q": np.ones(n)},
        "bath": {
            "acting": [{"name": "hot", "kind": "nvt-langevin", "atoms": [[1, 6]], "bath": [1.0]}],
            "drives": [
                {"name": "w", "kind": "wall", "atoms": [[1, 6]]},
                {"name": "f", "kind": "force", "atoms": [[4, 6]]},
            ],
        },
    }  # fmt: skip
    assert np.flatnonzero(held_atoms(n, state["fixed"], state["bath"]["drives"])).tolist() == [0, 4, 5]
    kept = np.array([True, True, False, False, True, True])
    from taichimd.exchange.base import Change

    new = Atoms("He2", positions=np.full((2, 3), 9.0))
    found = changed(state, Change(kept, new, 2))
    assert found["groups"] == {"a": [[0, 4]]}
    assert found["bath"]["acting"][0]["atoms"] == [[1, 6]]
    assert found["bath"]["acting"][0]["bath"] == [1.0]
    assert [one["atoms"] for one in found["bath"]["drives"]] == [[[1, 6]], [[2, 4]]]
    assert found["fixed"].tolist() == [True] + [False] * 5
    assert len(found["masses"]) == 6
    assert found["forces"] is None
    assert found["states"] == {}
    gone = np.array([True, True, True, True, False, False])
    with pytest.raises(SettingsError, match="force f: all its atoms would be deleted"):
        changed(state, Change(gone, None, 1))


def test_the_ledger_counts_and_continues():
    item = Insert("Ar", every=1.0, temperature=1.0)
    ledger = Ledger([item])
    ledger.book(item, 2, 0.5, np.array([1.0, 0.0, 0.0]), 0.25)
    again = Ledger([item], ledger.save())
    assert again.save() == ledger.save()
    columns = again.columns(7)
    assert columns["n_atoms"] == 7
    assert columns["insert_Ar_molecules"] == 2
    assert columns["insert_Ar_momentum_x_amuA_per_ps"] == pytest.approx(1000.0 * FS)
    never = Delete("CO2", every=1.0)
    told = Ledger([never])
    told.of["delete_CO2"] |= {"looks": 3, "seen": {"H2O": 4}}
    assert "none of its 3 looks" in told.notes()[0]
    assert "4 H2O" in told.notes()[0]


def test_names_differ():
    ar = Insert("Ar", every=1.0, temperature=1.0)
    assert [one.called for one in named([ar, ar, Delete("Ar", every=1.0)])] == [
        "insert_Ar", "insert_Ar2", "delete_Ar",
    ]  # fmt: skip
    twice = Insert("Ar", every=1.0, temperature=1.0, name="a")
    with pytest.raises(SettingsError, match="called a"):
        named([twice, twice])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Insert("Xq", every=1.0, temperature=1.0), "chemical symbol, a molecule that ASE knows"),
        (lambda: Insert("Ar", every=0.0, temperature=1.0), "expected a time above 0"),
        (lambda: Insert("Ar", every=1.0), "temperature .* velocity"),
        (lambda: Insert("Ar", every=1.0, velocity=(1.0, 2.0)), "three numbers"),
        (lambda: Insert("Ar", every=1.0, temperature=1.0, at_once=0), "number of molecules"),
        (lambda: Insert("Ar", every=1.0, temperature=1.0, full="wait"), "stop or skip"),
        (lambda: Insert("Ar", every=1.0, temperature=1.0, region="z >"), "expected"),
        (lambda: Delete("H2Q", every=1.0), "a formula such as H2O"),
        (
            lambda: Insert("Ar", every=1.0, temperature=1.0, region="z < 8").change(slab(), 1, 0),
            "no room for Ar",
        ),
        (lambda: Insert("Ar", every=1.0, temperature=1.0, region="z > 90").change(slab(), 1, 0), "no place"),
        (lambda: Insert("Ar", every=1.0, temperature=1.0).change(Atoms("Ar"), 1, 0), "no cell along xyz"),
        (lambda: Insert("Ar", every=0.1, temperature=1.0).interval(1.0), "shorter than the time step"),
    ],
)
def test_mistakes_are_one_line(make, words):
    with pytest.raises(SettingsError, match=words) as error:
        make()
    assert "\n" not in str(error.value)
    full = Insert("Ar", every=1.0, temperature=1.0, region="z < 8", full="skip")
    assert full.change(slab(), 1, 0) is None
