"""The list of quadruplets, built on the device: count, running sums, fill.

Each chain i-j-k-l belongs to its central bond j-k, j < k, and one thread finds all chains about a bond. They
stand in the order of their central bonds, and those of one bond in the order of the rows. So the list depends
neither on threads nor on timing, and the chains about a bond are one stretch of it, `starts[b]` to
`starts[b+1]`. A chain is stored as its three bonds j-i, j-k, k-l.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import memory
from taichimd.core.arguments import ArrayField, Bundle, Number, kernel
from taichimd.core.errors import CapacityError
from taichimd.core.runtime import literals, ti
from taichimd.neighbours.scan import scan, scan_ends, scan_size
from validation.decomposition.quadruplets.bonds import TYPES, BondList, Bonds, follows, is_central, is_chain

CURE = "list fewer bonds, raise the cutoffs of the condition, or use fewer atoms"
"""What to do if a list does not fit."""
TOTAL, TOO_MANY = 0, 1
"""Places in `status`: the number of chains, and whether it exceeds 32 bits."""


class Listed(Bundle):
    """The arrays of a `ChainList`, without the chains themselves."""

    count: Any = Number("i32", "number of chains")
    capacity: Any = Number("i32", "length of the list")
    starts: Any = ArrayField("i32", "m + 1", "where the chains about each bond begin")
    sums: Any = ArrayField("i32", "see `scan`", "room for the running sum")
    status: Any = ArrayField("i32", "2", "what the last build has found")


PLACES = (ArrayField("i32", "capacity", "one bond of each chain"),) * 3


@ti.func
def _chains_about(b, begin, capacity, fill: ti.template(), bonds: ti.template(), places: ti.template()):
    """Number of chains about bond b. If `fill`, they go to places from `begin` on."""
    found = 0
    if is_central(b, bonds):
        r, j, k = bonds.reverse[b], bonds.origin[b], bonds.partner[b]
        for p in range(bonds.first[j], bonds.first[j + 1]):
            if follows(b, p, bonds):
                for q in range(bonds.first[k], bonds.first[k + 1]):
                    if follows(r, q, bonds) and is_chain(p, b, q, bonds):
                        if ti.static(fill):
                            at = begin + found
                            if at < capacity:
                                places[0][at], places[1][at], places[2][at] = p, b, q
                        found += 1
    return found


@cache
def _build_kernel() -> Any:
    rows = Bonds.only("m", "cutoff", "cutoff2", "first", "origin", "partner", "image", "reverse", "strength")
    to_fill = Listed.only("capacity", "starts", "sums", "status")

    @kernel(TYPES, graph=True, bonds=rows, chains=to_fill, places=PLACES)
    def build(bonds, chains, places):
        """Count, and fill as far as the list reaches. Launch: one thread per directed bond."""
        for b in range(bonds.m):
            chains.starts[b] = _chains_about(b, 0, 0, False, bonds, places)
        scan(bonds.m, scan_ends(bonds.m), chains.starts, chains.starts, 0, chains.sums, 0)
        for _ in range(1):
            chains.status[TOTAL] = chains.starts[bonds.m]
            chains.status[TOO_MANY] = 0
        for b in range(bonds.m):
            # If a sum of numbers below 2^31 passes 2^31, it turns negative.
            if chains.starts[b + 1] < 0:
                chains.status[TOO_MANY] = 1
        for b in range(bonds.m):
            if chains.status[TOO_MANY] == 0 and chains.starts[b + 1] > chains.starts[b]:
                _chains_about(b, chains.starts[b], chains.capacity, True, bonds, places)

    return build


class ChainList:
    """All chains i-j-k-l of four different atoms that the condition accepts, each once.

    An atom and its image are different atoms.

    Attributes:
        count: chains. starts, sums, status: on the device (`Listed`).
        places: three arrays on the device, the bonds of each chain. capacity: their length.
    """

    def __init__(self, bonds: BondList) -> None:
        self._bonds = bonds
        self.count, self.capacity = 0, 0
        self.starts = ti.ndarray(ti.i32, bonds.m + 1)
        self.starts.fill(0)
        self.sums = ti.ndarray(ti.i32, scan_size(bonds.m))
        self.status = ti.ndarray(ti.i32, 2)
        self.places = [ti.ndarray(ti.i32, 1) for _ in range(3)]

    def build(self) -> None:
        """List the chains of the present bond orders. The need is known before memory is allocated."""
        self.count = 0
        while self._bonds.m:
            with literals(ti.f64):
                _build_kernel()(self._bonds, self, self.places)
            total, too_many = self.status.to_numpy().tolist()
            if too_many:
                raise CapacityError(f"more than {memory.LARGEST} chains; {CURE}")
            if total <= self.capacity:
                self.count = total
                break
            self._reserve(total)

    def bonds(self) -> NDArray[np.int32]:
        """The (count, 3) bonds of the chains."""
        return np.column_stack([place.to_numpy()[: self.count] for place in self.places])

    def _reserve(self, need: int) -> None:
        what = f"a list of {need} chains of {self._bonds.n} atoms"
        self.capacity, self.places = 0, [ti.ndarray(ti.i32, 1) for _ in range(3)]
        memory.require(12 * need, need, what, CURE)
        self.places = [memory.array(ti.i32, need, what, 12 * need, CURE) for _ in range(3)]
        self.capacity = need
