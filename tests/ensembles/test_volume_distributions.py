"""What the barostats sample: mean stresses, and volumes as the isothermal-isobaric ensemble has them."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import testing
from taichimd.core import units
from taichimd.ensembles.registry import BerendsenNPT, MartynaTobiasKlein
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine
from validation.physics import ensembles_npt as driver

pytestmark = pytest.mark.first

CASES = [
    (BerendsenNPT, "isotropic", 0.3),
    (MartynaTobiasKlein, "triclinic", (0.2, 0.3, 0.4)),
]


@pytest.mark.parametrize(("kind", "control", "pressure"), CASES)
def test_the_pressure_of_a_crystal_is_the_one_asked_for(kind, control, pressure):
    """Stress tensors of argon at 40 K: their mean is the target, off the diagonal zero, within the errors."""
    atoms = testing.with_velocities(bulk("Ar", cubic=True, a=5.3).repeat(3), 80.0, 2)
    ensemble = kind(
        40.0, coupling_time=100.0, pressure=pressure, pressure_coupling_time=400.0, bulk_modulus=3.0,
        control=control, seed=4, period=2,
    )  # fmt: skip
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
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


@pytest.mark.long
def test_volumes_at_two_pressures_have_the_ratio_of_boltzmann_factors():
    exact = (driver.PRESSURES[0] - driver.PRESSURES[1]) * units.GPA / (units.KB * driver.TEMPERATURE)
    volumes = [driver.volumes_of_liquid("npt-scr", p, 200, period=10) for p in driver.PRESSURES]
    slope, error = driver.slope_of_log_ratio(*volumes)
    assert error < 0.25 * abs(exact), "the error is too large for the test to tell anything"
    assert abs(slope - exact) < 4 * error


def crystal(edge, ensemble):
    """108 atoms of argon, equilibrated; edge of the cubic cell in angstrom."""
    atoms = bulk("Ar", cubic=True, a=edge) * 3
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    engine = Engine(
        testing.with_velocities(atoms, 2 * ensemble.temperature, 3), forcefield, ensemble=ensemble
    )
    engine.advance(500, 10.0 * units.FS)
    return engine


@pytest.mark.long
def test_volumes_of_cells_of_any_shape_have_the_same_ratio():
    """Of a crystal. The slope is that of the volume alone, whatever else of the cell may change."""
    pressures, temperature, timestep = (0.05, 0.08), 40.0, 5.0
    exact = (pressures[0] - pressures[1]) * units.GPA / (units.KB * temperature)
    volumes, shapes = [], []
    for pressure in pressures:
        ensemble = MartynaTobiasKlein(
            temperature, coupling_time=200.0, pressure=pressure, pressure_coupling_time=300.0,
            bulk_modulus=2.0, control="triclinic", seed=11,
        )  # fmt: skip
        engine = crystal(5.30, ensemble)
        engine.advance(2000, timestep * units.FS)
        volumes.append(driver.volumes_along(engine, 200, 60, timestep))
        shapes.append(engine.cell)
    slope, error = driver.slope_of_log_ratio(*volumes)
    assert error < 0.2 * abs(exact), "the error is too large for the test to tell anything"
    assert abs(slope - exact) < 4 * error
    for cell in shapes:
        edges, skewed = np.diag(cell), abs(cell - np.diag(np.diag(cell))).max()
        assert np.ptp(edges) > 0.01
        assert skewed > 0.01


@pytest.mark.long
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
