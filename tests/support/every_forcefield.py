"""Force fields of every kind, and small periodic structures for them."""

import numpy as np
from ase.build import bulk, make_supercell
from declared import ANGLE_VALUES, MORSE_VALUES, angle, angle_derived, morse, power_law

from taichimd import testing
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.library import shipped
from taichimd.forcefields.load import load_forcefield
from taichimd.forcefields.truncate import TRUNCATIONS

ARGON = {**testing.ARGON, "cutoff": 5.2}
MIXTURE = {
    "cutoff": 5.2,
    "pairs": {
        "Ar": {"epsilon": 0.0104, "sigma": 3.4},
        "Kr": {"epsilon": 0.0140, "sigma": 3.65, "cutoff": 5.6},
    },
}
TWO_ANGLES = {
    ("C", "C", "C"): {"strength": 0.4},
    ("C", "C", "Si"): {"cos0": -0.2},
    ("C", "Si", "C"): {"cos0": -0.2},
    ("C", "Si", "Si"): {},
    ("Si", "C", "C"): {},
    ("Si", "C", "Si"): {"strength": 0.2},
    ("Si", "Si", "C"): {"strength": 0.2},
    ("Si", "Si", "Si"): {"decay": 0.8},
}
FORCEFIELDS = {
    **{f"lj-{t}": (lambda t=t: LennardJones(**ARGON, truncation=t)) for t in TRUNCATIONS},
    "lj-all-pairs": lambda: LennardJones(**ARGON, enumeration="all-pairs"),
    "lj-mixture": lambda: LennardJones(**MIXTURE, truncation="force-shifted"),
    **{
        file.name: (lambda name=file.name: load_forcefield(name))
        for file in shipped()
        if file.kind not in ("reaxff", "atm")
    },
    "morse": lambda: morse(**MORSE_VALUES, truncation="force-shifted"),
    "angle": lambda: angle(**ANGLE_VALUES),
    "two-angles": lambda: angle_derived(table={k: {**ANGLE_VALUES, **v} for k, v in TWO_ANGLES.items()}),
    "morse+angle": lambda: morse(**MORSE_VALUES) + angle(**ANGLE_VALUES),
    "power_law": lambda: power_law(a=0.7, n=5.5, b=2.2, cutoff=4.0),
}


def strained_silicon():
    """A strained 2x2x1 crystal of silicon, 16 atoms: thinner than the cutoff twice over."""
    atoms = bulk("Si", cubic=True).repeat((2, 1, 1))
    strain = np.array([[1.02, 0.03, -0.02], [0.01, 0.98, 0.04], [-0.03, 0.02, 1.01]])
    atoms.set_cell(atoms.cell[:] @ strain, scale_atoms=True)
    return testing.rattled(atoms, 0.15, seed=3)


def _alloy():
    atoms = strained_silicon()
    atoms.symbols = ["Si", "C", "C", "Si", "C"] * 3 + ["Si"]
    atoms.set_cell(atoms.cell[:] * 0.88, scale_atoms=True)
    return atoms


def _nitride():
    """Zincblende GaN with some atoms exchanged: all eight triples act."""
    atoms = strained_silicon()
    atoms.symbols = ["Ga", "N", "N", "Ga", "Ga", "N"] * 2 + ["Ga", "N", "Ga", "N"]
    atoms.set_cell(atoms.cell[:] * 0.83, scale_atoms=True)
    return atoms


def _argon(symbols=("Ar",)):
    atoms = make_supercell(bulk("Ar", a=5.4), [[2, 0, 0], [1, 2, 0], [-1, 1, 2]])
    atoms.symbols = [symbols[k % len(symbols)] for k in range(len(atoms))]
    return testing.rattled(atoms, 0.3, seed=5)


PERIODIC = {
    "lj-truncated": _argon,
    "lj-mixture": lambda: _argon(("Ar", "Kr", "Kr")),
    "Si.tersoff": strained_silicon,
    "SiC_2005.tersoff": _alloy,
    "SiC_1989.tersoff": _alloy,
    "Si.sw": strained_silicon,
    "GaN_2006.sw": _nitride,
    "SiO2_1990.vashishta": testing.silica_triclinic,
    "SiC_2007.vashishta": _alloy,
    "morse+angle": strained_silicon,
    "two-angles": _alloy,
}
