"""Argon and copper for Monte Carlo, from the same numbers on every machine."""

from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from validation.systems import of_lammps

PAIRS = {"epsilon": 0.0103408, "sigma": 3.4, "cutoff": 8.5, "truncation": "energy-shifted"}
NU = 45.6878


def crystal(cells: int, a: float = 5.6) -> Atoms:
    """Argon with 4 cells^3 atoms near the sites of a crystal."""
    atoms = bulk("Ar", cubic=True, a=a).repeat(cells)
    atoms.positions += 0.2 * (np.random.default_rng(cells).random((len(atoms), 3)) - 0.5)
    return atoms


def copper(cells: int) -> Atoms:
    """Copper with 4 cells^3 atoms near the sites of a crystal."""
    atoms = bulk("Cu", cubic=True, a=3.65).repeat(cells)
    atoms.positions += 0.2 * (np.random.default_rng(cells).random((len(atoms), 3)) - 0.5)
    return atoms


def droplet(points: int) -> Atoms:
    """points^3 argon atoms near a cubic lattice, without periodicity: the paper's shape."""
    sites = np.stack(np.meshgrid(*[np.arange(points)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    noise = 0.2 * (np.random.default_rng(points).random((points**3, 3)) - 0.5)
    return Atoms(f"Ar{points**3}", positions=3.75 * sites + noise)


def vessel(points: int) -> Atoms:
    """A droplet in the middle of a cell whose faces may be walls."""
    atoms = droplet(points)
    atoms.center(vacuum=2.0)
    return atoms


def pairs() -> Any:
    """Lennard-Jones."""
    from taichimd import LennardJones

    return LennardJones(**PAIRS)


def embedded() -> Any:
    """Embedded atoms of copper (`Cu_u3.eam`)."""
    from taichimd import load_forcefield

    return load_forcefield(of_lammps("Cu_u3.eam"))


def triples(cutoff: float | None) -> Any:
    """Lennard-Jones with Axilrod-Teller."""
    from taichimd import AxilrodTeller

    return pairs() + AxilrodTeller(nu=NU, cutoff=cutoff)
