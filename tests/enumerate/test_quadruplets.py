"""The demonstration of quadruplet lists: each accepted chain once, right derivatives, equal sums."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from ase.build import bulk, graphene
from ase.neighborlist import neighbor_list
from hypothesis import given, settings
from hypothesis import strategies as st

from taichimd.core import memory
from taichimd.core.errors import CapacityError, StructureError
from taichimd.core.runtime import ti
from validation.decomposition.quadruplets import __main__ as driver
from validation.decomposition.quadruplets.bonds import BondList
from validation.decomposition.quadruplets.lists import ChainList
from validation.decomposition.quadruplets.sums import DECOMPOSITIONS, ChainTerm
from validation.decomposition.quadruplets.torsion import TORSION, bond_order, torsion

CELL = np.array([[5.0, 0.3, 0.1], [-1.2, 4.5, 0.2], [0.7, 0.9, 6.0]])
"""Triclinic, angstrom."""
ANY, PRODUCTS = (0.0, 0.0), (0.3, 0.1)
"""Cutoffs of conditions."""


def rows_of(edges, n):
    """CSR rows (first, partner, image, strength) of undirected bonds {(i, j, image): strength}."""
    both = {}
    for (i, j, image), s in edges.items():
        both[i, j, image] = both[j, i, tuple(-x for x in image)] = s
    order = sorted(both)
    origin = np.array([b[0] for b in order], int)
    return (
        np.searchsorted(origin, np.arange(n + 1)),
        np.array([b[1] for b in order], int),
        np.array([b[2] for b in order], int).reshape(-1, 3),
        np.array([both[b] for b in order], float),
    )


@st.composite
def networks(draw, least_bonds=0, own_images=True):
    """Rows of a random periodic network, and positions."""
    n = draw(st.integers(1, 5))
    image = st.tuples(*[st.integers(-1, 1)] * 3)
    edge = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), image)
    found = draw(st.lists(edge, min_size=least_bonds, max_size=12, unique=True))
    edges = {}
    for k, (i, j, t) in enumerate(found):
        if (i != j or (own_images and any(t))) and (j, i, tuple(-x for x in t)) not in edges:
            edges[i, j, t] = draw(st.floats(0.05, 1.0)) if k % 2 else 0.6
    seed = draw(st.integers(0, 2**31))
    return rows_of(edges, n), np.random.default_rng(seed).uniform(0, 4, (n, 3))


def bonds_of(rows, positions=None, cell=CELL, cutoffs=ANY):
    x = np.zeros((len(rows[0]) - 1, 3)) if positions is None else positions
    return BondList(*rows, positions=x, cell=cell, cutoffs=cutoffs)


def crystal(atoms, reach, cutoffs=ANY):
    """Bond list of a structure whose bonds are shorter than `reach`."""
    i, j, image, r = neighbor_list("ijSd", atoms, reach)
    edges = {
        (a, b, tuple(int(x) for x in t)): bond_order(d)
        for a, b, t, d in zip(i.tolist(), j.tolist(), image, r, strict=True)
    }
    return bonds_of(rows_of(edges, len(atoms)), atoms.positions, atoms.cell[:], cutoffs)


def complete(n):
    """All pairs of n atoms."""
    partner = np.array([[j for j in range(n) if j != i] for i in range(n)]).ravel()
    m = len(partner)
    return bonds_of(((n - 1) * np.arange(n + 1), partner, np.zeros((m, 3)), np.ones(m)))


def chains_of(rows):
    """All simple paths of four atoms with their strengths, by recursion over (atom, image), each once."""
    first, partner, image, s = rows
    found = {}

    def extend(path, along):
        if len(path) == 4:
            key = canonical(path)
            found[key] = along if key == translated(path) else along[::-1]
            return
        atom, at = path[-1]
        for b in range(first[atom], first[atom + 1]):
            node = int(partner[b]), tuple(int(x) for x in np.add(at, image[b]))
            if node not in path:
                extend([*path, node], (*along, float(s[b])))

    for atom in range(len(first) - 1):
        extend([(atom, (0, 0, 0))], ())
    return found


def translated(path):
    """The path with its first atom in the cell."""
    return tuple((atom, tuple(int(x) for x in np.subtract(at, path[0][1]))) for atom, at in path)


def canonical(path):
    """One name for a path, its reverse, and both in any cell."""
    return min(translated(path), translated(path[::-1]))


def listed(chains, rows):
    """The canonical names of the chains of a device list, in its order."""
    first, partner, image, _ = rows
    origin = np.repeat(np.arange(len(first) - 1), np.diff(first))

    def end(b, at=(0, 0, 0)):
        return int(partner[b]), tuple(int(x) for x in np.add(at, image[b]))

    return [
        canonical([end(p), (int(origin[b]), (0, 0, 0)), end(b), end(q, image[b])])
        for p, b, q in chains.bonds().tolist()
    ]


def accepts(cutoffs, s):
    """The condition of Algorithm 3 in NumPy."""
    pairs = all(a * b > cutoffs[0] for a, b in pairwise(s))
    return min(s) > cutoffs[0] and pairs and (s[0] * s[2]) * (s[1] * s[1]) > cutoffs[1]


def built(bonds):
    chains = ChainList(bonds)
    chains.build()
    return chains


@settings(max_examples=40, deadline=None)
@given(networks(), st.sampled_from([ANY, PRODUCTS]))
def test_every_accepted_chain_is_listed_once(network, cutoffs):
    rows, _ = network
    chains = built(bonds_of(rows, cutoffs=cutoffs))
    expected = [path for path, s in chains_of(rows).items() if accepts(cutoffs, s)]
    assert chains.count == len(expected)
    assert sorted(listed(chains, rows)) == sorted(expected)


def test_the_order_is_that_of_the_rows():
    bonds = crystal(bulk("C", cubic=True), 2.8, PRODUCTS)
    chains = built(bonds)
    p, b, q = chains.bonds().T
    assert len(p) > 100
    np.testing.assert_array_equal(np.lexsort((q, p, b)), np.arange(len(p)))
    np.testing.assert_array_equal(np.bincount(b, minlength=bonds.m), np.diff(chains.starts.to_numpy()))


@pytest.mark.parametrize(
    ("atoms", "each"), [(bulk("C"), 18), (bulk("C").repeat((3, 1, 2)), 18), (graphene(vacuum=5.0), 6)]
)
def test_crystals_have_the_chains_that_geometry_says(atoms, each):
    # Two bonds per atom, each with 3 x 3 chains; in graphene 3/2 bonds with 2 x 2. The cells are so small
    # that atoms are bonded to several images of one neighbour.
    assert built(crystal(atoms, 1.7)).count == each * len(atoms)


def test_an_atom_and_its_image_are_different_atoms():
    # One atom in a chain of its images: ..., -1, 0, 1, ...: i-j-k-l exists, once.
    chain = rows_of({(0, 0, (1, 0, 0)): 1.0}, 1)
    assert listed(built(bonds_of(chain)), chain) == [canonical([(0, (x, 0, 0)) for x in range(4)])]
    # A triangle has no chain of four atoms, a ring of four has four; in a periodic one of three,
    # i and l are images.
    for n, image, count in ((3, 0, 0), (4, 0, 4), (3, 1, 3)):
        edges = {(i, i + 1, (0, 0, 0)): 1.0 for i in range(n - 1)} | {(n - 1, 0, (image, 0, 0)): 1.0}
        assert built(bonds_of(rows_of(edges, n))).count == count


def test_a_bond_of_one_direction_is_refused():
    with pytest.raises(StructureError, match="bond 0 is missing in the other direction"):
        bonds_of((np.array([0, 1, 2]), [1, 0], [[0, 0, 0], [1, 0, 0]], [1.0, 1.0]))


def test_what_exceeds_the_memory_is_refused_before_it_is_allocated(monkeypatch):
    chains = ChainList(complete(12))
    need = 12 * 11 // 2 * 10 * 9
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    with pytest.raises(CapacityError, match=rf"a list of {need} chains .*90% of the free memory: 9000 bytes"):
        chains.build()
    assert (chains.count, chains.capacity) == (0, 0)
    with pytest.raises(CapacityError, match="1452 pairs of bonds of one atom"):
        ChainTerm(complete(12), torsion, TORSION)
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    chains.build()
    assert (chains.count, chains.capacity) == (need, need)


@pytest.mark.long
def test_more_chains_than_32_bits_count_are_refused():
    n = 261
    assert n * (n - 1) // 2 * (n - 2) * (n - 3) > 2**31
    with pytest.raises(CapacityError, match="more than 2147483647 chains"):
        ChainList(complete(n)).build()


@ti.func
def everything(r, c, s, table: ti.template()):
    """A function of chains that depends on each of its arguments."""
    v = table[0]
    x = s[0] * s[2] * s[1] * s[1]
    y = 0.2 * r[1] + 0.05 * r[0] * r[2]
    a = 1.0 + 0.5 * c[0] * c[1]
    w = 2.0 + c[2] + c[2] * c[2]
    u_r = ti.Vector([0.05 * r[2], 0.2, 0.05 * r[0]])
    u_c = ti.Vector([0.5 * c[1] * w, 0.5 * c[0] * w, a * (1.0 + 2.0 * c[2])])
    u_s = ti.Vector([s[2] * s[1] * s[1], 2.0 * s[0] * s[2] * s[1], s[0] * s[1] * s[1]])
    return v * x * y * a * w, (v * x * a * w) * u_r, (v * x * y) * u_c, (v * y * a * w) * u_s


TABLE = (0.7,)


def bond_vectors(path, positions):
    x = [positions[atom] + np.array(at) @ CELL for atom, at in path]
    return [b - a for a, b in pairwise(x)]


def everything_of(path, s, positions):
    """The same in NumPy, with the dihedral from its normals."""
    ij, jk, kl = bond_vectors(path, positions)
    r = [np.linalg.norm(d) for d in (ij, jk, kl)]
    cos_j, cos_k = -ij @ jk / (r[0] * r[1]), -jk @ kl / (r[1] * r[2])
    n, m = np.cross(ij, jk), np.cross(jk, kl)
    w = n @ m / (np.linalg.norm(n) * np.linalg.norm(m))
    energy = TABLE[0] * s[0] * s[2] * s[1] ** 2
    return energy * (0.2 * r[1] + 0.05 * r[0] * r[2]) * (1 + 0.5 * cos_j * cos_k) * (2 + w + w * w)


def straightest(chains, positions):
    """The smallest sine of an angle in any chain."""
    unit = [[d / np.linalg.norm(d) for d in bond_vectors(path, positions)] for path in chains]
    return min(np.linalg.norm(np.cross(d, e)) for path in unit for d, e in pairwise(path))


def numerical(energy, x, h=1e-5):
    """Derivative of a function by central differences of fourth order."""
    slope = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for factor, step in ((8, 1), (-8, -1), (-1, 2), (1, -2)):
            moved = x.copy()
            moved[at] += step * h
            slope[at] += factor * energy(moved) / (12 * h)
    return slope


@settings(max_examples=20, deadline=None)
@given(networks(least_bonds=6, own_images=False))
def test_energies_and_derivatives_are_right_on_random_networks(network):
    rows, positions = network
    bonds = bonds_of(rows, positions)
    term = ChainTerm(bonds, everything, TABLE)
    chains = chains_of(rows)

    def energy_at(x):
        bonds.pos.from_numpy(x)
        return term.evaluate("bond").energies.sum()

    def energy_of(s):
        """Of one strength of each bond, which both of its directions have."""
        bonds.strength.from_numpy(s[np.minimum(np.arange(bonds.m), reverse)])
        return term.evaluate("bond").energies.sum()

    found = term.evaluate("particle")
    reverse = bonds.reverse.to_numpy()[: bonds.m]
    expected = sum(everything_of(path, s, positions) for path, s in chains.items())
    scale = 1e-9 * (1.0 + np.abs(found.energies).sum() + np.abs(found.forces).sum())
    assert found.energies.sum() == pytest.approx(expected, abs=scale)
    np.testing.assert_allclose(found.forces.sum(axis=0), 0.0, atol=1e-3 * scale)
    # Near three atoms in a line the dihedral turns faster than differences can follow.
    if chains and straightest(chains, positions) > 0.05:
        np.testing.assert_allclose(found.forces, -numerical(energy_at, positions), atol=1e2 * scale)
        bonds.pos.from_numpy(positions)
        stands = np.arange(bonds.m) < reverse
        slopes = numerical(energy_of, rows[3])
        np.testing.assert_allclose(found.slopes[stands], slopes[stands], atol=1e2 * scale)
        np.testing.assert_array_equal(found.slopes, found.slopes[reverse])


def test_the_torsion_is_the_derivative_of_its_energy():
    atoms = bulk("C").repeat((2, 2, 3))
    atoms.rattle(0.08, seed=4)
    bonds = crystal(atoms, 1.9)
    term = ChainTerm(bonds, torsion, TORSION)

    def energy(some):
        x = atoms.positions.copy()
        x[:2] = some
        bonds.pos.from_numpy(x)
        return term.evaluate("bond").energies.sum()

    forces = term.evaluate("bond").forces
    assert np.abs(forces).max() > 0.05
    np.testing.assert_allclose(forces[:2], -numerical(energy, atoms.positions[:2], 1e-4), atol=1e-7)


@pytest.mark.parametrize("structure", [bulk("C"), bulk("C", cubic=True).repeat(2), graphene(vacuum=5.0)])
def test_decompositions_have_the_same_bits(structure):
    atoms = structure.repeat((2, 1, 1))
    atoms.rattle(0.05, seed=4)
    term = ChainTerm(crystal(atoms, 2.8, (0.1, 0.01)), torsion, TORSION)
    term.list.build()
    results = [term.evaluate(decomposition) for decomposition in DECOMPOSITIONS]
    assert np.abs(results[0].forces).max() > 0.05
    for other in results[1:]:
        for what in ("energies", "forces", "slopes"):
            np.testing.assert_array_equal(getattr(other, what), getattr(results[0], what))


def test_one_chain_has_no_torque_and_shares_its_energy_between_its_central_atoms():
    rows = rows_of({(i, i + 1, (0, 0, 0)): 0.9 for i in range(3)}, 4)
    x = np.array([[1.0, 0.4, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.5], [0.3, 1.1, 1.8]])
    found = ChainTerm(bonds_of(rows, x), everything, TABLE).evaluate("particle")
    u = everything_of([(i, (0, 0, 0)) for i in range(4)], (0.9,) * 3, x)
    np.testing.assert_allclose(found.energies, [0, u / 2, u / 2, 0], rtol=1e-13)
    np.testing.assert_allclose(np.cross(x, found.forces).sum(axis=0), 0.0, atol=1e-13)


def test_atoms_in_a_line_have_finite_forces():
    rows = rows_of({(i, i + 1, (0, 0, 0)): 0.9 for i in range(4)}, 5)
    x = [[0, 0, 1.4 * i] for i in range(4)] + [[1.0, 0.0, 5.0]]
    found = ChainTerm(bonds_of(rows, x), torsion, TORSION).evaluate("bond")
    assert np.isfinite(found.forces).all()
    # The sine is kept from zero at 1e-5.
    assert np.abs(found.energies).max() < 1e-4


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_no_bonds_no_energy(decomposition):
    found = ChainTerm(bonds_of(([0, 0, 0], [], [], [])), torsion, TORSION).evaluate(decomposition)
    assert found.slopes.shape == (0,)
    assert not found.forces.any()
    assert not found.energies.any()


def test_the_driver_finds_every_sum_alike():
    options = SimpleNamespace(seconds=0.0, repeats=1)
    found = driver.measure(1_344, driver.CASES["candidates"], options)
    assert found["tuples"] > 18 * 1_344, "some second neighbours are close enough"
    assert found["same_bits"]
    atomics = found["atomics"]
    assert atomics["float atomics"]["largest_difference_eV_per_A"] < 1e-12
    assert 0 < atomics["integer atomics"]["largest_difference_eV_per_A"] < 1e-10
    assert atomics["integer atomics"]["numbers_that_differ_between_two_runs"] == 0
