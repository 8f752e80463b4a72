"""States of atoms that a contribution keeps: sorted with them, in checkpoints, restarts and frames."""

import ase.io
import numpy as np
import pytest
from ase import units

from taichimd import (
    ManyBody,
    MartynaTobiasKlein,
    Simulation,
    each_atom,
    neighbour_sum,
    pair_forces,
    testing,
)
from taichimd.core.errors import CheckpointError, SettingsError
from taichimd.io.checkpoint import read_checkpoint, write_checkpoint
from taichimd.program.engine import Engine


@neighbour_sum("coordination")
def coordination(r, p, mine, theirs):
    return (1.0 - r / p.cutoff) ** 2


@each_atom("before", "charge", each_step=True)
def remember(mine):
    """The charge follows the coordination slowly, and what it was a step ago is kept."""
    return 0.0, mine.charge, 0.9 * mine.charge + 0.1 * mine.coordination


@pair_forces
def repulsion(r, p, mine, theirs):
    """A force that knows charges, and one of their history."""
    x = 1.0 - r / p.cutoff
    scale = p.k * (1.0 + 1e-3 * (mine.charge + theirs.charge - mine.before))
    return 0.5 * scale * x * x, -scale * x / p.cutoff, -scale * x / p.cutoff


TOY = ManyBody(
    "toy", [coordination, remember, repulsion], arrays=("coordination", "charge", "before"),
    state=("charge", "before"), params={"k": "eV"},
)(k=0.2, cutoff=5.5)  # fmt: skip


def atoms():
    return testing.with_velocities(testing.argon_256(), 300.0, 2)


def reference(engine):
    """Coordination of each atom by brute force."""
    x, cell = engine.positions(), np.diag(engine.cell)
    d = x[None] - x[:, None]
    d -= cell * np.round(d / cell)
    r = np.sqrt((d**2).sum(-1))
    return np.where((r > 0) & (r < 5.5), (1.0 - r / 5.5) ** 2, 0.0).sum(1)


@pytest.mark.both
def test_a_state_is_updated_once_a_step_and_follows_its_atom():
    engine = Engine(atoms(), TOY)
    charge = np.zeros(256)
    for _ in range(12):
        before = charge
        engine.advance(1, 4.0 * units.fs)
        engine.evaluate()
        engine.thermo()
        charge = 0.9 * charge + 0.1 * reference(engine)
        states = engine.atom_states()
        np.testing.assert_allclose(states["toy_charge"], charge, rtol=1e-12)
        np.testing.assert_allclose(states["toy_before"], before, rtol=1e-12)


def test_states_do_not_show_when_lists_are_built_nor_how_steps_are_called():
    one, other = Engine(atoms(), TOY), Engine(atoms(), TOY, skin=0.1)
    one.advance(90, 4.0 * units.fs)
    for steps in (1, 40, 49):
        other.advance(steps, 4.0 * units.fs)
    assert other.statistics()["rebuilds"] > one.statistics()["rebuilds"]
    np.testing.assert_array_equal(one.positions(), other.positions())
    for name, numbers in one.atom_states().items():
        np.testing.assert_array_equal(numbers, other.atom_states()[name])


@pytest.mark.parametrize("ensemble", [None, MartynaTobiasKlein(600.0)])
def test_a_restart_has_the_bits_of_a_straight_run(tmp_path, ensemble):
    straight, first = (Simulation(atoms(), TOY, timestep=4.0, ensemble=ensemble) for _ in range(2))
    straight.run(60)
    first.run(25)
    first.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz", TOY)
    again.run(35)
    np.testing.assert_array_equal(straight.engine.positions(), again.engine.positions())
    for name, numbers in straight.engine.atom_states().items():
        np.testing.assert_array_equal(numbers, again.engine.atom_states()[name])
        assert np.abs(numbers).max() > 0.0


@pytest.mark.parametrize("name", ["frames.extxyz", "frames.traj"])
def test_frames_have_states(tmp_path, name):
    from taichimd import TrajectoryFile

    simulation = Simulation(atoms(), TOY, timestep=4.0)
    simulation.run(20, observers=[TrajectoryFile(tmp_path / name, every=20)])
    frame = ase.io.read(tmp_path / name)
    expected = simulation.engine.atom_states()["toy_charge"]
    found = frame.arrays if name.endswith("xyz") else frame.info
    np.testing.assert_allclose(found["toy_charge"], expected, rtol=1e-12)


def test_a_state_of_another_length_is_refused(tmp_path):
    simulation = Simulation(atoms(), TOY, timestep=4.0)
    simulation.run(2)
    path = tmp_path / "checkpoint.npz"
    simulation.save(path)
    checkpoint = read_checkpoint(path)
    checkpoint.states["toy_charge"] = np.zeros(255)
    write_checkpoint(path, checkpoint)
    with pytest.raises(CheckpointError, match=r"state\.toy_charge is .*, expected 256 finite numbers"):
        read_checkpoint(path)
    with pytest.raises(SettingsError, match="the force field keeps toy_before, toy_charge"):
        simulation.engine.set_atom_states({})


def test_passes_that_no_enumeration_runs_are_refused():
    from dataclasses import replace

    with pytest.raises(SettingsError, match=r"pass 1 \(four at once\): no enumeration runs such a pass"):
        ManyBody("x", [replace(repulsion, kind="four at once")], arrays=(), params={})
    with pytest.raises(SettingsError, match="forces are the last pass"):
        ManyBody("x", [repulsion, coordination], arrays=("coordination",), params={})
    with pytest.raises(SettingsError, match="writes 'coordination', which is not declared"):
        ManyBody("x", [coordination], arrays=("density",), params={})
    with pytest.raises(SettingsError, match="state 'charge' is not one of its arrays"):
        ManyBody("x", [coordination], arrays=("coordination",), state=("charge",), params={})
