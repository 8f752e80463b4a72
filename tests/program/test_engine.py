"""The engine in motion: conservation, and results that depend on the input alone, to the last bit."""

import gc
import os
from weakref import ref

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from bits import here, in_another_process
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse

from taichimd import testing
from taichimd.core import units
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine

SMOOTH = {**testing.ARGON, "cutoff": 6.0, "truncation": "force-shifted"}


def melt():
    """108 argon atoms, hot enough to change neighbours within some dozen steps."""
    atoms = bulk("Ar", cubic=True, a=5.5).repeat(3)
    return testing.with_velocities(testing.rattled(atoms, 0.1, 1), 400.0, 2)


def silicon():
    """32 atoms in a sheared cell thinner than twice the cutoff, with atoms outside it."""
    atoms = bulk("Si", cubic=True).repeat((2, 2, 1))
    atoms.set_cell(
        atoms.cell[:] @ np.array([[1.0, 0.1, 0], [0, 1.0, -0.1], [0.05, 0, 1.0]]), scale_atoms=True
    )
    atoms.positions[3] -= atoms.cell[0] + 2 * atoms.cell[2]
    return testing.with_velocities(atoms, 1500.0, 3)


def silica():
    """24 atoms in a sheared cell thinner than the cutoff: pairs and angles have lists of their own."""
    return testing.with_velocities(testing.silica_triclinic(), 3000.0, 3)


def cluster():
    atoms = melt()
    return Atoms(atoms.symbols, atoms.positions, velocities=atoms.get_velocities())


SYSTEMS = {
    "lj": (melt, lambda: LennardJones(**SMOOTH), 4.0),
    "lj-all-pairs": (melt, lambda: LennardJones(**SMOOTH, enumeration="all-pairs"), 4.0),
    "lj-cluster": (cluster, lambda: LennardJones(**SMOOTH), 4.0),
    "tersoff": (silicon, lambda: load_forcefield("Si.tersoff"), 1.0),
    "sw": (silicon, lambda: load_forcefield("Si.sw"), 1.0),
    "vashishta": (silica, lambda: load_forcefield("SiO2_1990.vashishta"), 1.0),
    "morse+angle": (silicon, lambda: morse(**MORSE_VALUES) + angle(**ANGLE_VALUES), 1.0),
}
EVERY = pytest.mark.parametrize("name", SYSTEMS)
MAIN = pytest.mark.parametrize("name", ["lj", "sw"])


def made(name, **options):
    """A new engine and its time step in internal units."""
    build, forcefield, femtoseconds = SYSTEMS[name]
    return Engine(build(), forcefield(), **options), femtoseconds * units.FS


def state(engine):
    return engine.positions(), engine.velocities(), engine.forces()


def assert_same_bits(found, expected):
    for what, one, other in zip(("positions", "velocities", "forces"), found, expected, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=what)


def reference(name, steps):
    engine, dt = made(name)
    engine.advance(steps, dt)
    return state(engine)


# Conservation.


def energy(engine):
    thermo = engine.thermo()
    return thermo.potential + thermo.kinetic


@MAIN
def test_energy_error_is_of_second_order(name):
    """Half the time step, a quarter of the largest deviation over the same time."""
    worst = []
    for divide in (1, 2):
        engine, dt = made(name)
        start = energy(engine)
        deviation = 0.0
        for _ in range(20):
            engine.advance(2 * divide, dt / divide)
            deviation = max(deviation, abs(energy(engine) - start))
        worst.append(deviation / engine.n_atoms)
    assert 1e-8 < worst[0] < 1e-3, f"{worst[0]} eV/atom"
    assert 3.2 < worst[0] / worst[1] < 4.8, f"ratio {worst[0] / worst[1]}"


@EVERY
def test_momentum_is_conserved(name):
    engine, dt = made(name)
    masses = engine.masses[:, None]
    scale = abs(masses * engine.velocities()).sum()
    engine.advance(100, dt)
    assert abs((masses * engine.velocities()).sum(axis=0)).max() < 1e-13 * scale


