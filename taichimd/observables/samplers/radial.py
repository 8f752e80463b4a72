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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import AnalysisError
from taichimd.core.runtime import PRECISIONS, backend, literals, ti
from taichimd.observables.estimators.structure import check_reach

COPIES = 64
"""Histograms that threads fill side by side: atomics on one would wait for each other."""
_MOST = 2**23
"""Entries of all copies together (64 MB)."""


@cache
def _kernels(real: Any, cuda: bool) -> tuple[Any, Any, Any]:
    vecs: Any = ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)
    doubles: Any = ti.types.ndarray(dtype=ti.types.vector(3, ti.f64), ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    longs: Any = ti.types.ndarray(dtype=ti.i64, ndim=1)

    @ti.kernel
    def fold(n: ti.i32, pos: vecs, lattice: doubles, nx: ti.i32, ny: ti.i32, nz: ti.i32, folded: doubles, bin_of: ints, count: ints):  # fmt: skip
        for i in range(n):
            x = ti.cast(pos[i], ti.f64)
            f = x[0] * lattice[3] + x[1] * lattice[4] + x[2] * lattice[5]
            turns = ti.floor(f)
            f -= turns
            folded[i] = x - (turns[0] * lattice[0] + turns[1] * lattice[1] + turns[2] * lattice[2])
            # Rounding may give a fraction of 1; what is not a number must stay inside the array, too.
            bx = ti.max(0, ti.min(ti.cast(f[0] * nx, ti.i32), nx - 1))
            by = ti.max(0, ti.min(ti.cast(f[1] * ny, ti.i32), ny - 1))
            bz = ti.max(0, ti.min(ti.cast(f[2] * nz, ti.i32), nz - 1))
            b = (bx * ny + by) * nz + bz
            bin_of[i] = b
            ti.atomic_add(count[b], 1)

    @ti.kernel
    def fill(n: ti.i32, bin_of: ints, start: ints, count: ints, members: ints):
        # The order within a bin is that of the threads; nothing depends on it.
        for i in range(n):
            b = bin_of[i]
            members[start[b] + ti.atomic_sub(count[b], 1) - 1] = i

    @ti.kernel
    def histogram(n: ti.i32, folded: doubles, kind: ints, ident: ints, lattice: doubles, nx: ti.i32, ny: ti.i32, nz: ti.i32, rx: ti.i32, ry: ti.i32, rz: ti.i32, bin_of: ints, start: ints, members: ints, r_max: ti.f64, per_length: ti.f64, bins: ti.i32, n_kinds: ti.i32, copies: ti.i32, out: longs):  # fmt: skip
        for i in range(n):
            # Neighbouring lanes of CUDA, or pieces of the loop on the CPU, write different copies.
            copy = (i if ti.static(cuda) else i // 32) % copies
            x, b, me, a = folded[i], bin_of[i], ident[i], kind[i]
            bz = b % nz
            by = b // nz % ny
            bx = b // nz // ny
            for ox in range(bx - rx, bx + rx + 1):
                tx = ox // nx
                for oy in range(by - ry, by + ry + 1):
                    ty = oy // ny
                    for oz in range(bz - rz, bz + rz + 1):
                        tz = oz // nz
                        shift = tx * lattice[0] + ty * lattice[1] + tz * lattice[2]
                        # Of an atom and its own images, each pair of opposite ones counts once.
                        first = tx > 0 or (tx == 0 and (ty > 0 or (ty == 0 and tz > 0)))
                        cell = ((ox - tx * nx) * ny + (oy - ty * ny)) * nz + (oz - tz * nz)
                        for k in range(start[cell], start[cell + 1]):
                            j = members[k]
                            if ident[j] > me or (ident[j] == me and first):
                                d = (folded[j] - x) + shift
                                r = ti.sqrt(d.dot(d))
                                if r < r_max:
                                    c = kind[j]
                                    pair = ti.min(a, c) * n_kinds + ti.max(a, c)
                                    place = ti.min(ti.cast(r * per_length, ti.i32), bins - 1)
                                    ti.atomic_add(
                                        out[(copy * n_kinds * n_kinds + pair) * bins + place], ti.i64(1)
                                    )

    return fold, fill, histogram


class RadialHistogram:
    """Counts distances of all pairs of species over many samples.

    Args:
        n: number of atoms.
        n_kinds: number of species.
        r_max: angstrom.
        bins: of equal width, 0 to r_max.
        precision: of the positions, that of the engine; distances are float64.

    Raises:
        AnalysisError: a number that makes no sense, or a histogram beyond 64 MB.

    Attributes:
        frames: samples taken.
    """

    def __init__(self, n: int, n_kinds: int, r_max: float, bins: int, precision: str = "float64") -> None:
        if n < 1 or n_kinds < 1 or bins < 1 or not (np.isfinite(r_max) and r_max > 0):
            raise AnalysisError(
                f"radial histogram of {n} atoms, {n_kinds} species, {bins} bins up to {r_max:g} Å: expected "
                "numbers above 0"
            )
        size = n_kinds * n_kinds * bins
        if size > _MOST:
            raise AnalysisError(
                f"radial histogram of {size} numbers; expected at most {_MOST}: take fewer bins"
            )
        self.r_max, self.bins, self.n_kinds, self.frames = float(r_max), bins, n_kinds, 0
        self._n = n
        self._real, _ = PRECISIONS[precision]
        self._kernels = _kernels(self._real, backend() == "cuda")
        vec = ti.types.vector(3, ti.f64)
        self._folded, self._lattice = ti.ndarray(vec, n), ti.ndarray(vec, 6)
        self._bin_of, self._members = ti.ndarray(ti.i32, n), ti.ndarray(ti.i32, n)
        self._copies = max(1, min(COPIES, _MOST // size))
        self._out = ti.ndarray(ti.i64, self._copies * size)
        self._out.fill(0)
        self._count: Any = None
        self._start: Any = None
        self._before = np.zeros((n_kinds, n_kinds, bins), np.int64)

    def sample(self, pos: Any, kind: Any, ident: Any, cell: NDArray[np.float64]) -> None:
        """Add the distances of one frame.

        Args:
            pos: n vectors, angstrom, spatial order, wrapped or not.
            kind: n species numbers.
            ident: n user's numbers.
            cell: (3, 3) rows, angstrom; periodic in all three directions.

        Raises:
            AnalysisError: a cell without volume, or too many images of it within r_max.
        """
        cell = np.asarray(cell, float)
        check_reach(self._n, float(np.linalg.det(cell)), self.r_max)
        grid, reach, rows = _grid(cell, self._n, self.r_max)
        total = int(np.prod(grid))
        if self._count is None or self._count.shape[0] != total:
            self._count, self._start = ti.ndarray(ti.i32, total), ti.ndarray(ti.i32, total + 1)
        self._lattice.from_numpy(rows)
        self._count.fill(0)
        fold, fill, histogram = self._kernels
        n, size = self._n, [int(k) for k in grid]
        with literals(ti.f64):
            fold(n, pos, self._lattice, *size, self._folded, self._bin_of, self._count)
            # A few thousand numbers: cheaper to add up here than a scan on the device would be to maintain.
            starts = np.concatenate([[0], np.cumsum(self._count.to_numpy())]).astype(np.int32)
            self._start.from_numpy(starts)
            fill(n, self._bin_of, self._start, self._count, self._members)
            histogram(
                n, self._folded, kind, ident, self._lattice, *size, *(int(k) for k in reach), self._bin_of,
                self._start, self._members, self.r_max, self.bins / self.r_max, self.bins, self.n_kinds,
                self._copies, self._out,
            )  # fmt: skip
        self.frames += 1

    def counts(self) -> NDArray[np.int64]:
        """(n_kinds, n_kinds, bins): how often an atom b, or an image, was that far from an atom a.

        Symmetric; for a = b each pair counts twice, as `taichimd.observables.estimators.structure` wants it.
        """
        shape = (self._copies, self.n_kinds, self.n_kinds, self.bins)
        upper = self._out.to_numpy().reshape(shape).sum(axis=0)
        return np.asarray(self._before + upper + upper.transpose(1, 0, 2))

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep."""
        return {"counts": self.counts(), "frames": np.array(self.frames)}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Go on from what `save` gave.

        Raises:
            AnalysisError: it is of another histogram.
        """
        if saved["counts"].shape != self._before.shape:
            raise AnalysisError(
                f"saved histogram has the shape {saved['counts'].shape}, expected {self._before.shape}"
            )
        self._out.fill(0)
        self._before = saved["counts"].astype(np.int64)
        self.frames = int(saved["frames"])


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
