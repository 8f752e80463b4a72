"""What a simulation may expect of an engine, kept by the engine and by its stand-in for tests."""

import inspect
import json

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from fake_engine import FakeEngine, FakeForceField

from taichimd.core.errors import BlowUpError, SettingsError, StructureError
from taichimd.core.units import FS, GPA, KB
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine
from taichimd.testing import ARGON, rattled, with_velocities

STEP = 2.0 * FS
STATE = ("positions", "velocities", "forces")


def crystal():
    """32 argon atoms in motion, some of them in other cells."""
    atoms = rattled(bulk("Ar", cubic=True, a=5.4).repeat(2), 0.1, 1)
    atoms.positions[3] += 2 * atoms.cell[0] - atoms.cell[1]
    return with_velocities(atoms, 80.0, 2)


def cluster():
    return with_velocities(rattled(Atoms("Ar3", positions=[[0, 0, 0], [4, 0, 0], [0, 4, 1]])), 20.0, 2)


@pytest.fixture(params=["engine", "stand-in"])
def make(request):
    """A function that makes an engine of atoms."""
    if request.param == "stand-in":
        return lambda atoms, **options: FakeEngine(atoms, FakeForceField(), **options)
    argon = LennardJones(**ARGON, cutoff=6.0, truncation="force-shifted")
    return lambda atoms, **options: Engine(atoms, argon, backend="cpu", **options)


def state(engine):
    return [getattr(engine, name)() for name in STATE]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_stand_in_has_nothing_that_the_engine_lacks():
    methods = [name for name, _ in inspect.getmembers(FakeEngine, inspect.isfunction) if name[0] != "_"]
    assert len(methods) > 12
    for name in methods:
        has = inspect.signature(getattr(Engine, name)).parameters
        assert set(inspect.signature(getattr(FakeEngine, name)).parameters) <= set(has), name


def test_a_new_engine_has_what_the_atoms_have(make):
    atoms = crystal()
    engine = make(atoms)
    assert (engine.n_atoms, engine.step, engine.fixed) == (32, 0, None)
    assert engine.symbols == ["Ar"] * 32
    assert engine.decomposition in ("particle", "tuple")
    for found, given in (
        (engine.positions(), atoms.positions),
        (engine.velocities(), atoms.get_velocities()),
        (engine.masses, atoms.get_masses()),
        (engine.cell, atoms.cell.array),
        (engine.pbc, atoms.pbc),
    ):
        np.testing.assert_array_equal(found, given)


@pytest.mark.parametrize("name", STATE)
def test_arrays_are_copies_in_float64(make, name):
    engine = make(crystal())
    first = getattr(engine, name)()
    assert (first.shape, first.dtype) == ((32, 3), np.float64)
    kept = first.copy()
    first[:] = 7.0
    np.testing.assert_array_equal(getattr(engine, name)(), kept)


def test_steps_do_not_depend_on_how_they_are_split(make):
    one, many = make(crystal()), make(crystal())
    one.advance(12, STEP)
    for n in (1, 4, 0, 7):
        many.advance(n, STEP)
    assert one.step == many.step == 12
    assert same(state(one), state(many))
    assert abs(one.positions() - crystal().positions).max() > 0.01


def test_no_steps_change_nothing(make):
    engine = make(crystal())
    before = state(engine)
    engine.advance(0, STEP)
    assert engine.step == 0
    assert same(state(engine), before)


def test_what_looks_leaves_the_state_alone(make):
    looked, plain = make(crystal()), make(crystal())
    seen = []
    for engine in (looked, plain):
        engine.advance(3, STEP)
        if engine is looked:
            assert engine.warm_up() >= 0.0
            engine.thermo(), engine.evaluate(), engine.pressures(), engine.statistics()
            engine.observe(lambda *lent: seen.append(len(lent)))
        engine.advance(3, STEP)
    assert seen == [3]
    assert same(state(looked), state(plain))


def test_what_is_not_given_stays(make):
    engine = make(crystal())
    positions, velocities, forces = state(engine)
    engine.set_state(step=40)
    assert engine.step == 40
    assert same(state(engine), (positions, velocities, forces))
    engine.set_state(velocities=2.0 * velocities)
    assert same(state(engine), (positions, 2.0 * velocities, forces))
    engine.set_state(positions=positions + 0.05 * np.sin(positions))
    np.testing.assert_array_equal(engine.velocities(), 2.0 * velocities)
    assert abs(engine.forces() - forces).max() > 1e-4
    engine.set_state(positions=positions)
    np.testing.assert_allclose(engine.forces(), forces, rtol=0, atol=1e-12)
    engine.set_state(forces=1.5 * forces)
    np.testing.assert_array_equal(engine.forces(), 1.5 * forces)


