"""Atoms held along some directions: what is held stays, degrees of freedom, ledgers, files, refusals."""

import ase.io
import numpy as np
import pytest
from ase.build import bulk, fcc111
from ase.constraints import FixAtoms, FixCartesian, FixScaled, Hookean

from taichimd import Bussi, Langevin, NoseHoover, Simulation, Source, TrajectoryFile, relax, testing
from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.system.constraints import constrained, fix, free_directions
from taichimd.system.velocities import maxwell_boltzmann, temperature

SMOOTH = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")


def held_argon():
    """108 atoms: some fixed, some held along z, one along x and y."""
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.4).repeat(3), 0.1, 1)
    atoms.set_masses(np.where(np.arange(108) % 3, 39.9, 83.8))
    z, xy = [False, False, True], [True, True, False]
    atoms.set_constraint(
        [FixAtoms(range(4)), FixCartesian(range(10, 40), mask=z), FixCartesian([50], mask=xy)]
    )
    return atoms


def mask():
    held = np.zeros((108, 3), bool)
    held[:4] = True
    held[10:40, 2] = True
    held[50, :2] = True
    return held


def test_constraints_of_directions_are_a_mask_and_back():
    atoms = held_argon()
    assert (constrained(atoms) == mask()).all()
    again = atoms.copy()
    fix(again, mask())
    assert (constrained(again) == mask()).all()
    assert free_directions(mask()) == 3 * 108 - 3 * 4 - 30 - 2
    only_z = np.zeros((108, 3), bool)
    only_z[:9, 2] = True
    assert free_directions(only_z) == 107 + 107 + 99
    assert free_directions(only_z, moves_centre=True) == 108 + 108 + 99
    slab = fcc111("Ar", (2, 2, 3), a=5.3, vacuum=8.0, orthogonal=False)
    slab.set_constraint(FixScaled([0, 1], mask=[False, False, True]))
    assert constrained(slab)[:3].tolist() == [[False, False, True]] * 2 + [[False] * 3]
    slab.set_constraint(FixScaled([0], mask=[True, False, False]))
    with pytest.raises(SettingsError, match="along cell vectors that are not along x, y or z"):
        constrained(slab)
    sprung = atoms.copy()
    sprung.set_constraint(Hookean(0, (1.0, 2.0, 3.0), 5.0))
    with pytest.raises(SettingsError, match="Hookean: molecular dynamics keeps no springs of ASE"):
        constrained(sprung)
    with pytest.raises(SettingsError, match="relax cannot keep it"):
        relax(held_argon(), SMOOTH)


def test_velocities_that_are_drawn_have_the_temperature_and_no_drift():
    held = np.zeros((108, 3), bool)
    held[10:40, 2] = True
    masses = held_argon().get_masses()
    v = maxwell_boltzmann(masses, 200.0, 3, held)
    assert (v[held] == 0.0).all()
    np.testing.assert_allclose((masses[:, None] * v).sum(axis=0)[:2], 0.0, atol=1e-10)
    atoms = held_argon()
    atoms.set_constraint(FixCartesian(range(10, 40), mask=[False, False, True]))
    atoms.set_velocities(v)
    assert temperature(atoms) == pytest.approx(200.0)


ACTING = [Bussi(200.0, coupling_time=40.0, on=range(2, 45)), Source(3.0, on=range(45, 80))]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"ensemble": Langevin(90.0, coupling_time=60.0)},
        pytest.param({"ensemble": NoseHoover(90.0, coupling_time=60.0)}, marks=pytest.mark.long),
        pytest.param({"acting": ACTING}, marks=pytest.mark.long),
    ],
)
def test_what_is_held_stays_and_the_energy_is_accounted_for(how, tmp_path):
    """Held coordinates keep their bits; the conserved energy scatters as the square of the time step."""
    scatter = []
    for timestep in (6.0, 3.0):
        atoms = held_argon()
        simulation = Simulation(atoms, SMOOTH, timestep=timestep, temperature=90, **how)
        first, conserved = simulation.positions(), []
        for _ in range(10):
            simulation.run(int(60 / timestep), report_first=False)
            conserved.append(simulation.thermo().conserved)
        held = mask()
        assert (simulation.positions()[held] == first[held]).all()
        assert (simulation.velocities()[held] == 0.0).all()
        assert (simulation.velocities()[~held] != 0.0).all()
        scatter.append(np.std(conserved))
    assert scatter[1] < 0.5 * scatter[0]
    kinetic = 0.5 * (simulation.engine.masses[:, None] * simulation.velocities() ** 2).sum()
    expected = 2.0 * kinetic / (free_directions(held) * units.KB)
    assert simulation.thermo().temperature == pytest.approx(expected, rel=1e-12)
    simulation.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz", SMOOTH)
    for steps in (3, 7):
        again.run(steps)
    simulation.run(10)
    np.testing.assert_array_equal(again.positions(), simulation.positions())
    assert again.thermo().conserved == simulation.thermo().conserved
    assert (constrained(again.atoms()) == held).all()


@pytest.mark.long
def test_directions_have_the_energy_of_equipartition():
    atoms = held_argon()
    atoms.positions *= 50.0
    atoms.set_cell(atoms.cell.array * 50.0)
    simulation = Simulation(
        atoms, SMOOTH, timestep=10.0, temperature=90, acting=[Langevin(90.0, coupling_time=20.0, on="all")]
    )
    total, held = np.zeros((108, 3)), mask()
    for _ in range(400):
        simulation.engine.advance(4, 10.0 * units.FS)
        total += simulation.engine.masses[:, None] * simulation.velocities() ** 2
    mean = total / 400 / units.KB
    for axis in range(3):
        assert mean[~held[:, axis], axis].mean() == pytest.approx(90.0, rel=0.04)
    heat = simulation.heats()["all"]
    now = simulation.thermo()
    assert now.potential + now.kinetic - heat == pytest.approx(now.conserved, abs=1e-9)


@pytest.mark.parametrize("suffix", ["extxyz", "nc", "traj"])
def test_frames_have_the_constraints(suffix, tmp_path):
    simulation = Simulation(held_argon(), SMOOTH, timestep=4.0, temperature=90)
    file = tmp_path / f"trajectory.{suffix}"
    with TrajectoryFile(file, 10) as frames:
        simulation.run(10, observers=[frames])
    if suffix == "nc":
        from taichimd.io.structures import read_structure

        atoms = read_structure(file)
    else:
        atoms = ase.io.read(file, index=-1)
    assert (constrained(atoms) == mask()).all()
