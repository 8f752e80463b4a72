"""Histograms of distances for radial distribution functions, each pair of species, any periodic cell.

Distances up to r_max, which may exceed the cutoff of the force field and the cell: every image counts. So
the neighbour lists of the force field do not serve. The search is a plain cell list built for each sample:
atoms are folded into the cell and put into bins; each thread visits the bins within reach of its atom, with
wrapped indices and the cell vectors that belong to them. For few atoms it becomes the loop over all pairs
and images. Each pair is looked at twice and counted once, at the atom with the smaller user's number.

A pair whose distance lies within the last digit of a bin's edge falls on the side that rounding takes: the
same side for every order of the atoms, on CPU, host and (quadrants) CUDA.
"""

from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import AnalysisError
from taichimd.core.runtime import PRECISIONS, backend, literals, ti
from taichimd.core.saved import MISSING, saved_array
from taichimd.estimators.structure import check_reach
from taichimd.system.state import Atoms

COPIES = 64
"""Histograms that threads fill side by side: atomics on one would wait for each other."""
_MAX_NUMBERS = 2**23
"""Entries of all copies together (64 MB)."""


class Search(Bundle):
    """The cell list of one sample."""

    grid: Any = Number("ivec", "bins along each cell vector")
    reach: Any = Number("ivec", "bins to visit on each side")
    lattice: Any = ArrayField(
        "double_vec", "6", "cell vectors, angstrom, and rows of the inverse, 1/angstrom"
    )
    folded: Any = ArrayField("double_vec", "n", "positions inside the cell, angstrom")
    bin_of: Any = ArrayField("i32", "n", "bin of each atom")
    count: Any = ArrayField("i32", "bins", "atoms of each bin that `members` lacks")
    start: Any = ArrayField("i32", "bins + 1", "where the members of each bin begin")
    members: Any = ArrayField("i32", "n", "atoms, bin after bin")


class Histogram(Bundle):
    """Counts of distances."""

    r_max: Any = Number("f64", "largest distance, angstrom")
    per_length: Any = Number("f64", "bins per angstrom")
    bins: Any = Number("i32", "number of bins")
    n_kinds: Any = Number("i32", "number of species")
    copies: Any = Number("i32", "histograms that threads fill side by side")
    counts: Any = ArrayField(
        "i64", "copies * n_kinds^2 * bins", "pairs of each copy, pair of species and bin"
    )


