"""Barostats of a batch: each system has a cell and a pressure of its own, and the bits that it has alone."""

from dataclasses import replace

import numpy as np
import pytest
from ase import units
from ase.build import bulk

from taichimd import Batch, Engine, LennardJones, load_forcefield, testing
from taichimd.core.errors import BlowUpError, CapacityError, SettingsError
from taichimd.ensembles.registry import BAROSTATS

ARGON = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
PRESSURES = (0.0, 0.4, -0.05)
CONTROLS = {"npt-berendsen": "isotropic", "npt-scr": "triclinic", "npt-mtk": "triclinic"}
"""One for each barostat: another one, or another period, compiles other kernels."""


def systems():
    """Three sizes; one cell is thinner than the cutoff, one is triclinic."""
    found = [
        testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(repeat), 150.0, seed)
        for seed, repeat in enumerate([(3, 3, 3), (1, 1, 2), (2, 3, 2)])
    ]
    found[2].set_cell(found[2].cell.array @ [[1, 0.1, 0], [0, 1, 0.05], [0.02, 0, 1]], scale_atoms=True)
    return found


def bath(name, k, **more):
    kinds = {
        "coupling_time": 50.0, "pressure_coupling_time": 150.0, "bulk_modulus": 3.0, "period": 3,
        "pressure": PRESSURES[k], "final_pressure": PRESSURES[k] + 0.1, "ramp": (5, 40), "seed": k + 3,
        "control": CONTROLS[name],
    }  # fmt: skip
    return BAROSTATS[name](150.0 + 50.0 * k, **{**kinds, **more})


def assert_same(member, engine):
    now, alone = member.evaluate(), engine.evaluate()
    for found, expected in (
        (member.cell, engine.cell),
        (member.positions(), engine.positions()),
        (member.velocities(), engine.velocities()),
        (now.forces, alone.forces),
        (now.virials, alone.virials),
        (now.stress, alone.stress),
    ):
        np.testing.assert_array_equal(found, expected)
    assert member.bath_state() == engine.bath_state()
    assert replace(member.thermo(), stress=None) == replace(engine.thermo(), stress=None)


def advanced(name, given, forcefield, lengths, timestep, **more):
    """A batch behind some runs, its members and engines with the same."""
    baths = [bath(name, k, **more) for k in range(len(given))]
    batch = Batch(given, forcefield, ensembles=baths)
    alone = [Engine(atoms, forcefield, ensemble=one) for atoms, one in zip(given, baths, strict=True)]
    for steps in lengths:
        for one in (batch, *alone):
            one.advance(steps, timestep)
    return batch, alone


@pytest.mark.parametrize("name", CONTROLS)
def test_each_system_has_the_bits_that_it_has_alone(name):
    batch, engines = advanced(name, systems(), ARGON, (25, 35), 4.0 * units.fs)
    for number, (member, engine) in enumerate(zip(batch.members, engines, strict=True)):
        assert_same(member, engine)
        assert abs(member.volume / engine.volume - 1.0) < 1e-12
        assert abs(member.volume - abs(np.linalg.det(systems()[number].cell.array))) > 1e-3


def test_of_three_body_terms_with_an_axis_that_is_open():
    given = [testing.with_velocities(bulk("Si", cubic=True).repeat(k), 300.0, k) for k in (1, 2)]
    given[1].pbc = (True, False, True)
    more = {
        "control": "orthorhombic", "axes": "xz", "bulk_modulus": 98.0, "period": 1,
        "pressure_coupling_time": 100.0, "pressure": 0.3, "final_pressure": None, "ramp": None,
    }  # fmt: skip
    batch, engines = advanced("npt-mtk", given, load_forcefield("Si.sw"), (10, 21), units.fs, **more)
    for member, engine in zip(batch.members, engines, strict=True):
        assert_same(member, engine)


@pytest.mark.long
def test_lists_are_built_anew_in_moving_cells():
    """In hot argon, between whose builds cells change; short skins ask for many."""
    given, options = systems(), {"skin": 0.5}
    baths = [bath("npt-scr", k, pressure_coupling_time=400.0) for k in range(3)]
    batch = Batch(given, ARGON, ensembles=baths, **options)
    batch.advance(150, 4.0 * units.fs)
    assert batch.statistics()["rebuilds"] > 5
    for member, atoms, one in zip(batch.members, given, baths, strict=True):
        alone = Engine(atoms, ARGON, ensemble=one, **options)
        alone.advance(150, 4.0 * units.fs)
        assert_same(member, alone)


@pytest.mark.parametrize("steps", [24, 25])
def test_a_batch_goes_on_from_a_checkpoint(steps):
    """In a step of action or behind one."""
    batch, later = (
        Batch(systems(), ARGON, ensembles=[bath("npt-scr", k) for k in range(3)]) for _ in range(2)
    )
    batch.advance(steps, 4.0 * units.fs)
    for member, before in zip(later.members, batch.members, strict=True):
        member.set_state(
            positions=before.positions(), velocities=before.velocities(), step=before.step, cell=before.cell,
            bath=before.bath_state(),
        )  # fmt: skip
    for one in (batch, later):
        one.advance(30, 4.0 * units.fs)
    for member, other in zip(batch.members, later.members, strict=True):
        assert_same(member, other)


@pytest.mark.parametrize(("name", "pressure"), [("npt-berendsen", 40.0), ("npt-mtk", 100.0)])
def test_a_cell_that_runs_away_stops_its_system_and_no_other(name, pressure):
    given = systems()
    baths = [bath(name, k) for k in range(3)]
    baths[1] = bath(name, 1, pressure=pressure, final_pressure=None, ramp=None)
    batch = Batch(given, ARGON, ensembles=baths)
    batch.advance(40, 4.0 * units.fs)
    assert batch.alive == [0, 2]
    for number, (member, atoms, one) in enumerate(zip(batch.members, given, baths, strict=True)):
        alone = Engine(atoms, ARGON, ensemble=one)
        if number != 1:
            alone.advance(40, 4.0 * units.fs)
            assert_same(member, alone)
            continue
        with pytest.raises(BlowUpError, match="changed the cell by more than 5% in one step") as caught:
            alone.advance(40, 4.0 * units.fs)
        assert str(member.error) == f"system 1 (counted from 0): {caught.value}"
        assert member.step == alone.step
        np.testing.assert_array_equal(member.positions(), alone.positions())
        np.testing.assert_array_equal(member.cell, alone.cell)
        np.testing.assert_array_equal(member.frame.vectors, alone.cell)


def test_what_does_not_suit_a_system_is_refused_by_its_name():
    given = systems()
    with pytest.raises(
        CapacityError, match=r"system 1 \(counted from 0\): npt-scr: virial or kinetic energy"
    ):
        Batch(given[:2], ARGON, ensembles=[bath("npt-scr", 0), bath("npt-scr", 1, pressure=1e9)])
    given[1].pbc = (True, True, False)
    with pytest.raises(SettingsError, match=r"system 1 \(counted from 0\): .*not periodic there"):
        Batch(given[:2], ARGON, ensembles=[bath("npt-scr", 0), bath("npt-scr", 1)])
