"""Thermostats: distributions, equations, conserved energies, the same bits however the work is organised."""

import re
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse
from random_draws import normals
from scipy import stats

from taichimd import testing
from taichimd.core import philox, streams, units
from taichimd.core.errors import SettingsError
from taichimd.core.math import exp
from taichimd.core.runtime import start, ti
from taichimd.ensembles.barostats import layout as of_barostats
from taichimd.ensembles.barostats import martyna_tobias_klein, stochastic_cell_rescaling
from taichimd.ensembles.bath import Baths
from taichimd.ensembles.registry import (
    ENSEMBLES,
    Berendsen,
    Bussi,
    CellMotion,
    Langevin,
    MartynaTobiasKlein,
    NoseHoover,
    Thermostat,
)
from taichimd.ensembles.thermostats import layout, nose_hoover
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine
from taichimd.system.cell import Cells

SMOOTH = {**testing.ARGON, "cutoff": 6.0, "truncation": "force-shifted"}
KINDS = [Langevin, Berendsen, Bussi, NoseHoover]
WHOLE = [Berendsen, Bussi, NoseHoover]
EVERY = pytest.mark.parametrize("kind", KINDS)


def liquid(cells=2):
    """Argon, 4 cells^3 atoms, hot."""
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.6).repeat(cells), 0.1, 1)
    return testing.with_velocities(atoms, 300.0, 2)


def gas():
    """27 atoms too far from each other to meet: what changes is the thermostat's work."""
    grid = np.array(list(np.ndindex(3, 3, 3))) * 500.0
    atoms = Atoms("Ar9Kr9Xe9", grid)
    return testing.with_velocities(atoms, 300.0, 3)


def silicon():
    atoms = testing.rattled(bulk("Si", cubic=True).repeat((2, 2, 1)), 0.1, 4)
    return testing.with_velocities(atoms, 900.0, 5)


SYSTEMS = {
    "lj": (lambda: liquid(3), lambda: LennardJones(**SMOOTH), 4.0),
    "angles": (silicon, lambda: morse(**MORSE_VALUES) + angle(**ANGLE_VALUES), 1.0),
}
MAIN = pytest.mark.parametrize("name", SYSTEMS)


def made(name, ensemble, **options):
    build, forcefield, femtoseconds = SYSTEMS[name]
    return Engine(build(), forcefield(), ensemble=ensemble, **options), femtoseconds * units.FS


def gas_engine(ensemble, **options):
    forcefield = LennardJones(epsilon=0.01, sigma=3.4, cutoff=6.0, truncation="force-shifted")
    return Engine(gas(), forcefield, ensemble=ensemble, **options)


def state(engine):
    return engine.positions(), engine.velocities(), engine.forces(), engine.thermo().conserved


def assert_same_bits(found, expected):
    for what, one, other in zip(
        ("positions", "velocities", "forces", "conserved"), found, expected, strict=True
    ):
        np.testing.assert_array_equal(one, other, err_msg=what)


def kinetic_energies(engine, samples, every, dt):
    energies = []
    for _ in range(samples):
        engine.advance(every, dt)
        energies.append(engine.thermo().kinetic)
    return np.array(energies)


# What classes declare.


class Brake(Thermostat):
    """One of a user's own: velocities by s = exp(-dt/tau) each step, whatever the temperature."""

    name = "nvt-brake"

    @classmethod
    def factor_function(cls):
        @ti.func
        def factor(kinetic, kt, time, interval, ledger: ti.template(), bath: ti.template()):
            found = exp(-time / bath[layout.COUPLING])
            bath[layout.RECEIVED] += kinetic * (1.0 - found * found)
            return found

        return factor


def test_a_thermostat_needs_its_class_alone():
    engine = gas_engine(Brake(300.0, coupling_time=500.0))
    start = engine.thermo()
    engine.advance(250, 2.0 * units.FS)
    end = engine.thermo()
    assert end.kinetic == pytest.approx(start.kinetic * np.exp(-2.0), rel=1e-7)
    assert end.conserved == pytest.approx(start.conserved, abs=1e-7)


