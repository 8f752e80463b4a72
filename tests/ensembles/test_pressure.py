"""Barostats: equations, conserved energy, the same bits however the work is organised."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from barostat_engines import SHEAR, argon, made
from random_draws import normals
from scipy.linalg import expm, logm

from taichimd import testing
from taichimd.core import philox, streams, units
from taichimd.ensembles.registry import BerendsenNPT, MartynaTobiasKlein, StochasticCellRescaling
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine

# Equations: a gas does what they say, number by number.

GAS_T, GAS_P, GAS_TAU, GAS_DT = 300.0, 1e-5, 4000.0, 10.0


def gas(kind, control, **options):
    """27 atoms of three masses that do not feel each other, in a sheared cell near p V = N k T."""
    rng = np.random.default_rng(3)
    cell = 225.0 * SHEAR
    atoms = Atoms("Ar27", rng.random((27, 3)) @ cell, cell=cell, pbc=True)
    atoms.set_masses([20.0, 40.0, 80.0] * 9)
    return made(
        kind, control, testing.with_velocities(atoms, GAS_T, 3),
        LennardJones(epsilon=1e-300, sigma=0.1, cutoff=6.0, truncation="force-shifted"),
        temperature=GAS_T, pressure=GAS_P, pressure_coupling_time=GAS_TAU, bulk_modulus=GAS_P, **options,
    )  # fmt: skip


def noise(seed, step):
    """The symmetric matrix of normals that the barostats draw."""
    n = [normals(philox.blocks(seed, philox.GLOBAL, step, streams.CELL, k, 1)[0]) for k in range(3)]
    diagonal, beside = (n[0][0], n[0][1], n[1][0]), (n[1][1], n[2][0], n[2][1])
    found = np.diag(diagonal)
    for (a, b), value in zip(((1, 2), (0, 2), (0, 1)), beside, strict=True):
        found[a, b] = found[b, a] = value / 2**0.5
    return found


def project(m, control):
    if control == "isotropic":
        return np.eye(3) * np.trace(m) / 3
    return 0.5 * (m + m.T) if control == "triclinic" else np.diag(np.diag(m))


def common_factor(found, expected):
    """The one number between two sets of velocities."""
    factor = (found * expected).sum() / (expected * expected).sum()
    np.testing.assert_allclose(found, factor * expected, atol=1e-9 * abs(found).max())
    return factor


@pytest.mark.parametrize(
    ("kind", "control"),
    [
        (BerendsenNPT, "isotropic"),
        (StochasticCellRescaling, "isotropic"),
        (StochasticCellRescaling, "triclinic"),
    ],
)
def test_barostats_of_first_order_follow_their_equations(kind, control):
    """The strain of each drift, from the velocities before it, the cell and the numbers of its step."""
    engine = gas(kind, control)
    dt, kt, pressure = GAS_DT * units.FS, units.KB * GAS_T, GAS_P * units.GPA
    rate = dt / (3 * pressure * GAS_TAU * units.FS)
    v, cells = [engine.velocities()], [engine.cell]
    for _ in range(5):
        engine.advance(1, dt)
        v.append(engine.velocities())
        cells.append(engine.cell)
    np.testing.assert_array_equal(cells[0], cells[1])  # no stress was known before the first drift
    for n in range(1, 5):
        volume, change = np.linalg.det(cells[n]), np.linalg.solve(cells[n], cells[n + 1])
        strain = change - np.eye(3) if kind is BerendsenNPT else logm(change).real
        back = np.eye(3) if kind is BerendsenNPT else expm(strain)
        factor = common_factor(v[n] @ back, v[n - 1])
        kinetic = factor**2 * np.einsum("i,ia,ib->ab", engine.masses, v[n - 1], v[n - 1])
        expected = rate * project(kinetic / volume - pressure * np.eye(3), control)
        if kind is StochasticCellRescaling:
            expected += project(noise(5, n - 1), control) * np.sqrt(2 * rate * kt / volume)
        np.testing.assert_allclose(strain, expected, rtol=0, atol=1e-7 * abs(expected).max())


@pytest.mark.parametrize("control", ["isotropic", "triclinic"])
def test_martyna_tobias_klein_follows_its_equation(control):
    """Half kick of the cell, thermostat, friction and noise of the cell, half kick: number by number."""
    engine = gas(MartynaTobiasKlein, control)
    dt, kt, pressure = GAS_DT * units.FS, units.KB * GAS_T, GAS_P * units.GPA
    freedom, tau = 78, GAS_TAU * units.FS
    mass, kept = (freedom + 3) * kt * tau**2 / 3, np.exp(-dt / tau)
    u = np.zeros((3, 3))

    def kicked(u, v):
        kinetic = np.einsum("i,ia,ib->ab", engine.masses, v, v)
        force = kinetic - np.linalg.det(engine.cell) * pressure * np.eye(3)
        return u + 0.5 * dt / mass * project(force + np.trace(kinetic) / freedom * np.eye(3), control)

    def slowed(u):
        return expm(-0.5 * dt * (u + np.trace(u) / freedom * np.eye(3)))

    for step in range(5):
        v, cell = engine.velocities(), engine.cell
        engine.advance(1, dt)
        np.testing.assert_allclose(engine.cell, cell @ expm(u * dt), rtol=1e-12, atol=1e-10)
        first = kicked(u, v)
        second = kept * first + project(noise(5, step), control) * np.sqrt((1 - kept**2) * kt / mass)
        factor = common_factor(engine.velocities(), v @ slowed(first) @ slowed(second))
        u = kicked(second, factor * v @ slowed(first) @ slowed(second))
        found = np.reshape(engine.bath_state()["cell"][-9:], (3, 3))
        np.testing.assert_allclose(found, u, rtol=0, atol=1e-8 * abs(u).max())


@pytest.mark.long
def test_only_controlled_axes_move():
    axes = "xy"
    engine = made(StochasticCellRescaling, "isotropic", argon(shear=False), axes=axes)
    before = engine.cell
    engine.advance(20, 4.0 * units.FS)
    change = engine.cell / np.where(before, before, 1.0)
    moved = np.array(["xyz"[a] in axes for a in range(3)])
    assert np.ptp(np.diag(change)[moved]) < 1e-14, "these axes go alike"
    assert (abs(np.diag(change)[moved] - 1) > 1e-6).all()
    np.testing.assert_array_equal(engine.cell[~moved], before[~moved])


# Conservation.


def changes_of_energy(engine, steps, dt):
    """Largest deviations of conserved and total energy from the first conserved one, in 40 pieces."""
    start, deviation, moved = engine.thermo(), 0.0, 0.0
    for _ in range(40):
        engine.advance(steps, dt)
        thermo = engine.thermo()
        deviation = max(deviation, abs(thermo.conserved - start.conserved))
        moved = max(moved, abs(thermo.potential + thermo.kinetic - start.conserved))
    return deviation, moved


@pytest.mark.long
def test_energy_of_martyna_tobias_klein_is_conserved():
    """Error of second order, small against what bath and pressure put in, through a ramp."""
    worst = []
    for divide in (1, 2):
        pressures = {"pressure": 0.1, "final_pressure": (0.5, 0.3, 0.1), "ramp": (0, 400 * divide)}
        # Weakly coupled: the noise differs between time steps, and the trajectories are not to part.
        engine = made(MartynaTobiasKlein, "triclinic", **pressures, coupling_time=500.0)
        # Atoms at rest in a cell at rest have not had their half kick: from the first steps on.
        engine.advance(10 * divide, 4.0 * units.FS / divide)
        deviation, moved = changes_of_energy(engine, 10 * divide, 4.0 * units.FS / divide)
        worst.append(deviation)
        assert deviation < 0.01 * moved
    assert 2.7 < worst[0] / worst[1] < 6.0, worst


@pytest.mark.parametrize(("control", "period"), [("triclinic", 1), ("isotropic", 10)])
def test_energy_of_stochastic_cell_rescaling_is_conserved(control, period):
    """At every phase of a period; with the virial of one side of a deformation alone off by hundredths."""
    worst = []
    for divide in (1, 4):
        engine = made(
            StochasticCellRescaling, control, period=period, coupling_time=500.0, pressure_coupling_time=500.0
        )
        engine.advance(10 * divide, 4.0 * units.FS / divide)
        deviation, moved = changes_of_energy(engine, 7 * divide, 4.0 * units.FS / divide)
        worst.append(deviation)
        assert deviation < 0.002 * moved
    # Noise deforms a cell by the square root of the time.
    assert worst[1] < worst[0] / 3


@pytest.mark.parametrize("period", [1, 3])
def test_energy_of_a_gas_is_conserved_exactly(period):
    """Without forces there is no work, and what scales velocities is known to the last digit."""
    engine = gas(StochasticCellRescaling, "triclinic", period=period)
    energies = []
    for _ in range(12):
        engine.advance(1, GAS_DT * units.FS)
        energies.append((engine.thermo().conserved, engine.thermo().kinetic))
    conserved, kinetic = np.array(energies).T
    assert np.ptp(kinetic) > 1e-3 * kinetic[0]
    np.testing.assert_allclose(conserved, conserved[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [StochasticCellRescaling, MartynaTobiasKlein])
def test_momentum_is_conserved_and_the_cell_does_not_rotate(kind):
    engine = made(kind, "triclinic", pressure=(0.3, 0.1, -0.1))
    cell = engine.cell
    scale = abs(engine.masses[:, None] * engine.velocities()).sum()
    engine.advance(1, 4.0 * units.FS)
    for _ in range(30):
        before = engine.cell
        engine.advance(1, 4.0 * units.FS)
        change = np.linalg.solve(before, engine.cell)
        np.testing.assert_allclose(change, change.T, rtol=0, atol=1e-14)
    assert abs(engine.cell - cell).max() > 1e-3
    assert abs((engine.masses[:, None] * engine.velocities()).sum(axis=0)).max() < 1e-12 * scale


# The same bits.

SYSTEMS = {
    "berendsen": (BerendsenNPT, "isotropic", None),
    "scr": (StochasticCellRescaling, "triclinic", None),
    "mtk, silicon": (MartynaTobiasKlein, "orthorhombic", "Si.sw"),
    "mtk, silica": (MartynaTobiasKlein, "orthorhombic", "SiO2_1990.vashishta"),
}
MAIN = pytest.mark.parametrize("name", SYSTEMS)


def run_of(name, **options):
    """An engine that compresses and heats its system, and the time step."""
    kind, control, potential = SYSTEMS[name]
    settings = {"final_pressure": 0.6, "ramp": (10, 50), "final_temperature": 300.0, "engine": options}
    if potential is None:
        return made(kind, control, **settings, pressure_coupling_time=100.0), 4.0 * units.FS
    silicon = testing.rattled(bulk("Si", cubic=True).repeat((2, 2, 1)), 0.1, 4)
    atoms = silicon if potential == "Si.sw" else testing.silica_triclinic()
    atoms = testing.with_velocities(atoms, 600.0, 5)
    settings["final_pressure"] = 20.0
    settings["pressure_coupling_time"] = 40.0 if potential == "Si.sw" else 300.0
    engine = made(kind, control, atoms, load_forcefield(potential), **settings)
    return engine, 1.0 * units.FS


def state(engine):
    bath = engine.bath_state()
    return [engine.positions(), engine.velocities(), engine.forces(), engine.cell, bath["bath"], bath["cell"]]


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@MAIN
def test_bits_do_not_depend_on_skins_cuts_or_restarts(name):
    first, dt = run_of(name)
    start = first.cell
    first.advance(60, dt)
    expected = state(first)
    assert abs(first.cell - start).max() > 0.02, "the cell must have moved for this to mean anything"
    builds = []
    for skin in (0.2, 3.0):
        engine, _ = run_of(name, skin=skin)
        engine.advance(60, dt)
        assert_same_bits(state(engine), expected)
        builds.append(engine.statistics()["rebuilds"])
    assert builds[0] > builds[1], "the skins must lead to different lists: steps must have frozen"
    engine, _ = run_of(name)
    for steps in (1, 2, 7, 0, 13):
        engine.advance(steps, dt)
        (engine.warm_up, engine.thermo, engine.evaluate)[steps % 3]()
    again, _ = run_of(name)
    again.set_state(
        positions=engine.positions(), velocities=engine.velocities(), forces=engine.forces(),
        step=engine.step, cell=engine.cell, bath=engine.bath_state(),
    )  # fmt: skip
    for one in (engine, again):
        one.advance(37, dt)
        assert_same_bits(state(one), expected)


@MAIN
def test_forces_in_the_moved_cell_are_those_of_a_new_engine(name):
    engine, dt = run_of(name)
    engine.advance(45, dt)
    atoms = Atoms(engine.symbols, engine.positions(), cell=engine.cell, pbc=True)
    fresh = Engine(atoms, engine.forcefield)
    found, expected = engine.evaluate(), fresh.evaluate()
    np.testing.assert_array_equal(found.forces, expected.forces)
    np.testing.assert_array_equal(found.virials, expected.virials)
    assert found.energy == expected.energy


def test_another_step_number_does_no_deformation_again():
    """Step 15 is none in which the barostat acts, step 20 is: what it did in step 10 is over."""
    engine = made(BerendsenNPT, "isotropic", period=10)
    engine.advance(15, 4.0 * units.FS)
    engine.set_state(step=20)
    before = engine.cell
    engine.advance(1, 4.0 * units.FS)
    np.testing.assert_array_equal(engine.cell, before)


def test_a_cell_may_shrink_below_the_cutoff():
    """More images are needed than at the start; no atom of them is lost."""
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.3).repeat(2), 0.05, 1)
    forcefield = LennardJones(**testing.ARGON, cutoff=10.2, truncation="force-shifted")
    engine = made(
        BerendsenNPT, "isotropic", testing.with_velocities(atoms, 50.0, 2), forcefield,
        pressure=4.0, pressure_coupling_time=200.0, temperature=50.0,
    )  # fmt: skip
    assert engine.cell[0, 0] > 10.2
    engine.advance(150, 2.0 * units.FS)
    assert engine.cell[0, 0] < 0.98 * 10.2
    fresh = Engine(Atoms("Ar32", engine.positions(), cell=engine.cell, pbc=True), forcefield)
    np.testing.assert_array_equal(engine.forces(), fresh.forces())
