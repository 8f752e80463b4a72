"""The neighbour lists as sets of (i, j, image), against all images by brute force in NumPy."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from listed import ALL_PBC, assert_complete, brute_force, build, decoded, scattered, slots

from taichimd.core import memory
from taichimd.core.errors import CapacityError, StructureError
from taichimd.core.runtime import backend, ti
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.neighbours import rows
from taichimd.neighbours.verlet_list import MAX_IMAGES, VerletList
from taichimd.program.engine import Engine
from taichimd.system.frame import make_frame

SKEWED = np.array([[6.0, 0, 0], [5.5, 6.0, 0], [-5.0, 5.8, 5.0]])
CELLS = {
    "orthorhombic": np.diag([7.0, 8.0, 9.0]),
    "triclinic": SKEWED,
    "far_beyond_reduced": np.array([[4.0, 0, 0], [37.0, 4.0, 0], [-50.0, 29.0, 4.0]]),
    "left_handed": SKEWED[[1, 0, 2]],
    "rotated": SKEWED @ np.linalg.qr(np.random.default_rng(9).normal(size=(3, 3)))[0],
    "thin": np.diag([9.0, 1.1, 8.0]),
    "smaller_than_the_radius": np.diag([2.1, 1.9, 2.3]),
    "long_and_thin": np.diag([3000.0, 3.0, 3.0]),
    "thin_along_x": np.diag([2.0, 400.0, 300.0]),
    "wide_and_flat": np.diag([300.0, 250.0, 2.0]),
}


@pytest.mark.both
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_any_periodic_cell(cell):
    n = 4 if abs(np.linalg.det(cell)) < 70 else 25
    _, found = assert_complete(scattered(n, cell), cell, [True] * 3, 4.1)
    assert found, "the test must have neighbours to find"


@pytest.mark.parametrize("pbc", ALL_PBC, ids=lambda pbc: "".join("FT"[int(p)] for p in pbc))
@pytest.mark.parametrize("spread", [1.0, 3.0], ids=["inside", "beyond_the_box"])
def test_every_mix_of_periodic_directions(pbc, spread):
    positions = spread * (scattered(20, SKEWED) - 0.3 * SKEWED.sum(axis=0))
    assert_complete(positions, SKEWED, pbc, 4.3)


def test_only_atoms_near_a_slab_get_rows():
    x, pbc = scattered(40, SKEWED), [True] * 3
    every, state = build(x, SKEWED, pbc, 4.1)
    expected = decoded(every.entries, every.count, every, state)
    away = np.linspace(-1.0, 3.0, 40)
    lists, distances = VerletList(state), ti.ndarray(ti.f64, 40)
    distances.from_numpy(away)
    lists.give_rows_near(distances)
    lists.sort.needed = 1.0
    build(x, SKEWED, pbc, 4.1, lists, state)
    for atom, row in enumerate(decoded(lists.entries, lists.count, lists, state)):
        assert sorted(row) == (sorted(expected[atom]) if away[atom] <= 1.0 else [])


@pytest.mark.parametrize("cell", [np.eye(3) * 3.0, SKEWED * 0.6])
def test_one_atom_sees_its_own_images(cell):
    _, found = assert_complete([[0.4, 17.0, -3.0]], cell, [True] * 3, 7.3)
    assert len(found) > 30, "an atom has many images of itself within two cells"


@pytest.mark.parametrize("pbc", ALL_PBC, ids=lambda pbc: "".join("FT"[int(p)] for p in pbc))
def test_vectors_along_free_directions_do_not_matter(pbc):
    positions = scattered(15, SKEWED)
    lists, state = build(positions, SKEWED, pbc, 4.0)
    blank = np.where(pbc[:, None], SKEWED, 0.0)
    other, other_state = build(positions, blank, pbc, 4.0)
    tables = (
        decoded(lists.entries, lists.count, lists, state),
        decoded(other.entries, other.count, other, other_state),
    )
    assert [sorted(row) for row in tables[0]] == [sorted(row) for row in tables[1]]


def test_atoms_many_cells_away_from_each_other():
    rng = np.random.default_rng(3)
    positions = scattered(20, SKEWED)
    moved = positions + rng.integers(-20, 21, (20, 3)) @ SKEWED
    _, inside = assert_complete(positions, SKEWED, [True] * 3, 4.3)
    _, outside = assert_complete(moved, SKEWED, [True] * 3, 4.3)
    assert len(inside) == len(outside), "whole lattice vectors changed who is near whom"


def test_a_common_shift_by_many_cells_costs_no_images():
    positions = scattered(20, SKEWED) + 5000 * SKEWED[0]
    lists, _ = assert_complete(positions, SKEWED, [True] * 3, 4.3)
    assert lists.most_image.max() <= 4


def test_atoms_on_the_faces_of_the_cell():
    cell = np.diag([6.0, 6.0, 6.0])
    positions = np.array(list(np.ndindex(3, 3, 3))) * 3.0
    positions = positions[(positions < 6.0).all(axis=1)]
    positions = np.vstack(
        [positions, [[-1e-17, 1.5, 1.5], [6.0, 1.5, 4.5], [np.nextafter(6.0, 0), 4.5, 1.5]]]
    )
    assert_complete(positions, cell, [True] * 3, 3.7)


def test_clusters_with_strays():
    rng = np.random.default_rng(4)
    ball = rng.uniform(-4, 4, (40, 3))
    strays = np.array([[1e6, 0, 0], [-3e5, 2e6, 1.0], [1e6, 3.0, 0], [0, 0, -9e7]])
    _, found = assert_complete(np.vstack([ball, strays]), np.zeros((3, 3)), [False] * 3, 3.5)
    assert (40, 42, 0, 0, 0) in found, "two strays that met each other"


def test_atoms_whole_cells_apart_whose_turns_have_one_code():
    """With one image each way, codes of turns (0, 1, 0) and (0, 0, 3) are the same; the images are not."""
    positions = [[1.0, 1.0, 1.0], [1.0, 11.0, -28.0]]
    _, found = assert_complete(positions, 10.0 * np.eye(3), [True] * 3, 3.0)
    assert (0, 1, 0, -1, 3) in found


@pytest.mark.both
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_cells(data):
    seed = data.draw(st.integers(0, 2**32 - 1), label="seed")
    pbc = ALL_PBC[data.draw(st.integers(0, 7), label="pbc")]
    n = data.draw(st.integers(1, 9), label="atoms")
    radius = data.draw(st.floats(1.0, 6.0), label="radius")
    positions, cell = random_cell(seed, n)
    assume(not pbc.any() or make_frame(cell, pbc).heights[pbc].min() > 0.4)
    sure, _ = brute_force(positions, cell, pbc, 0.03)
    assume(not sure)
    assert_complete_or_refused(positions, cell, pbc, radius)


def test_a_random_cell_of_too_many_images_is_refused():
    pbc = np.ones(3, bool)
    positions, cell = random_cell(28127, 7)
    assert not assert_complete_or_refused(positions, cell, pbc, 1.0)


def random_cell(seed, n):
    """Positions and a cell; positions may be many cells away."""
    rng = np.random.default_rng(seed)
    cell = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-0.2, 1.2, (3, 1))
    return rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-0.5, 1.5), cell


def assert_complete_or_refused(positions, cell, pbc, radius):
    """A list is complete, or refused for more images than entries can name. Returns whether it is there."""
    entries = np.array([entry[2:] for part in brute_force(positions, cell, pbc, radius) for entry in part])
    fits = not len(entries) or np.prod(2 * np.abs(entries).max(0) + 1) <= MAX_IMAGES
    if fits:
        assert_complete(positions, cell, pbc, radius)
    else:
        with pytest.raises(CapacityError, match="wrap the positions into the cell"):
            build(positions, cell, pbc, radius)
    return fits


@pytest.mark.both
def test_rows_grow_past_a_thousand_neighbours():
    """The first width is 16 slots; nothing is dropped on the way to 1,199 neighbours."""
    positions = np.array(list(np.ndindex(12, 10, 10))) * 1.0 + np.random.default_rng(0).uniform(
        0, 0.3, (1200, 3)
    )
    lists, state = build(positions, np.zeros((3, 3)), np.zeros(3, bool), 30.0)
    table = decoded(lists.entries, lists.count, lists, state)
    expected = np.arange(1200)
    for i, row in enumerate(table):
        assert sorted(j for j, *_ in row) == np.delete(expected, i).tolist(), f"row of atom {i}"


def test_a_list_grows_when_atoms_gather():
    rng = np.random.default_rng(6)
    loose, cell = scattered(60, np.eye(3) * 60.0), np.eye(3) * 60.0
    lists, state = build(loose, cell, np.ones(3, bool), 5.0)
    before = lists.width
    dense = rng.uniform(20, 25, (60, 3))
    lists, state = build(dense, cell, np.ones(3, bool), 5.0, lists, state)
    assert lists.width > before, "the second structure must need more slots"
    table = decoded(lists.entries, lists.count, lists, state)
    sure, edge = brute_force(dense, cell, np.ones(3, bool), 5.0)
    found = {(i, *entry) for i, row in enumerate(table) for entry in row}
    assert sure <= found <= sure | edge


@pytest.mark.parametrize("pbc", [True, False])
def test_a_huge_empty_box_costs_little(pbc):
    positions = scattered(200, np.eye(3) * 1e5)
    positions[1] = positions[0] + 1.0
    lists, _ = build(positions, np.eye(3) * 1e5, np.full(3, pbc), 5.0)
    assert lists._bin_capacity <= 8 * 200 * 1.25, "bins must follow the atoms, not the volume"
    assert lists.entries.shape[0] <= 200 * 32
    assert int(lists.count.to_numpy().sum()) == 2


def near_list(engine):
    """Near-list rows (user's numbers), and where each (i, j, image) stands; the reverse index."""
    engine.evaluate()
    owner, state = engine.device.lists, engine.device.state
    lists = owner.verlet
    group = owner.near[0]
    width = group.near.width
    layout = rows.body_layout(backend())
    table = decoded(group.near.entries, group.near.count, lists, state, width, layout)
    place = slots(state.n, width, layout)
    places = {}
    for i, row in enumerate(table):
        at = int(state.sorted_of.to_numpy()[i])
        for s, entry in enumerate(row):
            places[(i, *entry)] = int(place[at, s])
    return table, places, group.kept.reverse.to_numpy()


def test_near_list_is_sorted_and_reverse_finds_the_other_side():
    cell = np.array([[5.2, 0, 0], [1.9, 4.9, 0], [0.4, -1.0, 5.4]])
    rng = np.random.default_rng(2)
    positions = scattered(9, cell, seed=5) + rng.integers(-2, 3, (9, 3)) @ cell
    atoms = Atoms("Si9", positions, cell=cell, pbc=True)
    engine = Engine(atoms, load_forcefield("Si.tersoff"))
    table, places, reverse = near_list(engine)
    assert all(row == sorted(row) for row in table), "a row is out of order"
    limit = engine.forcefield.cutoff + engine.statistics()["inner_skin_A"]
    sure, edge = brute_force(positions, cell, np.ones(3, bool), limit)
    assert sure <= set(places) <= sure | edge
    for (i, j, *image), place in places.items():
        mirrored = places[(j, i, *(-t for t in image))]
        assert reverse[place] == mirrored, f"reverse of {(i, j, *image)}"


def test_more_than_a_thousand_neighbours_give_the_all_pairs_sum():
    """A cutoff beyond a whole dense cluster: 1,029 neighbours each, and the same bits without any list."""
    rng = np.random.default_rng(1)
    positions = 2.2 * np.array(list(np.ndindex(10, 10, 11)))[:1030] + rng.uniform(0, 0.3, (1030, 3))
    atoms = Atoms("Ar1030", positions)
    parameters = {"epsilon": 0.01, "sigma": 2.2, "cutoff": 45.0}
    listed = Engine(atoms, LennardJones(**parameters))
    found = listed.evaluate()
    plain = Engine(atoms, LennardJones(**parameters, enumeration="all-pairs")).evaluate()
    assert listed.statistics()["neighbours_max"] == 1029
    assert found.energy == plain.energy
    np.testing.assert_array_equal(found.forces, plain.forces)
    np.testing.assert_array_equal(found.virials, plain.virials)


def test_coincident_atoms_are_named_through_the_boundary():
    cell = np.eye(3) * 10.0
    positions = [[0.005, 5, 5], [3, 3, 3], [9.998, 5, 5]]
    with pytest.raises(StructureError, match=r"atoms 0 and 2 .* are 0\.007 angstrom apart"):
        build(positions, cell, np.ones(3, bool), 4.0)
    with pytest.raises(StructureError, match=r"atom 0 .* its own periodic image"):
        build([[0, 0, 0]], np.diag([0.01, 5, 5]), np.ones(3, bool), 0.5)


@pytest.mark.parametrize("turns", [(9000, 8000, 7000), (2e6, 2e6, 2e6), (300, -300, 300)])
def test_images_too_far_for_an_entry_are_refused(turns):
    """Also where the number of images overflows 64 bits, or their table would fill the memory."""
    cell = np.eye(3) * 5.0
    positions = scattered(3, cell)
    positions[2] += 5.0 * np.array(turns)
    with pytest.raises(CapacityError, match="wrap the positions into the cell"):
        build(positions, cell, np.ones(3, bool), 4.0)


def test_lists_beyond_the_free_memory_are_refused_before_they_are_made(monkeypatch):
    """The Verlet list by the density alone, the near list by what the device has counted."""
    dense = bulk("Si", cubic=True, a=2.0) * 5
    # The near list begins with rows of 8, 40 bytes an entry.
    for free, message in (
        (1_000, "a near list of 1000 atoms, 8 neighbours each.*320000 bytes.* 900 bytes"),
        (400_000, "a neighbour list of 1000 atoms, [0-9]+ neighbours each.* 360000 bytes"),
        (3_000_000, "a near list of 1000 atoms, [0-9]{3} neighbours each.* 2700000 bytes"),
    ):
        monkeypatch.setattr(memory, "free_memory", lambda free=free: free)
        with pytest.raises(CapacityError, match=message):
            Engine(dense, load_forcefield("Si.tersoff"), backend="cpu").forces()


def test_rows_that_do_not_fit_an_array_get_shorter_skins(monkeypatch):
    """No bit depends on that; without any skin there is an error."""
    atoms, argon = bulk("Ar", cubic=True) * 5, LennardJones(epsilon=0.0104, sigma=3.405, cutoff=6.0)
    atoms.rattle(0.1, seed=1)
    free = Engine(atoms, argon, backend="cpu")
    forces, skin = free.forces(), free.device.lists.skins.outer

    def limited(slots):
        for module in (memory, rows):
            monkeypatch.setattr(module, "LARGEST", slots * len(atoms))
        engine = Engine(atoms, argon, backend="cpu")
        return engine.forces(), engine.device.lists

    found, lists = limited(48)
    np.testing.assert_array_equal(found, forces)
    assert lists.skins.outer < skin
    assert lists.verlet.width <= 48
    with pytest.raises(CapacityError, match="an array holds at most 4000 numbers"):
        limited(8)
