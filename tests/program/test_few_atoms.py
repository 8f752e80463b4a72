"""A loop that only moves atoms is serial for few atoms of a CPU, parallel for more, with the same bits."""

import numpy as np
import pytest
from ase import units

from taichimd import testing
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program import device
from taichimd.program.engine import Engine


@pytest.mark.parametrize("name", ["argon", "silicon"])
def test_one_thread_that_moves_all_atoms_leaves_the_same_bits(monkeypatch, name):
    found = []
    for few in (0, device.FEW):
        monkeypatch.setattr(device, "FEW", few)
        atoms = testing.argon_256() if name == "argon" else testing.silicon_216()
        forcefield = (
            LennardJones(**testing.ARGON, cutoff=6.0) if name == "argon" else load_forcefield("Si.sw")
        )
        engine = Engine(testing.with_velocities(atoms, 600.0, 1), forcefield)
        engine.advance(30, 2.0 * units.fs)
        assert engine.device._variant.few == (few > 0 and engine.backend == "cpu")
        found.append(np.concatenate([engine.positions(), engine.velocities()]))
    np.testing.assert_array_equal(found[0], found[1])
