"""The search by the threads of a chunk, which share an atom: for few atoms on a GPU.

They compare as many atoms of a stretch at once, and what is near goes into the row side by side.
"""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import Control
from taichimd.neighbours.pages import write
from taichimd.neighbours.rows import CHUNK, claim, is_left
from taichimd.neighbours.search.bins import CLOSEST2, BinFunctions, Row
from taichimd.neighbours.search.columns import row_function
from taichimd.neighbours.sorted_atoms import Search


def shared_search(bins: BinFunctions, how: Search, layout: int) -> DeviceFunction:
    """Device function that fills all rows, in chunks, in a loop of its own."""

    @ti.func
    def visit(base, end, offset, cells, code, found, written, limit2, x, row: ti.template()):
        """Put what is near of a stretch into a row; all 32 threads of a warp call it."""
        own = row.i if cells[0] == 0 and cells[1] == 0 and cells[2] == 0 else -1
        low = code & ((1 << row.shift_bits) - 1)
        j = base + row.thread % CHUNK
        while is_left(j < end, True):
            other = bins.folded_at(ti.min(j, row.n - 1), row.n, row.sort.folded)
            d = other + offset
            r2 = d.dot(d)
            # No `and`: branches cost more than what they would save.
            near = ti.cast(r2 < limit2, ti.i32) & ti.cast(j < end, ti.i32) & ti.cast(j != own, ti.i32)
            before, more = claim(near == 1, row.thread)
            place = found + before
            entry = (j << row.shift_bits) | low
            odd = (bins.mark_of(other) | bins.mark_of(x)) & 1
            if (near & (odd | ti.cast(r2 < ti.cast(CLOSEST2, how.real), ti.i32))) == 1:
                if r2 < ti.cast(CLOSEST2, how.real):
                    ti.atomic_min(row.control[Control.coincident], row.ident[row.i])
                entry = bins.entry_of(j, odd, cells, code, row)
            if (near & ti.cast(place < row.width, ti.i32)) == 1:
                write(row.entries, row.i, place, row.n, row.width, layout, entry)
            found += more
            j += CHUNK
        return found, written

    search_row = row_function(bins, how, visit, by_warps=True)

    @ti.func
    def search_all(
        n, end, rows: ti.template(), control: ti.template(), ident: ti.template(), sort: ti.template()
    ):
        for thread in range(end):
            i = ti.min(thread // CHUNK, n - 1)
            does = thread < n * CHUNK
            # In registers: arguments of a kernel are read again after each store.
            of_all, room, code_bits = ti.max(n, 0), ti.max(rows.width, 0), ti.max(rows.shift_bits, 0)
            ground = bins.ground_of(i, sort)
            radius2, most_image = sort.radius2, sort.most_image
            own_bins, reach, periodic = ground.bins, ground.reach, ground.periodic
            row = Row(
                i=i, thread=thread, n=of_all, width=room, shift_bits=code_bits, entries=rows.entries,
                control=control, ident=ident, radius2=radius2, bins=own_bins, reach=reach, periodic=periodic,
                most_image=most_image, ground=ground, sort=sort
            )  # fmt: skip
            found, _ = search_row(does and bins.gets_row(i, ident, sort), row)
            if does and thread % CHUNK == 0:
                bins.take(i, found, rows.count, control)

    return search_all
