"""Memory for the lists in `tuple_arrays.Tuples`: it grows to the counts of the device, or is refused."""

from typing import Any

import numpy as np

from taichimd.core.memory import FEWER, array, bytes_of, fits, require
from taichimd.core.runtime import ti
from taichimd.neighbours.pages import page_length, rows_in_pages
from taichimd.neighbours.rows import row_width
from taichimd.neighbours.tuple_arrays import firsts_size
from taichimd.system.state import State

MORE = 8
"""A list that must grow gets an eighth more than it needs."""
CURE = f"use decomposition 'particle', {FEWER}"


class TupleRoom:
    """The arrays of `Tuples` for one system, if there are any.

    Args:
        state: the system.
        present: whether there are any.
        of_member: numbers that a pair leaves with each of its members.
        of_triplet: numbers that a triplet leaves.
    """

    def __init__(self, state: State, present: bool, of_member: int = 1, of_triplet: int = 1) -> None:
        self._n, self._present = state.n, present
        self._of_pair, self._of_triplet = 2 * of_member, of_triplet
        self._vec, self._term = ti.types.vector(3, state.term), state.term
        if present:
            self.firsts = ti.ndarray(ti.i32, firsts_size(state.n))
            self._reserve(1, 1, "lists of tuples")

    def _reserve(self, pairs: int, triplets: int, what: str) -> None:
        kinds = (
            (ti.i32, 5 * pairs + 2 * triplets),
            (self._term, self._of_pair * pairs + self._of_triplet * triplets),
            (self._vec, 2 * triplets),
        )
        size = self.bytes_for(pairs, triplets)
        made = (array(dtype, numbers, what, size, CURE) for dtype, numbers in kinds)
        self.tuples, self.values, self.slopes = made

    def counts(self) -> tuple[int, int]:
        """Pairs and triplets of the last list, or of the one that did not fit; waits for the device."""
        n = self._n
        # A running sum beyond 2^31 has wrapped around, its differences have not.
        sums = self.firsts.to_numpy()[: 3 * n + 1].astype(np.uint32)
        counts = np.diff(sums).astype(np.int64)
        return int(counts[:n].sum()), int(counts[2 * n :].sum())

    def grow(self) -> None:
        """Make room for what was counted."""
        pairs, triplets = self.counts()
        most_pairs, most_triplets = (count + count // MORE + 8 for count in (pairs, triplets))
        need = self.bytes_for(most_pairs, most_triplets)
        what = f"a list of {pairs} pairs and {triplets} triplets of {self._n} atoms"
        self._reserve(1, 1, what)  # what is held now is free for the new one
        longest = max(5, self._of_pair) * most_pairs + 2 * most_triplets
        require(need, longest, what, CURE)
        self._reserve(most_pairs, most_triplets, what)

    def bytes_for(self, pairs: int, triplets: int) -> int:
        """Memory for so many pairs and triplets."""
        size = 4 if self._term == ti.f32 else 8
        return pairs * (20 + self._of_pair * size) + triplets * (8 + (6 + self._of_triplet) * size)

    def statistics(self) -> dict[str, Any]:
        """Sizes and memory, for reports."""
        if not self._present:
            return {}
        pairs, triplets = self.counts()
        return {
            "pairs": pairs,
            "triplets": triplets,
            "tuple_memory_bytes": bytes_of(self.firsts, self.tuples, self.values, self.slopes),
        }


class PairRows:
    """Rows for the near list of a pair term alone, in `firsts` and `tuples` of `Tuples`, in so many pages."""

    def __init__(self, state: State, pages: int = 1) -> None:
        self._n, self._pages = state.n, pages
        self.tuples: Any = None
        self.firsts = ti.ndarray(ti.i32, state.n + 1)
        self.firsts.fill(0)
        self._reserve(row_width(1), "a near list")

    def grow(self) -> None:
        """Make room for the longest row."""
        longest = int(self.firsts.to_numpy()[-1])
        # What grows does not need both.
        self._reserve(1, "a near list")
        what = f"the near list of {longest} neighbours for each of {self._n} atoms"
        roomy, least = row_width(longest + longest // MORE), row_width(longest)
        length = page_length(self._n, self._pages)
        width = roomy if fits(4 * length * self._pages * roomy, length * roomy) else least
        require(4 * length * self._pages * width, length * width, what, FEWER)
        self._reserve(width, what)

    def _reserve(self, width: int, what: str) -> None:
        size = 4 * width * page_length(self._n, self._pages) * self._pages
        self.tuples = None
        self.tuples = rows_in_pages(self._n, width, self._pages, what, size, FEWER)

    def statistics(self) -> dict[str, Any]:
        """Memory, for reports."""
        return {"pair_rows_memory_bytes": bytes_of(self.firsts, self.tuples)}
