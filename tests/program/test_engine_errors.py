"""Input that the engine refuses, and runs that diverge: one line each, with the atom."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import testing
from taichimd.core import runtime
from taichimd.core.errors import BackendError, BlowUpError, SettingsError, StructureError
from taichimd.forcefields import library
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine

LJ = {**testing.ARGON, "cutoff": 6.0}


def argon():
    return testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(2), 100.0, 1)


def change(atoms, **attributes):
    for name, value in attributes.items():
        setattr(atoms, name, value)
    return atoms


def placed(atoms, index, position):
    atoms.positions[index] = position
    return atoms


def heavy(atoms):
    masses = atoms.get_masses()
    masses[5] = np.inf
    atoms.set_masses(masses)
    return atoms


def massless(atoms):
    masses = atoms.get_masses()
    masses[5] = 0.0
    atoms.set_masses(masses)
    return atoms


HAIR = np.array([0.001, 0, 0])
BAD_STRUCTURES = [
    (lambda: Atoms(), "the structure has no atoms"),
    (lambda: placed(argon(), 3, np.nan), r"position of atom 3 \(counted from 0\) is \[nan, nan, nan\]"),
    (lambda: placed(argon(), 3, [0, np.inf, 0]), "position of atom 3 .*expected finite numbers"),
    (lambda: placed(argon(), 7, argon().positions[2] + HAIR), r"atoms 2 and 7 .* are 0\.001 angstrom"),
    (lambda: placed(argon(), 7, argon().positions[2] + argon().cell[1]), r"atoms 2 and 7 .* apart; remove"),
    (lambda: change(argon(), cell=np.zeros((3, 3))), "no volume along its periodic directions"),
    (lambda: change(argon(), cell=[[5, 0, 0], [10, 0, 0], [0, 0, 9]]), "no volume along its periodic"),
    (lambda: change(argon(), cell=[[5, 0, 0], [0, np.nan, 0], [0, 0, 9]]), "a vector that is not finite"),
    (lambda: massless(argon()), r"mass of atom 5 \(Ar\) is 0\.0 amu, expected a positive number"),
    (lambda: heavy(argon()), r"mass of atom 5 \(Ar\) is inf amu, expected a positive number"),
    (lambda: placed(argon(), 1, [1e9, 0, 0]), r"atom 1 .* lies 9\.1e\+07 cells away .*wrap the positions"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "message"), BAD_STRUCTURES)
def test_a_bad_structure_is_refused(build, message):
    with pytest.raises(StructureError, match=message) as caught:
        Engine(build(), LennardJones(**LJ))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "half"}, "precision is 'half', expected one of float64, float32, mixed"),
        ({"backend": "tpu"}, "backend is 'tpu', expected auto, cuda or cpu"),
        ({"skin": -1.0}, r"skin is -1\.0 angstrom, expected a length of 0\.005 or more"),
        ({"skin": 0.001}, "expected a length of 0.005 or more"),
        ({"skin": float("nan")}, "expected a length of 0.005 or more"),
        ({"skin": "wide"}, "skin is 'wide' angstrom, expected a length of 0.005 or more"),
    ],
)
def test_a_bad_setting_is_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        Engine(argon(), LennardJones(**LJ), **options)


def test_lengths_that_no_step_would_survive_are_refused(tmp_path):
    far = LennardJones(**LJ | {"cutoff": 1000.0})
    with pytest.raises(
        SettingsError, match=r"the cutoff of 1000 angstrom reaches about .* expected 1,000,000"
    ):
        Engine(argon(), far)
    text = library.find("Si.sw").read_text().replace("2.0951 1.8 ", "2.0951 180 ")
    (tmp_path / "wide.sw").write_text(text)
    with pytest.raises(
        SettingsError, match="expected 3,000 or fewer for three-body terms; check the lengths"
    ):
        Engine(bulk("Si", cubic=True), load_forcefield(str(tmp_path / "wide.sw")))
    # Of a cluster there are no images: it has no more neighbours than atoms.
    cluster = argon()
    cluster.pbc = False
    assert Engine(cluster, far).n_atoms == len(cluster)


def test_what_is_not_a_force_field_is_refused():
    with pytest.raises(
        SettingsError, match=r"expected a force field, got str; see taichimd\.load_forcefield"
    ):
        Engine(argon(), "Si.tersoff")


def test_a_second_backend_is_refused():
    running = runtime.start()
    other = {"cpu": "cuda", "cuda": "cpu"}[running]
    with pytest.raises(BackendError, match=rf"backend {other}.*already runs on {running}"):
        runtime.start(other)
    assert runtime.start("auto") == running


@pytest.mark.parametrize("timestep", [0.0, -1.0, float("nan")])
def test_a_time_step_must_be_positive(timestep):
    engine = Engine(argon(), LennardJones(**LJ))
    with pytest.raises(SettingsError, match=r"timestep is .*expected a positive time"):
        engine.advance(5, timestep)
    assert engine.step == 0


def test_a_bad_state_is_refused_and_the_old_one_kept():
    engine = Engine(argon(), LennardJones(**LJ))
    before, energy = engine.positions(), engine.evaluate().energy
    bad = before.copy()
    bad[4, 1] = np.nan
    with pytest.raises(StructureError, match="position of atom 4"):
        engine.set_state(positions=bad)
    with pytest.raises(StructureError, match=r"positions have shape \(31, 3\), expected \(32, 3\)"):
        engine.set_state(positions=before[1:])
    for what in ("velocities", "forces"):
        with pytest.raises(StructureError, match=rf"{what} have shape \(31, 3\), expected \(32, 3\)"):
            engine.set_state(**{what: before[1:]})
    with pytest.raises(StructureError, match="no volume"):
        engine.set_state(cell=np.zeros((3, 3)))
    np.testing.assert_array_equal(engine.positions(), before)
    assert engine.evaluate().energy == energy


# Runs that diverge.


@pytest.mark.parametrize(("enumeration"), ["neighbours", "all-pairs"])
def test_a_huge_time_step_is_stopped_and_named(enumeration):
    engine = Engine(testing.with_velocities(testing.argon_256(), 100.0, 1),
                    LennardJones(**LJ, enumeration=enumeration))  # fmt: skip
    engine.advance(7, 0.1)
    with pytest.raises(
        BlowUpError, match=r"exploded at step 8: atom \d+ \(Ar\) moved by more than 1\.50"
    ) as caught:
        engine.advance(100, 1e4)
    assert caught.value.step == engine.step == 8
    moved = caught.value.atom
    assert 0 <= moved < 256
    assert f"atom {moved} " in str(caught.value)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", ["lj", "tersoff"])
@pytest.mark.parametrize("speed", [1e3, 1e10, 1e160, np.inf, np.nan])
def test_one_atom_that_runs_away_is_named(name, speed):
    """Whatever its speed: no other error, no crash, and no energy without it afterwards."""
    forcefield = LennardJones(**LJ) if name == "lj" else load_forcefield("Si.tersoff")
    atoms = argon() if name == "lj" else bulk("Si", cubic=True)
    engine = Engine(atoms, forcefield)
    start = engine.positions()
    engine.advance(3, 0.1)
    velocities = engine.velocities()
    velocities[6] = speed
    engine.device.state.set("vel", velocities)  # as a step may leave it; `set_state` refuses it
    with pytest.raises(BlowUpError, match=r"exploded at step 4: atom 6 .* use a smaller time step"):
        engine.advance(100, 0.1)
    if speed > 1e4 or np.isnan(speed):
        with pytest.raises(StructureError, match="atom 6"):
            engine.evaluate()
        with pytest.raises(StructureError, match="atom 6"):
            engine.thermo()
    # And the engine is good for another structure.
    engine.set_state(positions=start, velocities=np.zeros_like(start), step=0)
    assert (
        engine.evaluate().energy
        == Engine(change(atoms.copy(), positions=start), forcefield).evaluate().energy
    )
    engine.advance(5, 0.1)
    assert engine.step == 5


APART = (
    r"exploded at step 6: atoms 0 and 1 \(counted from 0\) are \S+ angstrom apart; use a smaller time step"
)
FAR = r"exploded at step 7: atom 0 \(Ar\) moved by more than 2.12 angstrom .*; use a smaller time step"


@pytest.mark.parametrize(("gap", "message"), [(0.0, APART), (0.01, APART), (0.05, FAR), (0.3, FAR)])
def test_atoms_that_collide_at_speed(gap, message):
    """Two atoms meet after six steps; what their force does next must not reach a list.

    A list that is built while they meet names both atoms, if they are too close for it.
    """
    atoms = Atoms("Ar4", [[0, 0, 0], [20, 0, 0], [10, 5, 0], [10, 9, 0]])
    engine = Engine(atoms, LennardJones(**{**LJ, "cutoff": 8.5}), skin=1.0)
    approach = (20 - gap) / 12
    velocities = np.zeros((4, 3))
    velocities[:2, 0] = approach / 1e-3, -approach / 1e-3
    engine.set_state(velocities=velocities)
    with pytest.raises(BlowUpError, match=message) as caught:
        engine.advance(100, 1e-3)
    assert caught.value.atom == 0
    assert caught.value.step == engine.step


@pytest.mark.parametrize("steps", [-3, 2.5, True])
def test_steps_are_counted(steps):
    engine = Engine(bulk("Ar", cubic=True), LennardJones(**LJ))
    with pytest.raises(SettingsError, match=f"advance by {steps} steps: expected a whole number, 0 or more"):
        engine.advance(steps, 0.1)


def test_single_precision_far_from_the_origin_is_refused():
    atoms = argon()
    atoms.positions += 2000 * atoms.cell[0]
    with pytest.raises(StructureError, match=r"which float32 rounds by more than 0.001; wrap the positions"):
        Engine(atoms, LennardJones(**LJ), precision="float32")
    Engine(atoms, LennardJones(**LJ), precision="mixed")
    atoms.wrap()
    engine = Engine(atoms, LennardJones(**LJ), precision="float32")
    with pytest.raises(StructureError, match="which float32 rounds"):
        engine.set_state(positions=atoms.positions + 2000 * atoms.cell[0])
