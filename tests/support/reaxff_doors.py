"""Small systems and a parameter file for tests of ReaxFF at the doors."""

from ase import Atoms
from ase.build import molecule
from ase.units import fs

from taichimd.forcefields.library import find


def water(repeats=(2, 1, 1), edge=3.4, seed=1):
    """Water molecules on a lattice, displaced at random."""
    atoms = molecule("H2O")
    atoms.set_cell([edge] * 3)
    atoms.center()
    atoms.pbc = True
    atoms = atoms.repeat(repeats)
    atoms.rattle(0.03, seed=seed)
    return atoms


def soft_oxygen(folder):
    """A parameter file without a solution for charges where O and H are closer than 1.05 angstrom."""
    lines = find("H2O.ffield").read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if line.split()[:1] == ["O"])
    words = lines[at + 1].split()
    words[6] = "3.0"  # eta
    lines[at + 1] = " ".join(words)
    path = folder / "ffield.soft"
    path.write_text("\n".join(lines) + "\n")
    return path


def hydroxyl(apart, speed=0.0):
    """Oxygen and hydrogen in a box, at a speed (angstrom/fs) towards each other."""
    atoms = Atoms("OH", [[0, 0, 0], [0, 0, apart]], cell=[14.0] * 3, pbc=True)
    atoms.set_velocities([[0, 0, 0.5 * speed / fs], [0, 0, -0.5 * speed / fs]])
    return atoms