def test_no_module_compares_names_of_ensembles():
    """What an ensemble can do its class says: another one with these abilities is treated alike.

    A report describes records, which hold nothing but the name.
    """
    classes = "|".join(kind.__name__ for kind in ENSEMBLES.values())
    compared = rf"(==|!=|\bin) *\(?(({classes})\.name|\"n[vp][te]\b)|({classes})\.name *(==|!=|in\b)"
    package = Path(units.__file__).parents[1]
    files = [file for file in package.rglob("*.py") if "report" not in file.relative_to(package).parts]
    assert len(files) > 300
    found = [file.name for file in files if re.search(compared, file.read_text("utf-8"))]
    assert not found


def test_slots_of_checkpoints_stay_where_they_were():
    """What checkpoints keep of baths and cells: earlier versions had the same numbers there."""
    assert (layout.STATE, nose_hoover.WORK, nose_hoover.CHAIN) == (slice(11, 16), 12, 13)
    assert (
        stochastic_cell_rescaling.LAST_STRAIN == martyna_tobias_klein.CELL_VELOCITY == of_barostats.AHEAD + 1
    )
    start("cpu")
    cells = Cells([np.arange(9.0).reshape(3, 3) + np.eye(3)], [np.array([True] * 3)])
    cells.arrays.stretch.from_numpy(np.arange(9.0, 18.0).reshape(1, 3, 3))
    cells.moved()
    baths = Baths([MartynaTobiasKlein(300.0)], [np.ones(2)], cells)
    values = baths.bath.to_numpy()
    values[of_barostats.AHEAD], values[of_barostats.OWN_STATE :] = 27.0, np.arange(28.0, 37.0)
    baths.bath.from_numpy(values)
    baths.forget()
    rest = np.eye(3)
    expected = [*(np.arange(9.0) + rest.ravel()), *range(9, 18), *rest.ravel(), *range(27, 37)]
    state = baths.state(0)
    assert state["cell"] == expected
    other = Cells([rest], [np.array([True] * 3)])
    again = Baths([MartynaTobiasKlein(300.0)], [np.ones(2)], other)
    again.set_state(0, state)
    assert again.state(0) == state
    np.testing.assert_array_equal(other.vectors(0), cells.vectors(0))


# Distributions.


@pytest.mark.parametrize(
    ("kind", "coupling", "every"),
    [
        (Langevin, 50.0, 20),
        (Bussi, 40.0, 30),
        (NoseHoover, 60.0, 40),
        pytest.param(MartynaTobiasKlein, 40.0, 30, marks=pytest.mark.long),
    ],
)
def test_kinetic_energy_of_a_liquid_is_gamma_distributed(kind, coupling, every):
    """K/kT of N_f degrees of freedom: the gamma distribution of shape N_f/2, at another T than the start."""
    temperature, samples = 200.0, 500
    of_cell = {"pressure": 0.3, "bulk_modulus": 2.0, "period": 2} if issubclass(kind, CellMotion) else {}
    ensemble = kind(temperature, coupling_time=coupling, seed=3, **of_cell)
    engine = Engine(liquid(), LennardJones(**SMOOTH), ensemble=ensemble)
    engine.advance(400, 5.0 * units.FS)
    x = kinetic_energies(engine, samples, every, 5.0 * units.FS) / (units.KB * temperature)
    freedom = 96 if kind is Langevin else 93
    correlation = np.corrcoef(x[:-1], x[1:])[0, 1]
    assert abs(correlation) < 0.25, f"samples are correlated by {correlation:.2f}"
    exact = stats.gamma(0.5 * freedom)
    assert abs(x.mean() - exact.mean()) < 4 * exact.std() / samples**0.5
    assert x.std() / exact.std() == pytest.approx(1.0, abs=4 / (2 * samples) ** 0.5 * 1.2)
    assert stats.kstest(x, exact.cdf).pvalue > 1e-3
    # The test can tell: three degrees of freedom more or less would not pass.
    wrong = stats.gamma(0.5 * (freedom + (6 if kind is Langevin else -6)))
    assert stats.kstest(x, wrong.cdf).pvalue < 1e-6


