"""Totals of a configuration of Monte Carlo, with constants that are written out."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import Engine, LennardJones
from taichimd.sampling.chain import MonteCarlo

ARGON = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="energy-shifted")


@pytest.mark.parametrize("fixed", [0, 2])
def test_the_pressure_has_a_kinetic_part_of_each_free_atom(fixed):
    """N kT/V of all that move, and a third of the virial's trace over V; no centre of mass is at rest."""
    atoms = bulk("Ar", cubic=True, a=5.5) * 2
    atoms.rattle(0.1, seed=3)
    held = np.arange(32) < fixed
    chain = MonteCarlo(atoms, ARGON, temperature=90.0, fixed=held if fixed else None, backend="cpu")
    virial = np.trace(Engine(atoms, ARGON, backend="cpu").evaluate().virials.sum(axis=0)) / 3
    kinetic = (32 - fixed) * 1.380649e-23 * 90.0
    found = chain.thermo()
    in_pascal = (kinetic + virial * 1.602176634e-19) / (11.0**3 * 1e-30)
    assert found.pressure == pytest.approx(in_pascal * 1e-9, rel=3e-6)
    assert found.kinetic == pytest.approx(1.5 * kinetic / 1.602176634e-19, rel=3e-6)
