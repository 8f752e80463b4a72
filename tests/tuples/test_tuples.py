"""Lists of tuples: each accepted tuple once, in one order, with memory asked for before it is taken."""

from itertools import pairwise

import numpy as np
import pytest
from ase.build import bulk, graphene
from hypothesis import given, settings
from networks import canonical, crystal, listed, networks, paths, rows_of

from taichimd.core import memory
from taichimd.core.errors import CapacityError, SettingsError, StructureError
from taichimd.core.runtime import ti
from taichimd.tuples.bonds import BondList
from taichimd.tuples.conditions import Condition, bond_order_products
from taichimd.tuples.lists import TupleList

pytestmark = pytest.mark.once

PRODUCTS = bond_order_products(0.3, 0.1)
ANY = Condition()
EXAMPLES = settings(max_examples=25, deadline=None)


@ti.func
def sum_is_small(s_ij, s_jk, s_kl):
    """A user's own condition."""
    return (s_ij + s_jk) + s_kl < 1.69137


OWN = Condition(chain=sum_is_small)


def accepts(condition, s):
    """The three conditions of this file in NumPy."""
    if condition is OWN:
        return len(s) < 3 or (s[0] + s[1]) + s[2] < 1.69137
    if condition is ANY:
        return True
    if not all(x > 0.3 for x in s) or not all(a * b > 0.3 for a, b in pairwise(s)):
        return False
    return len(s) < 3 or (s[0] * s[2]) * (s[1] * s[1]) > 0.1


