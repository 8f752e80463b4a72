"""The arrays of tuple decomposition ("TD"): where lists of pairs and triplets of atoms lie on the device.

Records are counted through: first the pairs, each once; then, atom by atom, the members, which are the pairs in which it
takes part, seen from there; then the triplets of each atom as centre. `firsts` says where those of an atom begin: one running
sum over all counts makes it.

In particle decomposition, the same arrays hold the near list of a pair term that reaches much farther than the three-body
term: `firsts` the number of neighbours of each atom, behind them the largest, `tuples` their entries in rows.
"""

from typing import Any

from taichimd.neighbours.scan import scan_size
from taichimd.runtime import Bundle, ti


@ti.data_oriented
class Tuples(Bundle):
    """The arrays as one argument of device functions.

    Attributes:
        firsts: first records of atom i of n: its own pairs at i, pairs with it at n + i, triplets at 2n + i; their end
            at 3n. Behind them n cursors, and room for the running sum.
        tuples: three numbers of each pair, an atom, its list entry, the record of the other end's member; one of each
            member, the list entry; two of each triplet, the centre, and its slots s and t of the near list in 16 bits each.
        values: one number of each member, u'/r; one of each triplet, its energy.
        slopes: two vectors of each triplet: the derivatives to the vectors to s and to t; or in x the zetas.
    """

    def __init__(self, firsts: Any, tuples: Any, values: Any, slopes: Any) -> None:
        self.firsts, self.tuples, self.values, self.slopes = firsts, tuples, values, slopes


def firsts_size(n: int) -> int:
    """Length of `firsts` for n atoms."""
    return 4 * n + 1 + scan_size(3 * n)


@ti.func
def pair_width(n, t: ti.template()):  # type: ignore[valid-type]
    """Slots of the rows of pairs in particle decomposition."""
    return t.tuples.shape[0] // n


@ti.func
def pairs_end(n, t: ti.template()):  # type: ignore[valid-type]
    """Number of pairs: the record behind the last one."""
    return t.firsts[n]


@ti.func
def triplets_begin(n, t: ti.template()):  # type: ignore[valid-type]
    """First record of a triplet."""
    return t.firsts[2 * n]


@ti.func
def triplets_end(n, t: ti.template()):  # type: ignore[valid-type]
    """The record behind the last one."""
    return t.firsts[3 * n]


@ti.func
def entry_at(member, n, t: ti.template()):  # type: ignore[valid-type]
    """Where in `tuples` the entry of a member stands."""
    return member + 2 * pairs_end(n, t)


@ti.func
def triplet_at(triplet, n, t: ti.template()):  # type: ignore[valid-type]
    """Where in `tuples` the two numbers of a triplet begin."""
    pairs = pairs_end(n, t)
    return 5 * pairs + 2 * (triplet - 3 * pairs)


@ti.func
def value_at(record, n, t: ti.template()):  # type: ignore[valid-type]
    """Where in `values` the number of a member or triplet stands."""
    return record - pairs_end(n, t)


@ti.func
def slots_of(triplet, n, t: ti.template()):  # type: ignore[valid-type]
    """Both slots of a triplet."""
    both = t.tuples[triplet_at(triplet, n, t) + 1]
    return both & 0xFFFF, (both >> 16) & 0xFFFF
