"""Checkpoints for tests that read them back, without a run."""

import numpy as np
from ase.build import bulk

from taichimd.io.checkpoint import Checkpoint


def of_springs(**changes):
    """A valid checkpoint of eight silicon atoms at constant energy; changes are of its fields."""
    atoms = bulk("Si", cubic=True)
    n = len(atoms)
    fields = {
        "step": 10, "positions": atoms.positions, "velocities": np.full((n, 3), 0.01),
        "forces": np.zeros((n, 3)),
        "cell": atoms.cell.array, "pbc": atoms.pbc, "numbers": atoms.numbers.astype(np.int64),
        "masses": atoms.get_masses(), "settings": {"timestep": 1.0, "every": 10, "potential": "Si.sw"},
        "potential_hash": "v2:0", "clock": {"time_fs": 0.0, "step": 0}, "last_step": 20, "first_total": -34.0,
        "versions": {"taichimd": "1"}, "potential": {"name": "Si.sw", "terms": []},
    }  # fmt: skip
    return Checkpoint(**fields | changes)
