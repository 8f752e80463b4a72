"""Arrays that are read back from a file: what they must be is said before they are used."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import CheckpointError

_KINDS = {"f": "numbers", "i": "whole numbers", "b": "truth values", "U": "texts"}
_ALSO = {"f": "f", "i": "iu", "b": "b", "U": "U"}


MISSING = np.empty(0)
"""In the place of an array that is not there, whose shape is asked."""


def blocks_of(
    saved: Mapping[str, Any], name: str, kind: str, shape: tuple[int, ...], finite: bool = True
) -> list[NDArray[Any]]:
    """A list of arrays of one shape, as `saved_array`; the list may be empty."""
    if name in saved and np.size(saved[name]) == 0:
        return []
    return list(saved_array(saved, name, kind, None, *shape, finite=finite))


def saved_array(
    saved: Mapping[str, Any], name: str, kind: str, *shape: int | None, finite: bool = True
) -> NDArray[Any]:
    """An array of a record, once it is known to be what it was when it was written, or a CheckpointError.

    `kind`: "f" numbers, "i" whole numbers, "b" truth values, "U" texts; `shape`: None for any length.
    """
    expected = " x ".join("any" if n is None else str(n) for n in shape) or "one"
    expected = f"{expected}{' finite' * (kind == 'f' and finite)} {_KINDS[kind]}"
    if name not in saved:
        raise CheckpointError(f"{name} is missing, expected {expected}")
    array = np.asarray(saved[name])
    fits = array.ndim == len(shape) and all(
        want is None or n == want for n, want in zip(array.shape, shape, strict=True)
    )
    if not (fits and array.dtype.kind in _ALSO[kind]):
        raise CheckpointError(f"{name} is {array.dtype} of shape {array.shape}, expected {expected}")
    if kind == "f" and finite and not np.isfinite(array).all():
        raise CheckpointError(f"{name} holds what is not a finite number, expected {expected}")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise CheckpointError(f"{name} holds numbers beyond 64 bits, expected {expected}")
    return array