@EVERY
def test_time_reversal_leads_back(name):
    engine, dt = made(name)
    start = engine.positions()
    engine.advance(40, dt)
    assert abs(engine.positions() - start).max() > 0.1, "nothing moved"
    engine.set_state(velocities=-engine.velocities())
    engine.advance(40, dt)
    np.testing.assert_allclose(engine.positions(), start, rtol=0, atol=1e-9)


def test_thermo_adds_up():
    engine, dt = made("lj")
    engine.advance(10, dt)
    thermo, evaluation, v = engine.thermo(), engine.evaluate(), engine.velocities()
    kinetic = 0.5 * (engine.masses[:, None] * v**2).sum()
    assert thermo.step == 10
    assert thermo.potential == evaluation.energy
    assert thermo.kinetic == pytest.approx(kinetic, rel=1e-13)
    assert thermo.temperature == pytest.approx(2 * kinetic / (units.KB * (3 * 108 - 3)), rel=1e-13)
    np.testing.assert_array_equal(thermo.stress, evaluation.stress)
    pressure = -thermo.stress[:3].sum() / 3 + 2 * kinetic / (3 * thermo.volume)
    assert thermo.pressure * units.GPA == pytest.approx(pressure, rel=1e-12)
    assert thermo.volume == pytest.approx((3 * 5.5) ** 3)


# The same bits, however the work is organised.


@pytest.mark.both
@EVERY
def test_bits_do_not_depend_on_the_skin(name):
    expected = reference(name, 60)
    builds = []
    for skin in (0.25, 0.9, 3.0):
        engine, dt = made(name, skin=skin)
        engine.advance(60, dt)
        assert_same_bits(state(engine), expected)
        builds.append(engine.statistics()["rebuilds"])
    if name != "lj-all-pairs":
        assert builds[0] > builds[2], "the skins must lead to different lists"


@pytest.mark.parametrize("fixed", [False, True])
def test_a_sort_moves_masses_of_one_species(fixed):
    """Each with its atom: kernels for one species have no numbers of species to move."""
    atoms = melt()
    atoms.set_masses(np.where(np.arange(len(atoms)) % 3 == 0, 120.0, 40.0))
    mask = np.arange(len(atoms)) % 5 == 0 if fixed else None
    engines = [Engine(atoms, LennardJones(**SMOOTH), skin=skin, fixed=mask) for skin in (0.4, 2.5)]
    for engine in engines:
        engine.advance(150, 4.0 * units.FS)
    often, seldom = engines
    assert often.statistics()["rebuilds"] > 2 * seldom.statistics()["rebuilds"] > 0
    assert_same_bits(state(often), state(seldom))
    if fixed:
        np.testing.assert_array_equal(often.positions()[mask], atoms.positions[mask])


@pytest.mark.both
@EVERY
def test_bits_do_not_depend_on_how_a_run_is_split(name):
    expected = reference(name, 60)
    engine, dt = made(name)
    for steps in (1, 1, 2, 7, 0, 13, 36):
        engine.advance(steps, dt)
    assert engine.step == 60
    assert_same_bits(state(engine), expected)


@EVERY
def test_bits_do_not_depend_on_what_is_asked_in_between(name):
    expected = reference(name, 60)
    engine, dt = made(name)
    engine.warm_up()
    for k in range(12):
        (engine.evaluate, engine.thermo, engine.forces, engine.warm_up)[k % 4]()
        engine.advance(5, dt)
        (engine.positions, engine.evaluate, engine.velocities)[k % 3]()
    assert_same_bits(state(engine), expected)


@EVERY
def test_bits_do_not_depend_on_where_the_atoms_were_sorted_first(name):
    """A list built for other positions, in another spatial order, and kept or rebuilt as needed."""
    expected = reference(name, 30)
    engine, dt = made(name)
    start, velocities = engine.positions(), engine.velocities()
    rng = np.random.default_rng(0)
    engine.set_state(positions=start[rng.permutation(len(start))])
    engine.advance(3, 1e-3 * dt)
    engine.set_state(positions=start, velocities=velocities, step=0)
    engine.advance(30, dt)
    assert_same_bits(state(engine), expected)


