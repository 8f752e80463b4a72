"""The atoms on the device: one array per quantity, kept in spatial order.

The user's order survives as `ident` (the user's number of the atom at a sorted place) and `sorted_of` (its
inverse); everything that leaves this class is in the user's order.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.runtime import PRECISIONS, TERM_PRECISIONS, Placed, literals, ti

LEAST_INVERSE_MASS = 1e-30
"""1/amu, below that of any atom: divides in place of the 0 of a fixed one, which has no velocity, so that 0/0
becomes 0. It is a number of single precision, too."""


@cache
def _copy_kernels(real: Any) -> tuple[Any, Any]:
    vecs: Any = ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def to_user(n: ti.i32, ident: ints, source: vecs, target: vecs):
        for i in range(n):
            target[ident[i]] = source[i]

    @ti.kernel
    def from_user(n: ti.i32, ident: ints, source: vecs, target: vecs):
        for i in range(n):
            target[i] = source[ident[i]]

    return to_user, from_user


@ti.data_oriented
class Atoms(Placed):
    """The arrays of a `State`, as one argument of device functions."""

    def __init__(
        self, pos: Any, vel: Any, force: Any, inverse_mass: Any, ident: Any, kind: Any = None
    ) -> None:
        self.pos, self.vel, self.force = pos, vel, force
        self.inverse_mass, self.ident, self.kind = inverse_mass, ident, kind


class State:
    """Positions, velocities, forces, masses and species of n atoms.

    Attributes:
        pos, vel, force: n vectors (angstrom, angstrom per internal time, eV/angstrom), sorted order.
        inverse_mass: n reals, 1/amu. kind: n species numbers. ident: user's number of each place.
        sorted_of: place of each user's number.
        n_fixed: number of fixed atoms. Their inverse mass is 0, so no force, noise or factor moves them.
        alike: whether all have one mass and are of one species, and none is fixed.
        real, term: types of these quantities, and of what force fields compute from distances.
    """

    pos: Any
    vel: Any
    force: Any
    inverse_mass: Any
    ident: Any
    kind: Any
    SORTED = ("pos", "vel", "force", "inverse_mass", "ident", "kind")

    def __init__(
        self,
        kinds: NDArray[np.int32],
        masses: NDArray[np.float64],
        precision: str,
        fixed: NDArray[np.bool_] | None = None,
    ) -> None:
        self.real, self.numpy_real = PRECISIONS[precision]
        self.term, self._numpy_term = TERM_PRECISIONS[precision]
        self.n = n = len(kinds)
        self.vec = vec = ti.types.vector(3, self.real)
        types = {"inverse_mass": self.real, "ident": ti.i32, "kind": ti.i32}
        for name in self.SORTED:
            setattr(self, name, ti.ndarray(types.get(name, vec), n))
        # What a spatial sort goes through.
        self.spare = {name: ti.ndarray(types.get(name, vec), n) for name in self.SORTED}
        self.sorted_of = ti.ndarray(ti.i32, n)
        self._user = ti.ndarray(vec, n)
        numbers = np.arange(n, dtype=np.int32)
        self.ident.from_numpy(numbers)
        self.sorted_of.from_numpy(numbers)
        inverse = 1.0 / masses
        if fixed is not None:
            inverse = np.where(fixed, 0.0, inverse)
        self.n_fixed = int(np.count_nonzero(inverse == 0.0))
        # A spatial sort leaves inverse masses where they are if all are alike.
        self.alike = bool((kinds == kinds[:1]).all() and (masses == masses[:1]).all() and not self.n_fixed)
        self.kind.from_numpy(np.asarray(kinds, np.int32))
        self.inverse_mass.from_numpy(inverse.astype(self.numpy_real))

    def get(self, name: str) -> NDArray[np.float64]:
        """A vector quantity in the user's order, (n, 3) float64."""
        return self.to_user(getattr(self, name))

    def to_user(self, array: Any) -> NDArray[np.float64]:
        """Any device array of n vectors in the user's order, (n, 3) float64."""
        to_user, _ = _copy_kernels(self.real)
        with literals(self.real):
            to_user(self.n, self.ident, array, self._user)
        return np.asarray(self._user.to_numpy(), np.float64)

    def set(self, name: str, values: NDArray[np.float64]) -> None:
        """Set a vector quantity from (n, 3) values in the user's order."""
        _, from_user = _copy_kernels(self.real)
        self._user.from_numpy(np.ascontiguousarray(values, self.numpy_real))
        with literals(self.real):
            from_user(self.n, self.ident, self._user, getattr(self, name))

    def table(self, values: NDArray[np.float64]) -> Any:
        """A flat table of parameters on the device, in the precision of the terms."""
        array = ti.ndarray(self.term, values.size)
        array.from_numpy(np.ascontiguousarray(values, self._numpy_term))
        return array
