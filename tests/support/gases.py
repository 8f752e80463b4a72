"""Gases of small molecules, for tests of bonds and reactions."""

import numpy as np
from ase import Atoms
from ase.build import molecule


def mixed_gas(*names):
    """At most eight molecules at the corners of a cube of 4.5 Å in a cell of 9 Å; atoms in a mixed order."""
    atoms = Atoms(cell=[9.0, 9.0, 9.0], pbc=True)
    for k, name in enumerate(names):
        one = molecule(name)
        one.translate(4.5 * np.array([k & 1, k >> 1 & 1, k >> 2 & 1]) - one.positions[0])
        atoms += one
    return atoms[np.random.default_rng(4).permutation(len(atoms))]
