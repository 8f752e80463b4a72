"""Deformed cells: exact answers, energy, the same bits however the work is organised."""

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from barostat_engines import SHEAR, SMOOTH, argon
from scipy.linalg import expm

from taichimd import (
    Batch,
    BerendsenCell,
    Bussi,
    Deform,
    Engine,
    LennardJones,
    StochasticCell,
    combine,
    testing,
)
from taichimd.core.errors import SettingsError
from taichimd.program.flips import flipped

GAS = LennardJones(epsilon=1e-300, sigma=0.1, cutoff=6.0, truncation="force-shifted")
PER_SECOND = 1e-15 / units.fs


def gas(deform, cell=None):
    """27 atoms of three masses that do not feel each other."""
    rng = np.random.default_rng(3)
    cell = np.diag([20.0, 18.0, 22.0]) if cell is None else cell
    atoms = Atoms("Ar27", rng.random((27, 3)) @ cell, cell=cell, pbc=True)
    atoms.set_masses([20.0, 40.0, 80.0] * 9)
    return Engine(testing.with_velocities(atoms, 300.0, 3), GAS, ensemble=combine(None, deform))


def work_of(engine):
    return engine.deformation()[1]


# Exact answers.


def test_sllod_of_a_gas_is_exact_and_its_cell_is_flipped():
    """p_x = p_x0 - g p_y t; positions in closed form, without jumps when the cell is flipped."""
    rate, dt, steps = 1e12, units.fs, 1200
    engine = gas(Deform(xy=rate))
    x, v, g = engine.positions(), engine.velocities(), rate * PER_SECOND * dt
    engine.advance(steps, dt)
    k = np.arange(steps)
    expected_v = v.copy()
    expected_v[:, 0] -= steps * g * v[:, 1]
    expected_x = x + steps * dt * v
    y = x[:, 1, None] + np.outer(v[:, 1], k) * dt
    vx = v[:, 0, None] - np.outer(v[:, 1], k) * g
    expected_x[:, 0] = x[:, 0] + (g * y + dt * (vx + 0.5 * g * v[:, 1, None])).sum(axis=1)
    np.testing.assert_allclose(engine.velocities(), expected_v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(engine.positions(), expected_x, rtol=0, atol=1e-9)
    gradient, work = engine.deformation()
    np.testing.assert_allclose(gradient, [[1, 0, 0], [steps * g, 1, 0], [0, 0, 1]], rtol=0, atol=1e-12)
    tilt = engine.cell[1, 0] / engine.cell[0, 0]
    assert abs(tilt) <= 0.6
    assert (18.0 * steps * g / 20.0 - tilt) == pytest.approx(round(18.0 * steps * g / 20.0 - tilt), abs=1e-9)
    mass = engine.masses[:, None]
    assert work == pytest.approx(0.5 * float((mass * (engine.velocities() ** 2 - v**2)).sum()), abs=1e-9)


@pytest.mark.parametrize(("kind", "period"), [("engineering", 1), ("true", 1), ("engineering", 10)])
def test_lengths_and_tilts_follow_their_rates(kind, period):
    """F = 1 + E t, or exp(E t); velocities stay, and atoms move as x' = v + x u, along x in closed form."""
    rates, dt, steps = {"x": 1e11, "z": -5e10, "xz": 8e10}, units.fs, 100
    engine = gas(Deform(**rates, kind=kind, period=period, remap="positions"))
    x, v, cell = engine.positions(), engine.velocities(), engine.cell
    engine.advance(steps, dt)
    total = np.zeros((3, 3))
    for name, at in (("x", (0, 0)), ("z", (2, 2)), ("xz", (2, 0))):
        total[at] = rates[name] * PER_SECOND * dt * steps
    expected = np.eye(3) + total if kind == "engineering" else expm(total)
    np.testing.assert_allclose(engine.deformation()[0], expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(engine.cell, cell @ expected, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(engine.velocities(), v)
    # z' = v + u z with u = e/(1 + e t), or e.
    e, t = rates["z"] * PER_SECOND, dt * steps
    grown = (1 + e * t) * np.log1p(e * t) / e if kind == "engineering" else np.expm1(e * t) / e
    moved = x[:, 2] * expected[2, 2] + v[:, 2] * grown
    np.testing.assert_allclose(engine.positions()[:, 2], moved, rtol=0, atol=1e-9 if period == 1 else 1e-3)


def test_a_flip_changes_neither_energy_nor_forces():
    atoms = argon(shear=False)
    engine = Engine(atoms, LennardJones(**SMOOTH))
    oblique = atoms.copy()
    oblique.cell[1] += oblique.cell[0]
    oblique.cell[2] -= oblique.cell[1]
    new, whole = flipped(oblique.cell.array, atoms.pbc)
    np.testing.assert_allclose(whole @ new, oblique.cell.array, atol=1e-12)
    assert abs(np.linalg.det(whole)) == pytest.approx(1.0)
    same = atoms.copy()
    same.set_cell(new)
    found, expected = Engine(same, LennardJones(**SMOOTH)).evaluate(), engine.evaluate()
    assert found.energy == pytest.approx(expected.energy, rel=1e-13)
    np.testing.assert_allclose(found.forces, expected.forces, rtol=0, atol=1e-12)


@pytest.mark.long
def test_strain_energy_at_rest_is_the_work_of_the_stress():
    """1 % stretch of a crystal at rest: E1 - E0 = -integral P_xx A dL (Simpson), and the work column."""
    atoms, forcefield = bulk("Ar", cubic=True, a=5.4).repeat(3), LennardJones(**SMOOTH)
    atoms.set_velocities(np.zeros((len(atoms), 3)))
    first = atoms.cell.array[0, 0]

    def stretched(strain):
        there = atoms.copy()
        there.set_cell(atoms.cell.array @ np.diag([1 + strain, 1, 1]), scale_atoms=True)
        found = Engine(there, forcefield).evaluate()
        return found.energy, found.stress[0] * there.get_volume() / (first * (1 + strain)) * first

    points = np.linspace(0.0, 0.01, 9)
    energies, pulls = np.array([stretched(strain) for strain in points]).T
    simpson = (points[1] / 3) * (pulls @ [1, 4, 2, 4, 2, 4, 2, 4, 1])
    assert energies[-1] - energies[0] == pytest.approx(simpson, rel=1e-7)
    engine = Engine(atoms, forcefield, ensemble=combine(None, Deform(x=1e11, period=1)))
    engine.advance(100, units.fs)
    thermo = engine.thermo()
    assert engine.cell[0, 0] == pytest.approx(1.01 * first, rel=1e-13)
    assert thermo.potential - energies[0] == pytest.approx(simpson, rel=1e-6)
    assert work_of(engine) == pytest.approx(simpson, rel=1e-5)
    assert thermo.kinetic == pytest.approx(0.0, abs=1e-12)


@pytest.mark.long
def test_sllod_does_the_work_of_the_shear_stress():
    """dH/dt = -g V P_xy of a fluid without a thermostat; the conserved energy is conserved."""
    rate, dt = 5e11, 2.0 * units.fs
    engine = Engine(argon(300.0), LennardJones(**SMOOTH), ensemble=combine(None, Deform(xy=rate)))
    first, powers, kept = engine.thermo(), [], []
    for _ in range(100):
        thermo = engine.thermo()
        powers.append(-rate * PER_SECOND * thermo.volume * engine.pressures()[5] * units.GPa)
        kept.append(thermo.conserved)
        engine.advance(2, dt)
    last = engine.thermo()
    gained = last.potential + last.kinetic - first.potential - first.kinetic
    powers.append(-rate * PER_SECOND * last.volume * engine.pressures()[5] * units.GPa)
    integral = 2 * dt * (sum(powers) - 0.5 * (powers[0] + powers[-1]))
    assert gained > 0.3
    assert integral == pytest.approx(gained, rel=0.01)
    assert work_of(engine) == pytest.approx(gained, rel=0.01)
    assert np.ptp(kept) < 0.02 * gained


@pytest.mark.long
def test_a_barostat_of_the_other_axes_finds_poissons_ratio():
    """Neighbours alone, with central forces, in a cubic crystal: C11 = 2 C12, so 1/3.

    Tension and compression together have no second order in the strain. The barostat lags by the time in
    which it relaxes, 3 B tau/(C11 + C12) with its bulk modulus B: the slope between two times has no lag.
    """
    sigma, epsilon, rate, dt = 3.4, 0.0104, 2e8, 5.0 * units.fs
    length = 2 ** (1 / 6) * sigma
    atoms = bulk("Ar", cubic=True, a=2**0.5 * length).repeat(3)
    atoms.set_velocities(np.zeros((len(atoms), 3)))
    nearest = LennardJones(epsilon=epsilon, sigma=sigma, cutoff=1.35 * sigma, truncation="energy-shifted")
    sides = BerendsenCell(
        control="orthorhombic", axes="yz", pressure_coupling_time=200.0, bulk_modulus=3.0, period=5
    )
    both = [combine(None, sides, Deform(x=sign * rate)) for sign in (1, -1)]
    batch = Batch([atoms, atoms], nearest, ensembles=both)
    strains = []
    for _ in range(2):
        batch.advance(600, dt)
        strains.append([np.diag(one.deformation()[0]) - 1.0 for one in batch.members])
    odd = [0.5 * (pulled - pushed) for pulled, pushed in strains]
    np.testing.assert_allclose([odd[0][0], odd[1][0]], [6e-4, 1.2e-3], rtol=1e-11)
    ratio = -(odd[1] - odd[0])[1:] / (odd[1] - odd[0])[0]
    np.testing.assert_allclose(ratio, 1 / 3, rtol=0, atol=3e-4)
    c11 = 2**0.5 * 72 * epsilon / sigma**2 / 2 ** (1 / 3) / length / units.GPa
    lag = 3 * 3.0 * 200.0 / (1.5 * c11)
    assert -odd[1][1] / odd[1][0] == pytest.approx(1 / 3 * (1 - lag / 6000), abs=2e-3)


# The same bits.


def made(rate, seed=2, **more):
    sides = StochasticCell(
        control="orthorhombic", axes="yz", pressure_coupling_time=300.0, bulk_modulus=3.0, period=3
    )
    return combine(Bussi(120.0, seed=seed), sides, Deform(x=rate, **more))


def sheared(rate, seed=2):
    return combine(Bussi(120.0, seed=seed), Deform(xy=rate, x=-rate))


def bits(engine):
    found = engine.evaluate()
    return [engine.positions(), engine.velocities(), engine.cell, found.forces, engine.bath_state()]


def assert_same(one, other):
    for found, expected in zip(bits(one), bits(other), strict=True):
        np.testing.assert_equal(found, expected)


@pytest.mark.long
@pytest.mark.parametrize("ensemble", [made, sheared])
def test_pieces_and_a_restart_have_the_bits_of_one_run(ensemble):
    """At rates at which the sheared cell is flipped."""
    forcefield, dt = LennardJones(**SMOOTH), units.fs
    whole = Engine(argon(), forcefield, ensemble=ensemble(9e11 if ensemble is sheared else 1e11))
    whole.advance(900, dt)
    pieces = Engine(argon(), forcefield, ensemble=ensemble(9e11 if ensemble is sheared else 1e11))
    for steps in (1, 6, 400, 37):
        pieces.advance(steps, dt)
    again = Engine(argon(), forcefield, ensemble=ensemble(9e11 if ensemble is sheared else 1e11))
    again.set_state(
        positions=pieces.folded_positions(), turns=pieces.turns, velocities=pieces.velocities(),
        forces=pieces.forces(), step=pieces.step, bath=pieces.bath_state(),
    )  # fmt: skip
    for one in (pieces, again):
        one.advance(900 - one.step, dt)
        assert_same(one, whole)
    if ensemble is sheared:
        left = 1 - 9e11 * 900e-15
        expected = [[left, 0, 0], [1 - left, 1, 0], [0, 0, 1]]
        np.testing.assert_allclose(whole.deformation()[0], expected, rtol=0, atol=1e-11)
        assert abs(whole.cell[1, 0]) < 0.7 * whole.cell[0, 0]


@pytest.mark.long
def test_each_system_of_a_batch_has_its_own_rate_and_the_bits_that_it_has_alone():
    forcefield, dt, rates = LennardJones(**SMOOTH), units.fs, (9e11, -3e11)
    systems = [argon(), testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat((3, 2, 3)), 90.0, 4)]
    baths = [sheared(rate, seed) for seed, rate in enumerate(rates)]
    batch = Batch(systems, forcefield, ensembles=baths)
    batch.advance(900, dt)
    for atoms, ensemble, member in zip(systems, baths, batch.members, strict=True):
        alone = Engine(atoms, forcefield, ensemble=ensemble)
        alone.advance(900, dt)
        assert_same(member, alone)


# Mistakes.


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: combine(Bussi(300.0), StochasticCell(control="orthorhombic"), Deform(x="1e9/s")),
            'x is deformed at a given rate, and the barostat would also change it; give axes = "yz" '
            "(--cell-axes yz)",
        ),
        (
            lambda: combine(Bussi(300.0), StochasticCell(control="triclinic"), Deform(xy="1e9/s")),
            'give control = "orthorhombic" (--cell-control)',
        ),
        (lambda: Deform(), "a deformation needs a rate: give stretch or shear"),
        (lambda: Deform(x="1e-6/step"), "is a rate per step; divide it by the time step"),
        (lambda: Deform(x="fast"), "'x=fast' is not a number with a unit such as /s, /ns or /ps"),
        (lambda: Deform(x=0.0), "expected a number other than 0"),
        (lambda: Deform(x=1e9, kind="log"), "strain_rate = 'log': expected one of engineering, true"),
        (lambda: Deform(x=1e9, remap="v"), "remap = 'v': expected positions or peculiar"),
        (lambda: combine(None, Deform(x=1e9), Deform(y=1e9)), "give all rates to one Deform"),
        (lambda: combine(None, BerendsenCell(), 3), "expected one such as Deform"),
    ],
)
def test_what_cannot_be_deformed_is_refused(make, words):
    with pytest.raises(SettingsError) as error:
        make()
    assert words in str(error.value)


def test_a_deformed_axis_is_periodic():
    atoms = argon(shear=False)
    atoms.pbc = [True, True, False]
    with pytest.raises(SettingsError, match="z cannot be deformed, because the cell is not periodic along z"):
        Engine(atoms, LennardJones(**SMOOTH), ensemble=combine(None, Deform(z=1e9)))


def test_a_rate_that_forces_cannot_follow_is_refused():
    engine = gas(Deform(x=1e12), cell=20.0 * SHEAR)
    with pytest.raises(
        SettingsError, match=r"changes the cell by 0\.01 every 10 steps of 1 fs.*shorter period"
    ):
        engine.advance(1, units.fs)
