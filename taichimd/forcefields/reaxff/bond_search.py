"""Which neighbours of an atom may be bonded to it: those within the reach of a bond of the two kinds.

A near list reaches as far as hydrogen bonds: a row has some hundred entries, of which few are candidates.
Candidates are in the order of the user's numbers and images, whatever the order of the near list.
"""

from dataclasses import dataclass
from functools import cache

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.core.warps import sync
from taichimd.enumerate.row_sums import threads_of_row
from taichimd.forcefields.reaxff.arrays import bond_functions
from taichimd.forcefields.reaxff.tables import N_PAIR, OfPair
from taichimd.neighbours.entries import insert, straight_vector_to, vector_to
from taichimd.neighbours.rows import body_layout, claim, row_layout, slot, some

AHEAD = 4
"""Entries of a near list that a thread of a GPU reads together."""


@dataclass(frozen=True)
class BondSearch:
    """Device functions that leave candidates in `bonds.partner`, and return how many there are.

    Attributes:
        by_thread: (i, atoms, verlet, near, bonds, tables), for a thread with an atom.
        shared: (i, thread, does, atoms, verlet, near, bonds, tables), for the threads that share a row. All
            threads of a warp call it, and may read the candidates afterwards.
    """

    by_thread: DeviceFunction
    shared: DeviceFunction


@cache
def bond_search_functions(backend: str, n_kinds: int) -> BondSearch:
    """The functions, for the layouts of a backend.

    Args:
        backend: "cuda" or "cpu".
        n_kinds: species.
    """
    layout, of_bonds = row_layout(backend), body_layout(backend)
    place, _ = bond_functions(backend)
    many = threads_of_row(layout)

    @ti.func
    def is_near(d, a, entry, shift_bits, atoms: ti.template(), tables: ti.template()):
        """Whether the pair of an atom of kind a is within the reach of its bond."""
        reach = tables.pair[(a * n_kinds + atoms.kind[entry >> shift_bits]) * N_PAIR + OfPair.reach]
        return d.dot(d) <= reach * reach

    @ti.func
    def by_thread(
        i, atoms: ti.template(), verlet: ti.template(), near: ti.template(), bonds: ti.template(),
        tables: ti.template()
    ):  # fmt: skip
        n, width, shift_bits, candidates = atoms.n, bonds.width, verlet.shift_bits, 0
        for s in range(near.count[i]):
            entry = near.entries[slot(i, s, n, near.width, layout)]
            d = vector_to(entry, shift_bits, atoms.pos[i], atoms.pos, verlet.shifts)
            if is_near(d, atoms.kind[i], entry, shift_bits, atoms, tables):
                if candidates < width:
                    insert(
                        i, candidates, entry, n, width, shift_bits, atoms.ident, bonds.partner, of_bonds
                    )  # fmt: skip
                candidates += 1
        return candidates

    @ti.func
    def shared(
        i, thread, does, atoms: ti.template(), verlet: ti.template(), near: ti.template(),
        bonds: ti.template(), tables: ti.template()
    ):  # fmt: skip
        n, width, shift_bits, candidates = atoms.n, bonds.width, verlet.shift_bits, 0
        first, m = thread % many, 0
        if does:
            m = near.count[i]
        while some(first < m):
            read = ti.Vector.zero(ti.i32, AHEAD)
            for k in ti.static(range(AHEAD)):
                # What is not there reads as the atom itself.
                read[k] = i << shift_bits
                if first + many * k < m:
                    read[k] = near.entries[slot(i, first + many * k, n, near.width, layout)]
            apart = [
                straight_vector_to(read[k], shift_bits, atoms.pos[i], atoms.pos, verlet.shifts)
                for k in ti.static(range(AHEAD))
            ]
            for k in ti.static(range(AHEAD)):
                keeps = is_near(apart[k], atoms.kind[i], read[k], shift_bits, atoms, tables)
                keeps = keeps and first + many * k < m
                before, all_of_them = claim(keeps, thread)
                if keeps and candidates + before < width:
                    bonds.partner[place(i, candidates + before, n, width)] = read[k]
                candidates += all_of_them
            first += many * AHEAD
        # The first thread sees what the others have written.
        sync()
        if does and thread % many == 0:
            for s in range(1, ti.min(candidates, width)):
                entry = bonds.partner[place(i, s, n, width)]
                insert(i, s, entry, n, width, shift_bits, atoms.ident, bonds.partner, of_bonds)
        # The others see the order.
        sync()
        return candidates

    return BondSearch(by_thread, shared)
