"""Room for the lists of tuples: grown to what the device has counted, refused where it cannot be had."""

from typing import Any

import numpy as np

from taichimd.errors import CapacityError
from taichimd.neighbours.tuple_arrays import firsts_size
from taichimd.runtime import free_memory, ti
from taichimd.state import State

MORE = 8
"""A list that must grow gets an eighth more than it needs."""


class TupleRoom:
    """The arrays of `Tuples` for one system, or arrays of length one where there are none.

    Attributes:
        arrays: firsts, tuples, values, slopes.
    """

    def __init__(self, state: State, present: bool) -> None:
        self._n = state.n
        self._vec, self._term = ti.types.vector(3, state.term), state.term
        firsts = ti.ndarray(ti.i32, firsts_size(state.n) if present else 1)
        self.arrays: tuple[Any, ...] = firsts, *self._reserve(1, 1)

    def _reserve(self, records: int, triplets: int) -> tuple[Any, ...]:
        return (
            ti.ndarray(ti.i32, 2 * records),
            ti.ndarray(self._term, records),
            ti.ndarray(self._vec, 2 * triplets),
        )

    def counts(self) -> tuple[int, int]:
        """Pairs and triplets of the last list, or of the one that did not fit; waits for the device."""
        n = self._n
        # A running sum beyond 2^31 has wrapped around, its differences have not.
        sums = self.arrays[0].to_numpy()[: 3 * n + 1].astype(np.uint32)
        counts = np.diff(sums).astype(np.int64)
        return int(counts[:n].sum()), int(counts[2 * n :].sum())

    def grow(self) -> None:
        """Make room for what was counted.

        Raises:
            CapacityError: it does not fit the memory, or 32-bit numbers.
        """
        pairs, triplets = self.counts()
        records, triplets_room = 3 * pairs + triplets, triplets
        records += records // MORE + 8
        triplets_room += triplets_room // MORE + 8
        need = self.bytes_for(records, triplets_room)
        self.arrays = self.arrays[0], *self._reserve(1, 1)  # what is held now is free for the new one
        free = free_memory()
        if 2 * records >= 2**31 or (free is not None and need > free):
            limit = "numbers of 32 bits" if free is None or need <= free else f"the {free / 2**30:.1f} GiB that are free"
            raise CapacityError(
                f"the lists of {pairs} pairs and {triplets} triplets of {self._n} atoms need {need / 2**30:.1f} GiB, "
                f"more than {limit}; use decomposition 'particle', shorten the cutoff, lower the density or use fewer atoms"
            )
        self.arrays = self.arrays[0], *self._reserve(records, triplets_room)

    def bytes_for(self, records: int, triplets: int) -> int:
        """Memory for so many records, of which some are triplets."""
        size = 4 if self._term == ti.f32 else 8
        return records * (8 + size) + 6 * triplets * size

    def statistics(self) -> dict[str, Any]:
        """Sizes and memory, for reports."""
        pairs, triplets = self.counts()
        _, tuples, values, slopes = self.arrays
        held = self.bytes_for(values.shape[0], slopes.shape[0] // 2) + 4 * self.arrays[0].shape[0]
        return {"pairs": pairs, "triplets": triplets, "tuple_memory_bytes": held}
