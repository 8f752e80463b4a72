"""Sweeps of trial moves of single atoms, one after the other, for energies without a cutoff."""

from typing import Any

import numpy as np

from taichimd.core.runtime import DEVICE_LOOPS, WARPS, blocks_for, grid, literals, ti
from taichimd.forcefields.triple_energies import integers, placed_atoms
from taichimd.neighbours.rows import WARP
from taichimd.program.device import Device
from taichimd.sampling.local_terms import Local
from taichimd.sampling.move_batch import DEEP, DEEP_DECIDED, MOVES, PAIRS, SUMS, WIDTH, depth, sharing
from taichimd.sampling.sequence_kernels import Order, Share, sequence_kernels
from taichimd.sampling.tally import ACCEPTED, ROUGH, SLOTS, Tally
from taichimd.sampling.trials import Trials


class InSequence:
    """The arrays of sweeps."""

    def __init__(self, device: Device, terms: tuple[Local, ...], n_kinds: int, backend: str) -> None:
        state = device.state
        n, sizes = state.n, state.sizes.tolist()
        systems = len(sizes)
        self._device = device
        self._begin, self._move = sequence_kernels(terms, n_kinds, state.real, state.term, backend)
        fixed = state.inverse_mass.to_numpy()[state.sorted_of.to_numpy()] == 0.0
        order = np.lexsort((fixed, state.system_of_atoms))
        self._order = Order(integers(order), integers(np.argsort(order)), state.sorted_of)
        self._placed = placed_atoms(n)
        long = [ti.ndarray(ti.i64, 2 * SUMS * SLOTS * systems) for _ in range(2)]
        short = [ti.ndarray(ti.i32, size * systems) for size in (4 * SUMS, 2)]
        doubles = [ti.ndarray(ti.f64, size) for size in (systems, 12 * MOVES * systems, 2 * WIDTH * n)]
        self._tally = Tally(*long, *short, *doubles)
        threads = np.array([sharing(size) for size in sizes])
        sides = np.array([-(-2 * MOVES * size // WARP) * WARP for size in sizes])
        pairs, decided = (np.array([depth(size, deep) for size in sizes]) for deep in (DEEP, DEEP_DECIDED))
        near = MOVES * WARP if any(one.pair for one in terms) else 0
        free = np.bincount(state.system_of_atoms[~fixed], minlength=systems)
        columns = np.cumsum([0, *sizes]), free, pairs, decided, threads
        wide, large = int((sides + PAIRS * pairs + MOVES * decided).max()) + near, int(threads.max())
        batches = -(-int(free.max()) // MOVES)
        deciding = systems * (WARP if backend == "cuda" and WARPS else 1)
        loops = wide, systems * wide, large, deciding + systems * large
        self._rounds = 1 if DEVICE_LOOPS else batches + 1
        self._going = ti.ndarray(ti.i32, ())
        self._share = Share(
            ti.ndarray(ti.i32, 1), batches, systems, *loops, near, *(integers(one) for one in columns)
        )
        self._blocks = blocks_for(systems * max(wide, large))

    def sweep(self, rows: Any, tables: Any, trials: Trials, sweep: int) -> list[tuple[float | None, int]]:
        """A trial move of each free atom: changes of energies, eV, or None if not told; accepted moves."""
        device, state = self._device, self._device.state
        with literals(state.real), grid(self._blocks):
            self._begin(state, self._order, self._placed, self._tally, self._share)
            for _ in range(self._rounds):
                self._move(
                    state, self._order, device.lists.verlet, rows, tables, self._placed, self._tally,
                    self._share, trials, sweep, self._going,
                )  # fmt: skip
        counts = self._tally.counts.to_numpy().reshape(-1, 2).tolist()
        gain = self._tally.gain.to_numpy().tolist()
        return [
            (None if count[ROUGH] else change, count[ACCEPTED])
            for change, count in zip(gain, counts, strict=True)
        ]
