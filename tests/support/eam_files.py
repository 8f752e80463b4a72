"""Small EAM files of an analytic potential, written by tests: nobody's parameters."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from ase.build import bulk

from taichimd import testing

CUTOFF = 5.0


@dataclass(frozen=True)
class Metal:
    """An element: f = strength (1 - r/r_c)^4 exp(-decay r), F = -depth sqrt(rho + rho_0), r phi."""

    name: str
    strength: float
    decay: float
    depth: float
    pair: float

    def density(self, r, factor=1.0):
        return factor * self.strength * np.clip(1.0 - r / CUTOFF, 0.0, None) ** 4 * np.exp(-self.decay * r)

    def embedding(self, rho):
        return -self.depth * (np.sqrt(rho + 0.01) - 0.1)


COPPER = Metal("Cu", 40.0, 0.9, 1.1, 900.0)
NICKEL = Metal("Ni", 52.0, 1.05, 1.4, 1300.0)


def rphi(a, b, r):
    """r phi of two metals, eV angstrom."""
    strength = np.sqrt(a.pair * b.pair)
    return strength * np.clip(1.0 - r / CUTOFF, 0.0, None) ** 4 * np.exp(-2.2 * r) * (1.0 + 0.1 * r)


def factor(at, of):
    """Of the density that `of` makes at `at`, in a file of Finnis-Sinclair form."""
    return 1.0 if at.name == of.name else (1.3 if at.name < of.name else 0.7)


@dataclass(frozen=True)
class Layout:
    """How a file is written."""

    metals: tuple[Metal, ...] = (COPPER, NICKEL)
    finnis_sinclair: bool = False
    nrho: int = 200
    drho: float = 0.05
    nr: int = 250
    dr: float = CUTOFF / 249
    per_line: int = 5
    cutoff: float = CUTOFF
    number: str = "{:.16e}"

    def lines(self) -> list[str]:
        """Of a setfl file."""
        names = " ".join(metal.name for metal in self.metals)
        found = [
            "DATE: 2026-11-27 UNITS: metal CONTRIBUTOR: nobody CITATION: of no paper",
            "RANGE: tests only",
            "",
            f"{len(self.metals)} {names}",
            f"{self.nrho} {self.drho!r} {self.nr} {self.dr!r} {self.cutoff!r}",
        ]
        rho, r = np.arange(self.nrho) * self.drho, np.arange(self.nr) * self.dr
        for metal in self.metals:
            found += ["1 60.0 3.6 fcc", *self.array(metal.embedding(rho))]
            for at in self.metals if self.finnis_sinclair else (metal,):
                found += self.array(metal.density(r, factor(at, metal) if self.finnis_sinclair else 1.0))
        for k, a in enumerate(self.metals):
            for b in self.metals[: k + 1]:
                found += self.array(rphi(a, b, r))
        return found

    def array(self, values) -> list[str]:
        """Values, so many a line."""
        words = [self.number.format(value) for value in values]
        return [" ".join(words[k : k + self.per_line]) for k in range(0, len(words), self.per_line)]

    def write(self, path: Path) -> Path:
        """Write a setfl file."""
        path.write_text("\n".join(self.lines()) + "\n")
        return path


def funcfl(metal: Metal, layout: Layout = Layout(), z: int = 29) -> list[str]:
    """Lines of a funcfl file: Z(r) such that r phi is that of `rphi`."""
    rho, r = np.arange(layout.nrho) * layout.drho, np.arange(layout.nr) * layout.dr
    charge = np.sqrt(rphi(metal, metal, r) / (27.2 * 0.529))
    head = [f"{metal.name} of no paper", f"{z} 60.0 3.6 fcc"]
    grid = f"{layout.nrho} {layout.drho!r} {layout.nr} {layout.dr!r} {layout.cutoff!r}"
    tables = (metal.embedding(rho), charge, metal.density(r))
    return [*head, grid, *(line for values in tables for line in layout.array(values))]


def small(**changes) -> Layout:
    """A layout with few points, for tests of readers."""
    return replace(Layout(nrho=12, drho=0.8, nr=14, dr=CUTOFF / 13), **changes)


def alloy(seed=1, repeat=(2, 2, 2)):
    """A hot disordered crystal of copper and nickel."""
    atoms = testing.rattled(bulk("Cu", a=3.6, cubic=True).repeat(repeat), 0.08, seed=seed)
    atoms.symbols[np.random.default_rng(seed).permutation(len(atoms))[::2]] = "Ni"
    return testing.with_velocities(atoms, 600.0, seed)
