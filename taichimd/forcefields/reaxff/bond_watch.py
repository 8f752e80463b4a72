"""Which bonds have changed since the last look, found on the device: the host copies the changes alone.

A pair is bonded by two thresholds of the bond order, as `estimators.bond_history` has it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Number, kernel, types_of
from taichimd.core.host_copies import on_host, to_device
from taichimd.core.memory import FEWER, array
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.arrays import SHIFT_BITS, Bonds, H, bond_functions
from taichimd.system.state import State

END = -1
FAR = 2**31 - 1
"""Behind the last bonded pair of a row; number of an atom behind all others."""
FREE, DECIDED, UNDECIDED = -1, 0, 1
"""What a pair is: not bonded; bonded; counted as bonded until an order beyond one of the thresholds."""


@ti.func
def _judged(order, before, formed, broken):  # type: ignore[no-untyped-def]
    """What a pair is now."""
    after = FREE
    if order > formed:
        after = DECIDED
    elif order > broken:
        after = before
    return after


@ti.func
def _report(a, j, after, number: ti.template(), changes: ti.template()):  # type: ignore[valid-type, no-untyped-def]
    at = ti.atomic_add(number[0], 1)
    if 3 * at < changes.shape[0]:
        changes[3 * at] = a
        changes[3 * at + 1] = j
        changes[3 * at + 2] = after


@ti.func
def _known_at(row, p, room, known: ti.template()):  # type: ignore[valid-type, no-untyped-def]
    """A pair of the last look and its state."""
    had, before = FAR, FREE
    if p < room:
        if known[row + p] != END:
            had, before = known[row + p] >> 1, known[row + p] & 1
    return had, before


@cache
def _row_functions(backend: str) -> tuple[Any, Any]:
    """The other atom of bond s of atom i, in the numbers of its system; and the bond order."""
    place, _ = bond_functions(backend)

    @ti.func
    def other(i, s, first, ident: ti.template(), shift_bits, bonds: ti.template()):  # type: ignore[valid-type]
        j = FAR
        if s < bonds.count[i]:
            t = place(i, s, ident.shape[0], bonds.width)
            j = ident[bonds.partner[t] >> shift_bits] - first
        return j

    @ti.func
    def order_of(i, s, n, bonds: ti.template()):  # type: ignore[valid-type]
        return bonds.half[H.BO * bonds.places + place(i, s, n, bonds.width)]

    return other, order_of


@cache
def _compare_kernel(backend: str) -> Any:
    other, order_of = _row_functions(backend)

    @kernel(
        types_of(ti.f64), ident=ArrayField("i32", "n", "number of each atom in the user's order"),
        shift_bits=SHIFT_BITS, bonds=Bonds.only("width", "places", "count", "partner", "half"),
        first=Number("i32", "first atom of the system"), size=Number("i32", "its atoms"),
        formed=Number("f64", "upper threshold"), broken=Number("f64", "lower threshold"),
        room=Number("i32", "places of a row of `known`"),
        now=Number("i32", "half of `known` that is written; the other one is of the last look"),
        known=ArrayField("i32", "2 size room", "of atom i, ascending: 2 j + state of each bonded j > i"),
        number=ArrayField("i32", "1", "how many pairs have changed"),
        changes=ArrayField("i32", "3 most", "atoms and new state of each")
    )  # fmt: skip
    def compare(ident, shift_bits, bonds, first, size, formed, broken, room, now, known, number, changes):
        for i in range(first, first + size):
            a, n = ident[i] - first, ident.shape[0]
            old, new = ((1 - now) * size + a) * room, (now * size + a) * room
            s, p, w, j = 0, 0, 0, 0
            while j < FAR:
                had, before = _known_at(old, p, room, known)
                j = ti.min(other(i, s, first, ident, shift_bits, bonds), had)
                order = ti.cast(0.0, ti.f64)
                # Bonds to several images of one atom stand side by side: the strongest counts.
                while j < FAR and other(i, s, first, ident, shift_bits, bonds) == j:
                    order = ti.max(order, order_of(i, s, n, bonds))
                    s += 1
                if had == j:
                    p += 1
                else:
                    before = FREE
                if a < j and j < FAR:
                    after = _judged(order, before, formed, broken)
                    if after != FREE:
                        known[new + w] = 2 * j + after
                        w += 1
                    if after != before:
                        _report(a, j, after, number, changes)
            if w < room:
                known[new + w] = END

    return compare


class BondWatch:
    """Looks at the bonds of one system, again and again.

    Args:
        part: atoms of the system.
        formed: upper threshold. broken: lower threshold.
        backend: "cuda" or "cpu".
        most: changes that a look keeps; more of them are found by the whole table.
    """

    def __init__(self, part: slice, formed: float, broken: float, backend: str, most: int = 4096) -> None:
        self._first, self._size = part.start, part.stop - part.start
        self._thresholds, self._most = (formed, broken), most
        self._kernel = _compare_kernel(backend)
        self._number, self._changes = ti.ndarray(ti.i32, 1), ti.ndarray(ti.i32, 3 * most)
        self._known: Any = None
        self._room = self._now = 0

    def look(
        self, call: Any, state: State, shift_bits: int, bonds: Any, before: Callable[[], NDArray[np.int64]]
    ) -> NDArray[np.int32] | None:
        """What has changed since the last look.

        Args:
            call: queues a kernel for the systems.
            state: the atoms, in the order of the last evaluation.
            shift_bits: of the entries.
            bonds: `Bonds` of that evaluation.
            before: returns (m, 3): the bonded pairs i < j of the last look, sorted, and 1 if a pair is
                undecided, else 0. Called if rows become longer, and at the first look.

        Returns:
            (m, 3) pairs i < j of atoms, and what each is now: `FREE` or `DECIDED`; None if there are more
            than `most`.

        Raises:
            CapacityError: the table does not fit the memory.
        """
        if self._room < bonds.width:
            self._fill(bonds.width, before())
        self._now = 1 - self._now
        self._number.fill(0)
        call(
            self._kernel, state.ident, shift_bits, bonds, self._first, self._size, *self._thresholds,
            self._room, self._now, self._known, self._number, self._changes,
        )  # fmt: skip
        number = int(on_host(self._number)[0])
        if number > self._most:
            return None
        return on_host(self._changes, 3 * number).reshape(-1, 3) if number else np.empty((0, 3), np.int32)

    def _fill(self, width: int, before: NDArray[np.int64]) -> None:
        """Rows of another length, with the pairs of the last look."""
        i, j, undecided = before.T
        slot = np.arange(len(i)) - np.searchsorted(i, i)
        self._room, self._now = max(width, int(slot.max(initial=0)) + 1), 0
        what, places = f"the bonded pairs of {self._size} atoms", self._size * self._room
        self._known = None
        self._known = array(ti.i32, 2 * places, what, 8 * places, FEWER)
        rows = np.full((2, self._size, self._room), END, np.int32)
        rows[0, i, slot] = 2 * j + undecided
        to_device(self._known, rows.reshape(-1))
