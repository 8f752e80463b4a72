"""Whether an array fits: asked before it is allocated, as an operating system kills who finds out later."""

from math import prod
from pathlib import Path
from typing import Any

from taichimd.core.cuda_driver import free_bytes
from taichimd.core.errors import CapacityError
from taichimd.core.runtime import backend, ti

LARGEST = 2**31 - 1
"""Numbers in one array: the runtimes compute places with 32 bits."""
SHARE = 0.9
"""Part of the free memory that one request may take."""
FEWER = "shorten the cutoff, lower the density or use fewer atoms"
"""What helps where lists of neighbours do not fit."""


def free_memory() -> int | None:
    """Free bytes of the first CUDA device, or of this machine on the CPU; None if nobody says."""
    return free_bytes() if backend() == "cuda" else _free_host()


def fits(size: int, numbers: int) -> bool:
    """Whether arrays of `size` bytes in all, of at most `numbers` numbers each, fit, as `require` asks."""
    free = free_memory()
    return numbers <= LARGEST and (free is None or size <= SHARE * free)


def require(size: int, numbers: int, what: str, cure: str) -> None:
    """Raise a CapacityError, with a `cure`, for arrays of `size` bytes in all that do not fit.

    Such have more numbers than 32 bits count (in the longest), or more bytes than `SHARE` of the free memory.
    """
    if numbers > LARGEST:
        raise _refused(what, size, f"an array holds at most {LARGEST} numbers", cure, LARGEST / numbers)
    free = free_memory()
    if free is not None and size > SHARE * free:
        most = int(SHARE * free)
        raise _refused(what, size, f"{SHARE:.0%} of the free memory: {_gib(most)}", cure, most / size)


def bytes_of_number(dtype: Any) -> int:
    """Bytes of one number of a type of the runtime, of 32 or 64 bits."""
    return 8 if dtype in (ti.f64, ti.i64, ti.u64) else 4


def bytes_of(*arrays: Any) -> int:
    """Bytes that arrays of the runtime hold, or tuples of them."""
    return sum(
        bytes_of(*a)
        if isinstance(a, tuple)
        else prod(a.shape) * prod(a.element_shape) * bytes_of_number(a.dtype)
        for a in arrays
    )


def array(dtype: Any, n: int, what: str, size: int, cure: str) -> Any:
    """An array of n elements, found to fit; a CapacityError if the runtime does not get it all the same."""
    try:
        return ti.ndarray(dtype, max(n, 1))
    except (MemoryError, RuntimeError) as error:
        raise CapacityError(_message(what, size, str(error), cure)) from error


def _refused(what: str, size: int, why: str, cure: str, part: float) -> CapacityError:
    error = CapacityError(_message(what, size, why, cure))
    error.part = part
    return error


def _message(what: str, size: int, why: str, cure: str) -> str:
    return f"{what} ({_gib(size)}) does not fit: {why}; {cure}"


def _gib(size: int) -> str:
    return f"{size} bytes, {size / 2**30:.3g} GiB"


def _free_host() -> int | None:
    known = [free for free in (_free_machine(), _free_group()) if free is not None]
    return min(known, default=None)


def _free_machine() -> int | None:
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _free_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What is left of a container's limit (control groups, version 2); cached files give way."""
    try:
        most, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(most - used + int(cached["inactive_file"]), 0)
    except (OSError, KeyError, ValueError):
        return None  # no group, or no limit: "max"
