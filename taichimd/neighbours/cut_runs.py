"""The cut of a row on a CPU: `RUN` entries of the Verlet list at a time, by vector instructions.

The compilers make vector instructions of a loop over vectors of a function's own, not of one over arrays. So
first loops copy the entries of a run and what they name, a second loop finds which are near, and a third loop
stores. An entry is stored whether it is kept or not: the next one replaces an entry that is not. A branch on
the distance, which no processor can foresee, would cost more than all the rest. Most runs have no image, and
need not read its vector.
"""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.entries import insert, neighbour
from taichimd.neighbours.limits import LARGEST, LARGEST_PAIR, PAIRS, limit_of
from taichimd.neighbours.packed import opposite, squared, to_neighbour
from taichimd.neighbours.pages import pages_of, read_run, write
from taichimd.neighbours.rows import ATOM_MAJOR, slot
from taichimd.neighbours.tuple_arrays import pair_width

RUN = 16
"""Entries that are compared side by side: as many 32-bit numbers as the longest registers of a CPU hold."""


def cut_function(n_kinds: int, ordered: bool, pair_rows: bool) -> DeviceFunction:
    """Device function `(i, m, g) -> (kept, pairs)` of rows that lie one after the other.

    `ordered`: put the entries that are kept in order; `pair_rows`: fill the rows of the pair term, too, whose
    cutoff is longer.
    """

    @ti.func
    def limit(begin: ti.template(), largest, i, entry, g: ti.template()):  # type: ignore[valid-type]
        """Square below which the distance of an entry is to be."""
        below = largest
        if ti.static(n_kinds > 1):
            below = limit_of(
                begin, i, neighbour(entry, g.verlet.shift_bits), n_kinds, g.verlet.kind, g.near.limits2
            )
        return below

    @ti.func
    def stored(i, kept, read, near, n, width, entries: ti.template()):  # type: ignore[valid-type]
        """Store the near entries of a run in row i, behind `kept` others; how many the row then has."""
        now, done = kept, False
        if ti.static(pages_of(entries) == 1):
            if kept + RUN <= width:
                done = True
                first = slot(i, kept, n, width, ATOM_MAJOR)
                at = first
                for k in range(RUN):
                    entries[at] = read[k]
                    at += near[k]
                now += at - first
        if not done:
            for k in range(RUN):
                if now < width:
                    write(entries, i, now, n, width, ATOM_MAJOR, read[k])
                now += near[k]
        return now

    @ti.func
    def cut_row(i, m, g: ti.template()):  # type: ignore[valid-type]
        """Copy the near ones of m entries of atom i to near list and list of pairs; how many are in both."""
        # In registers: arguments of a kernel are read again after each store.
        n, width, near_width, bits = (
            g.n,
            ti.max(g.verlet.width, 0),
            ti.max(g.near.width, 0),
            g.verlet.shift_bits,
        )
        largest = ti.cast(g.near.limits2[LARGEST], ti.i32)
        largest_pair = ti.cast(g.near.limits2[LARGEST_PAIR], ti.i32)
        here = opposite(g.near.places[i])
        kept, pairs = 0, 0
        read, apart = ti.Vector.zero(ti.i32, RUN), ti.Vector.zero(ti.i64, RUN)
        near, below = ti.Vector.zero(ti.i32, RUN), ti.Vector.zero(ti.i32, RUN)
        near_pair, below_pair = ti.Vector.zero(ti.i32, RUN), ti.Vector.zero(ti.i32, RUN)
        for run in range((m + RUN - 1) // RUN):
            first = run * RUN
            images = read_run(read, g.verlet.entries, i, first, m, n, width)
            if images & ((1 << bits) - 1) == 0:
                for k in range(RUN):
                    apart[k] = here + g.near.places[neighbour(read[k], bits)]
            else:
                for k in range(RUN):
                    apart[k] = to_neighbour(here, read[k], n, bits, g.near.places)
            for k in range(RUN):
                # What is not there is below no limit.
                there_is = first + k < m
                below[k] = ti.select(there_is, limit(0, largest, i, read[k], g), -1)
                if ti.static(pair_rows):
                    below_pair[k] = ti.select(there_is, limit(PAIRS, largest_pair, i, read[k], g), -1)
            for k in range(RUN):
                r2 = squared(apart[k])
                near[k] = ti.cast(r2 < below[k], ti.i32)
                if ti.static(pair_rows):
                    near_pair[k] = ti.cast(r2 < below_pair[k], ti.i32)
            kept = stored(i, kept, read, near, n, near_width, g.near.entries)
            if ti.static(pair_rows):
                pairs = stored(i, pairs, read, near_pair, n, pair_width(n, g.tuples), g.tuples.tuples)
        if ti.static(ordered):
            for s in range(1, ti.min(kept, near_width)):
                insert(
                    i, s, g.near.entries[slot(i, s, n, near_width, ATOM_MAJOR)], n, near_width, bits, g.ident,
                    g.near.entries, ATOM_MAJOR
                )  # fmt: skip
        return kept, pairs

    return cut_row
