"""All triples by products of matrices: NumPy's against loops, cutoffs, species; dynamics."""

import numpy as np
import pytest
from ase import Atoms
from triples import brute_force, trace_form

from taichimd import AxilrodTeller, Engine, LennardJones, triple_energy
from taichimd.core.errors import EvaluationError, SettingsError
from taichimd.forcefields.triple_products import Products

NU = {"Ar": 45.69, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.3, "Kr": 137.6}


def near_lattice(n, seed=1, symbols=("Ar",)):
    side, rng = int(np.ceil(n ** (1 / 3))), np.random.default_rng(seed)
    points = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
    return Atoms(rng.choice(symbols, n), 4.0 * points + rng.uniform(-0.5, 0.5, (n, 3)))


class Two:
    """A communicator of two processes."""

    def Get_size(self):  # noqa: N802 - mpi4py's name
        return 2


def close(found, expected, tol):
    assert np.abs(found - expected).max() <= tol * np.abs(expected).max()


def test_it_is_the_trace_form():
    """In one block and in several."""
    x, kinds = near_lattice(400).positions, np.zeros(400, int)
    energy, energies, forces, _ = trace_form(x, 45.69)
    for least in (400, 90):
        products = Products(x, np.full((1, 1, 1), 45.69), kinds, least=least)
        everything = products.everything()
        close(products.energy(), energy, 1e-13)
        close(everything[:, 3], energies, 1e-13)
        close(products.forces(), forces, 1e-12)
        close(everything[:, :3], forces, 1e-12)


@pytest.mark.parametrize("least", [50, 12])
def test_forces_are_slopes_of_the_energy(least):
    x, kinds = near_lattice(50).positions, np.arange(50) % 2
    nu = AxilrodTeller(NU).terms[0].strengths(["Ar", "Kr"])

    def energy(shift):
        moved = x.copy()
        moved[17] += shift
        return Products(moved, nu, kinds, 9.0, least).energy()

    found = [(energy(-h) - energy(h)) / 2e-4 for h in 1e-4 * np.eye(3)]
    close(Products(x, nu, kinds, 9.0, least).forces()[17], np.array(found), 1e-7)


@pytest.mark.parametrize("cutoff", [None, 7.0])
def test_species_and_cutoffs(cutoff):
    atoms = near_lattice(50, 2, ("Ar", "Kr"))
    found = {
        name: Engine(atoms, AxilrodTeller(NU, cutoff, enumeration=name), backend="cpu").evaluate()
        for name in ("matrix", "all-triples")
    }
    table = {tuple(sorted(key if isinstance(key, tuple) else (key,) * 3)): nu for key, nu in NU.items()}
    expected = brute_force(atoms, lambda *three: table[tuple(sorted(three))], cutoff or np.inf)
    for one in found.values():
        close(one.forces, expected[2], 1e-12)
        close(one.energies, expected[1], 1e-12)
        close(one.virials, expected[3], 1e-12)
    assert not np.array_equal(found["matrix"].forces, found["all-triples"].forces)


def test_steps():
    """Forces of steps are those of an evaluation: a run does not part from one with another enumeration."""
    atoms, pairs, ends = near_lattice(60), LennardJones(epsilon=0.0104, sigma=3.4, cutoff=8.0), []
    for name in ("matrix", "all-triples"):
        engine = Engine(atoms, pairs + AxilrodTeller(enumeration=name), backend="cpu")
        engine.advance(20, 0.2)
        ends.append(engine.positions())
    assert np.abs(ends[0] - atoms.positions).max() > 1e-3
    assert np.abs(ends[0] - ends[1]).max() < 1e-11


@pytest.mark.parametrize("cutoff", [None, 7.0])
def test_energy_of_a_trial_move(cutoff):
    """Which Monte Carlo asks for, without forces."""
    atoms, pairs = near_lattice(60), LennardJones(epsilon=0.0104, sigma=3.4, cutoff=8.0)
    engine = Engine(atoms, pairs + AxilrodTeller(45.69, cutoff, enumeration="matrix"), backend="cpu")
    assert engine.systems.energies()[0][0] == pytest.approx(engine.evaluate().energy, rel=1e-12)
    # Reports of runs have it.
    assert "triple_products:Products" in str(engine.forcefield.describe(["Ar"]))


def test_energy_alone():
    atoms = near_lattice(70, 2, ("Ar", "Kr"))
    found = [
        triple_energy(atoms, AxilrodTeller(NU, enumeration=name), backend="cpu")
        for name in ("matrix", "all-triples")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_mistakes():
    with pytest.raises(EvaluationError, match="atoms have the same position"):
        triple_energy(Atoms("Ar3", np.zeros((3, 3))), AxilrodTeller(enumeration="matrix"), backend="cpu")
    with pytest.raises(SettingsError, match="enumeration matrix runs in one process only; use all-triples"):
        triple_energy(near_lattice(8), AxilrodTeller(enumeration="matrix"), processes=Two())
    with pytest.raises(SettingsError, match="matrix has no product_cutoff"):
        AxilrodTeller(45.69, 8.0, 6.0, enumeration="matrix")
    periodic = near_lattice(8)
    periodic.set_cell([30.0] * 3)
    periodic.pbc = True
    with pytest.raises(SettingsError, match="matrix is for structures that are not periodic"):
        Engine(periodic, AxilrodTeller(45.69, 8.0, enumeration="matrix"), backend="cpu")