def test_berendsen_suppresses_the_fluctuations():
    engine = Engine(liquid(), LennardJones(**SMOOTH), ensemble=Berendsen(200.0, coupling_time=20.0))
    engine.advance(400, 5.0 * units.FS)
    x = kinetic_energies(engine, 200, 20, 5.0 * units.FS) / (units.KB * 200.0)
    assert x.mean() == pytest.approx(46.5, rel=0.02)
    assert x.std() < 0.6 * 46.5**0.5


def test_langevin_gives_every_atom_and_the_centre_of_mass_its_share():
    engine = gas_engine(Langevin(150.0, coupling_time=20.0, seed=2))
    scaled, centre = [], []
    widths = np.sqrt(units.KB * 150.0 / engine.masses)[:, None]
    for _ in range(300):
        engine.advance(3, 20.0 * units.FS)
        v = engine.velocities()
        scaled.append(v / widths)
        centre.append(
            (engine.masses[:, None] * v).sum(axis=0) / np.sqrt(units.KB * 150.0 * engine.masses.sum())
        )
    assert stats.kstest(np.ravel(scaled), "norm").pvalue > 1e-3
    assert stats.kstest(np.ravel(centre), "norm").pvalue > 1e-3


def test_bussi_of_a_gas_is_gamma_distributed():
    """Nothing but the thermostat moves the kinetic energy: many samples, cheaply."""
    engine = gas_engine(Bussi(250.0, coupling_time=10.0, seed=11))
    x = kinetic_energies(engine, 1500, 4, 10.0 * units.FS) / (units.KB * 250.0)
    assert stats.kstest(x, stats.gamma(39.0).cdf).pvalue > 1e-3


# Equations: a gas does what they say, number by number.


def test_langevin_draws_the_numbers_that_it_should():
    tau, dt, temperature, seed = 37.0, 4.0, 120.0, 2**40 + 3
    engine = gas_engine(Langevin(temperature, coupling_time=tau, seed=seed))
    engine.set_state(step=2**33)
    v = engine.velocities()
    c = np.exp(-dt / tau)
    widths = np.sqrt((1 - c * c) * units.KB * temperature / engine.masses)[:, None]
    x = engine.positions()
    for step in range(2**33, 2**33 + 5):
        words = philox.blocks(seed, np.arange(27), step, streams.LANGEVIN, 0, 2)
        new = c * v + widths * normals(words).reshape(27, 4)[:, :3]
        x += 0.5 * dt * units.FS * (v + new)
        v = new
    engine.advance(5, dt * units.FS)
    np.testing.assert_allclose(engine.velocities(), v, rtol=1e-12)
    np.testing.assert_allclose(engine.positions(), x, rtol=0, atol=1e-11)


def test_bussi_follows_its_equation():
    tau, dt, temperature, seed, freedom = 37.0, 4.0, 120.0, 5, 78
    engine = gas_engine(Bussi(temperature, coupling_time=tau, seed=seed))
    kinetic, c = engine.thermo().kinetic, np.exp(-dt / tau)
    target = 0.5 * freedom * units.KB * temperature
    for step in range(6):

        def draw(block, step=step):
            words = philox.blocks(seed, philox.GLOBAL, step, streams.VELOCITY_RESCALING, block, 1)[0]
            return normals(words)[0], philox.uniforms(words)[0]

        d = 0.5 * (freedom - 1) - 1 / 3
        for k in range(60):
            x, (_, u) = draw(2 * k + 1)[0], draw(2 * k + 2)
            v = (1 + x / np.sqrt(9 * d)) ** 3
            if v > 0 and np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
                break
        r, ratio = draw(0)[0], target / (freedom * kinetic)
        square = c + (1 - c) * ratio * (r * r + 2 * d * v) + 2 * r * np.sqrt(c * (1 - c) * ratio)
        kinetic *= square
        engine.advance(1, dt * units.FS)
        assert engine.thermo().kinetic == pytest.approx(kinetic, rel=1e-8)


