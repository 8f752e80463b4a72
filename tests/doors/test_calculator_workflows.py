"""The calculator at work inside ASE: optimisers, dynamics, phonons, NEB, files, finite differences."""

import re

import numpy as np
import pytest
from argon_systems import record_evaluations
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.fd import calculate_numerical_forces, calculate_numerical_stress
from ase.calculators.lj import LennardJones as AseLennardJones
from ase.db import connect
from ase.filters import FrechetCellFilter, UnitCellFilter
from ase.io import Trajectory, read, write
from ase.md.verlet import VelocityVerlet
from ase.mep import NEB
from ase.optimize import BFGS, FIRE
from ase.phonons import Phonons

from taichimd import Engine, LennardJones, TaichiMD, load_forcefield
from taichimd.testing import rattled

# The cutoff lies between the third and the fourth shell of fcc argon, so that no pair crosses it here.
ARGON = {"epsilon": 0.0104, "sigma": 3.40, "cutoff": 6.95}


def argon(**settings):
    return TaichiMD(LennardJones(**ARGON), **settings)


def potentials():
    """Structure and calculator of each case of the finite-difference tests."""
    yield "argon", rattled(bulk("Ar", a=5.26) * (2, 2, 1), amplitude=0.05), argon
    yield "silicon", rattled(bulk("Si"), amplitude=0.05), lambda: TaichiMD("Si.tersoff")


@pytest.mark.parametrize(("atoms", "make"), [p[1:] for p in potentials()], ids=[p[0] for p in potentials()])
def test_forces_and_stress_are_derivatives_of_the_energy(atoms, make):
    atoms.calc = make()
    numerical = calculate_numerical_forces(atoms, eps=1e-4)
    np.testing.assert_allclose(atoms.get_forces(), numerical, atol=2e-7, err_msg="forces against energies")
    numerical = calculate_numerical_stress(atoms, eps=1e-5)
    np.testing.assert_allclose(atoms.get_stress(), numerical, atol=2e-8, err_msg="stress against energies")


def test_silicon_relaxes_to_the_published_crystal():
    atoms = bulk("Si", a=5.6)
    atoms.calc = TaichiMD("Si.tersoff")
    optimiser = BFGS(FrechetCellFilter(atoms), logfile=None)
    assert optimiser.run(fmax=1e-4, steps=60)
    # J. Tersoff, Phys. Rev. B 37, 6991 (1988): a = 5.432 angstrom, -4.63 eV/atom.
    assert atoms.cell.lengths() * np.sqrt(2) == pytest.approx(5.432, abs=1e-3)
    assert atoms.get_potential_energy() / 2 == pytest.approx(-4.630, abs=1e-3)
    np.testing.assert_allclose(atoms.get_stress(), 0.0, atol=1e-5)


@pytest.mark.parametrize("cell_filter", [FrechetCellFilter, UnitCellFilter])
def test_cell_filters_relax_argon_like_ase(cell_filter):
    relaxed = []
    for calc in (argon(), AseLennardJones(epsilon=0.0104, sigma=3.40, rc=6.95, ro=1e-3)):
        atoms = bulk("Ar", a=5.5)
        atoms.calc = calc
        assert BFGS(cell_filter(atoms), logfile=None).run(fmax=1e-6, steps=80)
        relaxed.append(atoms.get_volume())
    assert relaxed[0] == pytest.approx(relaxed[1], rel=1e-7)


def test_optimiser_makes_one_calculation_a_step(monkeypatch):
    calls = record_evaluations(monkeypatch)
    atoms = rattled(bulk("Ar", a=5.26, cubic=True), amplitude=0.05)
    atoms.calc = argon()
    optimiser = FIRE(atoms, logfile=None)
    optimiser.run(fmax=1e-9, steps=5)
    assert len(calls) == optimiser.nsteps + 1


def test_ase_dynamics_conserves_energy_and_keeps_its_lists():
    atoms = bulk("Ar", a=5.26, cubic=True) * (2, 2, 2)
    rng = np.random.default_rng(5)
    momenta = rng.normal(scale=np.sqrt(20 * units.kB * atoms.get_masses())[:, None], size=(len(atoms), 3))
    atoms.set_momenta(momenta - momenta.mean(axis=0))
    atoms.calc = argon(skin=1.5)
    start = atoms.get_total_energy()
    engine, rebuilds = atoms.calc.engine, atoms.calc.engine.statistics()["rebuilds"]
    totals = []
    dynamics = VelocityVerlet(atoms, timestep=4 * units.fs)
    dynamics.attach(lambda: totals.append(atoms.get_total_energy()))
    dynamics.run(50)
    drift = np.abs(np.array(totals) - start).max() / len(atoms)
    assert drift < 2e-6, f"total energy moved by {drift} eV/atom"
    assert atoms.calc.engine is engine
    assert engine.statistics()["rebuilds"] == rebuilds, "ASE's dynamics must not rebuild lists each step"


def test_phonons_by_finite_displacement(tmp_path):
    """Frequencies at the zone boundary of fcc argon, against those with ASE's own potential."""
    frequencies = []
    for number, calc in enumerate((argon(), AseLennardJones(epsilon=0.0104, sigma=3.40, rc=6.95, ro=1e-3))):
        phonons = Phonons(
            bulk("Ar", a=5.26), calc, supercell=(2, 2, 2), delta=0.02, name=tmp_path / str(number)
        )
        phonons.run()
        phonons.read(acoustic=True)
        frequencies.append(phonons.band_structure([[0.5, 0.5, 0.0], [0.5, 0.0, 0.0]]))
    np.testing.assert_allclose(frequencies[0], frequencies[1], atol=1e-8)
    assert frequencies[0].min() > 1e-3, "an argon crystal is stable"


