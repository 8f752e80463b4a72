"""Atoms of another program: ghosts made by hand give the periodic result."""

import numpy as np
import pytest
from ase.build import bulk
from foreign_atoms import ghosts

from taichimd import LennardJones, load_forcefield, testing
from taichimd.core.errors import SettingsError, StructureError
from taichimd.program.engine import Engine
from taichimd.program.foreign import ForceProgram

SI = bulk("Si", cubic=True) * 2
SI.rattle(0.08, seed=3)
CASES = {
    "pair": (lambda: LennardJones(epsilon=0.02, sigma=2.1, cutoff=4.6), SI),
    "moments": (lambda: load_forcefield("Si.sw"), SI),
    "bond order": (lambda: load_forcefield("Si.tersoff"), SI),
    "two species": (lambda: load_forcefield("SiC_2005.tersoff"), testing.silicon_carbide_512()[:64]),
    "short body": (lambda: load_forcefield("SiO2_1990.vashishta"), testing.silica_192()),
    "sum": (
        lambda: sum([load_forcefield("Si.sw"), load_forcefield("Si.tersoff"), CASES["pair"][0]()]),
        SI,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_local_atoms_and_ghosts_have_the_periodic_result(name):
    make, atoms = CASES[name]
    forcefield, n = make(), len(atoms)
    expected = Engine(atoms, forcefield, decomposition="particle").evaluate()
    x, owner, first, neighbours = ghosts(atoms, forcefield.cutoff)
    symbols = np.array(atoms.get_chemical_symbols())[owner]
    program = ForceProgram(forcefield, set(symbols))
    found = program.evaluate(symbols, x, first, neighbours)
    forces = np.zeros((n, 3))
    np.add.at(forces, owner, found.forces)
    scale = np.abs(expected.forces).max()
    np.testing.assert_allclose(found.energies[:n], expected.energies, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(forces, expected.forces, atol=1e-12 * scale)
    np.testing.assert_array_equal(found.energies[n:], 0.0)
    total = found.virials.sum(0)
    np.testing.assert_allclose(
        total, expected.virials.sum(0), atol=1e-11 * np.abs(expected.virials).max() * n
    )
    alone = program.evaluate(symbols, x, first, neighbours, want="forces")
    np.testing.assert_array_equal(alone.forces, found.forces)
    assert not alone.energies.any()


def test_forces_are_derivatives_of_the_local_energy():
    """A cluster of which half belongs to somebody else."""
    forcefield = load_forcefield("Si.tersoff")
    x = SI.positions[:24].copy()
    program = ForceProgram(forcefield, ["Si"])
    rows = [np.flatnonzero(np.arange(24) != i) for i in range(12)]
    first, neighbours = np.cumsum([0, *map(len, rows)]), np.concatenate(rows)

    def energy(y):
        return program.evaluate(["Si"] * 24, y, first, neighbours).energy

    forces = program.evaluate(["Si"] * 24, x, first, neighbours).forces
    h = 1e-4
    for atom, axis in ((0, 0), (11, 1), (12, 2), (20, 0)):
        step = np.zeros_like(x)
        step[atom, axis] = h
        slope = (energy(x + step) - energy(x - step)) / (2 * h)
        assert forces[atom, axis] == pytest.approx(-slope, abs=1e-6)


def test_wrong_foreign_lists_are_refused():
    program = ForceProgram(load_forcefield("Si.sw"), ["Si"])
    x = SI.positions[:2]
    with pytest.raises(StructureError, match="numbers of atoms from 0 to 1"):
        program.evaluate(["Si", "Si"], x, [0, 1], [2])
    with pytest.raises(StructureError, match="expected 3 x 3 finite numbers"):
        program.evaluate(["Si"] * 3, x, [0, 1], [1])
    with pytest.raises(StructureError, match="does not describe the rows"):
        program.evaluate(["Si", "Si"], x, [0, 2], [1])
    with pytest.raises(SettingsError, match="takes no neighbour list"):
        ForceProgram(LennardJones(epsilon=1.0, sigma=1.0, cutoff=2.5, enumeration="all-pairs"), ["Ar"])
