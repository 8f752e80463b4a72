"""Cells of all systems: their vectors, the deformation that comes next, and the strain since lists were made.

On the device a cell is one element of each array of `CellArrays`. Whatever moves a cell on the device, such
as a barostat, writes `stretch` and `drift`. The functions of `ensembles.moving_cell` do the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Selection, types_of
from taichimd.core.host_copies import on_host
from taichimd.core.runtime import ti
from taichimd.system.frame import Frame, make_frame

NEAR_LIST, VERLET_LIST = 0, 1
MAX_STRETCH = 0.05
"""Largest change of the cell in a step: beyond, the run is stopped."""
ONLY = 0
"""Number of the system."""
_IN_A_CHECKPOINT = ("vectors", "stretch", "drift")


class CellArrays(Bundle):
    """Cells of all systems. Arrays of two elements a system have those of `NEAR_LIST` and `VERLET_LIST`."""

    vectors: Any = ArrayField("double_mat", "systems", "cell vectors in rows h, angstrom")
    stretch: Any = ArrayField(
        "double_mat", "systems", "B - 1: the next drift makes h B of h, and x B of a position x"
    )
    drift: Any = ArrayField("double_mat", "systems", "C: the next drift moves an atom by dt v C")
    gradient: Any = ArrayField(
        "double_mat", "systems", "of a deformation: F since its start, h = h0 F but for flips"
    )
    strain: Any = ArrayField("double_mat", "2 systems", "deformation since the lists were made, less 1")
    lost: Any = ArrayField("f64", "2 systems", "what atoms may move less for that, angstrom")
    reach: Any = ArrayField("f64", "2 systems", "how far these lists reach, angstrom")
    images: Any = ArrayField("ivec", "systems", "largest image along each vector that lists hold")
    system: Any = ArrayField("i32", "n", "of a batch: the system of the atom at a place")


def taken_cells(batch: bool, *names: str, deforms: bool = False) -> Selection:
    """The arrays of `CellArrays` that a kernel takes: `system` of a batch, `gradient` of a deformation."""
    of_all = [name for name in CellArrays.fields if name not in ("system", "gradient")]
    more = ["gradient"] * (deforms and not names) + ["system"] * batch
    return CellArrays.only(*(names or of_all), *more)


def cell_arrays(systems: int, of_atoms: Any = None) -> CellArrays:
    """Arrays of so many cells, of which nothing is set; of a batch with the system of each place."""
    types, lengths = types_of(ti.f64), {"systems": systems, "2 systems": 2 * systems}
    fields = {name: field for name, field in CellArrays.fields.items() if name != "system"}
    made = {name: ti.ndarray(types[field.type], lengths[field.length]) for name, field in fields.items()}
    return CellArrays(**made, system=of_atoms)


class Cells:
    """The cells of all systems, vectors (systems, 3, 3), angstrom, in rows, on host and device (`arrays`).

    `of_atoms`: (n) array, the system of each place; None for one system.
    """

    def __init__(
        self, vectors: Sequence[NDArray[np.float64]], pbc: Sequence[NDArray[np.bool_]], of_atoms: Any = None
    ) -> None:
        self._pbc = [np.array(own, bool) for own in pbc]
        self.arrays = cell_arrays(len(self._pbc), of_atoms)
        self._seen: dict[str, NDArray[np.float64]] = {}
        self._frames: dict[int, Frame] = {}
        self._all_frames: tuple[Frame, ...] | None = None
        at_rest = {"stretch": np.zeros((3, 3)), "drift": np.eye(3), "gradient": np.eye(3)}
        for name, matrix in at_rest.items():
            self._write(name, np.array([matrix] * len(self._pbc)))
        self._seen["vectors"] = np.zeros((len(self._pbc), 3, 3))
        self.set(dict(enumerate(vectors)))

    def read(self, name: str) -> NDArray[np.float64]:
        """(systems, 3, 3): a device array, not to be changed; after `moved` it waits for the device."""
        if name not in self._seen:
            self._seen[name] = on_host(getattr(self.arrays, name))
        return self._seen[name]

    def _write(self, name: str, matrices: NDArray[np.float64]) -> None:
        self._seen[name] = matrices
        getattr(self.arrays, name).from_numpy(matrices)

    def vectors(self, number: int) -> NDArray[np.float64]:
        """(3, 3) angstrom, of a system, even without a volume; after `moved` it waits for the device."""
        return self.read("vectors")[number].copy()

    def frame(self, number: int) -> Frame:
        """The lattice of the present cell of a system; a StructureError if it has no volume."""
        if number not in self._frames:
            self._frames[number] = make_frame(self.vectors(number), self._pbc[number])
        return self._frames[number]

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The lattices of all present cells; the same object until a cell changes."""
        if self._all_frames is None:
            self._all_frames = tuple(self.frame(number) for number in range(len(self._pbc)))
        return self._all_frames

    def set(self, vectors: Mapping[int, NDArray[np.float64]]) -> None:
        """Take other vectors (3, 3), angstrom, of some systems; the caller sees to the lists."""
        frames = {number: make_frame(own, self._pbc[number]) for number, own in vectors.items()}
        of_all = self.read("vectors").copy()
        for number, own in vectors.items():
            of_all[number] = own
        self._write("vectors", of_all)
        self._frames |= frames
        self._all_frames = None

    def moved(self) -> None:
        """The device has moved cells: the host's copies are void."""
        self._seen.clear()
        self._frames.clear()
        self._all_frames = None

    def show(self, vectors: NDArray[np.float64] | None) -> Callable[[], None]:
        """Let the host read other vectors (systems, 3, 3), if there are any; what is returned ends that."""
        before = self._seen, self._frames, self._all_frames
        if vectors is not None:
            self._seen, self._frames, self._all_frames = {"vectors": vectors}, {}, None

        def end() -> None:
            self._seen, self._frames, self._all_frames = before

        return end

    def rest(self, number: int) -> None:
        """No deformation of a cell is to come."""
        self.to_come(number, np.zeros((3, 3)), np.eye(3))

    def _set_row(self, name: str, number: int, matrix: NDArray[np.float64]) -> None:
        of_all = self.read(name).copy()
        of_all[number] = matrix
        self._write(name, of_all)

    def to_come(self, number: int, stretch: NDArray[np.float64], drift: NDArray[np.float64]) -> None:
        """The next drift of a cell has this B - 1 and C."""
        self._set_row("stretch", number, stretch)
        self._set_row("drift", number, drift)

    def set_gradient(self, number: int, gradient: NDArray[np.float64]) -> None:
        """F of a deformation."""
        self._set_row("gradient", number, gradient)

    def run_away(self) -> list[int]:
        """Numbers of the systems whose cell changes too much in the drift that comes next, or is over."""
        sizes = np.sqrt(np.square(self.read("stretch")).sum(axis=(1, 2)))
        return [int(k) for k in np.flatnonzero(~(sizes <= MAX_STRETCH))]

    def state(self, number: int) -> list[float]:
        """Vectors, B - 1 and C of a cell, for a checkpoint; waits for the device."""
        return [float(x) for name in _IN_A_CHECKPOINT for x in self.read(name)[number].ravel()]

    def set_state(self, number: int, state: list[float]) -> None:
        """Continue from what `state` returned."""
        for name, matrix in zip(_IN_A_CHECKPOINT, np.reshape(state, (3, 3, 3)), strict=True):
            self._set_row(name, number, matrix)
        self._frames.pop(number, None)
        self._all_frames = None
