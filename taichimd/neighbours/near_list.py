"""Near list of one group of terms, and arrays that its loops keep. The arrays grow as needed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle
from taichimd.core.memory import FEWER, array, bytes_of, bytes_of_number, require
from taichimd.core.runtime import ti
from taichimd.neighbours.control import Control
from taichimd.neighbours.limits import limits, limits_size
from taichimd.neighbours.rows import NearRows, roomy_width, row_width
from taichimd.neighbours.skins import Skins
from taichimd.neighbours.tuple_arrays import Tuples
from taichimd.neighbours.tuple_room import PairRows, TupleRoom
from taichimd.system.state import State


class Kept(Bundle):
    """Parameters of terms, and what three-body terms keep from one of their loops to the next."""

    pair_table: Any = ArrayField("term", "kinds^2 columns", "parameters of the pair term by kinds")
    body_table: Any = ArrayField("term", "kinds^3 columns", "parameters of the three-body term by kinds")
    partial: Any = ArrayField(
        "term_vec", "n width", "dU_i/dr_ij of every entry of the near list, eV/angstrom"
    )
    zeta: Any = ArrayField("term", "n width", "bond order of every entry, then dU_i/dzeta")
    moments: Any = ArrayField(
        "term", "10 kinds n", "sums over the neighbours of an atom (`enumerate.moments`)"
    )
    live: Any = ArrayField("i32", "n", "mask of the entries of an atom that are within reach")
    waiting: Any = ArrayField(
        "i32",
        "n + 1",
        "atoms with more neighbours than registers hold, in any order; how many, between loops",
    )
    reverse: Any = ArrayField("i32", "n width", "where the entry (j, i) of an entry (i, j) stands")


class GroupArrays(Bundle):
    """All arrays of one group of terms."""

    near: Any = NearRows
    kept: Any = Kept
    tuples: Any = Tuples
    own: Any = ArrayField("real", "n", "numbers that a term of passes keeps with each atom")


class NearList:
    """The arrays of a group of terms of one system.

    Args:
        state: the atoms.
        number: of the group.
        fields: what its kernels take of `GroupArrays` (`enumerate.group`), by table.
        cutoffs: (species, species) of the near list, angstrom; not positive where nothing acts.
        pair_cutoffs: the same of the pair term alone.
        per_atom: length of `moments` for each atom.
        tables: parameters of the terms.
        tuples: room for lists of tuples, or for the rows of a pair term alone.
        own: arrays of a term of passes.
        zeta_from: slots of a row from which bond orders need `zeta`.
        by_component: whether `partial` is an array for each component, which holds three times as many
            vectors.

    Attributes:
        number: as given. near, kept, tuples, own: the arrays, as kernels take them.
    """

    def __init__(
        self,
        state: State,
        number: int,
        fields: dict[str, frozenset[str]],
        *,
        cutoffs: NDArray[np.float64],
        pair_cutoffs: NDArray[np.float64],
        per_atom: int,
        tables: dict[str, NDArray[np.float64]],
        tuples: TupleRoom | PairRows,
        own: tuple[Any, ...] = (),
        zeta_from: int = 0,
        by_component: bool = False,
    ) -> None:
        self._state, self.number, self._kept = state, number, fields["kept"]
        self._cutoffs, self._pair_cutoffs = cutoffs, pair_cutoffs
        self.present = bool(fields["near"])
        self.near, self.kept, self.tuples = NearRows(width=row_width(1)), Kept(), tuples
        self.own, self._zeta_from, self._by_component = own, zeta_from, by_component
        for name in self._kept & tables.keys():
            setattr(self.kept, name, state.table(tables[name]))
        if "moments" in self._kept:
            self.kept.moments = self._array(state.term, state.n * per_atom, "sums over neighbours")
        if "live" in self._kept:
            self.kept.live = ti.ndarray(ti.i32, state.n)
        if "waiting" in self._kept:
            self.kept.waiting = ti.ndarray(ti.i32, state.n + 1)
            self.kept.waiting.fill(0)
        if self.present:
            self.near.count = ti.ndarray(ti.i32, state.n)
            self.near.limits2 = ti.ndarray(state.real, limits_size(len(cutoffs)))
            self._reserve()

    def set_places(self, images: int) -> None:
        """Room for packed positions of atoms and images."""
        places = self._state.n + images
        if self.present and (self.near.places is None or self.near.places.shape[0] != places):
            self.near.places = ti.ndarray(ti.i64, places)

    def set_limits(self, skins: Skins) -> None:
        """Take other skins."""
        if self.present:
            values = limits(self._cutoffs, self._pair_cutoffs, skins.inner, skins.outer)
            self.near.limits2.from_numpy(values.astype(self._state.numpy_real))

    def grow(self, seen: Control) -> bool:
        """Make room for what the last cut has found, by the control array; whether there was too little.

        Raises:
            CapacityError: it does not fit the memory.
        """
        if seen.overfull[self.number]:
            self.tuples.grow()
            seen.overfull[self.number] = 0
            return True
        need = int(seen.longest_near[self.number])
        if not self.present or need <= self.near.width:
            return False
        self.near.width = roomy_width(need, self._state.n)
        self._reserve()
        return True

    def release(self) -> None:
        """Give the rows back: the next cut finds how long they must be."""
        if self.present:
            self.near.width = row_width(1)
            self._reserve()

    def statistics(self) -> dict[str, Any]:
        """Memory, for reports."""
        near, kept = self.near, self.kept
        return {
            "near_memory_bytes": _bytes(near.count, near.entries, near.places),
            "partial_memory_bytes": _bytes(kept.reverse, kept.partial, kept.zeta, kept.moments, kept.live),
            **self.tuples.statistics(),
        }

    def _array(self, dtype: Any, numbers: int, what: str) -> Any:
        return array(dtype, numbers, what, numbers * bytes_of_number(self._state.term), FEWER)

    def _reserve(self) -> None:
        """Rows, and what is kept per entry."""
        n, term, width = self._state.n, self._state.term, self.near.width
        rows = n * width
        what = f"a near list of {n} atoms, {width} neighbours each, with what is kept of each"
        number = bytes_of_number(term)
        kinds = {
            "reverse": (ti.i32, 4),
            "partial": (ti.types.vector(3, term), 3 * number),
            "zeta": (term, number),
        }
        kept = {name: kind for name, kind in kinds.items() if name in self._kept}
        if "zeta" in kept and width < self._zeta_from:
            del kept["zeta"]
            self.kept.zeta = array(term, 1, what, number, FEWER)
        # What grows does not need both.
        self.near.entries = None
        for name in kept:
            setattr(self.kept, name, None)
        size = rows * (4 + sum(each for _, each in kept.values()))
        require(size, 3 * rows if kept and not self._by_component else rows, what, FEWER)
        self.near.entries = array(ti.i32, rows, what, size, FEWER)
        for name, (dtype, _) in kept.items():
            if name == "partial" and self._by_component:
                self.kept.partial = tuple(array(term, rows, what, size, FEWER) for _ in range(3))
            else:
                setattr(self.kept, name, array(dtype, rows, what, size, FEWER))


def _bytes(*arrays: Any) -> int:
    return bytes_of(*(one for one in arrays if one is not None))