def test_berendsen_relaxes_exponentially():
    tau, dt, temperature = 80.0, 1.0, 100.0
    engine = gas_engine(Berendsen(temperature, coupling_time=tau))
    target = 39.0 * units.KB * temperature
    start = engine.thermo().kinetic - target
    for k in range(1, 6):
        engine.advance(40, dt * units.FS)
        excess = (engine.thermo().kinetic - target) / start
        assert excess == pytest.approx((1 - dt / tau) ** (40 * k), rel=1e-6)
        assert excess == pytest.approx(np.exp(-40 * k * dt / tau), rel=0.02 * k)


@pytest.mark.parametrize("ramp", [None, (20, 70)])
def test_nose_hoover_of_a_gas_agrees_with_a_solution_of_its_equations(ramp):
    """The chain's differential equations, solved by SciPy; a ramp changes no mass of the chain."""
    from scipy.integrate import solve_ivp

    tau, temperature, freedom = 50.0 * units.FS, 200.0, 78
    final = 280.0 if ramp else temperature
    given = {"final_temperature": final, "ramp": ramp} if ramp else {}
    engine = gas_engine(NoseHoover(temperature, coupling_time=50.0, **given))
    q = units.KB * temperature * tau**2 * np.array([freedom, 1.0, 1.0])

    def slopes(_, y, kt):
        k, v = y[0], y[1:]
        return [
            -2 * k * v[0],
            (2 * k - freedom * kt) / q[0] - v[0] * v[1],
            (q[0] * v[0] ** 2 - kt) / q[1] - v[1] * v[2],
            (q[1] * v[1] ** 2 - kt) / q[2],
        ]

    exact = [engine.thermo().kinetic, 0, 0, 0]
    for step in range(1, 101):
        # A step has the temperature of its end.
        share = np.clip((step - ramp[0]) / (ramp[1] - ramp[0]), 0.0, 1.0) if ramp else 0.0
        kt = units.KB * (temperature + share * (final - temperature))
        exact = solve_ivp(slopes, (0, units.FS), exact, args=(kt,), rtol=1e-11, atol=1e-14).y[:, -1]
    engine.advance(100, 1.0 * units.FS)
    assert engine.thermo().kinetic == pytest.approx(exact[0], rel=3e-5)
    np.testing.assert_allclose(engine.bath_state()["bath"][2:], exact[1:], rtol=1e-3)


def test_a_chain_far_from_the_temperature_of_its_bath_stays_stable():
    """Where the second thermostat would run away: strong coupling, and a gas three times too hot."""
    engine = gas_engine(NoseHoover(100.0, coupling_time=40.0))
    start, deviation = engine.thermo(), 0.0
    for _ in range(40):
        engine.advance(5, 4.0 * units.FS)
        deviation = max(deviation, abs(engine.thermo().conserved - start.conserved))
    assert deviation < 2e-3 * start.kinetic


@pytest.mark.parametrize("kind", [one for one in KINDS if one is not NoseHoover])
def test_a_ramp_ends_where_it_should(kind):
    """A chain in a gas swings for ever: it has a test of its own."""
    engine = gas_engine(kind(100.0, coupling_time=10.0, final_temperature=400.0, ramp=(50, 450)))
    dt, temperatures = 10.0 * units.FS, []
    # Half way, at the end, and held beyond it; means over a few steps of a noisy quantity.
    for first in (225, 430, 600):
        engine.advance(first - engine.step, dt)
        temperatures.append(
            np.mean([(engine.advance(1, dt), engine.thermo().temperature)[1] for _ in range(50)])
        )
    rtol = 0.02 if kind is Berendsen else 0.12
    np.testing.assert_allclose(temperatures, [250.4, 390.4, 400.0], rtol=rtol)


