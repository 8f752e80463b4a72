"""The work of a field that depends on time: the total energy less this work is conserved."""

import numpy as np
import pytest
from peers import path_of
from reaxff_samples import water_dimer

from taichimd import Batch, Engine, ReaxFF, Simulation
from taichimd.core import units

STEP = 0.1


def pulse(time):
    """V/angstrom."""
    return 0.1, 0.0, 0.5 * np.sin(0.4 * time)


def forcefield(model="qeq"):
    return ReaxFF(
        path_of("acks2_ff.water"), charges=model, constants="consistent", field=pulse, charge_tolerance=1e-10
    )


@pytest.mark.parametrize(
    "model",
    ["qtpie", pytest.param("qeq", marks=pytest.mark.long), pytest.param("acks2", marks=pytest.mark.long)],
)
def test_total_energy_less_the_work_is_conserved(model):
    engine = Engine(water_dimer(), forcefield(model), backend="cpu")
    totals, kept = [], []
    for _ in range(5):
        found = engine.thermo()
        totals.append(found.potential + found.kinetic)
        kept.append(found.conserved)
        engine.advance(8, STEP * units.FS)
    assert np.ptp(totals) > 0.005
    # What is left is the error of the time step.
    assert np.ptp(kept) < 0.02 * np.ptp(totals)


@pytest.mark.long
def test_restarts_and_batches_have_the_bits_of_the_work(tmp_path):
    """The account is a state of the atoms; systems have accounts of their own."""
    straight, cut = (Simulation(water_dimer(), forcefield(), timestep=STEP, backend="cpu") for _ in range(2))
    straight.run(12)
    cut.run(5)
    cut.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz", forcefield())
    again.run(7)
    assert again.engine.thermo().conserved == straight.engine.thermo().conserved
    systems = [water_dimer(), water_dimer()[:3]]
    engines = [Engine(atoms, forcefield(), backend="cpu") for atoms in systems]
    batch = Batch(systems, forcefield(), backend="cpu")
    for one in (batch, *engines):
        one.advance(12, STEP * units.FS)
    for member, alone in zip(batch.members, engines, strict=True):
        ours = member.thermo()
        assert ours.conserved == alone.thermo().conserved
        assert abs(ours.conserved - ours.potential - ours.kinetic) > 1e-4
