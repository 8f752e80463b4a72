"""Bins along directions without periodicity: laid out again when an atom has left them, and only then."""

import numpy as np
import pytest
from ase import Atoms, units

from taichimd import LennardJones
from taichimd.neighbours import verlet_list
from taichimd.neighbours.lists import Lists
from taichimd.neighbours.verlet_list import VerletList
from taichimd.program.batch import Batch
from taichimd.program.engine import Engine

ARGON = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=8.0)


def droplet(seed, fast=0.0):
    """120 argon atoms at rest but for vibrations, and one that flies away along x."""
    random = np.random.default_rng(seed)
    lattice = 3.8 * np.stack(np.meshgrid(*[np.arange(5)] * 3), axis=-1).reshape(-1, 3)
    positions = lattice[:120] + 0.1 * random.normal(size=(120, 3))
    atoms = Atoms("Ar120", positions, cell=np.eye(3) * 19.0, pbc=False)
    velocities = 0.002 * random.normal(size=(120, 3))
    velocities[np.argmax(atoms.positions[:, 0]), 0] += fast
    atoms.set_velocities(velocities / units.fs)
    return atoms


@pytest.fixture
def plans(monkeypatch):
    """How often bins were laid out."""
    found = []
    plan = VerletList._plan
    monkeypatch.setattr(VerletList, "_plan", lambda self, *rest: (found.append(1), plan(self, *rest))[1])
    return found


@pytest.mark.both
@pytest.mark.parametrize("pbc", [[False] * 3, [False, True, True]], ids=["droplet", "slab"])
def test_bins_serve_until_an_atom_leaves_them(pbc, plans, monkeypatch):
    """A run in which an atom flies 100 Å away has the bits of a run with bins laid out each time."""
    atoms = droplet(1, fast=0.05)
    atoms.pbc = pbc
    ends, laid_out = [], []
    for often in (False, True):
        if often:
            monkeypatch.setattr(VerletList, "_planned", lambda self, *_: setattr(self, "_extents", None))
            monkeypatch.setattr(Lists, "builds_allowed", 0)
        engine = Engine(atoms, ARGON, backend="cpu")
        plans.clear()
        engine.advance(2000, 1.0 * units.fs)
        ends.append([engine.positions(), engine.forces()])
        laid_out.append(len(plans))
        builds = engine.statistics()["rebuilds"]
    assert np.ptp(ends[0][0][:, 0]) > 100.0
    np.testing.assert_array_equal(*ends)
    assert laid_out[1] >= builds - 1
    assert 1 <= laid_out[0] < laid_out[1] / 2


def test_bins_of_a_batch_serve_each_system(plans):
    """Of two droplets and a slab only one droplet loses an atom; each has the bits that it has alone."""
    each = [droplet(1), droplet(2, fast=0.05), droplet(3)]
    each[2].pbc = [False, True, True]
    batch = Batch(each, ARGON, backend="cpu")
    plans.clear()
    batch.advance(1000, 1.0 * units.fs)
    assert 1 <= len(plans) < batch.members[0].statistics()["rebuilds"]
    for member, atoms in zip(batch.members, each, strict=True):
        alone = Engine(atoms, ARGON, backend="cpu")
        alone.advance(1000, 1.0 * units.fs)
        np.testing.assert_array_equal(member.positions(), alone.positions())


def test_atoms_that_are_put_outside_of_the_bins_are_found(plans):
    """Positions set by a user: forces are those of a new engine."""
    atoms = droplet(4)
    engine = Engine(atoms, ARGON, backend="cpu")
    engine.advance(10, 1.0 * units.fs)
    plans.clear()
    atoms.positions[:60] += [200.0, 0.0, -300.0]
    engine.set_state(positions=atoms.positions)
    np.testing.assert_array_equal(engine.forces(), Engine(atoms, ARGON, backend="cpu").forces())
    assert plans


def test_a_change_of_the_skins_reads_no_positions(plans, monkeypatch):
    """Bins of other skins cover the same extent, of one system and of each of several."""
    each = [droplet(5), droplet(6)]
    each[1].pbc = [False, True, True]
    batch = Batch(each, ARGON, backend="cpu")
    forces = [member.forces() for member in batch.members]
    plans.clear()
    monkeypatch.setattr(verlet_list, "extent_of", None)
    lists = batch.device.lists
    for outer in (0.7, 0.2):
        lists.skins.outer = outer * lists.cutoff
        lists.outdate()
        batch.device.finish()
        batch.forget()
        np.testing.assert_array_equal([member.forces() for member in batch.members], forces)
    assert len(plans) == 2
