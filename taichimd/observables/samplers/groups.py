"""Groups of atoms by the user's numbers, for samplers that take what is in spatial order."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import ti


@cache
def _kernel() -> Any:
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def place(n: ti.i32, ident: ints, numbers: ints, places: ints):
        for i in range(n):
            places[i] = numbers[ident[i]]

    return place


class Groups:
    """The group of each atom.

    Args:
        numbers: (n,) of the groups, in the user's order.
    """

    def __init__(self, numbers: NDArray[np.int32]) -> None:
        self._n = len(numbers)
        self._numbers, self._places = (ti.ndarray(ti.i32, self._n) for _ in range(2))
        self._numbers.from_numpy(np.asarray(numbers, np.int32))

    def placed(self, ident: Any) -> Any:
        """The numbers in spatial order, n on the device; the next call replaces them.

        Args:
            ident: the user's number of the atom at each place.
        """
        _kernel()(self._n, ident, self._numbers, self._places)
        return self._places
