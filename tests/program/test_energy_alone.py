"""The energy without forces is that of a full evaluation, and depends on the positions alone."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import AxilrodTeller, LennardJones
from taichimd.program.engine import Engine

PAIRS = {"Ar": {"epsilon": 0.0104, "sigma": 3.4}, "Kr": {"epsilon": 0.014, "sigma": 3.6}}
ARGON = LennardJones(cutoff=6.0, pairs=PAIRS)
NU = {"Ar": 45.7, "Kr": 137.6, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.0}


def droplet(n):
    points = np.stack(np.meshgrid(*[np.arange(5)] * 3), -1).reshape(-1, 3)[:n]
    return Atoms(f"Ar{n}", 4.0 * points + np.random.default_rng(n).uniform(-0.3, 0.3, (n, 3)))


def crystal(cells):
    atoms = bulk("Ar", cubic=True, a=5.4) * cells
    atoms.rattle(0.2, seed=1)
    atoms.symbols[::3] = "Kr"
    return atoms


CASES = {
    "all triples": (droplet(70), {}),
    "all triples of a row": (droplet(3), {}),
    "sides": (droplet(70), {"cutoff": 7.0}),
    "sides and their product": (crystal(3), {"cutoff": 6.5, "product_cutoff": 5.0}),
    "images of the same atom": (crystal(1), {"cutoff": 7.0}),
    "one atom and its images": (bulk("Ar", a=5.4), {"cutoff": 7.0}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_that_of_a_full_evaluation(case):
    atoms, limits = CASES[case]
    engine = Engine(atoms, ARGON + AxilrodTeller(NU, **limits), backend="cpu")
    energy, pairs = engine.systems.energies()[0][0], Engine(atoms, ARGON, backend="cpu").evaluate().energy
    assert engine.evaluate().energy == pytest.approx(energy, rel=1e-14, abs=1e-14)
    assert abs(energy - pairs) > 1e-7
    # Neither the forces before it nor the order of the atoms in memory show.
    assert engine.systems.energies()[0][0] == energy
    other = Engine(atoms, engine.forcefield, skin=2.5, backend="cpu")
    assert other.systems.energies()[0][0] == energy


def test_forces_behind_it_are_those_of_the_positions():
    atoms, limits = CASES["sides"]
    engine = Engine(atoms, ARGON + AxilrodTeller(NU, **limits), backend="cpu")
    forces = engine.forces()
    moved = atoms.positions + 0.1 * np.sin(np.arange(210.0)).reshape(70, 3)
    engine.set_state(positions=moved)
    engine.systems.energies()
    assert np.abs(engine.forces() - forces).max() > 1e-5
    fresh = Engine(Atoms(atoms.symbols, moved), engine.forcefield, backend="cpu")
    np.testing.assert_array_equal(engine.forces(), fresh.forces())