@pytest.mark.both
@EVERY
def test_restart_continues_to_the_last_bit(name):
    expected = reference(name, 60)
    first, dt = made(name)
    first.advance(23, dt)
    saved = {"positions": first.positions(), "velocities": first.velocities(), "forces": first.forces()}
    second, _ = made(name)
    second.set_state(**saved, step=first.step)
    assert_same_bits(state(second), saved.values())
    second.advance(37, dt)
    assert second.step == 60
    assert_same_bits(state(second), expected)
    # Forces are a function of the positions: they need not be saved.
    third, _ = made(name)
    third.set_state(positions=saved["positions"], velocities=saved["velocities"], step=23)
    third.advance(37, dt)
    assert_same_bits(state(third), expected)


def test_interleaved_engines_do_not_disturb_each_other():
    names = ["lj", "tersoff", "lj-cluster"]
    expected = [reference(name, 30) for name in names]
    engines = [made(name) for name in names]
    single, dt = made("lj", precision="float32")
    for _ in range(6):
        for engine, step in engines:
            engine.advance(5, step)
        single.advance(5, dt)
        single.evaluate()
    for (engine, _), found in zip(engines, expected, strict=True):
        assert_same_bits(state(engine), found)


def test_evaluation_leaves_the_state_alone():
    engine, dt = made("tersoff")
    engine.advance(5, dt)
    before = state(engine)
    evaluation = engine.evaluate()
    assert_same_bits(state(engine), before)
    np.testing.assert_array_equal(evaluation.forces, before[2])
    assert evaluation.energy == engine.evaluate().energy


def test_a_call_waits_for_the_device_once(monkeypatch):
    """Its last forces are queued before it is known whether all of its steps could be done."""
    engine, _ = made("tersoff")
    engine.advance(2, units.FS)
    lists = engine.device.lists
    look, looks = lists.look, []
    builds = engine.statistics()["rebuilds"]
    monkeypatch.setattr(lists, "look", lambda: looks.append(look()) or looks[-1])
    engine.advance(2, units.FS)
    assert len(looks) == 1
    assert engine.statistics()["rebuilds"] == builds, "a build may need the host"


def test_caller_arrays_are_copies():
    atoms = melt()
    engine = Engine(atoms, LennardJones(**SMOOTH))
    original = atoms.positions.copy()
    engine.advance(5, 0.1)
    engine.positions()[:] = 0.0
    engine.forces()[:] = 0.0
    # A cell that was changed in place once compared equal to itself, and was not taken.
    cell = engine.cell
    cell *= 1.02
    engine.set_state(positions=1.02 * engine.positions(), cell=cell)
    wide = Engine(Atoms(atoms.symbols, engine.positions(), cell=cell, pbc=True), LennardJones(**SMOOTH))
    np.testing.assert_allclose(engine.forces(), wide.forces(), atol=1e-12)
    np.testing.assert_array_equal(atoms.positions, original)
    assert abs(engine.forces()).max() > 0


# Lists that keep up.


def test_an_atom_flies_through_the_boundary_and_keeps_its_neighbours():
    """Positions are never folded: the displacement test must see a crossing, and a jump of a whole cell."""
    cell = np.eye(3) * 14.0
    atoms = Atoms("Ar3", [[12.5, 7, 7], [1.0, 7, 10.5], [7.0, 2, 2]], cell=cell, pbc=True)
    atoms.set_velocities([[2.0, 0, 0], [0, 0, 0], [0, 0, 0]])
    engine = Engine(atoms, LennardJones(**SMOOTH))
    for _ in range(30):
        engine.advance(4, 0.1)
        fresh = Engine(Atoms("Ar3", engine.positions(), cell=cell, pbc=True), engine.forcefield)
        np.testing.assert_array_equal(engine.forces(), fresh.forces())
    assert engine.positions()[0, 0] > 20.0, "the atom must have crossed, unfolded"


