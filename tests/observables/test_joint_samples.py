"""Samples of systems that step together: one launch for all, and each has what it has alone."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import Simulation, Source, testing
from taichimd.app.live import Observations
from taichimd.core.arguments import Kernel
from taichimd.observables.planning import make_plan
from taichimd.transport.sampling import Current

KINDS = ("flow", "profile", "spectrum", "interface")
GROUPS = {"hot": "fx < 0.25", "cold": "fx >= 0.75", "left": "0.25 <= fx < 0.5", "right": "0.5 <= fx < 0.75"}
ACTING = [Source(0.05, on="hot"), Source(-0.05, on="cold")]
SIZES = ((4, 2, 2), (5, 2, 2), (4, 3, 2))


def argon(size, seed):
    """Atoms that drift along."""
    atoms = testing.with_velocities(bulk("Ar", a=5.4, cubic=True).repeat(size), 40.0, seed)
    atoms.set_velocities(np.add(atoms.get_velocities(), [2e-3, -1e-3, 3e-3]))
    return atoms


SYSTEMS = [argon(size, seed) for seed, size in enumerate(SIZES)]


def looks(simulation, axis, kinds=KINDS):
    plan = make_plan(
        kinds, 0, 80, 4.0, 2, 40.0, profile=("x", 3.0), spectrum=(axis, "left,right,left>right", 16.0),
        interface="right>left",
    )  # fmt: skip
    return Current(2), Observations(simulation.engine, plan, simulation.groups)


def kept(current, observations):
    return {"heat": current.series.rows(), **observations.save()}


def same(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


@pytest.fixture(scope="module")
def alone():
    """What each system has alone, after 80 steps."""
    found = []
    for atoms, axis in zip(SYSTEMS, "xyx", strict=True):
        one = Simulation(atoms, "Ar.lj", timestep=4.0, groups=GROUPS, acting=ACTING, backend="cpu")
        samplers = looks(one, axis)
        one.run(80, samplers=samplers)
        found.append(kept(*samplers))
    return found


def together(systems):
    return Simulation(systems, "Ar.lj", timestep=4.0, groups=GROUPS, acting=ACTING, backend="cpu")


def test_each_has_what_it_has_alone_also_after_a_restart(alone):
    many = together(SYSTEMS)
    before = [looks(one, axis) for one, axis in zip(many, "xyx", strict=True)]
    many.run(38, samplers=before)
    after = [looks(one, axis) for one, axis in zip(many, "xyx", strict=True)]
    for (current, observations), (old, saved) in zip(after, before, strict=True):
        current.series.load(old.series.save())
        current._seen = 38
        observations.load(saved.save())
    many.run(42, samplers=after)
    for own, theirs in zip(after, alone, strict=True):
        same(kept(*own), theirs)
    # Rings and sums are not empty, and differ between systems.
    spectra = [one["spectrum.work"] for one in alone]
    assert all(np.count_nonzero(one) > 0.9 * one.size for one in spectra)
    assert not np.array_equal(alone[0]["flow.temperatures"], alone[1]["flow.temperatures"])


def test_systems_go_on_sampling_without_one_that_diverges(alone):
    many = together(SYSTEMS)
    samplers = [looks(one, axis) for one, axis in zip(many, "xyx", strict=True)]
    many.run(20, samplers=samplers)
    fast = many[1].velocities()
    fast[3] = 60.0
    many[1].engine.set_state(velocities=fast)
    for current, _ in samplers:
        current._seen = 20  # the sample of this step is there
    with pytest.warns(UserWarning, match="the other systems continue"):
        many.run(60, samplers=samplers)
    assert list(many.errors) == [1]
    for number in (0, 2):
        same(kept(*samplers[number]), alone[number])
    assert samplers[1][1].taken < 41


def launches(systems, monkeypatch, kinds):
    """Kernels that samples of systems launch."""
    many, count = together(systems), []
    samplers = [looks(one, "x", kinds) for one in many]
    call = Kernel.__call__

    def counted(self, *args):
        count.append(self)
        call(self, *args)

    for _ in range(3):
        many.batch.advance(2, 0.4)
        many.batch.evaluate()
        with monkeypatch.context() as patch:
            patch.setattr(Kernel, "__call__", counted)
            for one in zip(*samplers, strict=True):
                type(one[0]).sample_all(list(zip(one, many, strict=True)))
    return len(count)


def test_the_number_of_launches_does_not_grow_with_the_number_of_systems(monkeypatch):
    two = launches(SYSTEMS[:2], monkeypatch, KINDS)
    assert two >= 3 * 6
    assert launches(SYSTEMS * 2, monkeypatch, KINDS) == two
    # What samples copies of the systems does grow: the count can fail.
    assert launches(SYSTEMS * 2, monkeypatch, ("rdf",)) > launches(SYSTEMS[:2], monkeypatch, ("rdf",))
