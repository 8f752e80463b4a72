"""Systems for tests of force fields, yours and ours, and tests that any force field or potential should pass.

    from taichimd.testing import assert_consistent, silicon_216

Every structure is the same whenever it is made. Its atoms are displaced from their sites, because the forces
of a perfect crystal are zero whatever the code does. Lengths are in angstrom.
"""

from collections.abc import Sequence

import numpy as np
from ase import Atoms, units
from ase.build import bulk

from taichimd.forcefields.base import ForceField
from taichimd.forcefields.conformance import assert_conforms as assert_conforms
from taichimd.system.lattices import build_lattice

ARGON = {"epsilon": 0.0104, "sigma": 3.40}
"""Lennard-Jones argon: epsilon (eV), sigma (angstrom)."""


def assert_consistent(
    forcefield: ForceField, elements: Sequence[str] | None = None, *, clusters: int = 6, seed: int = 0
) -> None:
    """Fail unless `check_forcefield` finds that forces and virial are derivatives of the energy.

    Args:
        forcefield: any force field.
        elements: species to use; None: all that the force field defines (argon if it takes any element).
        clusters: number of random clusters.
        seed: of their positions.

    Raises:
        AssertionError: the force field is not consistent; the message is the report.
        ParameterFileError: no label of the force field is a chemical symbol.
    """
    from taichimd.program.check import check_forcefield

    found = check_forcefield(forcefield, elements, clusters=clusters, seed=seed)
    assert found.ok, str(found)


def rattled(atoms: Atoms, amplitude: float = 0.1, seed: int = 1) -> Atoms:
    """Displace every coordinate, in place, by normal random numbers of this standard deviation (angstrom)."""
    rng = np.random.default_rng(seed)
    atoms.positions += amplitude * rng.standard_normal((len(atoms), 3))
    return atoms


def with_velocities(atoms: Atoms, temperature: float, seed: int) -> Atoms:
    """Draw Maxwell-Boltzmann velocities (temperature in K) with zero net momentum, in place."""
    masses = atoms.get_masses()[:, None]
    widths = np.sqrt(units.kB * temperature / masses)
    velocities = widths * np.random.default_rng(seed).standard_normal((len(atoms), 3))
    atoms.set_velocities(velocities - (masses * velocities).sum(axis=0) / masses.sum())
    return atoms


def silicon_216() -> Atoms:
    """Diamond silicon, 3x3x3 conventional cells, displaced by 0.1 angstrom."""
    return rattled(bulk("Si", "diamond", a=5.432, cubic=True).repeat(3), 0.1, seed=1)


def silicon_carbide_512() -> Atoms:
    """Zincblende SiC, 4x4x4 conventional cells, displaced by 0.08 angstrom."""
    return rattled(bulk("SiC", "zincblende", a=4.3596, cubic=True).repeat(4), 0.08, seed=2)


def silicon_triclinic() -> Atoms:
    """72 silicon atoms in a sheared and stretched cell without a right angle; some atoms are outside it."""
    atoms = bulk("Si", "diamond", a=5.432).repeat((3, 3, 4))
    strain = np.array([[1.02, 0.03, -0.02], [0.01, 0.98, 0.04], [-0.03, 0.02, 1.01]])
    atoms.set_cell(atoms.cell[:] @ strain, scale_atoms=True)
    rattled(atoms, 0.08, seed=3)
    # Unfolded trajectories look like this: whole lattice vectors must not change anything.
    atoms.positions[5] += 2 * atoms.cell[0] - atoms.cell[2]
    atoms.positions[40] -= atoms.cell[1]
    return atoms


def silicon_cluster() -> Atoms:
    """A free cluster of silicon, without a cell."""
    crystal = bulk("Si", "diamond", a=5.432, cubic=True).repeat(3)
    offset = crystal.positions - (crystal.positions.mean(axis=0) + 0.3)
    ball = crystal[np.linalg.norm(offset, axis=1) < 6.5]
    return rattled(Atoms(ball.symbols, ball.positions), 0.1, seed=4)


