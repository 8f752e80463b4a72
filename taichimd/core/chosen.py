"""Which runtime and which backend this process takes, and what a bug report must say of both.

`core.runtime` loads and starts the runtime. This module does not load it: `taichimd info` answers at once.
"""

import os
import platform
import warnings
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import taichimd
from taichimd.core.cuda_driver import CAPABILITY_MAJOR, attribute, devices
from taichimd.core.hardware import cpu_name, gpu_name
from taichimd.core.kernel_cache import RUNTIMES, settle_home
from taichimd.core.processes import take_device

TESTED = ("1.3", "1.4")
"""Minor versions of quadrants that the tests run; it promises no compatibility between them."""

_version = cache(version)  # a run reports them half a dozen times, and each look takes milliseconds


def _error(message: str) -> Exception:
    """A `BackendError`, whose module imports NumPy and ASE."""
    from taichimd.core.errors import BackendError

    return BackendError(message)


def _choose() -> tuple[str, str]:
    """Name of the runtime, and why it is this one."""
    if asked := os.environ.get("TAICHIMD_RUNTIME"):
        if asked not in RUNTIMES:
            raise _error(f"TAICHIMD_RUNTIME is '{asked}', expected 'taichi' or 'quadrants'")
        return asked, "TAICHIMD_RUNTIME says so"
    if not find_spec("quadrants"):
        return "taichi", "quadrants, which is faster, is not installed"
    return "quadrants", "it is installed, and faster than Taichi"


take_device()  # before a driver starts
settle_home()  # before the runtime looks for its cache
NAME, WHY = _choose()
if not find_spec(NAME):
    raise _error(f"runtime '{NAME}' is not installed; pip install {NAME}")


def _untested(name: str, its_version: str) -> str | None:
    """A warning about a version of the runtime, or None."""
    if name != "quadrants" or ".".join(its_version.split(".")[:2]) in TESTED:
        return None
    return (
        f"quadrants {its_version} is not a tested version; taichimd is tested with {', '.join(TESTED)}: "
        "in the checkout: pip install '.[quadrants]'"
    )


if message := _untested(NAME, version(NAME)):
    from taichimd.core.errors import TaichimdWarning

    warnings.warn(message, TaichimdWarning, stacklevel=2)


def _device_loops() -> bool:
    if asked := os.environ.get("TAICHIMD_DEVICE_LOOPS"):
        if asked not in ("0", "1"):
            raise _error(f"TAICHIMD_DEVICE_LOOPS is '{asked}', expected 0 or 1")
        return NAME == "quadrants" and asked == "1"
    return NAME == "quadrants" and (not devices() or attribute(CAPABILITY_MAJOR) >= 9)


DEVICE_LOOPS = _device_loops()
"""Whether a kernel loops on the device without the host (`ti.graph.do_while`): under quadrants on cards of
compute capability 9.0 (Hopper) and later, and on CPUs. On earlier cards each round would go through the
host."""


def check_backend(asked: str) -> None:
    """Raise a SettingsError if a backend is unknown."""
    if asked not in ("auto", "cuda", "cpu"):
        from taichimd.core.errors import SettingsError

        raise SettingsError(f"backend is '{asked}', expected auto, cuda or cpu")


def backend_for(asked: str) -> str:
    """The backend, "cuda" or "cpu", that a process takes in which none runs yet."""
    check_backend(asked)
    has_cuda = asked != "cpu" and devices() > 0
    if asked == "cuda" and not has_cuda:
        raise _error(
            "backend cuda: no CUDA device or driver found on this machine; use --backend cpu or auto"
        )
    return "cuda" if has_cuda else "cpu"


def info(backend: str) -> dict[str, Any]:
    """Runtime, backend, device and versions, for reports: a JSON-able dictionary."""
    return {
        "taichimd": taichimd.__version__,
        "runtime": f"{NAME} {_version(NAME)}",
        "chosen": WHY,
        "device_loops": DEVICE_LOOPS,
        "backend": backend,
        "device": gpu_name() if backend == "cuda" else cpu_name(),
        "threads": int(os.environ.get("TAICHIMD_THREADS", 0)) or os.cpu_count(),
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "ase": _version("ase"),
        "system": f"{platform.system()} {platform.machine()}",
    }
