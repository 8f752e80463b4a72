"""Argon in every kind of cell, with our calculator and with ASE's, for the tests of the calculator."""

import numpy as np
from ase import Atoms
from ase.build import bulk, fcc111, make_supercell
from ase.calculators.lj import LennardJones as AseLennardJones

from taichimd import LennardJones, TaichiMD
from taichimd.testing import rattled

ARGON = {"epsilon": 0.0104, "sigma": 3.40, "cutoff": 6.0}
ARRAYS = ("energies", "forces", "stress", "stresses")


def argon():
    """A new calculator each time: its caches and its engine are what is tested."""
    return TaichiMD(LennardJones(**ARGON))


def reference():
    """ASE's own pair potential; its energy is shifted at the cutoff, forces and stress are the same."""
    return AseLennardJones(epsilon=ARGON["epsilon"], sigma=ARGON["sigma"], rc=ARGON["cutoff"], ro=1e-3)


def crystal():
    return rattled(bulk("Ar", a=5.26, cubic=True))


def skewed():
    return rattled(make_supercell(bulk("Ar", a=5.26), [[2, 0, 0], [1, 2, 0], [-1, 1, 2]]))


def left_handed():
    atoms = skewed()
    atoms.set_cell(atoms.cell.array[[1, 0, 2]])
    assert np.linalg.det(atoms.cell) < 0, "this structure must have a left-handed cell"
    return atoms


def unwrapped():
    atoms = skewed()
    atoms.positions += np.random.default_rng(2).integers(-3, 4, size=(len(atoms), 3)) @ atoms.cell.array
    return atoms


def thin():
    """Wide in two directions, in the third thinner than half the cutoff."""
    return rattled(
        Atoms("Ar2", cell=[14.0, 14.0, 2.9], positions=[[0, 0, 0], [4.0, 0.5, 1.0]], pbc=True), amplitude=0.05
    )


def slab():
    return rattled(fcc111("Ar", (2, 2, 2), a=5.26, vacuum=6.0))


def slab_outside_its_box():
    atoms = slab()
    atoms.positions[:, 2] += 100.0
    return atoms


def wire():
    """One periodic direction; the other two cell vectors are zero."""
    atoms = Atoms("Ar3", positions=[[0, 0, 0], [1.0, 3.5, 0.2], [2.0, 1.5, 3.0]], pbc=(True, False, False))
    atoms.cell[0] = (3.9, 0.4, 0.1)
    return atoms


def cluster():
    return rattled(Atoms("Ar4", positions=[[0, 0, 0], [3.8, 0, 0], [0, 3.8, 0], [0, 0, 3.8]]))


STRUCTURES = {
    "crystal": crystal,
    "one_atom_primitive_cell": lambda: bulk("Ar", a=5.26),
    "two_atom_cell_below_cutoff": lambda: rattled(make_supercell(bulk("Ar", a=5.26), np.diag([2, 1, 1]))),
    "skewed": skewed,
    "left_handed": left_handed,
    "unwrapped": unwrapped,
    "thin": thin,
    "slab": slab,
    "slab_outside_its_box": slab_outside_its_box,
    "wire": wire,
    "cluster": cluster,
    "cluster_in_a_box": lambda: Atoms(cluster(), cell=[20.0, 21.0, 22.0]),
    "cluster_beyond_a_small_box": lambda: Atoms(cluster(), cell=[2.0, 2.0, 2.0]),
    "dimer": lambda: Atoms("Ar2", positions=[[0, 0, 0], [0, 0, 3.7]]),
    "isolated_atom": lambda: Atoms("Ar", positions=[[7.0, -3.0, 1.0]]),
    "isolated_atom_in_vacuum": lambda: Atoms("Ar", cell=[30.0, 30.0, 30.0], pbc=True),
}


def record_evaluations(monkeypatch):
    """A list that grows by one with every evaluation that any engine makes."""
    from taichimd.program.engine import Engine

    calls, evaluate = [], Engine.evaluate
    monkeypatch.setattr(Engine, "evaluate", lambda self: calls.append(1) or evaluate(self))
    return calls
