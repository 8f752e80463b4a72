"""What the barostats sample: mean stresses, and volumes as the isothermal-isobaric ensemble has them."""

import sys
from pathlib import Path

import numpy as np
import pytest
import structures
from ase.build import bulk

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from taichimd import units
from taichimd.dynamics.pressure import BerendsenNPT, MartynaTobiasKlein, StochasticCellRescaling
from taichimd.engine import Engine
from taichimd.forcefields.lennard_jones import LennardJones
from validation import ensembles_npt as driver

CASES = [
    (BerendsenNPT, "isotropic", 0.3),
    (StochasticCellRescaling, "triclinic", 0.3),
    (MartynaTobiasKlein, "triclinic", (0.2, 0.3, 0.4)),
]


@pytest.mark.parametrize(("kind", "control", "pressure"), CASES)
def test_the_pressure_of_a_crystal_is_the_one_asked_for(kind, control, pressure):
    """Stress tensors of argon at 40 K: their mean is the target, off the diagonal zero, within the errors."""
    atoms = structures.with_velocities(bulk("Ar", cubic=True, a=5.3).repeat(3), 80.0, 2)
    ensemble = kind(
        40.0, coupling_time=100.0, pressure=pressure, pressure_coupling_time=400.0, bulk_modulus=3.0,
        control=control, seed=4, period=2,
    )  # fmt: skip
    forcefield = LennardJones(**structures.ARGON, cutoff=6.0, truncation="force-shifted")
    engine = Engine(atoms, forcefield, ensemble=ensemble)
    dt, stresses = 5.0 * units.FS, []
    engine.advance(800, dt)
    for _ in range(400):
        engine.advance(10, dt)
        v, w = engine.velocities(), engine.evaluate().virials.sum(axis=0)
        kinetic = np.einsum("i,ia,ib->ab", engine.masses, v, v)
        stresses.append((kinetic + 0.5 * (w + w.T)) / engine.volume / units.GPA)
    stresses = np.array(stresses)
    target = np.diag(np.broadcast_to(pressure, 3)).astype(float)
    for a, b in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)) if control == "triclinic" else ():
        error = driver.block_error(stresses[:, a, b], 10)
        assert abs(stresses[:, a, b].mean() - target[a, b]) < 4 * error + 1e-3, (a, b)
        assert error < 0.02
    mean = np.trace(stresses, axis1=1, axis2=2) / 3
    error = driver.block_error(mean, 10)
    # kT/V and the like: the mean of P differs from p by a share of the order 1/N.
    assert abs(mean.mean() - np.trace(target) / 3) < 4 * error + 1e-3
    assert error < 0.02


@pytest.mark.parametrize("name", ["npt-scr", "npt-mtk"])
def test_volumes_at_two_pressures_have_the_ratio_of_boltzmann_factors(name):
    exact = (driver.PRESSURES[0] - driver.PRESSURES[1]) * units.GPA / (units.KB * driver.TEMPERATURE)
    volumes = [driver.volumes_of_liquid(name, pressure, 200) for pressure in driver.PRESSURES]
    slope, error = driver.slope_of_log_ratio(*volumes)
    assert error < 0.25 * abs(exact), "the error is too large for the test to tell anything"
    assert abs(slope - exact) < 4 * error


def test_volumes_of_a_gas_have_the_gamma_distribution():
    volumes = driver.volumes_of_gas(300)
    error = driver.block_error(volumes, 15)
    assert error < 0.02 * driver.GAS_ATOMS
    assert abs(volumes.mean() - driver.GAS_ATOMS) < 4 * error
    deviation = volumes.std() / driver.GAS_ATOMS**0.5
    assert 0.8 < deviation < 1.25


def test_slope_of_a_known_ratio():
    """Gamma distributions of one shape and two scales: the ratio's logarithm is a line exactly."""
    rng = np.random.default_rng(1)
    one, two = (rng.gamma(20.0, scale, 4000) for scale in (1.0, 0.9))
    slope, error = driver.slope_of_log_ratio(one, two)
    assert abs(slope - (1.0 - 1.0 / 0.9)) < 4 * error
    assert error < 0.02
