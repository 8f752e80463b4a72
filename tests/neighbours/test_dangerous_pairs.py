"""Lists that serve until a pair is missing: beyond half the skin, and never too long."""

import numpy as np
import pytest
from ase import units
from ase.build import bulk

from taichimd import testing
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine

ARGON = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
STEP, SKIN = 4.0 * units.fs, 0.5


def argon(temperature, pbc=True):
    atoms = bulk("Ar", cubic=True, a=5.5).repeat(3)
    atoms.pbc = pbc
    return testing.with_velocities(atoms, temperature, 1)


def gone(engine):
    """How far the atom that has gone farthest is from where the list was built, angstrom."""
    verlet, positions = engine.device.lists.verlet, engine.device.state.get("pos")
    built_at = verlet.built_at.to_numpy()[engine.device.state.sorted_of.to_numpy()]
    return np.linalg.norm(positions - built_at, axis=1).max()


def test_a_list_serves_beyond_half_the_skin_and_lacks_nothing():
    atoms = argon(300.0)
    engine = Engine(atoms, ARGON, skin=SKIN)
    begin = engine.positions(), engine.velocities()
    beyond = []
    for steps in range(1, 60):
        engine.set_state(positions=begin[0], velocities=begin[1])
        engine.device.lists.outdate()
        engine.advance(steps, STEP)
        beyond.append(gone(engine) > 0.5 * SKIN)
        fresh = atoms.copy()
        fresh.positions = engine.positions()
        # Exact sums: one pair more or less shows in the bits.
        assert np.array_equal(engine.forces(), Engine(fresh, ARGON).forces()), steps
    assert 5 < sum(beyond) < 50


@pytest.mark.parametrize("pbc", [True, (True, True, False)], ids=["periodic", "surface"])
@pytest.mark.parametrize("speed", [0.08, 0.3, 0.7], ids=["fast", "faster", "fastest"])
def test_an_atom_that_is_shot_at_others_meets_them_all(speed, pbc):
    """In one step it goes so many angstrom; alone it is far from the number of atoms that ask for a build."""
    atoms = argon(20.0, pbc)
    velocities = atoms.get_velocities()
    velocities[40] = speed / STEP * np.array([0.6, 0.64, 0.48])
    atoms.set_velocities(velocities)
    ends = []
    for skin in (SKIN, None):
        engine = Engine(atoms, ARGON, skin=skin)
        assert engine.device.lists.near_list == (skin is None)
        engine.advance(40, STEP)
        ends.append((engine.positions(), engine.velocities(), engine.forces()))
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))
