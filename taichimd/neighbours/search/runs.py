"""The search by one thread on a CPU: `RUN` atoms of a stretch at a time, by vector instructions.

All atoms of a run are stored, one after the other: the next one replaces an atom that is not near. A branch
on the distance, which no processor can foresee, would cost more. Whether a run has coincident atoms is a sum
of whole numbers: compilers make vector instructions of it, but not of the smallest of real numbers.
"""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import Control
from taichimd.neighbours.pages import pages_of, write
from taichimd.neighbours.rows import ATOM_MAJOR, slot
from taichimd.neighbours.search.bins import CLOSEST2, BinFunctions
from taichimd.neighbours.sorted_atoms import PAD, Search

RUN = PAD
"""Atoms that are compared side by side; after the last atom there is room for so many."""


def run_function(bins: BinFunctions, how: Search) -> DeviceFunction:
    """Device function `visit` (see `columns.row_function`) of rows that lie one after the other."""

    @ti.func
    def look_closer(base, number, here, closest2, r2, row: ti.template()):  # type: ignore[valid-type]
        """Note the atom of a row if another one of the run is on top of it."""
        for k in range(number):
            if r2[k] < closest2 and not (here and base + k == row.i):
                ti.atomic_min(row.control[Control.coincident], row.ident[row.i])

    @ti.func
    def store_one_by_one(base, number, hits, odd, cells, code, begun, row: ti.template()):  # type: ignore[valid-type]
        """Store what is near where images may differ or the row may be full; how many entries were found."""
        found = begun
        for k in range(number):
            if hits[k] != 0:
                entry = bins.entry_of(base + k, odd, cells, code, row)
                if found < row.width:
                    write(row.entries, row.i, found, row.n, row.width, ATOM_MAJOR, entry)
                found += 1
        return found

    @ti.func
    def visit(base, end, offset, cells, code, found, written, limit2, x, row: ti.template()):  # type: ignore[valid-type]
        """Compare the atoms of a stretch with one atom and store those that are near."""
        here = cells[0] == 0 and cells[1] == 0 and cells[2] == 0
        plain = code & ((1 << row.shift_bits) - 1)
        # A list of radius 0 has no entries, and nothing is too close in it.
        closest2 = ti.min(limit2, ti.cast(CLOSEST2, how.real))
        r2, hits = ti.Vector.zero(how.real, RUN), ti.Vector.zero(ti.i32, RUN)
        while base < end:
            number = ti.min(end - base, RUN)
            odd, close = bins.mark_of(x), 0
            for k in range(RUN):
                other = bins.folded_at(base + k, row.n, row.sort.folded)
                d = other + offset
                far2 = d.dot(d)
                there_is = ti.cast(k < number, ti.i32)
                r2[k] = far2
                hits[k] = ti.cast(far2 < limit2, ti.i32) & there_is
                odd |= bins.mark_of(other)
                close += ti.cast(far2 < closest2, ti.i32) & there_is
            if here and row.i >= base and row.i < base + RUN:
                hits[row.i - base] = 0
                close -= ti.cast(closest2 > ti.cast(0.0, how.real), ti.i32)
            if close > 0:
                look_closer(base, number, here, closest2, r2, row)
            stored = False
            if ti.static(pages_of(row.entries) == 1):
                if odd & 1 == 0 and found + RUN <= row.width:
                    stored = True
                    first = slot(row.i, found, row.n, row.width, ATOM_MAJOR)
                    at, entry, step = first, (base << row.shift_bits) | plain, 1 << row.shift_bits
                    for k in range(RUN):
                        row.entries[at] = entry
                        entry += step
                        at += hits[k]
                    found += at - first
            if not stored:
                found = store_one_by_one(base, number, hits, odd, cells, code, found, row)
            base += RUN
        return found, written

    return visit
