"""The Verlet list: buffers that grow by themselves, and the build that fills them."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import CapacityError, StructureError
from taichimd.core.memory import FEWER, fits, require
from taichimd.core.runtime import backend, literals, ti
from taichimd.neighbours import kernels as nk
from taichimd.neighbours.control import NONE, OUTSIDE, Control
from taichimd.neighbours.grid import Extent, Grid, extent_of, make_grid, span
from taichimd.neighbours.pages import page_length, rows_in_pages
from taichimd.neighbours.rows import CHUNKED, roomy_width, row_layout, row_width
from taichimd.neighbours.scan import scan_size
from taichimd.neighbours.sorted_atoms import (
    BINS,
    FIRST_BIN,
    FIRST_CODE,
    LAYOUT,
    PAD,
    PERIODIC,
    REACH,
    Search,
    Sorted,
)
from taichimd.system.frame import Frame
from taichimd.system.state import State

MAX_IMAGES = 2**22
"""Longest table of image vectors: 100 MB in float64."""

ENOUGH = 256_000
"""Atoms from which a thread for each keeps a large GPU busy: threads that share an atom do more work
in all (docs/decisions, 010)."""

LARGEST_ERROR = 2e-3
"""Error of distances (angstrom) up to which the search compares positions in float32."""


Frames = tuple[Frame, ...]
"""Lattices of all systems."""


class VerletList:
    """Neighbours of all atoms within `radius`, both directions, every periodic image.

    Each of several systems has bins and image vectors of its own, so that no pair is of two systems. Largest
    images are those of any system. Image m of system k has the code c (1 + h k/|c|), where c is its code in a
    system alone and h the largest such code: T and -T have opposite codes, and a system's codes stand in
    their order.

    Attributes:
        width: slots per atom. count: n true counts. entries: n*width entries (see neighbours.kernels), in
            `pages` arrays.
        shift_bits: low bits of an entry that hold the image code.
        shifts: the image vectors T by code, angstrom; codes of -T are negative, modulo their number.
        built_at: positions at the last build. builds: how many there were.
        chunked: whether rows are in chunks. search: how it is compiled. sort: where atoms are in space.
    """

    def __init__(self, state: State, long_rows: bool = False, pages: int = 1, bits: int = 31) -> None:
        self.layout = row_layout(backend())
        self.width, self.pages, self._bits = 0, pages, bits
        self.most_image = np.zeros(3, np.int64)
        self.builds = 0
        n = state.n
        ivec = ti.types.vector(3, ti.i32)
        self.chunked = self.layout == CHUNKED
        self._systems = len(state.sizes)
        together = self.chunked and (state.batch or long_rows or n < ENOUGH)
        self.search = Search(state.real, together, state.alike, state.one_species, state.batch, pages)
        self.count = ti.ndarray(ti.i32, n)
        self.built_at = ti.ndarray(state.vec, n)
        self.entries: Any = None
        self.shifts: Any = None
        self.shift_bits = 0
        one = ti.Vector([1, 1, 1])
        self.sort = Sorted(
            radius2=0.0,
            bins=one,
            reach=one,
            periodic=one,
            most_image=one,
            grid=ti.ndarray(state.vec, 8 * self._systems),
            folded=ti.ndarray(state.real, 1),
            turns=ti.ndarray(ivec, n),
            bin_of=ti.ndarray(ti.i32, n),
            sorted_of=state.sorted_of,
            order=ti.ndarray(ti.i32, n),
            turns_in=ti.ndarray(ivec, n),
            bin_in=ti.ndarray(ti.i32, n),
        )
        if state.batch:
            self.sort.system, self.sort.layouts = state.system, ti.ndarray(ti.i32, LAYOUT * self._systems)
        self._grid_values = np.zeros(0)
        self._shift_values = np.zeros(0)
        self._bin_capacity = 0
        self._reserve_bins(1)
        self._plan_of: tuple[Frames, float, NDArray[np.int64]] | None = None
        # Of the atoms when they last left the bins, or the cells changed: other skins need no new extents.
        self._extents: tuple[Frames, list[Extent | None]] | None = None

    def build(self, state: State, frames: Frames, radius: float, control: Any) -> None:
        """Sort the atoms in space and fill the list. The device says in `control` whether it is fit.

        Args:
            state: the atoms.
            frames: the lattices.
            radius: cutoff plus skin, angstrom.
            control: the control array (`neighbours.control`).

        Raises:
            CapacityError: more entries than memory or 32-bit entries can hold.
        """
        if not self._planned(frames, radius):
            self._plan(state, frames, radius)
        self._fill(state, control)
        self.builds += 1

    def give_rows_near(self, away: Any) -> None:
        """From now on only atoms near a slab get rows: up to `sort.needed` from it, angstrom.

        Args:
            away: array of the device (n): distance of the atom of each number, angstrom.
        """
        self.search = replace(self.search, some_rows=True)
        self.sort.away, self.sort.needed = away, inf

    def forget_cell(self) -> None:
        """The device has changed what lies there of the cell."""
        self._grid_values = self._shift_values = np.zeros(0)

    def _fill(self, state: State, control: Any) -> None:
        """Queue the kernel that sorts the atoms and fills the rows."""
        kernels = nk.list_kernels(state.real, self.search, self.layout, len(state.carried))
        with literals(state.real):
            kernels.build(state, state.carried, state.spare, state.spare_carried, self, control, self.sort)

    def _planned(self, frames: Frames, radius: float) -> bool:
        """Whether bins, images and buffers of the last build serve again: the host has nothing to do."""
        if self._plan_of is None:
            return False
        last_frames, last_radius, images = self._plan_of
        return last_frames is frames and last_radius == radius and np.array_equal(images, self.most_image)

    def _plan(self, state: State, frames: Frames, radius: float) -> None:
        """Lay out bins and images, and reserve room."""
        if self._extents is None or self._extents[0] is not frames:
            # Only directions without periodicity need to know where the atoms are.
            of_all = None if all(frame.pbc.all() for frame in frames) else state.get("pos")
            parts = zip(frames, state.parts, strict=True)
            self._extents = frames, [of_all if of_all is None else extent_of(f, of_all[p]) for f, p in parts]
        extents = self._extents[1]
        errors = [_error_of(*one, radius) for one in zip(frames, extents, strict=True)]
        reach = radius + self._choose(state, max(errors))
        sizes, shared = state.sizes.tolist(), self.search.together
        plans = zip(frames, extents, sizes, strict=True)
        grids = [make_grid(frame, extent, size, reach, shared) for frame, extent, size in plans]
        self._reserve_bins(sum(int(np.prod(grid.bins)) for grid in grids))
        self._set_grid(np.vstack([_rows_of(*one) for one in zip(frames, grids, strict=True)]), state)
        images = [_images_of(*one) for one in zip(frames, grids, strict=True)]
        self._set_images(np.max([self.most_image, *images], axis=0), state.n)
        self._set_shifts(frames, state.numpy_real)
        if self.width == 0:
            inside = zip(state.in_cells.tolist(), frames, strict=True)
            widths = [guess(number, frame, reach) for number, frame in inside]
            self._reserve_rows(state, max(widths))
        self.sort.radius2 = reach * reach
        self._set_layouts(frames, grids)
        self._plan_of = frames, radius, self.most_image

    def _set_layouts(self, frames: Frames, grids: Sequence[Grid]) -> None:
        """Set bins and periodic directions: numbers for one system, an array for several systems."""
        one: tuple[Any, Any, Any] = grids[0].bins, grids[0].reach, frames[0].pbc
        if self._systems > 1:
            of_each = np.array([np.prod(grid.bins) for grid in grids])
            layouts = np.zeros((self._systems, LAYOUT), np.int32)
            layouts[:, BINS : BINS + 3] = [grid.bins for grid in grids]
            layouts[:, REACH : REACH + 3] = [grid.reach for grid in grids]
            layouts[:, PERIODIC : PERIODIC + 3] = [frame.pbc for frame in frames]
            layouts[:, FIRST_BIN] = np.cumsum(of_each) - of_each
            layouts[:, FIRST_CODE] = self._first_codes()
            self.sort.layouts.from_numpy(layouts.ravel())
            one = (of_each.sum(), 1, 1), (1, 1, 1), (1, 1, 1)
        for name, numbers in zip(("bins", "reach", "periodic"), one, strict=True):
            setattr(self.sort, name, ti.Vector([int(k) for k in numbers]))

    def _first_codes(self) -> NDArray[np.int64]:
        """(systems,) positive codes of images of the systems before."""
        return np.arange(self._systems) * (int(np.prod(2 * self.most_image + 1)) // 2)

    def _set_grid(self, values: NDArray[np.float64], state: State) -> None:
        """Put the rows of `Sorted.grid` on the device if they have changed."""
        values = values.astype(state.numpy_real)
        if not np.array_equal(values, self._grid_values):
            self.sort.grid.from_numpy(values)
            self._grid_values = values

    def _choose(self, state: State, error: float) -> float:
        """Choose the type of the positions that the search compares; by how much distances may be wrong.

        Args:
            state: the atoms.
            error: of float32.
        """
        real, error = (ti.f32, error) if error < LARGEST_ERROR else (state.real, 0.0)
        room = 3 * (state.n + PAD)
        if real != self.search.real or self.sort.folded.shape[0] != room:
            self.search = replace(self.search, real=real)
            self.sort.folded = ti.ndarray(real, room)
            self.sort.folded.fill(0)  # numbers, also after the last atom
        return error

    def unfit(self, seen: Control) -> bool:
        """Whether the last build had too little room or bad input, by the control array after the build."""
        images = seen.largest_image > self.most_image
        return self.builds > 0 and bool(
            seen.longest_row > self.width or images.any() or seen.coincident != NONE
        )

    def grow(self, state: State, frames: Frames, control: Any, seen: Control) -> None:
        """Make room for what the last build has counted, and fill again.

        Args:
            state: the atoms.
            frames: the lattices.
            control: the control array (`neighbours.control`).
            seen: its content after the build.

        Raises:
            StructureError: two atoms less than 0.02 angstrom apart (or an atom and its own image).
            CapacityError: more entries than memory or 32-bit entries can hold.
        """
        if seen.coincident != NONE:
            k = state.system_of(seen.coincident)
            atom = seen.coincident - int(state.firsts[k])
            told = coincident(state.get("pos")[state.parts[k]], frames[k], atom)
            raise StructureError(told if self._systems == 1 else f"system {k} (counted from 0): {told}")
        if seen.longest_row > self.width:
            self._reserve_rows(state, seen.longest_row)
        images = seen.largest_image.astype(np.int64)
        if (images == OUTSIDE).any() and self._plan_of is not None:
            self._extents = None
            self._plan(state, frames, self._plan_of[1])
        images[images == OUTSIDE] = 0
        self._set_images(np.maximum(self.most_image, images), state.n)
        # The kernel of every build: another one would be compiled in the middle of a run.
        self._fill(state, control)
        self._set_shifts(frames, state.numpy_real)

    def release(self) -> None:
        """Give the rows back: the next build makes others."""
        self.entries, self.width, self._plan_of = None, 0, None

    def _reserve_bins(self, n_bins: int) -> None:
        if n_bins <= self._bin_capacity:
            return
        self._bin_capacity = n_bins + n_bins // 4
        self.sort.counts = ti.ndarray(ti.i32, self._bin_capacity)
        self.sort.counts.fill(0)  # and again after each use
        self.sort.starts = ti.ndarray(ti.i32, self._bin_capacity + 1)
        self.sort.sums = ti.ndarray(ti.i32, scan_size(self._bin_capacity))

    def _reserve_rows(self, state: State, need: int) -> None:
        """Rows for `need` neighbours and an eighth more; without the eighth if it does not fit the memory."""
        need, length = max(need, 4), page_length(state.n, self.pages)
        what = f"a neighbour list of {state.n} atoms, {need} neighbours each"
        self.entries = None  # what grows does not need both
        roomy, least = roomy_width(need, length), row_width(need)
        width = roomy if fits(4 * length * roomy * self.pages, length * roomy) else least
        size = 4 * length * width * self.pages
        require(size, length * width, what, FEWER)
        self.entries = rows_in_pages(state.n, width, self.pages, what, size, FEWER)
        self.width = width

    def _set_images(self, most: NDArray[np.int64], n: int) -> None:
        # Whole numbers of Python: the product of three large ones does not fit 64 bits.
        codes = 2 * self._systems * (prod(2 * m + 1 for m in most.tolist()) // 2) + 1
        shift_bits = max(codes - 1, 1).bit_length()
        if codes > MAX_IMAGES or n > 2 ** (self._bits - shift_bits):
            if self._systems > 1:
                raise CapacityError(
                    f"{self._systems} systems of {n} atoms in all, with periodic images up to "
                    f"{most.tolist()} cells away, do not fit 32-bit list entries; wrap the positions into "
                    "the cells, or use fewer systems at a time"
                )
            raise CapacityError(
                f"{n} atoms with periodic images up to {most.tolist()} cells away do not fit 32-bit list "
                "entries; wrap the positions into the cell, or use fewer atoms"
            )
        grown = not np.array_equal(most, self.most_image)
        self.most_image, self.sort.most_image = most, ti.Vector(most.tolist())
        self.shift_bits = shift_bits
        if grown and self._systems > 1:
            layouts = self.sort.layouts.to_numpy().reshape(-1, LAYOUT)
            layouts[:, FIRST_CODE] = self._first_codes()
            self.sort.layouts.from_numpy(layouts.ravel())

    def _set_shifts(self, frames: Frames, real: Any) -> None:
        axes = np.meshgrid(*[np.arange(-m, m + 1) for m in self.most_image], indexing="ij")
        images = np.stack(axes, axis=-1).reshape(-1, 3)
        shifts = np.zeros((1 << self.shift_bits, 3), real)
        # In the middle stands no image, which has code 0; what is before it wraps around to the end.
        middle = len(images) // 2
        codes = np.arange(len(images)) - middle
        for k, frame in enumerate(frames):
            v = frame.vectors
            # Term by term, so that T and -T are exact negatives of each other.
            vectors = images[:, :1] * v[0] + images[:, 1:2] * v[1] + images[:, 2:] * v[2]
            shifts[codes + np.sign(codes) * (k * middle)] = vectors
        shifts[0] = 0.0
        self._keep_shifts(shifts)

    def _keep_shifts(self, shifts: NDArray[Any]) -> None:
        if np.array_equal(shifts, self._shift_values):
            return
        self._shift_values = shifts
        if self.shifts is None or self.shifts.shape[0] != len(shifts):
            vec = ti.types.vector(3, ti.f32 if shifts.dtype == np.float32 else ti.f64)
            self.shifts = ti.ndarray(vec, len(shifts))
        self.shifts.from_numpy(shifts)


def _rows_of(frame: Frame, grid: Grid) -> NDArray[np.float64]:
    """(8, 3): rows of `Sorted.grid`."""
    return np.vstack([frame.vectors, frame.inverse, grid.origin, grid.bins / grid.extent])


def _images_of(frame: Frame, grid: Grid) -> NDArray[np.int64]:
    """(3,) largest image along each vector that a search from within the cell finds."""
    return np.where(frame.pbc, np.maximum(-(-grid.reach // grid.bins), 1), 0)


def _error_of(frame: Frame, atoms: Extent | None, radius: float) -> float:
    """By how much distances of positions in float32 may be wrong inside the bins, angstrom."""
    farthest = np.max(np.abs(span(frame, atoms, radius)), axis=0)
    size = float((np.linalg.norm(frame.vectors, axis=1) * farthest).sum()) + radius
    # Some roundings of coordinates that large, each by half a unit of 24 bits, and a bit that means something
    # else.
    return 16 * 2.0**-24 * size


def guess(n: int, frame: Frame, radius: float) -> int:
    """Mean number of neighbours at the system's density: a first width, never a limit."""
    if not frame.pbc.all():
        return 16
    volume = abs(float(np.linalg.det(frame.vectors)))
    return int(4.19 * radius**3 * n / volume) + 8


def coincident(x: NDArray[np.float64], frame: Frame, atom: int) -> str:
    """Name the partner of an atom that has another one on top of it, of positions x (n, 3)."""
    d = x - x[atom]
    fractional = d @ frame.inverse
    d = (fractional - np.where(frame.pbc, np.round(fractional), 0)) @ frame.vectors
    r = np.linalg.norm(d, axis=1)
    r[atom] = np.inf
    other = int(np.argmin(r))
    if r[other] > 0.02:
        return (
            f"atom {atom} (counted from 0) is less than 0.02 angstrom from its own periodic image; "
            "check the cell vectors"
        )
    return (
        f"atoms {atom} and {other} (counted from 0) are {r[other]:.2g} angstrom apart; "
        "remove duplicate atoms or check the cell and the periodic directions"
    )