@cache
def _kernels(real: Any, cuda: bool) -> tuple[Any, Any, Any]:
    types = types_of(real)

    @kernel(types, atoms=Atoms.only("n", "pos"), search=Search)
    def fold(atoms, search):
        lattice = ti.static(search.lattice)
        grid = search.grid
        for i in range(atoms.n):
            x = ti.cast(atoms.pos[i], ti.f64)
            f = x[0] * lattice[3] + x[1] * lattice[4] + x[2] * lattice[5]
            turns = ti.floor(f)
            f -= turns
            search.folded[i] = x - (turns[0] * lattice[0] + turns[1] * lattice[1] + turns[2] * lattice[2])
            # Rounding may give a fraction of 1; what is not a number must stay inside the array, too.
            bx = ti.max(0, ti.min(ti.cast(f[0] * grid[0], ti.i32), grid[0] - 1))
            by = ti.max(0, ti.min(ti.cast(f[1] * grid[1], ti.i32), grid[1] - 1))
            bz = ti.max(0, ti.min(ti.cast(f[2] * grid[2], ti.i32), grid[2] - 1))
            b = (bx * grid[1] + by) * grid[2] + bz
            search.bin_of[i] = b
            ti.atomic_add(search.count[b], 1)

    @kernel(types, atoms=Atoms.only("n"), search=Search)
    def fill(atoms, search):
        # The order within a bin is that of the threads; nothing depends on it.
        for i in range(atoms.n):
            b = search.bin_of[i]
            search.members[search.start[b] + ti.atomic_sub(search.count[b], 1) - 1] = i

    @kernel(types, atoms=Atoms.only("n", "kind", "ident"), search=Search, histogram=Histogram)
    def add_distances(atoms, search, histogram):
        lattice = ti.static(search.lattice)
        folded = ti.static(search.folded)
        reach, n_kinds = search.reach, histogram.n_kinds
        nx, ny, nz = search.grid[0], search.grid[1], search.grid[2]
        for i in range(atoms.n):
            # Neighbouring lanes of CUDA, or pieces of the loop on the CPU, write different copies.
            copy = (i if ti.static(cuda) else i // 32) % histogram.copies
            x, b, me, a = folded[i], search.bin_of[i], atoms.ident[i], atoms.kind[i]
            bz = b % nz
            by = b // nz % ny
            bx = b // nz // ny
            for ox in range(bx - reach[0], bx + reach[0] + 1):
                tx = ox // nx
                for oy in range(by - reach[1], by + reach[1] + 1):
                    ty = oy // ny
                    for oz in range(bz - reach[2], bz + reach[2] + 1):
                        tz = oz // nz
                        shift = tx * lattice[0] + ty * lattice[1] + tz * lattice[2]
                        # Of an atom and its own images, each pair of opposite ones counts once.
                        first = tx > 0 or (tx == 0 and (ty > 0 or (ty == 0 and tz > 0)))
                        cell = ((ox - tx * nx) * ny + (oy - ty * ny)) * nz + (oz - tz * nz)
                        for k in range(search.start[cell], search.start[cell + 1]):
                            j = search.members[k]
                            if atoms.ident[j] > me or (atoms.ident[j] == me and first):
                                d = (folded[j] - x) + shift
                                r = ti.sqrt(d.dot(d))
                                if r < histogram.r_max:
                                    c = atoms.kind[j]
                                    pair = (copy * n_kinds + ti.min(a, c)) * n_kinds + ti.max(a, c)
                                    place = ti.min(
                                        ti.cast(r * histogram.per_length, ti.i32), histogram.bins - 1
                                    )
                                    ti.atomic_add(histogram.counts[pair * histogram.bins + place], ti.i64(1))

    return fold, fill, add_distances


class RadialHistogram:
    """Counts distances of all pairs of species over many samples in bins from 0 to r_max, angstrom.

    Positions have the engine's precision, distances are float64. AnalysisError: a number that makes no sense,
    or a histogram beyond 64 MB.
    """

    def __init__(self, n: int, n_kinds: int, r_max: float, bins: int, precision: str = "float64") -> None:
        if n < 1 or n_kinds < 1 or bins < 1 or not (np.isfinite(r_max) and r_max > 0):
            raise AnalysisError(
                f"radial histogram of {n} atoms, {n_kinds} species, {bins} bins up to {r_max:g} Å: expected "
                "numbers above 0"
            )
        size = n_kinds * n_kinds * bins
        if size > _MAX_NUMBERS:
            raise AnalysisError(
                f"radial histogram of {size} numbers; expected at most {_MAX_NUMBERS}: take fewer bins"
            )
        self.frames = 0
        self._n, self._r_max = n, float(r_max)
        self._shape = (max(1, min(COPIES, _MAX_NUMBERS // size)), n_kinds, n_kinds, bins)
        self._kernels = _kernels(PRECISIONS[precision][0], backend() == "cuda")
        vec = ti.types.vector(3, ti.f64)
        self._search = Search(
            lattice=ti.ndarray(vec, 6), folded=ti.ndarray(vec, n), bin_of=ti.ndarray(ti.i32, n),
            members=ti.ndarray(ti.i32, n),
        )  # fmt: skip
        self._histogram = Histogram(
            self._r_max,
            bins / self._r_max,
            bins,
            n_kinds,
            self._shape[0],
            ti.ndarray(ti.i64, prod(self._shape)),
        )
        self._histogram.counts.fill(0)
        self._before = np.zeros(self._shape[1:], np.int64)

    def sample(self, atoms: Any, cell: NDArray[np.float64]) -> None:
        """Add the distances of one frame.

        Atoms as `State` has them, in spatial order, and cell (3, 3), angstrom.
        AnalysisError: a cell without volume, or too many images of it within r_max.
        """
        cell, search = np.asarray(cell, float), self._search
        check_reach(self._n, float(np.linalg.det(cell)), self._r_max)
        grid, reach, rows = _grid(cell, self._n, self._r_max)
        total = int(np.prod(grid))
        if search.count is None or search.count.shape[0] != total:
            search.count, search.start = ti.ndarray(ti.i32, total), ti.ndarray(ti.i32, total + 1)
        search.grid, search.reach = ti.Vector(grid.tolist(), ti.i32), ti.Vector(reach.tolist(), ti.i32)
        search.lattice.from_numpy(rows)
        search.count.fill(0)
        fold, fill, add_distances = self._kernels
        with literals(ti.f64):
            fold(atoms, search)
            # A few thousand numbers: cheaper to add up here than a scan on the device would be to maintain.
            starts = np.concatenate([[0], np.cumsum(search.count.to_numpy())]).astype(np.int32)
            search.start.from_numpy(starts)
            fill(atoms, search)
            add_distances(atoms, search, self._histogram)
        self.frames += 1

    def counts(self) -> NDArray[np.int64]:
        """(n_kinds, n_kinds, bins): how often an atom b, or an image, was that far from an atom a.

        Symmetric; for a = b each pair counts twice, as `taichimd.estimators.structure` wants it.
        """
        upper = self._histogram.counts.to_numpy().reshape(self._shape).sum(axis=0)
        return np.asarray(self._before + upper + upper.transpose(1, 0, 2))

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep."""
        return {"counts": self.counts(), "frames": np.array(self.frames)}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave."""
        if np.shape(saved.get("counts", MISSING)) != self._before.shape:
            raise AnalysisError(
                f"saved histogram has the shape {np.shape(saved.get('counts', MISSING))}, "
                f"expected {self._before.shape}"
            )
        frames = int(saved_array(saved, "frames", "i"))
        before = saved_array(saved, "counts", "i", *self._before.shape)
        self._histogram.counts.fill(0)
        self._before, self.frames = before.astype(np.int64), frames


def _grid(
    cell: NDArray[np.float64], n: int, r_max: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Bins along each cell vector, bins to visit on each side, and the rows of the cell and its inverse."""
    if cell.shape != (3, 3) or not np.isfinite(cell).all() or abs(np.linalg.det(cell)) < 1e-9:
        raise AnalysisError("a radial distribution needs a cell with a volume, periodic in three directions")
    inverse = np.linalg.inv(cell)
    heights = 1.0 / np.linalg.norm(inverse, axis=0)
    # Bins of half the radius fit a sphere closely; smaller than an atom's share of space they cost more.
    width = max(0.5 * r_max, float(np.cbrt(abs(np.linalg.det(cell)) / n)))
    grid = np.maximum(np.floor(heights / width), 1).astype(np.int64)
    # A hair more than the radius, for atoms that rounding puts into the next bin.
    reach = np.ceil(r_max * (1 + 1e-9) / (heights / grid)).astype(np.int64)
    return grid, reach, np.vstack([cell, inverse])
