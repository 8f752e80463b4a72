"""Lists rebuilt inside the loop on the device: no trace in a result, and the host when it is needed."""

import numpy as np
import pytest
from ase import units
from ase.build import bulk

from taichimd import testing
from taichimd.core import runtime
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.registry import NVE, BerendsenNPT, Bussi, Langevin
from taichimd.enumerate.group import TermGroup
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.neighbours.lists import NEVER, Lists
from taichimd.neighbours.verlet_list import VerletList
from taichimd.program.engine import Engine
from taichimd.program.unroll import steps_per_call

pytestmark = pytest.mark.skipif(not runtime.DEVICE_LOOPS, reason="Taichi has no loops on the device")

ARGON = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
ENSEMBLES = {
    "nve": NVE(),
    "langevin": Langevin(200.0, coupling_time=50.0),
    "bussi": Bussi(200.0, coupling_time=50.0),
    "berendsen": BerendsenNPT(200.0, coupling_time=50.0, pressure=0.3, bulk_modulus=3.0, period=7),
}


def argon(ensemble=None, skin=None):
    atoms = testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(3), 300.0, 1)
    return Engine(atoms, ARGON, ensemble=ensemble, skin=skin)


def state(engine):
    return [engine.positions(), engine.velocities(), engine.forces(), engine.cell]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(state(one), state(other), strict=True))


@pytest.mark.parametrize(
    ("name", "skin"),
    [
        ("nve", None), ("langevin", None), ("bussi", None), ("nve", 0.4),
        pytest.param("berendsen", 0.4, marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_builds_on_the_device_leave_no_trace(name, skin, monkeypatch):
    found, by_host = {}, []
    build = VerletList.build
    monkeypatch.setattr(VerletList, "build", lambda *args: (by_host.append(1), build(*args)))
    for allowed in (0, 63):
        monkeypatch.setattr(Lists, "builds_allowed", allowed)
        by_host.clear()
        engine = argon(ENSEMBLES[name], skin)
        assert engine.device.lists.near_list == (skin is None)
        engine.advance(120, 4.0 * units.fs)
        for _ in range(30):
            engine.advance(1, 4.0 * units.fs)
        found[allowed] = engine
    assert found[63].device.lists.verlet.builds > len(by_host) + 2
    assert same(found[0], found[63])


@pytest.mark.parametrize("name", ["nve", "langevin", "berendsen"])
def test_rounds_of_several_steps_are_those_steps(name, monkeypatch):
    """As on CUDA, where a round costs as much as three loops."""
    one = argon(ENSEMBLES[name])
    monkeypatch.setattr("taichimd.program.device.steps_per_call", lambda *_: 3)
    three = argon(ENSEMBLES[name])
    assert (one.device.unroll, three.device.unroll) == (1, 3)
    for steps in (100, 1, 2, 3, 5):
        for engine in (one, three):
            engine.advance(steps, 4.0 * units.fs)
        assert same(one, three)


def test_rounds_on_cuda_fit_between_two_actions_of_a_barostat():
    tersoff = (TermGroup(load_forcefield("Si.tersoff").bind(["Si"])[0].terms),)
    npt = {period: Coupling(BerendsenNPT, "isotropic", "xyz", period) for period in (1, 9, 10)}
    found = [steps_per_call("cuda", 8_000, tersoff, npt[period]) for period in npt]
    assert found == [2, 2, 3]
    assert steps_per_call("cuda", 8_000, tersoff, Coupling()) == 2
    assert steps_per_call("cpu", 8_000, tersoff, npt[10]) == 1


def test_a_build_on_the_device_with_too_little_room_is_mended_by_the_host():
    forced, free = argon(), argon()
    lists = forced.device.lists
    forced.advance(5, 4.0 * units.fs)
    # The near list serves until the first build, whose rows are then too short.
    lists.verlet.width = 24
    lists.most_age = 1
    forced.advance(20, 4.0 * units.fs)
    assert lists.verlet.width >= lists.verlet.count.to_numpy().max() > 24
    lists.most_age = NEVER
    free.advance(25, 4.0 * units.fs)
    assert same(forced, free)


def test_a_near_list_with_too_little_room_is_mended_by_the_host():
    atoms = testing.with_velocities(testing.silicon_216(), 600.0, 4)
    forced, free = (Engine(atoms, load_forcefield("Si.sw")) for _ in range(2))
    lists = forced.device.lists
    near = lists.near[0]
    near.near.width = 2
    near._reserve()
    lists.most_age = 3
    forced.advance(20, 1.0 * units.fs)
    assert near.near.width > 4
    free.advance(20, 1.0 * units.fs)
    assert same(forced, free)


def test_forced_builds_are_counted_and_teach_nothing():
    engine, free = argon(), argon()
    for each in (engine, free):
        each.advance(60, 4.0 * units.fs)
    lists = engine.device.lists
    before, learnt = lists.verlet.builds, (lists.skins.outer, lists.skins.inner)
    for _ in range(2):
        lists.force_builds(5)
        assert lists.skins.inner == lists.skins.first_inner != learnt[1]
        engine.advance(50, 4.0 * units.fs)
        free.advance(50, 4.0 * units.fs)
        assert same(engine, free)
    assert 18 <= lists.verlet.builds - before <= 24
    lists.force_builds(None)
    assert (lists.skins.outer, lists.skins.inner) == learnt
    lists.force_builds(None)
    assert (lists.skins.outer, lists.skins.inner) == learnt
    for each in (engine, free):
        each.advance(50, 4.0 * units.fs)
    assert same(engine, free)


@pytest.mark.long
def test_a_cell_whose_bins_became_too_narrow_goes_back_to_the_host():
    """Under 3 GPa argon shrinks by more than bins have to spare."""
    engine = argon(BerendsenNPT(50.0, pressure=3.0, bulk_modulus=20.0, pressure_coupling_time=200.0))
    grids = set()
    volume = engine.volume
    for _ in range(6):
        engine.advance(40, 4.0 * units.fs)
        grids.add(tuple(engine.device.lists.verlet.sort.bins))
        found = engine.evaluate()
        atoms = bulk("Ar", cubic=True, a=5.5).repeat(3)
        atoms.cell, atoms.positions = engine.cell, engine.positions()
        fresh = Engine(atoms, ARGON).evaluate()
        assert np.array_equal(found.forces, fresh.forces)
    assert engine.volume < 0.8 * volume


def test_grids_hold_what_a_gpu_does_at_a_time(monkeypatch):
    """Grids come in few sizes, and hold all threads up to 256 blocks a multiprocessor."""
    monkeypatch.setattr(runtime, "backend", lambda: "cuda")
    monkeypatch.setattr(runtime, "multiprocessors", lambda: 100)
    threads = [int(10 ** (k / 4)) for k in range(36)]
    blocks = [runtime.blocks_for(n) for n in threads]
    assert blocks == sorted(blocks)
    assert len(set(blocks)) == 7
    assert all(128 * b >= n for b, n in zip(blocks, threads, strict=True) if n <= 128 * 256 * 100)
    assert blocks[-1] == 25_600
    at_a_time = [n for b, n in zip(blocks, threads, strict=True) if not runtime.fills_device(b)]
    assert max(at_a_time) <= 128 * 16 * 100 < threads[len(at_a_time)]
