"""MPI processes: their library, their communicator, the device and threads of each."""

import ctypes
import importlib.metadata
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from taichimd.core.printable import tell

LOCAL_RANK = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
LOCAL_SIZE = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE")
"""Environment of a process: its number among those of its machine, and how many these are."""


def load_mpi() -> None:
    """Load the MPI library of the package mpich of PyPI, if it is installed.

    LAMMPS then needs no LD_LIBRARY_PATH. The environment variable MPI4PY_LIBMPI names a different library,
    which mpi4py also uses.
    """
    if found := mpi_library():
        os.environ["MPI4PY_LIBMPI"] = str(found)
        ctypes.CDLL(str(found), mode=ctypes.RTLD_GLOBAL)


def mpi_library() -> Path | None:
    """The MPI library of MPI4PY_LIBMPI or of the package mpich; None: the linker must find one."""
    if named := os.environ.get("MPI4PY_LIBMPI"):
        return Path(named)
    try:
        files = importlib.metadata.files("mpich") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = [Path(str(file.locate())).resolve() for file in files if file.name == "libmpi.so.12"]
    return next((path for path in paths if path.exists()), None)


def mpiexec(install: str = "in the checkout: pip install '.[mpi]'") -> str:
    """The program that starts several processes; `install`: what a user can do where there is none."""
    # That of the library comes first: another MPI's would start processes that do not know each other.
    library = mpi_library()
    places = [library.parents[1] / "bin"] if library else []
    places += [Path(sys.executable).parent]
    found = next((found for place in places if (found := shutil.which("mpiexec", path=place))), None)
    found = found or shutil.which("mpiexec")
    if found is None:
        from taichimd.core.errors import BackendError

        raise BackendError(f"MPI's mpiexec was not found, which starts several processes; {install}")
    return found


def same_python(code: str) -> list[str]:
    """The command that runs code in another process, which imports from where this process does.

    Python would look in the current folder first, where somebody else may have put a module.
    """
    return [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]


def same_module(name: str) -> list[str]:
    """The command that runs a module as a program in another process, as `same_python`."""
    return same_python(f"import runpy; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)")


def of_machine() -> tuple[int, int]:
    """Number of this process among those of its machine, and how many these are; (0, 1) without MPI."""
    rank, size = (
        next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdecimal()), default)
        for names, default in ((LOCAL_RANK, 0), (LOCAL_SIZE, 1))
    )
    return rank, max(size, rank + 1)


@cache
def take_device() -> str:
    """Give this process, if there are several on its machine, one GPU and its share of the processors.

    It acts through the environment. Importing the runtime calls it first, because a driver that has started
    takes no other list of devices.

    Returns:
        A remark on processes that share a GPU, of the first of them; else "".
    """
    rank, size = of_machine()
    if size == 1:
        return ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("TAICHIMD_THREADS", str(max(cores // size, 1)))
    devices = _visible()
    if not devices:
        return ""
    os.environ["CUDA_VISIBLE_DEVICES"] = devices[rank % len(devices)]
    if rank == 0 and size > len(devices):
        return f"{size} processes share {len(devices)} GPU{'s' * (len(devices) > 1)}; one for each is faster"
    return ""


def _visible() -> list[str]:
    """Names of the GPUs that this process may use."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is not None:
        return [name.strip() for name in asked.split(",") if name.strip()]
    # In another process: this one's driver must not start yet.
    code = "from taichimd.core.cuda_driver import devices; print(devices())"
    found = subprocess.run(same_python(code), capture_output=True, text=True, check=False).stdout
    return [str(number) for number in range(int(found or 0))]


def communicator() -> Any:
    """mpi4py's communicator of all processes; each takes its device (`take_device`).

    Raises:
        BackendError: mpi4py or an MPI library is not installed.
    """
    load_mpi()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        from taichimd.core.errors import BackendError

        raise BackendError(
            f"several processes need mpi4py and an MPI library ({error}); in the checkout: "
            "pip install '.[mpi]'"
        ) from error
    if remark := take_device():
        tell(f"note: {remark}")
    return MPI.COMM_WORLD
