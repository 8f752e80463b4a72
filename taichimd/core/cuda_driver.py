"""What the CUDA driver says of the first device, asked without a runtime: theirs print warnings."""

import ctypes
from functools import cache
from typing import Any

MULTIPROCESSORS, CAPABILITY_MAJOR = 16, 75
"""Numbers of the driver's attributes."""


@cache
def _driver() -> Any:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    return driver if driver.cuInit(0) == 0 else None


@cache
def devices() -> int:
    """Number of CUDA devices; 0 without a driver."""
    count = ctypes.c_int(0)
    driver = _driver()
    return count.value if driver and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


def multiprocessors() -> int:
    """Of the first device, at least 1."""
    return max(attribute(MULTIPROCESSORS), 1)


@cache
def attribute(number: int) -> int:
    """An attribute of the first device; 0 without one."""
    value, device = ctypes.c_int(0), ctypes.c_int(0)
    if devices():
        _driver().cuDeviceGet(ctypes.byref(device), 0)
        _driver().cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return value.value
