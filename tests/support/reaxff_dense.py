"""The charges of ReaxFF by their definition: a dense matrix over all images, in NumPy."""

import numpy as np
from reaxff_systems import vectors

from taichimd.forcefields.reaxff.ffield import read_ffield
from taichimd.forcefields.reaxff.options import COUPLING
from taichimd.forcefields.reaxff.parameters import ATOM, PAIR, tables

FAR = 200.0
"""Edge of the cell that a free molecule gets, angstrom."""


class Dense:
    """Charges and their energy for one parameter file and set of species."""

    def __init__(self, file, atoms):
        self.species = sorted(set(atoms.symbols))
        self.parameters = tables(read_ffield(file), self.species)
        kinds = np.array([self.species.index(symbol) for symbol in atoms.symbols])
        values = self.parameters.atom[kinds]
        self.chi, self.eta = values[:, ATOM.index("chi")], values[:, ATOM.index("eta")]
        self.gamma3 = self.parameters.pair[kinds[:, None], kinds[None, :], PAIR.index("gamma3")]
        self.periodic = bool(atoms.pbc.any())

    def screening(self, positions, cell):
        """(n, n) sum over images of Tap(r)/(r^3 + gamma^-3)^(1/3), 1/angstrom, up to 10 angstrom."""
        d, (i, j), _ = vectors(positions, np.asarray(cell) if self.periodic else FAR * np.eye(3), 10.0)
        r = np.linalg.norm(d, axis=1)
        u = r / 10.0
        taper = 20 * u**7 - 70 * u**6 + 84 * u**5 - 35 * u**4 + 1
        k = np.zeros(self.gamma3.shape)
        np.add.at(k, (i, j), taper / np.cbrt(r**3 + self.gamma3[i, j]))
        return k

    def charges(self, positions, cell, net=0.0):
        """(n) e."""
        h = COUPLING * self.screening(positions, cell) + np.diag(self.eta)
        s, t = np.linalg.solve(h, -np.stack([self.chi, np.ones(len(h))], axis=1)).T
        return s - (s.sum() - net) / t.sum() * t