def vacancy_path():
    """Both ends of the jump of a neighbour into a vacancy, relaxed."""
    ends = []
    crystal = bulk("Ar", a=5.26, cubic=True) * (2, 2, 2)
    hole = crystal.positions[0].copy()
    neighbour = int(np.argsort(crystal.get_distances(0, range(len(crystal)), mic=True))[1])
    for moved in (False, True):
        atoms = crystal.copy()
        if moved:
            atoms.positions[neighbour] = hole
        del atoms[0]
        atoms.calc = argon()
        BFGS(atoms, logfile=None).run(fmax=0.002, steps=40)
        ends.append(atoms)
    return ends


@pytest.mark.parametrize("shared", [False, True], ids=["own calculators", "shared calculator"])
def test_nudged_elastic_band(shared):
    first, last = vacancy_path()
    images = [first, first.copy(), last]
    images[1].calc = first.calc if shared else argon()
    neb = NEB(images, allow_shared_calculator=shared, method="improvedtangent")
    neb.interpolate(mic=True)
    assert FIRE(neb, logfile=None).run(fmax=0.01, steps=60)
    barrier = images[1].get_potential_energy() - first.get_potential_energy()
    assert 0.01 < barrier < 0.3, f"barrier {barrier} eV"
    assert last.get_potential_energy() == pytest.approx(first.get_potential_energy(), abs=1e-4)


def test_trajectory_and_database_keep_the_results(tmp_path):
    atoms = rattled(bulk("Ar", a=5.26, cubic=True), amplitude=0.05)
    atoms.calc = argon()
    forces, stress = atoms.get_forces(), atoms.get_stress()
    with Trajectory(tmp_path / "run.traj", "w", atoms) as trajectory:
        trajectory.write()
    with connect(tmp_path / "run.db") as database:
        database.write(atoms)
    write(tmp_path / "run.extxyz", atoms)
    from_trajectory = read(tmp_path / "run.traj")
    assert from_trajectory.calc.name == "taichimd"
    row = connect(tmp_path / "run.db").get(1)
    assert row.calculator == "taichimd"
    assert row.calculator_parameters["potential"] == atoms.calc.todict()["potential"]
    for found in (from_trajectory, row.toatoms(), read(tmp_path / "run.extxyz")):
        np.testing.assert_allclose(found.get_forces(), forces, atol=1e-7)
        np.testing.assert_allclose(found.get_stress(), stress, atol=1e-7)
        assert found.get_potential_energy() == pytest.approx(atoms.get_potential_energy())


def test_extxyz_has_the_columns_of_ases_own_potential(tmp_path):
    """ASE's test of extxyz expects what EMT computes; per-atom stresses are columns as with LennardJones."""
    atoms, columns = bulk("Ar", a=5.26), {}
    for name, calculator in (("ours", argon()), ("ase", AseLennardJones(sigma=3.4, rc=6.95))):
        atoms.calc = calculator
        atoms.get_stress()
        write(tmp_path / f"{name}.xyz", atoms)
        comment = (tmp_path / f"{name}.xyz").read_text().splitlines()[1]
        columns[name] = set(re.findall(r"[:=](\w+:[SRIL]:\d)", comment))
    assert columns["ours"] == columns["ase"] >= {"stresses:R:6", "forces:R:3", "energies:R:1"}


def test_writing_a_trajectory_calculates_nothing(tmp_path, monkeypatch):
    from taichimd.program.engine import Engine

    atoms = Atoms("Ar2", positions=[[0, 0, 0], [0, 0, 3.7]])
    atoms.calc = argon()
    monkeypatch.setattr(Engine, "evaluate", lambda self: pytest.fail("a calculation that nobody asked for"))
    with Trajectory(tmp_path / "run.traj", "w", atoms) as trajectory:
        trajectory.write()
    assert len(read(tmp_path / "run.traj")) == 2


def test_atoms_copy_and_restart_from_a_file(tmp_path):
    atoms = rattled(bulk("Ar", a=5.26, cubic=True), amplitude=0.05)
    atoms.calc = argon()
    forces = atoms.get_forces()
    write(tmp_path / "a.traj", atoms)
    again = read(tmp_path / "a.traj")
    again.calc = argon()
    np.testing.assert_array_equal(again.get_forces(), forces)


def test_ase_dynamics_and_the_engines_own_agree():
    """Two integrators over the same forces: ASE's through the calculator, and the engine's."""
    atoms = rattled(bulk("Si", cubic=True), amplitude=0.03)
    momenta = np.random.default_rng(7).normal(scale=2.0, size=(len(atoms), 3))
    atoms.set_momenta(momenta - momenta.mean(axis=0))
    engine = Engine(atoms, load_forcefield("Si.sw"))
    engine.advance(60, 1.0 * units.fs)
    atoms.calc = TaichiMD("Si.sw")
    VelocityVerlet(atoms, timestep=1.0 * units.fs).run(60)
    np.testing.assert_allclose(atoms.positions, engine.positions(), atol=1e-11)
    np.testing.assert_allclose(atoms.get_velocities(), engine.velocities(), atol=1e-11)
