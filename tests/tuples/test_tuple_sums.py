"""Sums over chains: exact derivatives, and the same bits for every decomposition and number of threads."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, graphene
from bits import OTHER_RUNTIME, here, in_another_process, needs_other_runtime
from hypothesis import given, settings
from networks import (
    CELL,
    TABLE,
    TORSION,
    crystal,
    everything,
    everything_of,
    networks,
    paths,
    rows_of,
    strength,
    torsion,
)

from taichimd.core import memory
from taichimd.core.errors import CapacityError, SettingsError
from taichimd.tuples import evaluate
from taichimd.tuples.bonds import BondList
from taichimd.tuples.conditions import Condition, bond_order_products
from taichimd.tuples.evaluate import DECOMPOSITIONS, ChainTerm, choose

RESULTS = Path(__file__).parents[2] / "validation" / "results"
PRODUCTS = bond_order_products(0.1, 0.01)
ANY = Condition()


def rattled(atoms, amplitude=0.08):
    atoms.rattle(amplitude, seed=4)
    return atoms


def sheared_diamond(cells=2):
    """Carbon in a triclinic cell, atoms displaced."""
    atoms = bulk("C").repeat((cells, cells, cells + 1))
    shear = np.array([[1.02, 0.05, -0.03], [0.0, 0.98, 0.04], [0.01, 0.0, 1.03]])
    atoms.set_cell(atoms.cell[:] @ shear, scale_atoms=True)
    return rattled(atoms)


SYSTEMS = {
    "small cell": lambda: rattled(bulk("C"), 0.03),
    "sheared": sheared_diamond,
    "graphene": lambda: rattled(graphene(vacuum=5.0).repeat((3, 2, 1))),
}


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
    kinds = np.arange(len(positions)) % 2
    bonds = BondList(*rows, cell=CELL, kinds=kinds)
    term = ChainTerm(bonds, everything, ANY, TABLE)
    chains = paths(rows, 4)

    def energy(x):
        bonds.set_positions(x)
        return term.evaluate("bond").energies.sum()

    bonds.set_positions(positions)
    found = term.evaluate()
    expected = sum(everything_of(path, s, positions, kinds) for path, s in chains.items())
    scale = 1e-9 * (1.0 + np.abs(found.energies).sum() + np.abs(found.forces).sum())
    assert found.energies.sum() == pytest.approx(expected, abs=scale)
    # Near three atoms in a line the dihedral turns faster than differences can follow.
    if len(chains) and straightest(chains, positions) > 0.05:
        np.testing.assert_allclose(found.forces, -numerical(energy, positions), atol=1e2 * scale)
    np.testing.assert_allclose(found.forces.sum(axis=0), 0.0, atol=1e-3 * scale)


def straightest(chains, positions):
    """The smallest sine of an angle in any chain."""
    sines = []
    for path in chains:
        x = np.array([positions[atom] + np.array(at) @ CELL for atom, at in path])
        d = np.diff(x, axis=0)
        d /= np.linalg.norm(d, axis=1)[:, None]
        sines += [np.linalg.norm(np.cross(d[0], d[1])), np.linalg.norm(np.cross(d[1], d[2]))]
    return min(sines)


@pytest.mark.parametrize("function", [torsion, everything])
@pytest.mark.parametrize("name", SYSTEMS)
def test_forces_with_strengths_that_follow_distances(name, function):
    """dU/dr at constant strengths, and dU/ds ds/dr, are together the derivative of the energy."""
    atoms = SYSTEMS[name]()
    bonds = crystal(atoms, 1.9)
    term = ChainTerm(bonds, function, ANY, TORSION)
    first, origin, partner = (a.to_numpy() for a in (bonds.first, bonds.origin, bonds.partner))
    x = atoms.positions.copy()
    shifts = bond_shifts(bonds, atoms.cell[:])

    def follow(x):
        d = x[partner] - x[origin] + shifts
        r = np.linalg.norm(d, axis=1)
        bonds.set_positions(x)
        # The mean of both directions, which NumPy rounds differently.
        s = strength(r)
        bonds.set_strengths(0.5 * (s + s[bonds.reverse.to_numpy()]))
        return d, r

    def energy(x):
        follow(x)
        return term.evaluate("bond").energies.sum()

    d, r = follow(x)
    found = term.evaluate("tuple")
    h = 1e-6
    slope = found.slopes * (strength(r + h) - strength(r - h)) / (2 * h)
    along = (slope / r)[:, None] * d
    forces = found.forces + np.add.reduceat(along, first[:-1])
    some = np.s_[:4]

    def energy_of_some(part):
        moved = x.copy()
        moved[some] = part
        return energy(moved)

    scale = np.abs(forces).max()
    assert scale > 0.05
    np.testing.assert_allclose(forces[some], -numerical(energy_of_some, x[some], 1e-4), atol=1e-7 * scale)
    np.testing.assert_allclose(found.forces.sum(axis=0), 0.0, atol=1e-12 * scale)


def bond_shifts(bonds, cell):
    """The vectors of images, from their codes."""
    code = bonds.image.to_numpy().astype(np.int64)
    z = (code + 512) % 1024 - 512
    y = ((code - z) // 1024 + 512) % 1024 - 512
    x = ((code - z) // 1024 - y) // 1024
    return np.column_stack([x, y, z]) @ cell


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_decompositions_have_the_same_bits(name, precision):
    bonds = crystal(SYSTEMS[name](), 2.8, precision)
    term = ChainTerm(bonds, torsion, PRODUCTS, TORSION)
    results = [term.evaluate(decomposition) for decomposition in DECOMPOSITIONS]
    assert np.abs(results[0].forces).max() > 0.05
    for other in results[1:]:
        for what in ("energies", "forces", "slopes"):
            np.testing.assert_array_equal(getattr(other, what), getattr(results[0], what))


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_auto_takes_what_was_measured_to_be_fast(backend):
    """A list made anew for each sum, it costs at most a third more than the best."""
    report = json.loads((RESULTS / f"quadruplets_{backend}.json").read_text())
    taken = set()
    for row in report["results"]:
        each = row["candidates_per_atom"]
        candidates = row["atoms"] * each * (each - 1) ** 2 / 2
        chosen = choose(row["tuples"], candidates, row["atoms"], backend)
        ms = {**row["ms"], "tuple": row["ms"]["tuple"] + row["ms"]["list"]}
        assert ms[chosen] <= 1.34 * min(ms[name] for name in DECOMPOSITIONS), row
        taken.add(chosen)
    assert taken == ({"bond"} if backend == "cpu" else {"bond", "tuple"})


def test_auto_counts_the_candidates(monkeypatch):
    """A network in which each bond has both neighbours: of the chains of four all or few are accepted."""
    seen = []
    monkeypatch.setattr(evaluate, "backend", lambda: "cuda")
    monkeypatch.setattr(evaluate, "choose", lambda *known: seen.append(known) or "tuple")
    bonds = crystal(bulk("C", cubic=True) * 2, 1.9)
    found = [ChainTerm(bonds, torsion, condition, TORSION).evaluate() for condition in (ANY, PRODUCTS)]
    every, few = seen[1], seen[3]
    assert every == (bonds.m // 2 * 9, bonds.m // 2 * 9, bonds.n, "cuda")
    assert few[0] <= few[1] == every[1]
    np.testing.assert_array_equal(
        found[1].forces, ChainTerm(bonds, torsion, PRODUCTS, TORSION).evaluate("bond").forces
    )


def test_single_precision_is_close_to_double():
    double, single = (
        ChainTerm(crystal(sheared_diamond(), 2.8, precision), torsion, PRODUCTS, TORSION).evaluate()
        for precision in ("float64", "float32")
    )
    np.testing.assert_allclose(single.forces, double.forces, atol=2e-5)
    assert (single.forces != double.forces).any()


def test_one_thread_has_the_bits_of_two():
    assert in_another_process({**os.environ, "TAICHIMD_THREADS": "1"}, "chains") == {"chains": here("chains")}


@needs_other_runtime
def test_the_other_runtime_has_the_same_bits():
    environment = {**os.environ, "TAICHIMD_RUNTIME": OTHER_RUNTIME}
    assert in_another_process(environment, "chains") == {"chains": here("chains")}


def test_newtons_third_law_and_energies_of_one_chain():
    rows = rows_of({(i, i + 1, (0, 0, 0)): 0.9 for i in range(3)}, 4)
    bonds = BondList(*rows, kinds=[0, 1, 1, 0])
    x = np.array([[1.0, 0.4, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.5], [0.3, 1.1, 1.8]])
    bonds.set_positions(x)
    found = ChainTerm(bonds, everything, ANY, TABLE).evaluate("particle")
    path = [(i, (0, 0, 0)) for i in range(4)]
    u = everything_of(path, (0.9,) * 3, x, [0, 1, 1, 0])
    np.testing.assert_allclose(found.energies, [0, u / 2, u / 2, 0], rtol=1e-13)
    np.testing.assert_allclose(np.cross(x, found.forces).sum(axis=0), 0.0, atol=1e-13)


def test_atoms_in_a_line_have_finite_forces():
    rows = rows_of({(i, i + 1, (0, 0, 0)): 0.9 for i in range(4)}, 5)
    bonds = BondList(*rows)
    bonds.set_positions([[0, 0, 1.4 * i] for i in range(4)] + [[1.0, 0.0, 5.0]])
    for decomposition in DECOMPOSITIONS:
        found = ChainTerm(bonds, torsion, ANY, TORSION).evaluate(decomposition)
        assert np.isfinite(found.forces).all()
        # The sine is kept from zero at 1e-5.
        assert np.abs(found.energies).max() < 1e-4


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_no_bonds_no_energy(decomposition):
    found = ChainTerm(BondList([0, 0, 0], [], [], []), torsion, ANY, TORSION).evaluate(decomposition)
    assert found.slopes.shape == (0,)
    assert not found.forces.any()
    assert not found.energies.any()


def test_only_the_decomposition_by_tuples_needs_room_for_tuples(monkeypatch):
    bonds = crystal(sheared_diamond(), 1.9)
    term = ChainTerm(bonds, torsion, ANY, TORSION)
    term.list.build()
    need = term.statistics()["tuples"]
    assert need == 18 * bonds.n
    monkeypatch.setattr(memory, "free_memory", lambda: 100 * need)
    with pytest.raises(CapacityError, match=rf"derivatives of {need} chains \({104 * need} bytes"):
        term.evaluate("tuple")
    by_bond = term.evaluate("bond")
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    np.testing.assert_array_equal(term.evaluate("tuple").forces, by_bond.forces)
    assert term.statistics()["chain_bytes"] >= 104 * need


def test_sums_about_bonds_need_room_too():
    bonds = crystal(bulk("C"), 1.9)
    with pytest.raises(CapacityError, match="32 pairs of bonds of one atom"):
        ChainTerm(bonds, torsion, ANY, TORSION, memory_limit=1000)


def test_unknown_decompositions_are_named():
    with pytest.raises(SettingsError, match="'atom': expected one of particle, bond, tuple"):
        ChainTerm(crystal(bulk("C"), 1.9), torsion, ANY, TORSION).queue("atom")