# Conservation.


@EVERY
def test_the_conserved_energy_is_conserved(kind):
    """Through a ramp that puts in some electronvolts."""
    ensemble = kind(100.0, coupling_time=100.0, final_temperature=300.0, ramp=(0, 1000))
    engine = Engine(liquid(3), LennardJones(**SMOOTH), ensemble=ensemble)
    dt, deviation, moved = 4.0 * units.FS, 0.0, 0.0
    start = engine.thermo()
    for _ in range(20):
        engine.advance(50, dt)
        thermo = engine.thermo()
        deviation = max(deviation, abs(thermo.conserved - start.conserved))
        moved = max(moved, abs(thermo.potential + thermo.kinetic - start.conserved))
    assert moved > 1.0
    assert 0 < deviation < 2e-3 * moved, f"{deviation} of {moved} eV"


def test_its_error_is_of_second_order():
    worst = []
    for divide in (1, 2):
        engine = Engine(liquid(3), LennardJones(**SMOOTH), ensemble=NoseHoover(200.0, coupling_time=100.0))
        start, deviation = engine.thermo().conserved, 0.0
        for _ in range(25):
            engine.advance(2 * divide, 4.0 * units.FS / divide)
            deviation = max(deviation, abs(engine.thermo().conserved - start))
        worst.append(deviation)
    assert 3.0 < worst[0] / worst[1] < 5.0


@pytest.mark.parametrize("kind", WHOLE)
@MAIN
def test_momentum_is_conserved(kind, name):
    engine, dt = made(name, kind(500.0, coupling_time=40.0))
    scale = abs(engine.masses[:, None] * engine.velocities()).sum()
    engine.advance(100, dt)
    assert abs((engine.masses[:, None] * engine.velocities()).sum(axis=0)).max() < 1e-13 * scale


def test_atoms_at_rest_start_to_move():
    for kind in KINDS:
        engine = Engine(liquid(), LennardJones(**SMOOTH), ensemble=kind(80.0, coupling_time=50.0))
        engine.set_state(velocities=np.zeros((32, 3)))
        engine.advance(300, 4.0 * units.FS)
        assert 20.0 < engine.thermo().temperature < 250.0


# The same bits.


def reference(name, kind, steps=60):
    engine, dt = made(name, kind(400.0, coupling_time=40.0, final_temperature=800.0, ramp=(10, 50), seed=7))
    engine.advance(steps, dt)
    return state(engine)


def again(name, kind, **options):
    return made(
        name, kind(400.0, coupling_time=40.0, final_temperature=800.0, ramp=(10, 50), seed=7), **options
    )


@EVERY
@MAIN
def test_bits_do_not_depend_on_the_organisation(kind, name):
    """Skins, cuts into calls, questions in between, the first spatial sort."""
    expected = reference(name, kind)
    builds = []
    for skin in (0.25, 3.0):
        engine, dt = again(name, kind, skin=skin)
        engine.advance(60, dt)
        assert_same_bits(state(engine), expected)
        builds.append(engine.statistics()["rebuilds"])
    assert builds[0] > builds[1], "the skins must lead to different lists: steps must have frozen"
    engine, dt = again(name, kind)
    for steps in (1, 1, 2, 7, 0, 13, 36):
        engine.advance(steps, dt)
        (engine.warm_up, engine.thermo, engine.evaluate)[steps % 3]()
    assert_same_bits(state(engine), expected)