def silicon_slab() -> Atoms:
    """A slab, periodic in two directions; the third cell vector is neither zero nor normal to it."""
    atoms = bulk("Si", "diamond", a=5.432, cubic=True).repeat((2, 2, 2))
    atoms.pbc = (True, True, False)
    cell = atoms.cell[:].copy()
    cell[2] = (1.0, 0.5, 9.0)
    atoms.set_cell(cell)
    return rattled(atoms, 0.1, seed=5)


def silicon_primitive_displaced() -> Atoms:
    """The 2-atom cell, one atom moved and the cell sheared: no force and no stress component vanishes."""
    atoms = bulk("Si")
    atoms.positions[1] += (0.11, -0.07, 0.05)
    shear = np.array([[1.0, 0.02, 0.0], [0.0, 1.01, -0.03], [0.04, 0.0, 0.99]])
    atoms.set_cell(atoms.cell[:] @ shear, scale_atoms=True)
    return atoms


def gallium_nitride_wurtzite() -> Atoms:
    """Wurtzite GaN, 5x3x3 primitive cells (180 atoms), displaced by 0.07 angstrom."""
    return rattled(bulk("GaN", "wurtzite", a=3.19, c=5.19).repeat((5, 3, 3)), 0.07, seed=9)


def silica_192() -> Atoms:
    """Beta-cristobalite, 2x2x2 cubic cells of a = 7.16 angstrom, displaced by 0.1 angstrom."""
    return rattled(build_lattice("silica", 2), 0.1, seed=13)


def silica_hot() -> Atoms:
    """Far from any crystal: a = 8.4 angstrom, displaced by 0.25 angstrom, a tenth of the atoms exchanged."""
    atoms = build_lattice("silica", 2, a=8.4)
    chosen = np.random.default_rng(15).permutation(len(atoms))[:20]
    atoms.numbers[chosen] = atoms.numbers[chosen[::-1]]
    return rattled(atoms, 0.25, seed=14)


def silica_triclinic() -> Atoms:
    """One sheared cell, thinner than the cutoff of pairs; some atoms outside it."""
    atoms = build_lattice("silica", 1, a=7.4)
    strain = np.array([[1.02, 0.03, -0.02], [0.01, 0.98, 0.04], [-0.03, 0.02, 1.01]])
    atoms.set_cell(atoms.cell[:] @ strain, scale_atoms=True)
    rattled(atoms, 0.08, seed=7)
    atoms.positions[5] += 2 * atoms.cell[0] - atoms.cell[2]
    return atoms


def silica_cluster() -> Atoms:
    """A free cluster of silica, without a cell."""
    crystal = build_lattice("silica", 3)
    offset = crystal.positions - (crystal.positions.mean(axis=0) + 0.3)
    ball = crystal[np.linalg.norm(offset, axis=1) < 8.0]
    return rattled(Atoms(ball.symbols, ball.positions), 0.1, seed=16)


def indium_phosphide() -> Atoms:
    """Zincblende InP, 3x3x3 primitive cells, four pairs of atoms exchanged, displaced by 0.15 angstrom."""
    atoms = bulk("InP", "zincblende", a=5.87).repeat(3)
    atoms.numbers[[0, 7, 12, 31]] = atoms.numbers[[1, 8, 13, 30]]
    return rattled(atoms, 0.15, seed=17)


def argon_256() -> Atoms:
    """Argon, fcc 4x4x4 cells of a = 5.35 angstrom (21.4 angstrom wide), displaced by 0.2 angstrom."""
    return rattled(bulk("Ar", "fcc", a=5.35, cubic=True).repeat(4), 0.2, seed=6)


def argon_krypton_108() -> Atoms:
    """A random mixture of argon and krypton, fcc 3x3x3 cells, displaced by 0.2 angstrom."""
    atoms = bulk("Ar", "fcc", a=5.5, cubic=True).repeat(3)
    krypton = np.random.default_rng(7).random(len(atoms)) < 0.4
    atoms.symbols[krypton] = "Kr"
    return rattled(atoms, 0.2, seed=8)
