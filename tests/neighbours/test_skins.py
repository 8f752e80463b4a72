"""Skins of the lists: when lists are outdated, and how long they get."""

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk

from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.neighbours.skins import Skins
from taichimd.program.batch import Batch
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


@pytest.mark.parametrize("systems", [1, 2])
def test_skins_do_not_learn_from_lists_that_a_jump_of_positions_has_ended(systems):
    """Short runs from two states in turn: each begins with a list that the last run did not outdate."""
    argon = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=8.0)
    atoms = bulk("Ar", cubic=True, a=5.3).repeat(3)
    atoms.set_velocities(np.random.default_rng(1).normal(0.0, 0.002 / units.fs, (len(atoms), 3)))
    made = Engine(atoms, argon, backend="cpu") if systems == 1 else Batch([atoms] * 2, argon, backend="cpu")
    ones = made.members if systems == 2 else [made]
    lists = made.device.lists

    def state():
        return {"positions": ones[0].positions(), "velocities": ones[0].velocities()}

    first = state()
    made.advance(1500, 2.0 * units.fs)
    learnt, builds = (lists.skins.outer, lists.skins.inner, lists.expected), lists.verlet.builds
    assert learnt[0] != Engine(atoms, argon, backend="cpu").device.lists.skins.outer
    second = state()
    for start in [first, second] * 3:
        for one in ones:
            one.set_state(**start)
        made.advance(5, 2.0 * units.fs)
        assert (lists.skins.outer, lists.skins.inner, lists.expected) == learnt
    assert lists.verlet.builds >= builds + 6
    made.advance(1000, 2.0 * units.fs)
    assert lists.expected != learnt[2]
