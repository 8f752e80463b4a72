"""Files of NumPy arrays (.npz) that are read back: checked before anything is unpacked, and without pickle.

`np.savez` packs nothing, so an array is as large in memory as in the file. A file that says otherwise was
not written by this program: read on its word, 1.5 MB could become 1.5 GB.
"""

import json
import zipfile
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_KINDS = "biufU"
_LONGEST_HEADER = 10_000


class DamagedFileError(ValueError):
    """A file of arrays that cannot be used; the message says why, without the file's name."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of a file by name.

    DamagedFileError: it is no such file, is damaged, holds what is packed, no numbers or texts, or more than
    the file is long.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len({one.filename for one in members}) < len(members):
                raise DamagedFileError("a name occurs twice")
            if sum(one.file_size for one in members) > path.stat().st_size:
                raise DamagedFileError("its arrays are larger than the file")
            return {one.filename.removesuffix(".npy"): _read(archive, one) for one in members}
    except DamagedFileError:
        raise
    # Zip and NumPy's headers fail on damaged bytes in any way.
    except Exception as error:
        reason = " ".join(str(error).split())[:80] or type(error).__name__
        raise DamagedFileError(reason) from None


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    if member.compress_type != zipfile.ZIP_STORED:
        raise DamagedFileError(f"{member.filename} is compressed, and taichimd never compresses")
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise DamagedFileError(f"{member.filename} has the format {version}")
        shape, by_columns, dtype = _HEADERS[version](file, max_header_size=_LONGEST_HEADER)
        if dtype.kind not in _KINDS or dtype.fields is not None or dtype.subdtype is not None:
            raise DamagedFileError(f"{member.filename} holds {dtype}, expected numbers or texts")
        size = prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or file.tell() + size != member.file_size:
            raise DamagedFileError(f"{member.filename} does not have the length that its header states")
        array = np.frombuffer(file.read(), dtype) if size else np.empty(0, dtype)
    return array.reshape(shape, order="F" if by_columns else "C").copy()


def text_of(arrays: dict[str, NDArray[Any]], name: str) -> Any:
    """What the JSON text in an array says, or a DamagedFileError."""
    array = arrays.get(name)
    if array is None or array.dtype.kind != "U" or array.shape != ():
        raise DamagedFileError(f"{name} is missing or is not text")
    try:
        return json.loads(str(array))
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{name} is not JSON: {str(error)[:80]}") from None
