"""Lists of bonds, angles and chains, built on the device: count, running sums, fill.

Each tuple belongs to one bond, its owner, and one thread finds all tuples of an owner:

    n = 2  bonds i-j, i < j          owner: the bond
    n = 3  angles j-i-k              owner: the bond of i that stands first in its row
    n = 4  chains i-j-k-l, j < k     owner: the central bond

Tuples stand in the order of their owners, those of an owner in the order of the rows. So the list depends
neither on threads nor on timing, and those of one owner are one stretch of it, `starts[b]` to `starts[b+1]`.
A tuple is stored as its n-1 bonds: (i-j), (i-j, i-k), (j-i, j-k, k-l), which know atoms, images, strengths.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import memory
from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import literals, ti
from taichimd.neighbours.scan import scan, scan_ends, scan_size
from taichimd.tuples.bonds import BondList, Bonds
from taichimd.tuples.conditions import CURE, Condition, search

TOTAL, TOO_MANY = 0, 1
"""Places in `status`: the number of tuples, and whether 32 bits do not hold it."""


class Listed(Bundle):
    """The arrays of a `TupleList`, without the tuples themselves."""

    count: Any = Number("i32", "number of tuples")
    capacity: Any = Number("i32", "length of the list")
    starts: Any = Array("i32", "m + 1", "where the tuples of each owner begin")
    sums: Any = Array("i32", "see `scan`", "room for the running sum")
    status: Any = Array("i32", "2", "what the last build has found")


PLACES = (Array("i32", "capacity", "one bond of each tuple"),) * 3
"""Of which the last ones may be of length 1."""


@cache
def _build_kernel(order: int, condition: Condition, real: Any) -> Any:
    accept = search(condition)

    @ti.func
    def put(at, capacity, fill: ti.template(), b0, b1, b2, places: ti.template()):  # type: ignore[valid-type]
        if ti.static(fill):
            if at < capacity:
                places[0][at] = b0
                if ti.static(order > 2):
                    places[1][at] = b1
                if ti.static(order > 3):
                    places[2][at] = b2

    @ti.func
    def owned(b, begin, capacity, fill: ti.template(), bonds: ti.template(), places: ti.template()):  # type: ignore[valid-type]
        """Number of tuples of the owner b, which go to `begin` and behind it."""
        found = 0
        j = bonds.origin[b]
        if ti.static(order == 2):
            if accept.opens(b, bonds):
                put(begin, capacity, fill, b, 0, 0, places)
                found = 1
        elif ti.static(order == 3):
            if condition.bond(bonds.strength[b]):
                for q in range(b + 1, bonds.first[j + 1]):
                    if accept.beside(b, q, bonds):
                        put(begin + found, capacity, fill, b, q, 0, places)
                        found += 1
        elif accept.opens(b, bonds):
            r = bonds.reverse[b]
            k = bonds.partner[b]
            for p in range(bonds.first[j], bonds.first[j + 1]):
                if accept.beside(b, p, bonds):
                    for q in range(bonds.first[k], bonds.first[k + 1]):
                        if accept.beside(r, q, bonds) and accept.closes(p, b, q, bonds):
                            put(begin + found, capacity, fill, p, b, q, places)
                            found += 1
        return found

    rows = Bonds.only("m", "first", "origin", "partner", "image", "reverse", "strength")
    to_fill = Listed.only("capacity", "starts", "sums", "status")

    @kernel(types_of(real), graph=True, bonds=rows, tuples=to_fill, places=PLACES)
    def build(bonds, tuples, places):
        """Count, and fill as far as the list reaches. Launch: one thread per directed bond."""
        for b in range(bonds.m):
            tuples.starts[b] = owned(b, 0, 0, False, bonds, places)
        scan(bonds.m, scan_ends(bonds.m), tuples.starts, tuples.starts, 0, tuples.sums, 0)
        for _ in range(1):
            tuples.status[TOTAL] = tuples.starts[bonds.m]
            tuples.status[TOO_MANY] = 0
        for b in range(bonds.m):
            # Where a sum of numbers below 2^31 passes 2^31, it turns negative.
            if tuples.starts[b + 1] < 0:
                tuples.status[TOO_MANY] = 1
        for b in range(bonds.m):
            if tuples.status[TOO_MANY] == 0 and tuples.starts[b + 1] > tuples.starts[b]:
                owned(b, tuples.starts[b], tuples.capacity, True, bonds, places)

    return build


class TupleList:
    """All n-tuples of a bond list that a condition accepts, each once.

    Args:
        bonds: the network.
        order: n: 2 bonds, 3 angles, 4 chains of three bonds with four different atoms. An atom and its image
            are different atoms.
        condition: on the strengths of the bonds of a tuple.
        memory_limit: bytes that the list may take; None: most of what is free.

    Raises:
        SettingsError: another order.

    Attributes:
        count: tuples. starts, sums, status: on the device (`Listed`).
        places: arrays on the device, of which n-1 hold the bonds of each tuple. capacity: their length.
    """

    def __init__(
        self, bonds: BondList, order: int, condition: Condition, *, memory_limit: int | None = None
    ) -> None:
        if order not in (2, 3, 4):
            raise SettingsError(f"tuples of {order} atoms: expected 2, 3 or 4")
        self._bonds, self.order, self._condition, self._limit = bonds, order, condition, memory_limit
        self.count, self.capacity, self.builds = 0, 0, 0
        self.starts = ti.ndarray(ti.i32, bonds.m + 1)
        self.starts.fill(0)
        self.sums = ti.ndarray(ti.i32, scan_size(bonds.m))
        self.status = ti.ndarray(ti.i32, 2)
        self.places = [ti.ndarray(ti.i32, 1) for _ in range(3)]
        self._built_for = -1

    def update(self) -> None:
        """Build, if strengths have changed since the last time (see `build`)."""
        if self._built_for != self._bonds.changes:
            self.build()

    def build(self) -> None:
        """List the tuples of the present strengths. The need is known before room is made for it.

        Raises:
            CapacityError: more tuples than memory, the limit, or 32 bits hold. The list is then empty.
        """
        bonds = self._bonds
        build = _build_kernel(self.order, self._condition, bonds.real)
        self.count, self._built_for = 0, -1
        while bonds.m:
            with literals(bonds.real):
                build(bonds, self, self.places)
            total, too_many = self.status.to_numpy().tolist()
            if too_many:
                self._reserve(int(self._counts().sum()))
            if total <= self.capacity:
                self.count = total
                break
            self._reserve(total)
        self._built_for = bonds.changes
        self.builds += 1

    def bonds(self) -> NDArray[np.int32]:
        """The (count, n-1) bonds of the tuples."""
        places = [place.to_numpy()[: self.count] for place in self.places[: self.order - 1]]
        return np.column_stack(places)

    def atoms(self) -> NDArray[np.int32]:
        """The (count, n) atoms of the tuples: i-j, j-i-k, i-j-k-l."""
        origin, partner = self._bonds.origin.to_numpy(), self._bonds.partner.to_numpy()
        b = self.bonds().T
        if self.order == 2:
            columns = [origin[b[0]], partner[b[0]]]
        elif self.order == 3:
            columns = [partner[b[0]], origin[b[0]], partner[b[1]]]
        else:
            columns = [partner[b[0]], origin[b[1]], partner[b[1]], partner[b[2]]]
        return np.column_stack(columns)

    def statistics(self) -> dict[str, Any]:
        """Sizes for reports: numbers of atoms, directed bonds and tuples, and bytes on the device."""
        each = 4 * (self.order - 1)
        return {
            "order": self.order,
            "atoms": self._bonds.n,
            "directed_bonds": self._bonds.m,
            "tuples": self.count,
            "tuples_per_atom": self.count / self._bonds.n,
            "capacity": self.capacity,
            "bytes_per_tuple": each,
            "list_bytes": each * self.capacity,
            "index_bytes": 4 * (self._bonds.m + 1 + scan_size(self._bonds.m)),
            "builds": self.builds,
        }

    def _counts(self) -> NDArray[np.int64]:
        """Tuples of each owner, each below 2^31, from running sums modulo 2^32."""
        return np.diff(self.starts.to_numpy().astype(np.int64)) % 2**32

    def _reserve(self, need: int) -> None:
        """Room for `need` tuples and an eighth more, or for `need` where more would not fit."""
        each, n_places = 4 * (self.order - 1), self.order - 1
        what = f"a list of {need} {self.order}-tuples of {self._bonds.n} atoms"
        self.capacity, self.places = 0, [ti.ndarray(ti.i32, 1) for _ in range(3)]
        memory.require(each * need, need, what, CURE, self._limit)
        most, room = memory.most_bytes(self._limit), need + need // 8
        if room > memory.LARGEST or (most is not None and each * room > most):
            room = need
        self.places[:n_places] = [
            memory.array(ti.i32, room, what, each * room, CURE) for _ in range(n_places)
        ]
        self.capacity = room
