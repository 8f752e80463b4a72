"""The search with one thread for each atom on a GPU, with rows in chunks, written by `staged_writes`.

`inner` does most atoms. A loop for all kinds of atoms does those that `inner` leaves.
"""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.masks import WORD, lowest, without_lowest
from taichimd.neighbours.rows import CHUNK, CHUNKED, is_left, some
from taichimd.neighbours.search.bins import LEFT, BinFunctions, Row
from taichimd.neighbours.search.columns import row_function
from taichimd.neighbours.search.inner import inner_search
from taichimd.neighbours.search.staged_writes import BLOCK, RING, Outbox, put, send
from taichimd.neighbours.search.words import word_function
from taichimd.neighbours.sorted_atoms import Search


def staged_search(bins: BinFunctions, how: Search) -> DeviceFunction:
    """Device function that fills all rows, in two loops of its own; before it, LEFT is 0."""
    near_in_word = word_function(bins, how.real)

    @ti.func
    def visit(base, end, offset, cells, code, found, written, limit2, x, row: ti.template()):
        """Stage what is near of a stretch; entries found, and sent. All 32 threads of a warp call it."""
        here = cells[0] == 0 and cells[1] == 0 and cells[2] == 0
        while is_left(base < end, True):
            hits, odd = 0, 0
            if base < end:
                hits, odd = near_in_word(base, end, offset, here, limit2, row)
                odd |= bins.mark_of(x)
            while is_left(hits != 0, True):
                while hits != 0 and found - written < RING:
                    j = base + lowest(hits)
                    hits = without_lowest(hits)
                    put(row.box, found, bins.entry_of(j, odd, cells, code, row))
                    found += 1
                written = send(row.box, found, written, CHUNK, row.n, row.width, row.entries, CHUNKED)
            base += WORD
        return found, written

    search_row = row_function(bins, how, visit, by_warps=True)
    search_inside = inner_search(bins, near_in_word, how)

    @ti.func
    def search_all(
        n, end, rows: ti.template(), control: ti.template(), ident: ti.template(), sort: ti.template()
    ):
        search_inside(n, end, rows, control, ident, sort)
        ti.loop_config(block_dim=BLOCK)
        for thread in range(end):
            ring = ti.simt.block.SharedArray((RING * BLOCK,), ti.i32)
            does = thread < sort.sums[LEFT]
            if some(does):
                i = 0
                if does:
                    i = sort.order[thread]
                # In registers: arguments of a kernel are read again after each store.
                of_all, room, code_bits = ti.max(n, 0), ti.max(rows.width, 0), ti.max(rows.shift_bits, 0)
                ground = bins.ground_of(i, sort)
                radius2, most_image = sort.radius2, sort.most_image
                own_bins, reach, periodic = ground.bins, ground.reach, ground.periodic
                row = Row(
                    i=i, thread=thread, n=of_all, width=room, shift_bits=code_bits, entries=rows.entries,
                    control=control, ident=ident, radius2=radius2, bins=own_bins, reach=reach,
                    periodic=periodic, most_image=most_image, ground=ground, sort=sort, box=Outbox(ring,
                    thread, i)
                )  # fmt: skip
                found, written = search_row(does, row)
                send(row.box, found, written, 1, row.n, row.width, row.entries, CHUNKED)
                if does:
                    bins.take(i, found, rows.count, control)

    return search_all
