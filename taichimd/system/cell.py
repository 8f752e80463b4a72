"""The cell: its vectors, the deformation that comes next, and the strain since lists were made.

On the device a cell is one element of each array of `Cells`; those of a batch are in `system.batch_cell`.
Whatever moves a cell on the device, such as a barostat, writes `stretch` and `drift`. The functions of
`ensembles.moving_cell` do the rest.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import Array, Bundle, Selection, types_of
from taichimd.core.runtime import ti
from taichimd.system.frame import Frame, make_frame

NEAR_LIST, VERLET_LIST = 0, 1
MOST_STRETCH = 0.05
"""Largest change of the cell in a step: beyond, the run is stopped."""
ONLY = 0
"""Number of the system."""
_IN_A_CHECKPOINT = ("vectors", "stretch", "drift")


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
    system: Any = Array("i32", "n", "of a batch: the system of the atom at a place")


def taken_cells(batch: bool, *names: str) -> Selection:
    """Of `Cells` what a kernel takes: some arrays, or all; `system` only in a batch."""
    of_all = [name for name in Cells.fields if name != "system"]
    return Cells.only(*(names or of_all), *(["system"] if batch else []))


def cell_arrays(systems: int, of_atoms: Any = None) -> Cells:
    """Arrays of so many cells, of which nothing is set; of a batch with the system of each place."""
    types, lengths = types_of(ti.f64), {"systems": systems, "2 systems": 2 * systems}
    fields = {name: field for name, field in Cells.fields.items() if name != "system"}
    made = {name: ti.ndarray(types[field.type], lengths[field.length]) for name, field in fields.items()}
    return Cells(**made, system=of_atoms)


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
        self._begin()
        self.set(vectors)
        self.rest()

    # The arrays as the device has them, and others in their place; a batch has these elsewhere.

    def _begin(self) -> None:
        self.arrays = cell_arrays(1)

    def _get(self, name: str) -> NDArray[np.float64]:
        return np.asarray(getattr(self.arrays, name).to_numpy()[ONLY])

    def _put(self, name: str, matrix: NDArray[np.float64]) -> None:
        getattr(self.arrays, name).from_numpy(np.ascontiguousarray(matrix[None]))

    @property
    def vectors(self) -> NDArray[np.float64]:
        """(3, 3) angstrom; after `moved` it waits for the device."""
        if not self._known:
            self._vectors, self._known = self._get("vectors"), True
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
        self._put("vectors", self._vectors)

    def moved(self) -> None:
        """The device has moved the cell: the host's copies are void."""
        self._known = False

    def rest(self) -> None:
        """No deformation is to come."""
        self._put("stretch", np.zeros((3, 3)))
        self._put("drift", np.eye(3))

    def state(self) -> list[float]:
        """Vectors, B - 1 and C, of a checkpoint; waits for the device."""
        return [float(x) for name in _IN_A_CHECKPOINT for x in self._get(name).ravel()]

    def set_state(self, state: list[float]) -> None:
        """Go on from what `state` returned."""
        for name, matrix in zip(_IN_A_CHECKPOINT, np.reshape(state, (3, 3, 3)), strict=True):
            self._put(name, matrix)
        self.moved()
