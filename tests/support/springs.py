"""External potentials in NumPy, right ones and wrong ones."""

import numpy as np
from ase.build import bulk
from ase.calculators.calculator import Calculator, all_changes

from taichimd import PotentialResult
from taichimd.testing import rattled

K = 2.0
"""eV/angstrom^2."""


class Sites:
    """Each atom on a spring to its site."""

    has_virial = False

    def __init__(self, sites, name="springs to sites"):
        self.sites, self.name, self.calls = np.array(sites), name, 0

    def evaluate(self, positions, numbers, cell, pbc, *, virial):
        self.calls += 1
        d = positions - self.sites
        each = 0.5 * K * (d * d).sum(axis=1)
        return PotentialResult(each.sum(), -K * d, None, each)


class HarmonicCrystal:
    """Springs between atoms that are neighbours in a crystal.

    The bond (i, j, S) has the vector x_j + S h - x_i and the rest length that it has in the crystal.
    """

    name, has_virial = "harmonic crystal", True

    def __init__(self, crystal, cutoff):
        from ase.neighborlist import neighbor_list

        self.i, self.j, self.shift, self.length = neighbor_list("ijSd", crystal, cutoff)

    def evaluate(self, positions, numbers, cell, pbc, *, virial):
        d = positions[self.j] + self.shift @ cell - positions[self.i]
        r = np.linalg.norm(d, axis=1)
        # Each bond is there twice, once from either end.
        pull = 0.5 * K * (r - self.length) / r
        forces = np.zeros_like(positions)
        np.add.at(forces, self.i, 2.0 * pull[:, None] * d)
        energy = 0.25 * K * ((r - self.length) ** 2).sum()
        return PotentialResult(energy, forces, -np.einsum("b,ba,bc->ac", pull, d, d))


class Broken(HarmonicCrystal):
    """A harmonic crystal whose result or arguments a function changes."""

    def __init__(self, change, crystal=None, cutoff=3.0):
        super().__init__(crystal or bulk("Cu", cubic=True), cutoff)
        self.change, self.name = change, "broken"

    def evaluate(self, positions, numbers, cell, pbc, *, virial):
        found = super().evaluate(positions, numbers, cell, pbc, virial=virial)
        return self.change(found, positions)


class SpringCalculator(Calculator):
    """The springs to sites as an ASE calculator without a stress."""

    implemented_properties = ("energy", "forces")

    def __init__(self, sites, change=lambda results, atoms: None):
        super().__init__()
        self.sites, self.change, self.calls = np.array(sites), change, 0

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        self.calls += 1
        d = atoms.positions - self.sites
        self.results = {"energy": 0.5 * K * float((d * d).sum()), "forces": -K * d}
        self.change(self, atoms)


def copper(repeat=1):
    """Displaced copper, and the crystal that it was."""
    crystal = bulk("Cu", cubic=True).repeat(repeat)
    return rattled(crystal.copy(), 0.05), crystal