def test_wrapping_between_calls_does_not_fool_the_lists():
    atoms = melt()
    engine, dt = made("lj")
    engine.advance(30, dt)
    positions = engine.positions()
    for shift in ([1, 0, 0], [0, -2, 1]):
        moved = positions.copy()
        moved[::3] += np.array(shift) @ atoms.cell[:]
        engine.set_state(positions=moved)
        fresh = Engine(Atoms(atoms.symbols, moved, cell=atoms.cell, pbc=True), engine.forcefield)
        np.testing.assert_array_equal(engine.evaluate().forces, fresh.evaluate().forces)


@pytest.mark.parametrize("name", ["lj", "lj-all-pairs", "tersoff"])
def test_a_changed_cell_is_followed(name):
    """A shear that keeps the atoms in place changes only images: no displacement test sees it."""
    engine, dt = made(name)
    engine.advance(5, dt)
    positions = engine.positions()
    cell = engine.cell @ np.array([[1.0, 0.2, 0], [0, 1.1, 0], [0, 0, 1.0]])
    engine.set_state(cell=cell)
    atoms = Atoms(engine.symbols, positions, cell=cell, pbc=True)
    fresh = Engine(atoms, engine.forcefield)
    np.testing.assert_array_equal(engine.evaluate().forces, fresh.evaluate().forces)
    np.testing.assert_array_equal(engine.evaluate().stress, fresh.evaluate().stress)
    velocities = engine.velocities()
    engine.advance(20, dt)
    fresh.set_state(velocities=velocities)
    fresh.advance(20, dt)
    assert_same_bits(state(engine), state(fresh))


@pytest.mark.both
def test_a_gas_that_condenses_grows_its_rows():
    """Rows sized for a dilute box must grow during a run without losing a neighbour."""
    rng = np.random.default_rng(0)
    grid = np.array(list(np.ndindex(5, 5, 5))) * 12.0 + rng.uniform(-0.5, 0.5, (125, 3))
    center = grid.mean(axis=0)
    atoms = Atoms("Ar125", grid, cell=np.eye(3) * 200.0, pbc=True, velocities=-0.02 * (grid - center))
    engine = Engine(atoms, LennardJones(**SMOOTH))
    width = engine.device.lists.verlet.width
    engine.advance(160, 0.2)
    assert engine.device.lists.verlet.width > width, "the test must make the rows grow"
    fresh = Engine(Atoms(atoms.symbols, engine.positions(), cell=atoms.cell, pbc=True), engine.forcefield)
    np.testing.assert_array_equal(engine.forces(), fresh.forces())


# Precision and processes.


@MAIN
def test_single_precision_is_close_to_double(name):
    double, dt = made(name)
    single, _ = made(name, precision="float32")
    one, other = double.evaluate(), single.evaluate()
    assert other.energy == pytest.approx(one.energy, rel=2e-6)
    scale = abs(one.forces).max()
    assert 0 < abs(other.forces - one.forces).max() < 2e-5 * scale
    np.testing.assert_allclose(other.virials, one.virials, rtol=0, atol=2e-5 * abs(one.virials).max())
    double.advance(20, dt)
    single.advance(20, dt)
    assert 0 < abs(single.positions() - double.positions()).max() < 1e-4


@MAIN
def test_single_precision_repeats_its_bits_too(name):
    first, dt = made(name, precision="float32")
    second, _ = made(name, precision="float32", skin=0.5)
    first.advance(40, dt)
    for _ in range(8):
        second.advance(5, dt)
    assert_same_bits(state(second), state(first))


@pytest.mark.both
def test_memory_of_an_engine_does_not_wait_for_the_garbage_collector():
    engine, dt = made("lj")
    engine.advance(2, dt)
    engine.thermo(), engine.evaluate(), engine.members
    held = [ref(one) for one in (engine, engine.systems, engine.device, engine.device.state)]
    gc.disable()
    try:
        del engine
        assert [one() for one in held] == [None] * 4
    finally:
        gc.enable()


def test_bits_do_not_depend_on_how_well_kernels_are_optimised():
    assert "TAICHIMD_QUICK_COMPILE" in os.environ
    environment = {key: value for key, value in os.environ.items() if key != "TAICHIMD_QUICK_COMPILE"}
    assert in_another_process(environment, "melt") == {"melt": here("melt")}
