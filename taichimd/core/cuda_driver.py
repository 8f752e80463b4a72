"""What the CUDA driver says of the first device, and copies; the only module that calls the driver.

By C names, because the Python bindings are larger than taichimd, and slower to import than these calls take
(docs/decisions/029-bindings.md).
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

MULTIPROCESSORS, CAPABILITY_MAJOR = 16, 75
"""Numbers of the driver's attributes."""
CONTEXT_OF_POINTER = 1
"""Number of the attribute of memory that says to which context it belongs."""


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
    """Number of multiprocessors of the first device, at least 1."""
    return max(attribute(MULTIPROCESSORS), 1)


@cache
def attribute(number: int) -> int:
    """An attribute of the first device; 0 without one."""
    value, device = ctypes.c_int(0), ctypes.c_int(0)
    if devices():
        _driver().cuDeviceGet(ctypes.byref(device), 0)
        _driver().cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return value.value


@cache
def device_name() -> str:
    """Name of the first device; "" without one."""
    name, device = ctypes.create_string_buffer(256), ctypes.c_int(0)
    if devices():
        _driver().cuDeviceGet(ctypes.byref(device), 0)
        _driver().cuDeviceGetName(name, len(name), device)
    return name.value.decode(errors="replace")


def begin_context() -> None:
    """Make the context of the first device in a thread; the runtime then finds it, and need not wait.

    The driver's calls release Python's lock. A process that shares its machine with others does not know its
    device yet (`core.processes`).
    """
    from taichimd.core.processes import of_machine

    if of_machine()[1] == 1:
        threading.Thread(target=_make_context, name="taichimd-context", daemon=True).start()


def _make_context() -> None:
    if driver := _driver():
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0)


@contextmanager
def first_context() -> Iterator[bool]:
    """Make the first device's context current in this thread; yields whether the driver has done so."""
    driver, context = _driver(), ctypes.c_void_p()
    if driver is None or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) != 0:
        yield False
        return
    known = driver.cuCtxPushCurrent_v2(context) == 0
    try:
        yield known
    finally:
        if known:
            driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        driver.cuDevicePrimaryCtxRelease_v2(0)


def free_bytes() -> int | None:
    """Free memory of the first device; None if the driver does not tell."""
    free, total = ctypes.c_size_t(0), ctypes.c_size_t(0)
    with first_context() as known:
        if known and _driver().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0:
            return free.value
    return None


def copy(target: int, source: int, size: int, on_device: int, to_host: bool) -> bool:
    """Copy bytes between addresses of host and device, of which `on_device` is one; whether it was done.

    Waits for the device first. Other threads run meanwhile; the runtime's own wait keeps Python's lock.
    Memory of a pool belongs to no context: it is copied in that of the calling thread.
    """
    driver, context, before = _driver(), ctypes.c_void_p(0), ctypes.c_void_p(0)
    address, length = ctypes.c_uint64, ctypes.c_size_t(size)
    if driver.cuPointerGetAttribute(ctypes.byref(context), CONTEXT_OF_POINTER, address(on_device)):
        return False
    if context.value is not None and driver.cuCtxPushCurrent_v2(context):
        return False
    function = driver.cuMemcpyDtoH_v2 if to_host else driver.cuMemcpyHtoD_v2
    failed = driver.cuCtxSynchronize() or function(address(target), address(source), length)
    if not to_host:
        # The call returns when the values have left the array of the host, before they are on the device.
        failed = failed or driver.cuCtxSynchronize()
    if context.value is not None:
        driver.cuCtxPopCurrent_v2(ctypes.byref(before))
    return not failed