def test_a_restart_has_the_bits_of_an_uncut_run(make):
    whole = make(crystal())
    whole.advance(10, STEP)
    first = make(crystal())
    first.advance(4, STEP)
    kept = dict(zip(STATE, state(first), strict=True))
    bath = json.loads(json.dumps(first.bath_state()))
    second = make(crystal())
    second.set_atom_states(first.atom_states())
    second.set_state(**kept, step=first.step, bath=bath)
    second.advance(6, STEP)
    assert second.step == 10
    assert same(state(second), state(whole))


def test_totals_are_those_of_the_atoms(make):
    engine = make(crystal())
    engine.advance(5, STEP)
    thermo, found = engine.thermo(), engine.evaluate()
    kinetic = 0.5 * (engine.masses[:, None] * engine.velocities() ** 2).sum()
    assert thermo.step == 5
    assert thermo.potential == found.energy == pytest.approx(found.energies.sum(), rel=1e-12)
    assert thermo.kinetic == pytest.approx(kinetic, rel=1e-12)
    assert thermo.temperature == pytest.approx(2.0 * kinetic / (3 * 31 * KB), rel=1e-12)
    assert thermo.conserved == pytest.approx(thermo.potential + thermo.kinetic, rel=1e-12)
    assert thermo.volume == pytest.approx(10.8**3, rel=1e-12)
    np.testing.assert_array_equal(found.forces, engine.forces())
    np.testing.assert_array_equal(found.stress, thermo.stress)
    virial = -0.5 * (found.virials + found.virials.transpose(0, 2, 1)).sum(axis=0) / thermo.volume
    np.testing.assert_allclose(thermo.stress, virial[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]], atol=1e-14)
    assert thermo.pressure == pytest.approx(engine.pressures()[:3].mean(), rel=1e-12)
    expected = (2.0 * kinetic / thermo.volume - thermo.stress[:3].sum()) / 3.0 / GPA
    assert thermo.pressure == pytest.approx(expected, rel=1e-9)


def test_without_a_volume_there_is_neither_stress_nor_pressure(make):
    engine = make(cluster())
    thermo = engine.thermo()
    assert (thermo.volume, thermo.pressure, thermo.stress) == (None, None, None)
    assert engine.evaluate().stress is None
    assert engine.pressures() is None


def test_fixed_atoms_stay_and_have_no_velocity(make):
    atoms, fixed = crystal(), np.arange(32) < 4
    engine = make(atoms, fixed=fixed)
    engine.advance(5, STEP)
    np.testing.assert_array_equal(engine.fixed, fixed)
    np.testing.assert_array_equal(engine.positions()[:4], atoms.positions[:4])
    assert not engine.velocities()[:4].any()
    assert (engine.velocities()[4:] != atoms.get_velocities()[4:]).all()
    twice = (engine.masses[:, None] * engine.velocities() ** 2).sum()
    assert engine.thermo().temperature == pytest.approx(twice / (3 * 28 * KB), rel=1e-12)
    engine.set_state(velocities=np.ones((32, 3)))
    assert not engine.velocities()[:4].any()


def test_an_atom_that_is_lost_ends_the_run(make):
    atoms = crystal()
    velocities = atoms.get_velocities()
    velocities[7] = 100.0 / FS
    atoms.set_velocities(velocities)
    engine = make(atoms)
    with pytest.raises(BlowUpError) as caught:
        engine.advance(20, STEP)
    assert caught.value.atom == 7
    assert caught.value.step == engine.step == 1


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"positions": np.zeros((31, 3))}, StructureError, r"shape \(31, 3\), expected \(32, 3\)"),
        ({"velocities": np.zeros((32, 2))}, StructureError, r"shape \(32, 2\), expected \(32, 3\)"),
        ({"forces": np.zeros(32)}, StructureError, r"shape \(32,\), expected \(32, 3\)"),
        ({"positions": np.full((32, 3), np.nan)}, StructureError, "atom 0"),
        ({"velocities": np.full((32, 3), np.inf)}, StructureError, "atom 0"),
    ],
)
def test_a_state_that_is_none_is_refused(make, change, error, told):
    engine = make(crystal())
    before = state(engine)
    with pytest.raises(error, match=told):
        engine.set_state(**change)
    assert same(state(engine), before)


@pytest.mark.parametrize(
    ("of", "told"),
    [((-1, STEP), "advance by -1 steps"), ((1, 0.0), "timestep is 0"), ((1, -1.0), "timestep")],
)
def test_steps_that_are_none_are_refused(make, of, told):
    engine = make(crystal())
    with pytest.raises(SettingsError, match=told):
        engine.advance(*of)
    assert engine.step == 0


def test_atoms_that_are_nowhere_are_refused(make):
    atoms = crystal()
    atoms.positions[5, 1] = np.nan
    with pytest.raises(StructureError, match="atom 5"):
        make(atoms)


def test_figures_for_the_report(make):
    found = make(crystal()).statistics()
    assert {
        "rebuilds",
        "neighbours_mean",
        "neighbours_max",
        "cutoff_A",
        "outer_skin_A",
        "inner_skin_A",
    } <= set(found)
    json.dumps(found)
