"""float64, mixed and float32: each is what it says, in its errors and in its arithmetic."""

import numpy as np
import pytest
from ase import Atoms

from taichimd import testing
from taichimd.core import runtime
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine

FAR = 300
"""Cells from the origin: coordinates of some thousand angstrom, where float32 resolves 2e-4 angstrom."""
CASES = {
    "lj": (lambda: LennardJones(**testing.ARGON, cutoff=8.5), testing.argon_256),
    "sw": (lambda: load_forcefield("Si.sw"), testing.silicon_216),
    "tersoff": (lambda: load_forcefield("Si.tersoff"), testing.silicon_216),
}


def evaluate(name, precision, far=0):
    forcefield, structure = CASES[name]
    atoms = structure()
    atoms.positions += far * atoms.cell.array.sum(axis=0)
    return Engine(atoms, forcefield(), precision=precision).evaluate()


def errors(found, exact):
    """Largest differences of forces and virials, relative to the rms force and the largest virial."""
    scale = np.sqrt((exact.forces**2).mean())
    force = abs(found.forces - exact.forces).max() / scale
    return force, abs(found.virials - exact.virials).max() / abs(exact.virials).max()


@pytest.mark.parametrize("name", CASES)
def test_mixed_has_the_errors_of_single_terms_wherever_the_atoms_are(name):
    for far in (0, FAR):
        exact, mixed = evaluate(name, "float64", far), evaluate(name, "mixed", far)
        force, virial = errors(mixed, exact)
        assert 1e-8 < force < 1.5e-5, "float64 in disguise, or worse than float32 terms"
        assert 1e-8 < virial < 5e-6
        assert 1e-12 < abs(mixed.energy / exact.energy - 1) < 5e-7
        # Newton's third law holds to the last bits of float64 sums.
        assert abs(mixed.forces.sum(axis=0)).max() < 1e-12
    single = errors(evaluate(name, "float32", FAR), exact)[0]
    assert single > 50 * force, "positions in float32 lose what mixed keeps"


@pytest.mark.parametrize("precision", ["mixed", "float32"])
@pytest.mark.parametrize("far", [2.9, 2.95])
@pytest.mark.parametrize("near", [1.5, 1.8, 2.1])
def test_a_bond_that_others_have_all_but_broken(precision, near, far):
    """Near the cutoff beside four close neighbours: (beta zeta)^23 is beyond what float32 holds."""
    around = near * np.array([[0, 0, 1], [0, 0, -1], [0, 1, 0], [0, -1, 0]])
    atoms = Atoms("Si6", [[0, 0, 0], [far, 0, 0], *around])
    potential = load_forcefield("Si.tersoff")
    exact = Engine(atoms, potential).evaluate()
    found = Engine(atoms, potential, precision=precision).evaluate()
    np.testing.assert_allclose(found.forces, exact.forces, rtol=0, atol=2e-5 * abs(exact.forces).max())
    assert found.energy == pytest.approx(exact.energy, abs=2e-5)


@pytest.mark.parametrize("scale", [0.35, 0.3, 0.25])
def test_a_crushed_crystal_has_forces(scale):
    """(beta zeta)^23 leaves what float64 holds below bonds of 0.8 angstrom."""
    atoms = testing.silicon_cluster()
    atoms.positions *= scale
    engine = Engine(atoms, load_forcefield("Si.tersoff"))
    found = engine.evaluate()
    assert np.isfinite(found.forces).all()
    atom = int(abs(found.forces).max(axis=1).argmax())
    energies = []
    for step in (1e-5, -1e-5):
        moved = atoms.positions.copy()
        moved[atom, 0] += step
        engine.set_state(positions=moved)
        energies.append(engine.evaluate().energy)
    slope = -(energies[0] - energies[1]) / 2e-5
    assert slope == pytest.approx(found.forces[atom, 0], rel=1e-5, abs=1e-4 * abs(found.forces).max())


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_all_pairs_have_the_bits_of_the_lists(precision):
    atoms = testing.silicon_cluster()
    atoms.symbols = "Ar"
    atoms.positions *= 1.5
    found = [
        Engine(atoms, LennardJones(**testing.ARGON, cutoff=8.5, enumeration=kind), precision=precision)
        .evaluate()
        .forces
        for kind in ("neighbours", "all-pairs")
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.skipif(
    runtime.NAME == "taichi" and runtime.backend() == "cuda", reason="contracts a*b + c there"
)
def test_a_pair_is_computed_in_single_precision_from_the_difference_of_double_positions():
    """Dimers against NumPy's float32, bit by bit: one operation in float64 would show."""
    one = np.float32
    epsilon, sigma = (one(testing.ARGON[key]) for key in ("epsilon", "sigma"))
    rng = np.random.default_rng(3)
    # One engine: dimers that do not see each other.
    first = 1000.0 + np.arange(200)[:, None] * [40.0, 0.0, 0.0] + rng.random((200, 3))
    direction = rng.standard_normal((200, 3))
    direction *= rng.uniform(3.2, 6.0, (200, 1)) / np.linalg.norm(direction, axis=1)[:, None]
    positions = np.hstack([first, first + direction]).reshape(-1, 3)
    forcefield = LennardJones(**testing.ARGON, cutoff=8.5)
    forces = Engine(Atoms("Ar400", positions), forcefield, precision="mixed").forces()
    d = (positions[1::2] - positions[::2]).astype(one)
    inverse = one(1) / (d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1] + d[:, 2] * d[:, 2])
    s2 = sigma * sigma * inverse
    s6 = s2 * s2 * s2
    w = one(-24) * epsilon * s6 * (one(2) * s6 - one(1)) * inverse
    expected = w[:, None] * d
    assert expected.dtype == np.float32
    np.testing.assert_array_equal(forces[::2], expected)
    np.testing.assert_array_equal(forces[1::2], -expected)


@pytest.mark.parametrize("name", ["lj", "sw"])
def test_mixed_does_not_depend_on_skins_or_on_how_a_run_is_cut(name):
    forcefield, structure = CASES[name]
    found = []
    for skin, calls in ((None, (30,)), (0.7, (1, 20, 9))):
        atoms = testing.with_velocities(structure(), 300.0, seed=2)
        engine = Engine(atoms, forcefield(), precision="mixed", skin=skin)
        for n in calls:
            engine.advance(n, 0.1)
        found.append(np.hstack([engine.positions(), engine.velocities(), engine.forces()]))
    np.testing.assert_array_equal(*found)
    moving = found[0][:, :6]
    assert (moving.astype(np.float32) != moving).mean() > 0.99, "integrated in float32"
