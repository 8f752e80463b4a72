"""The Verlet list of a batch: every system has bins and image vectors of its own, so that no pair is of two systems."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import CapacityError, StructureError
from taichimd.core.runtime import ti
from taichimd.neighbours.grid import make_grid
from taichimd.neighbours.sorted_atoms import BINS, FIRST_BIN, FIRST_CODE, LAYOUT, PERIODIC, REACH
from taichimd.neighbours.verlet_list import MOST_IMAGES, VerletList, coincident, guess
from taichimd.system.frame import Frame
from taichimd.system.state import State

Frames = tuple[Frame, ...]
"""Lattices of all systems."""


class BatchList(VerletList):
    """Neighbours of all atoms of several systems; a `VerletList` that takes `Frames` in place of a frame.

    Largest images are those of any system. Image m of system k has the code c (1 + h k/|c|), where c is its code in a
    system alone and h the largest such code: T and -T have opposite codes, and a system's codes stand in their order.
    """

    def __init__(self, state: State, long_rows: bool = False) -> None:
        super().__init__(state, long_rows)
        systems = len(state.sizes)
        self._systems = systems
        self.search = replace(self.search, together=self.chunked)
        self.sort.grid = ti.ndarray(state.vec, 8 * systems)
        self.sort.system, self.sort.layouts = state.system, ti.ndarray(ti.i32, LAYOUT * systems)

    @property
    def periodic(self) -> bool:
        """Whether the bins of the last build serve for ever, since no atom can leave them."""
        frames: Any = self._plan_of and self._plan_of[0]
        return frames is not None and all(frame.pbc.all() for frame in frames)

    def _plan(self, state: State, frames: Any, radius: float) -> None:
        n, shared = state.n, self.search.together
        of_all = None if all(frame.pbc.all() for frame in frames) else state.get("pos")
        ranges = [slice(first, first + size) for first, size in zip(state.firsts, state.sizes, strict=True)]
        positions = [None if of_all is None else of_all[atoms] for atoms in ranges]
        errors = [self.error_of(*one, radius) for one in zip(frames, positions, strict=True)]
        reach = radius + self._choose(state, max(errors))
        sizes = state.sizes.tolist()
        plans = zip(frames, positions, sizes, strict=True)
        grids = [make_grid(frame, x, size, reach, shared) for frame, x, size in plans]
        bins = np.array([np.prod(grid.bins) for grid in grids])
        self._reserve_bins(int(bins.sum()))
        self.set_grid(np.vstack([self.grid_values(*one) for one in zip(frames, grids, strict=True)]), state)
        images = [self.images_of(*one) for one in zip(frames, grids, strict=True)]
        self._set_images(np.max([self.most_image, *images], axis=0), n)
        self._set_shifts(frames, state.numpy_real)
        layouts = np.zeros((self._systems, LAYOUT), np.int32)
        layouts[:, BINS : BINS + 3] = [grid.bins for grid in grids]
        layouts[:, REACH : REACH + 3] = [grid.reach for grid in grids]
        layouts[:, PERIODIC : PERIODIC + 3] = [frame.pbc for frame in frames]
        layouts[:, FIRST_BIN] = np.cumsum(bins) - bins
        layouts[:, FIRST_CODE] = np.arange(self._systems) * self._codes_of_each
        self.sort.layouts.from_numpy(layouts.ravel())
        if self.width == 0:
            widths = [guess(size, frame, reach) for size, frame in zip(sizes, frames, strict=True)]
            self._reserve_rows(state, max(widths))
        self.sort.radius2 = reach * reach
        self.sort.bins = ti.Vector([int(bins.sum()), 1, 1])
        self._plan_of = frames, radius, self.most_image

    @property
    def _codes_of_each(self) -> int:
        """Positive codes of one system."""
        return int(np.prod(2 * self.most_image + 1)) // 2

    def _set_images(self, most: NDArray[np.int64], n: int) -> None:
        codes = 2 * self._systems * (int(np.prod((2 * most + 1).astype(object))) // 2) + 1
        shift_bits = max(codes - 1, 1).bit_length()
        if codes > MOST_IMAGES or n > 2 ** (31 - shift_bits):
            raise CapacityError(
                f"{self._systems} systems of {n} atoms in all, with periodic images up to {most.tolist()} cells away, do "
                "not fit 32-bit list entries; wrap the positions into the cells, or use fewer systems at a time"
            )
        grown = not np.array_equal(most, self.most_image)
        self._keep_images(most, shift_bits)
        if grown:
            layouts = self.sort.layouts.to_numpy().reshape(-1, LAYOUT)
            layouts[:, FIRST_CODE] = np.arange(self._systems) * self._codes_of_each
            self.sort.layouts.from_numpy(layouts.ravel())

    def _set_shifts(self, frames: Any, real: Any) -> None:
        images = self.all_images()
        middle = len(images) // 2
        codes = np.arange(len(images)) - middle
        shifts = np.zeros((1 << self.shift_bits, 3), real)
        for k, frame in enumerate(frames):
            shifts[codes + np.sign(codes) * (k * middle)] = self.vectors_of(images, frame)
        shifts[0] = 0.0
        self._keep_shifts(shifts)

    def _refuse(self, state: State, frames: Any, atom: int) -> StructureError:
        k = int(np.searchsorted(state.firsts, atom, side="right")) - 1
        first, x = int(state.firsts[k]), state.get("pos")
        told = coincident(x[first : first + int(state.sizes[k])], frames[k], atom - first)
        return StructureError(f"system {k} (counted from 0): {told}")
