"""Systems that drives act on, for tests."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import (
    Simulation,
    StochasticCellRescaling,
    testing,
)
from taichimd.core import units
from taichimd.forcefields.lennard_jones import LennardJones

SMOOTH = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
FREE_SIDES = StochasticCellRescaling(60.0, control="orthorhombic", axes="xy")
DT = 2.0 * units.FS
EACH = 200.0
"""Å between atoms that do not meet."""


@pytest.fixture(autouse=True)
def no_warnings(recwarn):
    """A note on the moving centre of mass is no matter here."""
    yield
    recwarn.clear()


def far(n, seed=1, speed=0.02):
    """Atoms that do not meet, without periods, of several masses."""
    rng = np.random.default_rng(seed)
    atoms = Atoms(["Ar"] * n, rng.uniform(5.0, 15.0, (n, 3)) + EACH * np.arange(n)[:, None] * [1, 0, 0])
    atoms.set_masses(rng.uniform(10.0, 60.0, n))
    atoms.set_velocities(rng.normal(size=(n, 3)) * speed)
    return atoms


def solid(pbc=True):
    atoms = bulk("Ar", cubic=True, a=5.3).repeat(3)
    atoms.set_masses(np.where(np.arange(108) % 3, 39.9, 83.8))
    atoms.pbc = pbc
    return testing.with_velocities(atoms, 60.0, 2)


def started(acting, atoms, **options):
    return Simulation(atoms, SMOOTH, acting=acting, **{"timestep": 2.0, "backend": "cpu", **options})
