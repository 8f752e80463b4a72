"""Local atoms among ghosts made by hand have the periodic result, also when atoms come and go."""

import numpy as np
import pytest
from ase.build import bulk
from ghost_atoms import ghosts

from taichimd import (
    AxilrodTeller,
    LennardJones,
    ManyBody,
    load_forcefield,
    neighbour_sum,
    pair_forces,
    testing,
)
from taichimd.core.errors import EvaluationError, SettingsError
from taichimd.program.engine import Engine
from taichimd.program.ghosts import GhostForces

SI = bulk("Si", cubic=True) * 2
SI.rattle(0.08, seed=3)
AR = bulk("Ar", "fcc", 5.3, cubic=True) * 2
AR.rattle(0.1, seed=4)
AWAY = np.array([3.0, -70.0, 500.0])
CASES = {
    "pair": (lambda: load_forcefield("Ar.lj"), AR),
    "pair and triangles": (lambda: load_forcefield("Ar.lj") + AxilrodTeller({("Ar",) * 3: 50.0}, 6.0), AR),
    "moments": (lambda: load_forcefield("Si.sw"), SI),
    "bond order": (lambda: load_forcefield("Si.tersoff"), SI),
    "two species": (lambda: load_forcefield("SiC_2005.tersoff"), testing.silicon_carbide_512()[:64]),
    "short body": (lambda: load_forcefield("SiO2_1990.vashishta"), testing.silica_192()),
}  # fmt: skip
LONG = ("pair", "two species", "short body")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n in LONG else ()) for n in CASES]
)
def test_local_atoms_among_ghosts_have_the_periodic_result(name):
    make, atoms = CASES[name]
    forcefield, n = make(), len(atoms)
    expected = Engine(atoms, forcefield).evaluate()
    symbols = np.array(atoms.get_chemical_symbols())
    species = sorted(set(symbols), reverse=True)  # numbers of kinds are not in the order of the alphabet
    forces = GhostForces(forcefield, species)
    x, owner = ghosts(atoms, forces.reach)
    kinds = np.array([species.index(one) for one in symbols[owner]])
    scale = np.abs(expected.forces).max()
    # Once as they are, then in another order, with more ghosts than there is room for, and farther away.
    far = np.repeat(x[n:], 2, axis=0) + np.tile([[80.0, 0.0, 0.0], [80.0, 40.0, 0.0]], (len(x) - n, 1))
    turned = np.r_[np.arange(n)[::-1], np.arange(n, len(x))[::-1]]
    for order, more in ((np.arange(len(x)), far[:0]), (turned, far[:20]), (turned, far), (turned, far[:0])):
        moved = np.vstack([x[order], more]) + AWAY
        forces.set_atoms(np.r_[kinds[order], np.zeros(len(more), int)], moved, n)
        alone, back = forces.forces(moved, totals=False), np.argsort(order[:n])
        found = forces.forces(moved)
        (energy, virial), (energies, virials) = forces.totals(), forces.shares()
        np.testing.assert_array_equal(alone, found)
        np.testing.assert_allclose(found[back], expected.forces, rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(energies[back], expected.energies, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(
            virials[back], expected.virials, atol=1e-10 * np.abs(expected.virials).max()
        )
        assert energy == pytest.approx(expected.energy, rel=1e-12)
        np.testing.assert_allclose(virial, virials.sum(0), atol=1e-9)


def test_a_box_that_atoms_outgrow_is_made_anew():
    """A pair that parts until its images would meet in the first box."""
    forces = GhostForces(LennardJones(epsilon=0.01, sigma=3.0, cutoff=8.0), ["Ar"])
    x = np.array([[0.0, 0.0, 0.0], [3.5, 0.0, 0.0]])
    forces.set_atoms(np.zeros(2, int), x, 2)
    assert forces.forces(x)[0, 0] > 0.0
    for distance in np.arange(9.0, 90.0, 4.0):
        x[1, 0] = distance
        assert not forces.forces(x).any()
        assert forces.totals()[0] == 0.0


def test_what_ghosts_do_not_do_is_refused():
    @neighbour_sum("memory", each_step=True)
    def memory(r, p, mine, theirs):
        return 0.1 * mine.memory

    @pair_forces
    def bond(r, p, mine, theirs):
        return 0.0 * r, 0.0, 0.0

    keeps = ManyBody("keeps", [memory, bond], arrays=("memory",), state=("memory",), params={"k": "eV"})
    for forcefield, told in (
        (load_forcefield("H2O.ffield"), "charges depend on all atoms"),
        (AxilrodTeller({("Ar",) * 3: 50.0}), "a term without a cutoff needs all atoms"),
        (LennardJones(epsilon=1.0, sigma=1.0, cutoff=2.5, enumeration="all-pairs"), "needs all atoms"),
        (keeps(k=1.0, cutoff=3.0), "its atoms keep memory from step to step"),
    ):
        with pytest.raises(SettingsError, match=told):
            GhostForces(forcefield, ["O"])
    forces = GhostForces(load_forcefield("Si.sw"), ["Si"])
    with pytest.raises(EvaluationError, match=r"local atom 1 .* expected finite numbers"):
        forces.set_atoms(np.zeros(2, int), np.array([[0.0] * 3, [np.nan] * 3]), 2)
