"""The driving force of homogeneous non-equilibrium molecular dynamics."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import testing
from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.ensembles.registry import Langevin, NoseHoover, StochasticCellRescaling
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program.batch import Batch
from taichimd.program.engine import Engine

PULL = (2e-3, -1e-3, 3e-3)


def silicon():
    atoms = testing.rattled(bulk("Si", cubic=True).repeat((2, 2, 2)), 0.05, 4)
    return testing.with_velocities(atoms, 600.0, 5), load_forcefield("Si.sw"), 1.0 * units.FS


def tersoff():
    atoms = testing.rattled(bulk("Si", cubic=True).repeat((2, 2, 2)), 0.05, 4)
    return testing.with_velocities(atoms, 600.0, 5), load_forcefield("Si_1989.tersoff"), 1.0 * units.FS


def argon():
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.4).repeat(3), 0.1, 1)
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    return testing.with_velocities(atoms, 60.0, 2), forcefield, 4.0 * units.FS


def silica():
    forcefield = load_forcefield("SiO2_1990.vashishta")
    return testing.with_velocities(testing.silica_192(), 600.0, 5), forcefield, 1.0 * units.FS


SYSTEMS = {"silicon": silicon, "tersoff": tersoff, "argon": argon, "silica": silica}
MAIN = pytest.mark.parametrize("name", SYSTEMS)


def made(name, pull=PULL, **options):
    atoms, forcefield, dt = SYSTEMS[name]()
    ensemble = NoseHoover(60.0 if name == "argon" else 300.0, coupling_time=100.0)
    return Engine(atoms, forcefield, ensemble=ensemble, driving_force=pull, **options), dt


@MAIN
def test_the_extra_force_is_the_virial_times_the_driving_force(name):
    driven, _ = made(name)
    plain = made(name, None)[0].evaluate()
    found = driven.forces() - plain.forces
    expected = np.einsum("iab,a->ib", plain.virials, PULL)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * abs(plain.forces).max())
    assert abs(expected).max() > 1e-3 * abs(plain.forces).max()
    # With the heat current it does the work J.F_e: the potential part of J is that same sum over atoms.
    power = (found * driven.velocities()).sum()
    assert power == pytest.approx(float(np.dot(driven.heat_current().potential, PULL)), rel=1e-9)


@MAIN
def test_momentum_stays_zero_and_bits_do_not_depend_on_the_organisation(name):
    engine, dt = made(name)
    scale = abs(engine.masses[:, None] * engine.velocities()).sum()
    engine.advance(40, dt)
    momentum = abs((engine.masses[:, None] * engine.velocities()).sum(axis=0)).max()
    assert momentum < 1e-9 * scale  # its sum is rounded to 2^-36
    assert engine.thermo().conserved is None
    for skin in (0.2, 2.0):
        other, _ = made(name, skin=skin)
        for steps in (1, 7, 32):
            other.advance(steps, dt)
        np.testing.assert_array_equal(other.positions(), engine.positions())
        np.testing.assert_array_equal(other.velocities(), engine.velocities())
        np.testing.assert_array_equal(other.forces(), engine.forces())


@pytest.mark.parametrize("name", ["silicon", "argon"])
def test_a_centre_of_mass_that_moves_is_no_heat(name):
    """It is brought to rest in the first step, and the thermostat does not count its kinetic energy."""
    resting, dt = made(name)
    moving, _ = made(name)
    drift = 3.0 * np.array([0.02, -0.03, 0.01])
    moving.set_state(positions=moving.positions(), velocities=moving.velocities() + drift)
    own, masses = resting.velocities(), resting.masses[:, None]
    assert (masses * drift**2).sum() > 0.3 * (masses * own**2).sum()
    for one in (resting, moving):
        one.advance(1, dt)
    # The step itself goes with the drift.
    np.testing.assert_allclose(
        moving.positions() - resting.positions(), np.tile(drift * dt, (len(own), 1)), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(moving.velocities(), resting.velocities(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(moving.bath_state()["bath"], resting.bath_state()["bath"], rtol=0, atol=1e-8)


def test_heat_flows_along_the_driving_force():
    """Opposite forces on the same start: noise of equilibrium cancels, the answer to the force stays."""
    flows = {}
    for sign in (1.0, -1.0):
        engine, dt = made("argon", (0.0, 0.0, sign * 2e-3))
        samples = []
        for _ in range(60):
            engine.advance(2, dt)
            samples.append(engine.heat_current().total)
        flows[sign] = np.array(samples)
    answer = 0.5 * (flows[1.0] - flows[-1.0]).mean(axis=0)
    assert answer[2] > 0.0
    assert answer[2] > 3 * abs(answer[:2]).max()


def test_mistakes():
    atoms, forcefield, _ = argon()
    with pytest.raises(SettingsError, match="nve does not remove the heat"):
        Engine(atoms, forcefield, driving_force=PULL)
    for ensemble in (Langevin(60.0), StochasticCellRescaling(60.0)):
        with pytest.raises(SettingsError, match=f"{ensemble.name} does not remove the heat"):
            Engine(atoms, forcefield, ensemble=ensemble, driving_force=PULL)
    for pull in ((1.0, 2.0), (0.0, 0.0, float("nan"))):
        with pytest.raises(SettingsError, match="expected three numbers"):
            Engine(atoms, forcefield, ensemble=NoseHoover(60.0), driving_force=pull)


def test_pairs_in_mixed_precision_end_a_call_as_they_go_through_a_step():
    ends = []
    for calls in ([40], [1] * 40):
        engine, dt = made("argon", precision="mixed")
        for steps in calls:
            engine.advance(steps, dt)
        ends.append(engine.positions())
    np.testing.assert_array_equal(*ends)


def test_all_pairs_do_not_go_with_a_driving_force():
    atoms, _, _ = argon()
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, enumeration="all-pairs")
    with pytest.raises(
        SettingsError, match='"all-pairs" cannot be combined with a driving force; use neighbour'
    ):
        Engine(atoms, forcefield, ensemble=NoseHoover(60.0), driving_force=PULL)


@pytest.mark.parametrize("name", ["argon", pytest.param("tersoff", marks=pytest.mark.long)])
def test_systems_of_a_batch_have_driving_forces_of_their_own(name):
    atoms, forcefield, dt = SYSTEMS[name]()
    chains = [NoseHoover(kelvin, coupling_time=100.0) for kelvin in (60.0, 80.0, 60.0)]
    forces = [(2e-3, 0.0, 0.0), (0.0, -1e-3, 0.0), (1e-3, 0.0, 0.0)]
    batch = Batch([atoms] * 3, forcefield, ensembles=chains, driving_forces=forces)
    batch.advance(5, dt)
    for member, chain, force in zip(batch.members, chains, forces, strict=True):
        alone = Engine(atoms, forcefield, ensemble=chain, driving_force=force)
        alone.advance(5, dt)
        for read in ("positions", "velocities", "forces"):
            np.testing.assert_array_equal(getattr(member, read)(), getattr(alone, read)())
        assert member.bath_state() == alone.bath_state()
    with pytest.raises(SettingsError, match="driving_forces: expected one of each of the 3 systems"):
        Batch([atoms] * 3, forcefield, ensembles=chains, driving_forces=forces[:2])
