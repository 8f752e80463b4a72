"""EDIP files of no paper: numbers near those of silicon and carbon, each entry perturbed."""

import numpy as np
from ase.build import bulk

from taichimd import testing
from taichimd.forcefields.formats.edip import ANGLE_FIELDS, FIELDS

NUMBERS = {
    "A": 7.5, "B": 1.35, "cutoffA": 2.9, "cutoffC": 2.3, "alpha": 2.9, "beta": 0.01, "eta": 0.35,
    "gamma": 1.15, "lambda": 2.1, "mu": 0.65, "rho": 1.6, "sigma": 0.5, "Q0": 260.0, "u1": -0.17, "u2": 30.0,
    "u3": 0.3, "u4": 0.7,
}  # fmt: skip


def edip_entries(elements):
    """Numbers by (i, j, k): no two the same, but those of one angle."""
    rng = np.random.default_rng(4)
    rows = {}
    for i in elements:
        for j in elements:
            for k in elements:
                row = {name: value * rng.uniform(0.96, 1.04) for name, value in NUMBERS.items()}
                if (i, k, j) in rows:
                    row |= {name: rows[i, k, j][name] for name in ANGLE_FIELDS}
                rows[i, j, k] = row
    return rows


def edip_file(folder, elements=("Si", "C"), **changes):
    """The path of a file for these elements; changes replace numbers of all entries."""
    path = folder / f"{''.join(elements)}.edip"
    lines = [
        " ".join((*key, *(f"{(row | changes)[name]:.12g}" for name in FIELDS)))
        for key, row in edip_entries(elements).items()
    ]
    path.write_text("# UNITS: metal\n" + "\n".join(lines) + "\n")
    return path


def alloy(seed=1, repeat=(2, 2, 1)):
    """A hot disordered crystal of silicon and carbon."""
    atoms = testing.rattled(bulk("Si", a=4.9, cubic=True).repeat(repeat), 0.1, seed=seed)
    atoms.symbols[np.random.default_rng(seed).permutation(len(atoms))[::2]] = "C"
    return testing.with_velocities(atoms, 600.0, seed)
