"""All triples by products of matrices: NumPy's against loops, cutoffs, species; dynamics."""

import numpy as np
import pytest
from ase import Atoms
from triples import brute_force, trace_form

from taichimd import AxilrodTeller, Engine, LennardJones
from taichimd.core.errors import SettingsError
from taichimd.forcefields.triple_matrix import by_products

pytestmark = pytest.mark.runtime("quadrants")

NU = {"Ar": 45.69, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.3, "Kr": 137.6}


def near_lattice(n, seed=1, symbols=("Ar",)):
    side, rng = int(np.ceil(n ** (1 / 3))), np.random.default_rng(seed)
    points = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
    return Atoms(rng.choice(symbols, n), 4.0 * points + rng.uniform(-0.5, 0.5, (n, 3)))


def close(found, expected, tol):
    assert np.abs(found - expected).max() <= tol * np.abs(expected).max()


def test_it_is_the_trace_form():
    x = near_lattice(400).positions
    energies, forces = by_products(x, np.full((1, 1, 1), 45.69), np.zeros(400, int))
    _, expected, expected_forces, _ = trace_form(x, 45.69)
    close(energies, expected, 1e-13)
    close(forces, expected_forces, 1e-12)


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


def test_mistakes():
    with pytest.raises(SettingsError, match="matrix has no product_cutoff"):
        AxilrodTeller(45.69, 8.0, 6.0, enumeration="matrix")
    periodic = near_lattice(8)
    periodic.set_cell([30.0] * 3)
    periodic.pbc = True
    with pytest.raises(SettingsError, match="matrix is for structures that are not periodic"):
        Engine(periodic, AxilrodTeller(45.69, 8.0, enumeration="matrix"), backend="cpu")
