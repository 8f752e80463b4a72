"""The arrays of tuple decomposition ("TD"): where lists of pairs and triplets of atoms lie on the device.

Records are counted through: first the pairs, each once; then, atom by atom, the members, which are the pairs
in which it takes part, seen from there; then the triplets of each atom as centre. `firsts` says where those
of an atom begin: one running sum over all counts makes it.

In particle decomposition, the same arrays hold the near list of a pair term that reaches much farther than
the three-body term: `firsts` the number of neighbours of each atom, behind them the largest, `tuples` their
entries in rows.
"""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle
from taichimd.core.runtime import ti
from taichimd.neighbours.pages import length_of_page, pages_of
from taichimd.neighbours.scan import scan_size


class Tuples(Bundle):
    """The arrays of lists of tuples."""

    firsts: Any = ArrayField(
        "i32", "4n + 1 and room for the running sum",
        "first records of atom i: its own pairs at i, pairs with it at n + i, triplets at 2n + i; their end "
        "at 3n; behind them n cursors"
    )  # fmt: skip
    tuples: Any = ArrayField(
        "i32", "5 pairs + 2 triplets",
        "of each pair an atom, its list entry, the record of the other end's member; of each member the list "
        "entry; of each triplet the centre, and its slots s and t of the near list in 16 bits each"
    )  # fmt: skip
    values: Any = ArrayField(
        "term",
        "2 pairs + 1 or 2 triplets, or 6 pairs",
        "of each member u'/r, eV/angstrom^2; of each triplet its energy, eV, or dE/dZ, then all energies; or "
        "of members of passes three numbers (`group.VALUES`), each number of all members after the other",
    )
    slopes: Any = ArrayField(
        "term_vec", "2 triplets",
        "derivatives of each triplet to the vectors to s and t, eV/angstrom; or in x the zetas"
    )  # fmt: skip


def firsts_size(n: int) -> int:
    """Length of `firsts` for n atoms."""
    return 4 * n + 1 + scan_size(3 * n)


@ti.func
def pair_width(n, t: ti.template()):  # type: ignore[valid-type]
    """Slots of the rows of pairs in particle decomposition."""
    pages = ti.static(pages_of(t.tuples))
    width = 0
    if ti.static(pages == 1):
        width = t.tuples.shape[0] // n
    else:
        width = t.tuples[0].shape[0] // length_of_page(n, pages)
    return width


@ti.func
def pairs_end(n, t: ti.template()):  # type: ignore[valid-type]
    """Number of pairs: the place after the last pair."""
    return t.firsts[n]


@ti.func
def triplets_begin(n, t: ti.template()):  # type: ignore[valid-type]
    """First record of a triplet."""
    return t.firsts[2 * n]


@ti.func
def triplets_end(n, t: ti.template()):  # type: ignore[valid-type]
    """The place after the last triplet."""
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
