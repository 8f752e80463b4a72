"""The cell: its vectors, the deformation that comes next, and the strain since lists were made.

On the device a cell is one element of each array of `Cells`. There is one system, so there is one element.
Whatever moves a cell on the device, such as a barostat, writes `stretch` and `drift`. The functions of
`dynamics.moving_cell` do the rest.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import Array, Bundle, device_helper, types_of
from taichimd.core.runtime import ti
from taichimd.neighbours.box import Frame, make_frame

NEAR_LIST, VERLET_LIST = 0, 1
MOST_STRETCH = 0.05
"""Largest change of the cell in a step: beyond, the run is stopped."""
ONLY = 0
"""Number of the system."""


class Cells(Bundle):
    """Cells of all systems. Arrays of two elements a system have those of `NEAR_LIST` and `VERLET_LIST`."""

    vectors: Any = Array("double_mat", "systems", "cell vectors in rows h, angstrom")
    stretch: Any = Array(
        "double_mat", "systems", "B - 1: the next drift makes h B of h, and x B of a position x"
    )
    drift: Any = Array("double_mat", "systems", "C: the next drift moves an atom by dt v C")
    strain: Any = Array("double_mat", "2 systems", "deformation since the lists were made, less 1")
    lost: Any = Array("f64", "2 systems", "what atoms may move less for that, angstrom")
    reach: Any = Array("f64", "2 systems", "how far these lists reach, angstrom")
    images: Any = Array("ivec", "systems", "largest image along each vector that lists hold")


@device_helper
def cell_of(i: Any) -> int:
    """Number of the cell of an atom, known at compilation while there is one system."""
    return ONLY


class Cell:
    """The cell of one system, on host and device.

    Args:
        vectors: (3, 3) angstrom, in rows.
        pbc: (3,) bool.

    Raises:
        StructureError: it has no volume along the periodic directions.

    Attributes:
        arrays: `Cells`.
    """

    _known: bool

    def __init__(self, vectors: NDArray[np.float64], pbc: NDArray[np.bool_]) -> None:
        self._pbc = pbc
        types, lengths = types_of(ti.f64), {"systems": 1, "2 systems": 2}
        fields = Cells.fields.values()
        self.arrays = Cells(*(ti.ndarray(types[f.type], lengths[f.length]) for f in fields))
        self.set(vectors)
        self.rest()

    @property
    def vectors(self) -> NDArray[np.float64]:
        """(3, 3) angstrom; after `moved` it waits for the device."""
        if not self._known:
            self._vectors, self._known = self.arrays.vectors.to_numpy()[ONLY], True
            self._frame = make_frame(self._vectors, self._pbc)
        return self._vectors

    @property
    def frame(self) -> Frame:
        """The lattice of the present cell."""
        _ = self.vectors
        return self._frame

    def set(self, vectors: NDArray[np.float64]) -> None:
        """Take other vectors; the caller sees to the lists.

        Raises:
            StructureError: they have no volume along the periodic directions.
        """
        self._frame = make_frame(vectors, self._pbc)
        self._vectors, self._known = np.array(vectors, float), True
        self.arrays.vectors.from_numpy(self._vectors[None])

    def moved(self) -> None:
        """The device has moved the cell: the host's copies are void."""
        self._known = False

    def rest(self) -> None:
        """No deformation is to come."""
        self.arrays.stretch.fill(0.0)
        self.arrays.drift.from_numpy(np.eye(3)[None])

    def state(self) -> list[float]:
        """Vectors, B - 1 and C, of a checkpoint; waits for the device."""
        matrices = self.arrays.vectors, self.arrays.stretch, self.arrays.drift
        return [float(x) for matrix in matrices for x in matrix.to_numpy().ravel()]

    def set_state(self, state: list[float]) -> None:
        """Go on from what `state` returned."""
        matrices = self.arrays.vectors, self.arrays.stretch, self.arrays.drift
        for matrix, values in zip(matrices, np.reshape(state, (3, 1, 3, 3)), strict=True):
            matrix.from_numpy(np.ascontiguousarray(values))
        self.moved()
