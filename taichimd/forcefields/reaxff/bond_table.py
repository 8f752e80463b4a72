"""The bonds of an evaluation, and what they make of its atoms, as a table for the host."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, kernel, types_of
from taichimd.core.memory import FEWER, array
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.arrays import SHIFT_BITS, A, Bonds, H, bond_functions
from taichimd.system.state import State

NO_BOND = -1


@dataclass(frozen=True)
class BondTable:
    """Bonds, each once: of atoms i and j with i <= j, sorted by i, then by j.

    Two atoms of a small cell may have several bonds, through different images. An atom may be bonded to its
    own images: then i = j.
    """

    i: NDArray[np.int32]  # (m,) first atom, in the user's order, from 0
    j: NDArray[np.int32]  # (m,) second atom
    distance: NDArray[np.float64]  # (m,) length, angstrom
    order: NDArray[np.float64]  # (m,) corrected bond order, sum of sigma, pi and double pi parts
    total: NDArray[np.float64]  # (n,) sum of the bond orders of each atom
    lone_pairs: NDArray[np.float64]  # (n,) number of lone pairs of each atom

    def of(self, part: slice) -> "BondTable":
        """The bonds of the atoms of one system, whose numbers begin at 0.

        Args:
            part: its atoms.
        """
        own = slice(*np.searchsorted(self.i, [part.start, part.stop]).tolist())
        i, j = (numbers[own] - np.int32(part.start) for numbers in (self.i, self.j))
        return BondTable(
            i, j, self.distance[own].copy(), self.order[own].copy(), self.total[part].copy(),
            self.lone_pairs[part].copy(),
        )  # fmt: skip

    def of_atoms(self, least: float) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """For each atom its neighbours, ascending, and the orders of these bonds, if they are above a limit.

        A neighbour stands once for each bond to one of its images.

        Args:
            least: the limit.
        """
        strong = self.order > least
        i, j, order = self.i[strong], self.j[strong], self.order[strong]
        atom, other, order = np.append(i, j), np.append(j, i), np.append(order, order)
        place = np.lexsort((-order, other, atom))
        ends = np.cumsum(np.bincount(atom, minlength=len(self.total)))[:-1]
        return list(zip(np.split(other[place], ends), np.split(order[place], ends), strict=True))


@cache
def _gather_kernel(backend: str) -> Any:
    place, _ = bond_functions(backend)

    @kernel(
        types_of(ti.f64), ident=ArrayField("i32", "n", "number of each atom in the user's order"),
        shift_bits=SHIFT_BITS, bonds=Bonds.only("width", "places", "count", "partner", "twin", "half",
        "atom"), other=ArrayField("i32", "n width", "atom j of each bond of atom i, or NO_BOND"),
        numbers=ArrayField("real", "2 n width + 2 n",
        "distances, angstrom, bond orders, then of atoms T and Delta_lp")
    )  # fmt: skip
    def gather(ident, shift_bits, bonds, other, numbers):
        for i in range(ident.shape[0]):
            n, width, m = ident.shape[0], bonds.width, bonds.places
            numbers[2 * m + ident[i]] = bonds.atom[A.T * n + i]
            numbers[2 * m + n + ident[i]] = bonds.atom[A.LP * n + i]
            for s in range(width):
                to, found = ident[i] * width + s, NO_BOND
                if s < bonds.count[i]:
                    t = place(i, s, n, width)
                    j = ident[bonds.partner[t] >> shift_bits]
                    # Of the two halves of a bond, one.
                    if ident[i] < j or (ident[i] == j and t < bonds.twin[t]):
                        found = j
                        numbers[to] = bonds.half[H.R * m + t]
                        numbers[m + to] = bonds.half[H.BO * m + t]
                other[to] = found

    return gather


class BondReader:
    """Brings bonds to the host: two numbers of a half-bond or atom, not all that the terms keep.

    Args:
        backend: "cuda" or "cpu".
        most_pairs: (kinds,) lone pairs of an atom without bonds, (Val_e - Val)/2.
    """

    def __init__(self, backend: str, most_pairs: NDArray[np.float64]) -> None:
        self._kernel = _gather_kernel(backend)
        self._most_pairs = most_pairs
        self._other: Any = None
        self._numbers: Any = None

    def read(self, call: Any, state: State, shift_bits: int, bonds: Any) -> BondTable:
        """The bonds of the last evaluation.

        Args:
            call: queues a kernel for the systems.
            state: the atoms, in the order of that evaluation.
            shift_bits: of the entries.
            bonds: `Bonds`.

        Raises:
            CapacityError: the table does not fit the memory.
        """
        if self._other is None or self._other.shape[0] != bonds.places:
            what = f"the table of bonds of {state.n} atoms"
            self._other = self._numbers = None
            self._other = array(ti.i32, bonds.places, what, 20 * bonds.places, FEWER)
            self._numbers = array(ti.f64, 2 * (bonds.places + state.n), what, 20 * bonds.places, FEWER)
        call(self._kernel, state.ident, shift_bits, bonds, self._other, self._numbers)
        other = self._other.to_numpy()
        (at,) = np.nonzero(other != NO_BOND)
        numbers = self._numbers.to_numpy()
        distance, order = numbers[: 2 * bonds.places].reshape(2, -1)[:, at]
        total, missing = numbers[2 * bonds.places :].reshape(2, -1)
        most = self._most_pairs[state.kind.to_numpy()[state.sorted_of.to_numpy()]]
        i = (at // bonds.width).astype(np.int32)
        return BondTable(i, other[at], distance, order, total, most - missing)