@pytest.mark.parametrize("condition", [ANY, PRODUCTS, OWN], ids=["any", "products", "own"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_every_accepted_tuple_is_listed_once(order, condition):
    @EXAMPLES
    @given(networks())
    def check(network):
        rows, _ = network
        tuples = TupleList(BondList(*rows), order, condition)
        tuples.build()
        found = listed(tuples, rows)
        expected = [path for path, s in paths(rows, order).items() if accepts(condition, s)]
        assert tuples.count == len(found)
        assert sorted(found) == sorted(expected)

    check()


def test_the_order_is_that_of_the_rows():
    bonds = crystal(bulk("C", cubic=True), 2.8)
    tuples = TupleList(bonds, 4, PRODUCTS)
    tuples.build()
    p, b, q = tuples.bonds().T
    assert len(p) > 100
    np.testing.assert_array_equal(np.lexsort((q, p, b)), np.arange(len(p)))
    starts = tuples.starts.to_numpy()
    np.testing.assert_array_equal(np.bincount(b, minlength=bonds.m), np.diff(starts))


def test_crystals_have_the_chains_that_geometry_says():
    # Two bonds an atom, each with 3 x 3 chains; in graphene 3/2 bonds with 2 x 2. Cells so small that atoms
    # are bonded to several images of one neighbour.
    for atoms, angles, chains in (
        (bulk("C"), 6, 18),
        (bulk("C").repeat((3, 1, 2)), 6, 18),
        (graphene(vacuum=5.0), 3, 6),
    ):
        bonds = crystal(atoms, 1.7)
        for order, each in ((3, angles), (4, chains)):
            tuples = TupleList(bonds, order, ANY)
            tuples.build()
            assert tuples.count == each * len(atoms)


def test_an_atom_and_its_image_are_different_atoms():
    # One atom in a chain of its images: ..., -1, 0, 1, ...: i-j-k-l exists, once.
    chain = rows_of({(0, 0, (1, 0, 0)): 1.0}, 1)
    tuples = TupleList(BondList(*chain), 4, ANY)
    tuples.build()
    assert listed(tuples, chain) == [canonical([(0, (x, 0, 0)) for x in range(4)])]
    # A triangle has no chain of four atoms, a ring of four has four; in a periodic one of three,
    # i and l are images.
    for n, image, count in ((3, 0, 0), (4, 0, 4), (3, 1, 3)):
        edges = {(i, i + 1, (0, 0, 0)): 1.0 for i in range(n - 1)} | {(n - 1, 0, (image, 0, 0)): 1.0}
        tuples = TupleList(BondList(*rows_of(edges, n)), 4, ANY)
        tuples.build()
        assert tuples.count == count


def test_lists_follow_strengths_and_grow():
    rows = rows_of({(i, i + 1, (0, 0, 0)): 0.9 for i in range(5)}, 6)
    bonds = BondList(*rows)
    tuples = TupleList(bonds, 4, PRODUCTS)
    counts = []
    # The path 0-1-2-3-4-5: its last bonds weak, all strong, all weak, all strong.
    end = np.repeat(np.arange(6), np.diff(rows[0])) + rows[1] > 6
    for factor in (np.where(end, 0.2, 1.0), 1.0, 0.2, 1.0):
        bonds.set_strengths(factor * rows[3])
        tuples.update()
        tuples.update()
        counts.append(tuples.count)
    assert counts == [1, 3, 0, 3]
    assert tuples.statistics()["builds"] == 4


def test_statistics_add_up():
    bonds = crystal(bulk("C", cubic=True), 1.7)
    tuples = TupleList(bonds, 4, ANY)
    assert tuples.statistics()["tuples"] == 0
    tuples.build()
    found = tuples.statistics()
    assert (found["atoms"], found["directed_bonds"], found["tuples"]) == (8, 32, 144)
    assert found["tuples_per_atom"] == 18.0
    assert found["capacity"] >= 144
    assert found["list_bytes"] == 12 * found["capacity"] == sum(4 * p.shape[0] for p in tuples.places)


# What does not fit.


def complete(n):
    """All pairs of n atoms."""
    partner = np.array([[j for j in range(n) if j != i] for i in range(n)])
    m = partner.size
    return BondList((n - 1) * np.arange(n + 1), partner.ravel(), np.zeros((m, 3)), np.ones(m))


def test_a_list_beyond_its_limit_says_numbers_and_stays_empty():
    bonds = complete(12)
    need = 12 * 11 // 2 * 10 * 9
    tuples = TupleList(bonds, 4, ANY, memory_limit=12 * need - 1)
    message = rf"{need} 4-tuples of 12 atoms \({12 * need} bytes.*limit {12 * need - 1} bytes"
    with pytest.raises(CapacityError, match=message):
        tuples.build()
    assert (tuples.count, tuples.capacity) == (0, 0)
    exact = TupleList(bonds, 4, ANY, memory_limit=12 * need)
    exact.build()
    assert (exact.count, exact.capacity) == (need, need)


def test_a_list_beyond_the_free_memory_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    tuples = TupleList(complete(12), 4, ANY)
    with pytest.raises(CapacityError, match=r"71280 bytes.*90% of the free memory: 9000 bytes"):
        tuples.build()
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    tuples.build()
    assert tuples.count == 5940


def test_more_tuples_than_32_bits_count_are_counted_and_refused():
    n = 261
    need = n * (n - 1) // 2 * (n - 2) * (n - 3)
    assert need > 2**31
    tuples = TupleList(complete(n), 4, ANY)
    with pytest.raises(CapacityError, match=rf"{need} 4-tuples of {n} atoms .*at most 2147483647"):
        tuples.build()
    assert tuples.count == 0


def test_the_limit_of_a_container_counts(tmp_path):
    files = {
        "memory.max": "1000000",
        "memory.current": "900000",
        "memory.stat": "anon 1\ninactive_file 50000\n",
    }
    assert memory._free_group(tmp_path) is None
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert memory._free_group(tmp_path) == 150_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._free_group(tmp_path) is None


def test_free_memory_is_known_here():
    free = memory.free_memory()
    assert free is not None
    assert 2**20 < free < 2**44


# What is no list of bonds.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": [0, 1, 3]}, "first must rise"),
        ({"partner": [1, 2]}, "between 0 and 1"),
        ({"partner": [0, 0]}, "bond 0, from atom 0 to 0, .* is its own"),
        ({"image": [[0, 0, 0], [1, 0, 0]]}, "no reverse"),
        ({"image": [[0, 0, 300], [0, 0, -300]]}, "spans 300 cells"),
        ({"strength": [1.0, 0.5]}, "the same in both directions"),
        ({"strength": [np.nan, np.nan]}, "strength 0 is nan, .* expected numbers"),
        ({"strength": [1.0]}, r"strengths have shape \(1,\), expected \(2,\)"),
        ({"image": np.zeros((2, 2))}, r"images have shape \(2, 2\), expected \(2, 3\)"),
        ({"kinds": [0]}, r"kinds have shape \(1,\), expected \(2,\)"),
    ],
)
def test_wrong_bonds_are_named(change, message):
    good = {"first": [0, 1, 2], "partner": [1, 0], "image": np.zeros((2, 3)), "strength": [1.0, 1.0]}
    BondList(**good)
    with pytest.raises(StructureError, match=message):
        BondList(**{**good, **change})


def test_positions_of_bonds_are_checked():
    bonds = BondList([0, 1, 2], [1, 0], np.zeros((2, 3)), [1.0, 1.0])
    with pytest.raises(StructureError, match="not finite"):
        bonds.set_positions([[0.0, 0.0, np.nan], [1.0, 0.0, 0.0]])
    with pytest.raises(StructureError, match=r"positions have shape \(1, 3\)"):
        bonds.set_positions([[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("cutoffs", [(-1.0, 0.1), (0.1, -1.0), (float("nan"), 0.1), (0.1, float("inf"))])
def test_cutoffs_that_accept_everything_or_nothing_are_refused(cutoffs):
    with pytest.raises(SettingsError, match="expected a bond order, 0 or more"):
        bond_order_products(*cutoffs)


def test_precisions_of_bonds_are_named():
    with pytest.raises(SettingsError, match="precision = 'half': expected float64 or float32"):
        BondList([0, 1, 2], [1, 0], np.zeros((2, 3)), [1.0, 1.0], precision="half")


def test_a_bond_listed_twice_is_refused():
    with pytest.raises(StructureError, match="twice"):
        BondList([0, 2, 4], [1, 1, 0, 0], np.zeros((4, 3)), np.ones(4))


def test_other_orders_are_refused():
    with pytest.raises(SettingsError, match="5 atoms: expected 2, 3 or 4"):
        TupleList(complete(3), 5, ANY)
