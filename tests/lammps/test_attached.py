"""A force field attached to a LAMMPS in this process has LAMMPS's own results and ours."""

import numpy as np
import pytest
from ase import units
from ase.build import bulk

from taichimd import Engine, load_forcefield
from taichimd.core.errors import EvaluationError, SettingsError
from taichimd.forcefields.library import find
from taichimd.lammps import attach
from taichimd.lammps.reference import lammps_attached, lammps_box, lammps_nve, setup_commands

pytestmark = pytest.mark.lammps


def silicon(pbc=True):
    """Hot, and on its way through the box."""
    atoms = bulk("Si", cubic=True) * 2
    atoms.rattle(0.05, seed=3)
    noise = np.random.default_rng(7).normal(0.0, 0.04, (len(atoms), 3))
    atoms.set_velocities(noise + np.array([0.02, 0.5, 0.3]))
    atoms.pbc = pbc
    return atoms


@pytest.mark.parametrize("pbc", [True, [True, False, False]])
def test_steps_are_those_of_a_pair_style(pbc):
    """Positions after 60 steps, with atoms wrapped; energy and virial are the engine's."""
    atoms, timestep = silicon(pbc), 1.0 * units.fs
    found = lammps_attached(
        atoms, lambda lmp, elements: attach(lmp, "Si.tersoff", elements), n_steps=60, timestep=timestep
    )
    own = lammps_nve(
        atoms, "tersoff", (f"* * {find('Si.tersoff')} {{elements}}",), n_steps=60, timestep=timestep
    )
    np.testing.assert_allclose(found.positions, own.positions, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.velocities, own.velocities, rtol=0, atol=1e-10)
    atoms.positions = found.positions
    expected = Engine(atoms, load_forcefield("Si.tersoff")).evaluate()
    np.testing.assert_allclose(found.forces, expected.forces, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.energies, expected.energies, rtol=0, atol=1e-10)
    assert found.energy == pytest.approx(expected.energy, rel=1e-12)
    np.testing.assert_allclose(found.virial, expected.virials.sum(0), rtol=0, atol=1e-9)


@pytest.fixture
def lmp():
    import lammps

    found = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    yield found
    found.close()


def prepared(lmp, atoms):
    for command in setup_commands(atoms, lammps_box(atoms), ["Si"]):
        lmp.command(command)
    n = len(atoms)
    lmp.create_atoms(n, list(range(1, n + 1)), [1] * n, atoms.positions.ravel().tolist(), None)


def test_lammps_minimizes_and_reports_stress_of_atoms(lmp):
    prepared(lmp, silicon())
    attach(lmp, "Si.sw", ["Si"])
    for command in (
        "compute w all stress/atom NULL virial",
        "compute total all reduce sum c_w[1] c_w[4]",
        "compute press all pressure NULL virial",
        "thermo_style custom step pe press c_total[1] c_total[2] c_press[1]",
        "minimize 0.0 1e-6 1000 1000",
    ):
        lmp.command(command)
    crystal = Engine(bulk("Si", cubic=True) * 2, load_forcefield("Si.sw")).evaluate()
    assert lmp.get_thermo("pe") == pytest.approx(crystal.energy, abs=1e-6)
    total, press = lmp.numpy.extract_compute("total", 0, 1), lmp.numpy.extract_compute("press", 0, 1)
    volume = lmp.get_thermo("vol")
    np.testing.assert_allclose(-total / volume, press[[0, 3]], atol=1e-4)


@pytest.mark.parametrize("newton", ["on", "off"])
def test_newtons_law_between_processes_may_be_on_or_off(lmp, newton):
    lmp.command(f"newton {newton}")
    atoms = silicon()
    prepared(lmp, atoms)
    attach(lmp, "Si.sw", ["Si"])
    lmp.command("run 0")
    expected = Engine(atoms, load_forcefield("Si.sw")).evaluate()
    assert lmp.get_thermo("pe") == pytest.approx(expected.energy, rel=1e-12)
    assert lmp.extract_setting("newton_pair") == (newton == "on")


def test_what_lammps_must_change_is_said(lmp):
    lmp.command("units real")
    with pytest.raises(SettingsError, match="units are real, expected metal"):
        attach(lmp, "Si.sw", ["Si"])
    lmp.command("units metal")
    with pytest.raises(SettingsError, match="no box yet"):
        attach(lmp, "Si.sw", ["Si"])
    prepared(lmp, silicon())
    with pytest.raises(SettingsError, match=r"2 elements .* for 1 atom types"):
        attach(lmp, "Si.sw", ["Si", "C"])


def test_missing_ghosts_end_the_run(lmp):
    """Newton's third law tells; the command raises."""
    prepared(lmp, silicon())
    attach(lmp, "Si.sw", ["Si"])
    lmp.command("comm_modify cutoff 2.0")
    with pytest.raises(EvaluationError, match=r"ghosts are missing.*leave comm_modify out"):
        lmp.command("run 5")
