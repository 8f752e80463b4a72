"""Three functions of NCCL, NVIDIA's library of exchanges between GPUs, by their C names.

CuPy's wrapper is not used: it exists only where CuPy was built with NCCL, and the library often lies
elsewhere.
"""

import ctypes
import importlib.util
from pathlib import Path
from typing import Any

FLOATS = {4: 7, 8: 8}
"""ncclFloat32 and ncclFloat64, by the bytes of a number."""
KEY_BYTES = 128


class _Key(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * KEY_BYTES)]


class Nccl:
    """A communicator of NCCL.

    Raises:
        RuntimeError: the library is not found.
    """

    def __init__(self) -> None:
        self._library, self._communicator = _library(), ctypes.c_void_p()
        self._library.ncclGetErrorString.restype = ctypes.c_char_p

    def key(self) -> bytes:
        """What one process makes and all need to connect."""
        key = _Key()
        self._call("ncclGetUniqueId", ctypes.byref(key))
        return bytes(key)

    def connect(self, size: int, key: bytes, rank: int) -> None:
        """Join `size` processes; each calls it with its own rank and the GPU that is current."""
        known = _Key.from_buffer_copy(key)
        self._call("ncclCommInitRank", ctypes.byref(self._communicator), size, known, rank)

    def all_gather(self, source: int, target: int, count: int, itemsize: int) -> None:
        """Queue an all-gather of `count` numbers of each process in the default stream, by addresses."""
        self._call(
            "ncclAllGather", ctypes.c_void_p(source), ctypes.c_void_p(target), ctypes.c_size_t(count),
            FLOATS[itemsize], self._communicator, ctypes.c_void_p(None),
        )  # fmt: skip

    def _call(self, name: str, *arguments: Any) -> None:
        if code := getattr(self._library, name)(*arguments):
            raise RuntimeError(f"{name}: {self._library.ncclGetErrorString(code).decode()}")


def _library() -> ctypes.CDLL:
    """The library of the system, or of the Python package of NVIDIA that PyTorch and CuPy bring."""
    places = ["libnccl.so.2"]
    try:
        found = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        found = None
    for folder in found.submodule_search_locations or [] if found else []:
        places.append(str(Path(folder) / "lib" / "libnccl.so.2"))
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    raise RuntimeError("libnccl.so.2 is not found; `pip install nvidia-nccl-cu12` or -cu13 brings it")