@EVERY
@MAIN
def test_restart_continues_to_the_last_bit(kind, name):
    expected = reference(name, kind)
    first, dt = again(name, kind)
    first.advance(23, dt)
    second, _ = again(name, kind)
    second.set_state(
        positions=first.positions(),
        velocities=first.velocities(),
        forces=first.forces(),
        step=first.step,
        bath=first.bath_state(),
    )
    assert_same_bits(state(second), state(first))
    second.advance(37, dt)
    assert_same_bits(state(second), expected)


@pytest.mark.parametrize("kind", [Langevin, Bussi])
def test_another_seed_is_another_run(kind):
    one, dt = made("lj", kind(400.0, seed=1))
    other, _ = made("lj", kind(400.0, seed=2))
    for engine in (one, other):
        engine.advance(5, dt)
    assert abs(one.velocities() - other.velocities()).max() > 1e-4


@EVERY
def test_single_precision_repeats_its_bits_and_keeps_the_temperature(kind):
    first, dt = again("lj", kind, precision="float32")
    second, _ = again("lj", kind, precision="float32", skin=0.5)
    first.advance(40, dt)
    for _ in range(8):
        second.advance(5, dt)
    assert_same_bits(state(second), state(first))
    double, _ = again("lj", kind)
    double.advance(40, dt)
    assert first.thermo().temperature == pytest.approx(
        double.thermo().temperature, rel=1e-3 if kind is not Langevin else 0.3
    )


# Mistakes.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coupling_time": 0.0}, "coupling_time = 0.0: nvt-bussi expects a number above 0 (fs)"),
        ({"coupling_time": float("nan")}, "coupling_time = nan"),
        ({"temperature": -1.0}, "temperature = -1.0: nvt-bussi expects a number above 0 (K)"),
        ({"final_temperature": 0.0, "ramp": (0, 1)}, "final_temperature = 0.0"),
        ({"final_temperature": 5.0}, "needs the ramp's first and last step"),
        ({"ramp": (5, 5)}, "expected a first step and a later last step"),
        ({"seed": -1}, "seed = -1: expected a whole number, 0 or above"),
        ({"seed": 1.5}, "seed = 1.5: expected a whole number, 0 or above"),
        ({"seed": "a"}, "seed = 'a': expected a whole number"),
        ({"temperature": True}, "temperature = True: nvt-bussi expects a number above 0 (K)"),
        ({"ramp": 3}, "ramp = 3: expected a first step and a later last step"),
        ({"ramp": (0,), "final_temperature": 5.0}, "ramp = (0,): expected a first step"),
    ],
)
def test_settings_that_make_no_sense(options, words):
    with pytest.raises(SettingsError) as caught:
        Bussi(**{"temperature": 300.0} | options)
    assert words in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    given = Bussi(np.int64(300), np.float32(50.0), seed=np.int64(4), ramp=np.array([0, 9]))
    assert given == Bussi(300, 50.0, seed=4, ramp=(0, 9))
    assert [type(x) for x in (given.temperature, given.coupling_time, given.seed)] == [int, float, int]


def test_a_short_coupling_of_a_chain_is_refused():
    engine = gas_engine(NoseHoover(300.0, coupling_time=30.0))
    with pytest.raises(SettingsError, match="coupling_time = 30 fs is shorter than 10 time steps of 4 fs"):
        engine.advance(1, 4.0 * units.FS)


def test_time_steps_longer_than_the_coupling_are_refused():
    engine = gas_engine(Berendsen(300.0, coupling_time=1.0))
    with pytest.raises(SettingsError, match="coupling_time = 1 fs is shorter than the time step of 2 fs"):
        engine.advance(1, 2.0 * units.FS)


def test_a_bath_of_another_ensemble_is_refused():
    engine = gas_engine(Bussi(300.0))
    with pytest.raises(SettingsError, match="nvt-bussi cannot continue from the state of nvt-langevin"):
        engine.set_state(bath=gas_engine(Langevin(300.0)).bath_state())
