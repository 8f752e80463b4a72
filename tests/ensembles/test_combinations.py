"""Thermostats and motions of the cell combine: which do, and that those which do are right."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import BerendsenCell, InertialCell, StochasticCell, combine, testing
from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.ensembles.registry import (
    COMBINED,
    MOTIONS,
    THERMOSTATS,
    Berendsen,
    Bussi,
    Langevin,
    NoseHoover,
    StochasticCellRescaling,
)
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.batch import Batch
from taichimd.program.engine import Engine
from validation.physics import ensembles_npt as driver

pytestmark = pytest.mark.first

CONSERVED = ("npt-scr-nose-hoover", "npt-mtk-langevin")
"""Both motions of the cell, each with one thermostat: neither knows of the other."""
SMOOTH = {**testing.ARGON, "cutoff": 5.0, "truncation": "force-shifted"}


def test_every_pair_has_a_name_or_a_sentence():
    made = set()
    for motion in MOTIONS.values():
        for thermostat in (*(kind(300.0) for kind in THERMOSTATS.values()), None):
            samples = isinstance(thermostat, Langevin | Bussi | NoseHoover)
            if samples or motion is BerendsenCell:
                made.add(combine(thermostat, motion()).name)
            else:
                with pytest.raises(SettingsError, match=f"^{motion.__name__} "):
                    combine(thermostat, motion())
    assert made == set(COMBINED)


def test_a_combination_has_the_parameters_of_both():
    bath = Bussi(250.0, 80.0, final_temperature=300.0, ramp=(0, 50), seed=7)
    found = combine(bath, StochasticCell(pressure=1.0, control="triclinic", period=5))
    assert found == StochasticCellRescaling(
        250.0,
        80.0,
        final_temperature=300.0,
        ramp=(0, 50),
        seed=7,
        pressure=1.0,
        control="triclinic",
        period=5,
    )


@pytest.mark.parametrize(
    ("thermostat", "motion", "words"),
    [
        (None, StochasticCell(), "StochasticCell has noise of a thermostat's temperature, and there is no"),
        (Berendsen(300.0), InertialCell(), "InertialCell samples an ensemble, and Berendsen does not"),
        (300.0, InertialCell(), "300.0 cannot be combined: expected a thermostat such as"),
        (Bussi(300.0), Bussi(300.0), "cannot be combined: expected a motion of the cell"),
        (Bussi(300.0, ramp=(0, 5)), BerendsenCell(ramp=(0, 6)), "ramp = (0, 5) of the thermostat, (0, 6) of"),
    ],
)
def test_what_does_not_combine_is_refused(thermostat, motion, words):
    with pytest.raises(SettingsError) as caught:
        combine(thermostat, motion)
    assert words in str(caught.value)


def test_a_chain_needs_more_actions_than_other_thermostats():
    chain = combine(NoseHoover(300.0, coupling_time=50.0), StochasticCell(period=10))
    with pytest.raises(SettingsError, match="10 fs, which is longer than coupling_time/10 = 5 fs"):
        chain.check_timestep(1.0 * units.FS)
    combine(Langevin(300.0, coupling_time=5.0), StochasticCell()).check_timestep(1.0 * units.FS)


def argon():
    return testing.with_velocities(bulk("Ar", cubic=True, a=5.3).repeat(2), 80.0, 2)


@pytest.mark.long
@pytest.mark.parametrize("name", CONSERVED)
def test_the_conserved_energy_is_conserved_to_second_order(name):
    """Its scatter falls with the time step, while heat and work go in and out."""
    scatter = []
    for timestep in (8.0, 4.0):
        ensemble = COMBINED[name](
            40.0,
            coupling_time=200.0,
            seed=3,
            pressure=0.3,
            pressure_coupling_time=500.0,
            bulk_modulus=3.0,
            period=2,
        )
        engine = Engine(argon(), LennardJones(**SMOOTH), ensemble=ensemble)
        engine.advance(int(400 / timestep), timestep * units.FS)
        seen = []
        for _ in range(60):
            engine.advance(int(40 / timestep), timestep * units.FS)
            now = engine.thermo()
            seen.append((now.conserved, now.potential + now.kinetic))
        conserved, total = np.array(seen).T
        scatter.append(conserved.std())
        assert conserved.std() < 0.05 * total.std()
    assert scatter[1] < 0.6 * scatter[0]


@pytest.mark.long
def test_volumes_of_a_gas_have_the_mean_of_their_degrees_of_freedom():
    """V^(N_f/3) exp(-pV/kT): the mean is N_f/3 + 1 in units of kT/p, N + 1 with Langevin's 3N."""
    volumes = driver.volumes_of_gas(2000, name="npt-scr-langevin")
    error = driver.block_error(volumes, 20)
    exact = driver.GAS_ATOMS + 1
    assert error < 0.03 * exact
    assert abs(volumes.mean() - exact) < 4 * error


@pytest.mark.parametrize("thermostat", [None, Langevin(300.0), Bussi(300.0), NoseHoover(300.0)])
def test_berendsens_cell_does_what_its_equation_says_with_any_thermostat(thermostat):
    """Free atoms: V becomes V (1 + r dt (2K/3V - p))^3 in each step, K the kinetic energy after the last."""
    grid = np.array(list(np.ndindex(2, 2, 2))) * 50.0
    atoms = testing.with_velocities(Atoms("Ar4Kr4", grid, cell=[100.0] * 3, pbc=True), 300.0, 3)
    motion = BerendsenCell(pressure=1e-4, pressure_coupling_time=100.0, bulk_modulus=0.001, period=1)
    forcefield = LennardJones(epsilon=1e-300, sigma=0.1, cutoff=6.0, truncation="force-shifted")
    engine = Engine(atoms, forcefield, ensemble=combine(thermostat, motion))
    assert engine.thermo().conserved is None
    rate, dt = 1.0 / (3.0 * 0.001 * units.GPA * 100.0), 4.0
    engine.advance(1, dt * units.FS)
    for _ in range(4):
        kinetic, volume = engine.thermo().kinetic, engine.volume
        engine.advance(1, dt * units.FS)
        strain = rate * dt * (2.0 * kinetic / (3.0 * volume) - 1e-4 * units.GPA)
        assert abs(strain) > 1e-5
        assert engine.volume == pytest.approx(volume * (1.0 + strain) ** 3, rel=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("name", CONSERVED)
def test_batches_and_restarts_have_the_same_bits(name):
    options = {"coupling_time": 200.0, "pressure": 0.3, "bulk_modulus": 3.0, "period": 2}
    baths = [COMBINED[name](40.0, seed=3, **options), COMBINED[name](60.0, seed=4, **options)]
    forcefield, dt = LennardJones(**SMOOTH), 5.0 * units.FS
    alone = Engine(argon(), forcefield, ensemble=baths[1])
    batch = Batch([argon(), argon()], forcefield, ensembles=baths)
    batch.advance(12, dt)
    alone.advance(7, dt)
    again = Engine(argon(), forcefield, ensemble=baths[1])
    again.set_state(
        positions=alone.positions(), velocities=alone.velocities(), forces=alone.forces(), step=7,
        bath=alone.bath_state(),
    )  # fmt: skip
    alone.advance(5, dt)
    again.advance(5, dt)
    for one in (again, batch.members[1]):
        np.testing.assert_array_equal(one.positions(), alone.positions())
        np.testing.assert_array_equal(one.velocities(), alone.velocities())
        assert one.thermo().conserved == alone.thermo().conserved
