"""Skins of the lists: when lists are outdated, and how long they get."""

import numpy as np
import pytest
from ase import Atoms

from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.neighbours.skins import Skins
from taichimd.program.engine import Engine


@pytest.mark.parametrize("skin", [None, 1.0])
def test_two_atoms_that_meet_are_listed_when_each_has_gone_half_the_skin(skin):
    """One is just outside of a list. Both move at the same speed until they interact."""
    argon = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=5.0, truncation="force-shifted")
    made = Engine(Atoms("Ar2", [[0, 0, 0], [0, 0, 20.0]]), argon, backend="cpu", skin=skin)
    made.forces()
    skins = made.device.lists.skins
    for beyond in {skins.outer, skins.inner}:
        x = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 5.0 + beyond + 1e-3]])
        engine = Engine(Atoms("Ar2", x), argon, backend="cpu", skin=skin)
        engine.forces()
        pace, steps = 0.02 * beyond, 0
        speed = np.array([[0.0, 0.0, pace], [0.0, 0.0, -pace]])
        engine.set_state(positions=x, velocities=speed)
        while engine.thermo().potential == 0.0:
            engine.advance(1, 1.0)
            steps += 1
            r = np.ptp(engine.positions()[:, 2])
            assert (r < 5.0) == (engine.thermo().potential != 0.0)
        # Neither has gone much more than half the skin.
        assert 24 <= steps <= 28


def test_queued_terms_have_short_skins():
    """Rows of 10 angstrom and a skin of 6 cost more memory than time is saved."""
    skins = Skins(10.0, many_body=False, queued=True)
    for _ in range(20):
        skins.learn(60, 3)
    assert 1.0 < skins.outer <= 3.0


def test_near_lists_of_bond_orders_hold_bonds_alone():
    """Their loops do something for every entry: shorter lists that outdate sooner cost less."""

    def learnt(bonds):
        skins = Skins(3.0, many_body=True, bonds=bonds)
        for _ in range(20):
            skins.learn(100, 6)
        return skins.inner

    assert learnt(bonds=True) <= 0.1 * 3.0 + 1e-12 < 0.12 * 3.0 < learnt(bonds=False)


@pytest.mark.parametrize("skin", [0.02, 0.15, 0.3, 0.5, 2.0])
@pytest.mark.parametrize("kind", ["both", "bonds", "queued", "pairs"])
@pytest.mark.parametrize(("steps", "cuts"), [(1, 1), (10, 8), (200, 3)])
def test_the_near_list_stays_within_the_verlet_list_whatever_is_learnt(skin, kind, steps, cuts):
    """A near list cannot have pairs that the Verlet list lacks, however far atoms may then move."""
    skins = Skins(10.0, many_body=kind != "pairs", fixed=skin, **({} if kind == "pairs" else {kind: True}))
    for _ in range(20):
        skins.learn(steps, cuts)
        assert skins.outer == skin
        assert skins.inner < skins.outer
        assert skins.drift > 0.0
