"""Copies between arrays of NumPy and of the device, without the kernels and second copies of the runtimes.

A kernel that takes an array of NumPy copies it to the device and back. Here the memory itself is copied,
where the runtime tells its address (quadrants, by DLPack). Elsewhere the way of the runtime is taken.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.cuda_driver import copy
from taichimd.core.runtime import backend, ti

_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_capsule.restype, _capsule.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _Tensor(ctypes.Structure):
    """`DLTensor` of DLPack's header."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    )  # fmt: skip


def to_device(array: Any, values: NDArray[Any]) -> None:
    """Fill an array of the device with values of its type and shape, in C order."""
    if not (_by_address() and _copied(array, values, to_host=False)):
        array.from_numpy(values)


def to_host(array: Any, values: NDArray[Any]) -> None:
    """Copy an array of the device, or its first values, into one of its type, after all that is queued."""
    if not (_by_address() and _copied(array, values, to_host=True)):
        values[...] = array.to_numpy()[: len(values)]


def on_host(array: Any, length: int | None = None) -> NDArray[Any]:
    """A copy of an array of the device, or of its first values, after all that is queued."""
    values = host_like(array, length)
    to_host(array, values)
    return values


def address_of(array: Any) -> tuple[int, Any]:
    """Where an array of the device lies, and what holds it there; an AttributeError under Taichi."""
    held = array.to_dlpack()
    tensor = _Tensor.from_address(_capsule(held, b"dltensor"))
    return tensor.data + tensor.offset, held


def host_like(array: Any, length: int | None = None) -> NDArray[Any]:
    """An array of NumPy for the values, or the first ones, of one of the device."""
    shape = (array.shape[0] if length is None else length, *array.element_shape)
    return np.empty(shape, ti.lang.util.to_numpy_type(array.dtype))


def _copied(array: Any, values: NDArray[Any], to_host: bool) -> bool:
    """Copy by address; False if it cannot be done."""
    if not values.flags.c_contiguous:
        return False
    there, _held = address_of(array)
    here = values.ctypes.data
    source, target = (there, here) if to_host else (here, there)
    if backend() == "cuda":
        return copy(target, source, values.nbytes, there, to_host)
    ti.sync()
    ctypes.memmove(target, source, values.nbytes)
    return True


@cache
def _by_address() -> bool:
    """Whether addresses are right: a few numbers go there and come back by the runtime's own way."""
    array, sent = ti.ndarray(ti.types.vector(3, ti.f64), 5), np.arange(15.0).reshape(5, 3)
    try:
        array.fill(-1.0)
        back = np.zeros((5, 3))
        done = _copied(array, sent, to_host=False) and np.array_equal(array.to_numpy(), sent)
        return done and _copied(array, back, to_host=True) and np.array_equal(back, sent)
    except (AttributeError, RuntimeError, ValueError):
        return False
