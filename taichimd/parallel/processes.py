"""The processes that share a system."""

import sys
from typing import Any

from taichimd.core.errors import BackendError
from taichimd.lammps.processes import load_mpi, take_device


def join() -> Any:
    """Take part: give this process its GPU, or its share of the processors, before the runtime starts.

    Returns:
        `mpi4py.MPI.COMM_WORLD`, of all processes that `mpiexec` has started.

    Raises:
        BackendError: mpi4py or an MPI library is not installed.
    """
    load_mpi()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise BackendError(
            f"several processes need mpi4py and an MPI library ({error}); pip install mpi4py mpich"
        ) from error
    if remark := take_device():
        print(f"note: {remark}", file=sys.stderr, flush=True)
    return MPI.COMM_WORLD
