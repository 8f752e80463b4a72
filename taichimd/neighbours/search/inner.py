"""The search for atoms far from the ends of the cell, as most are, by a GPU with a thread for each.

None of their neighbours is an image, columns of bins follow each other, and rows have room: that takes few
registers, so that many warps hide each other's waits for memory. Other atoms are left, in a list, to the
search for all (`staged`). Rows go to memory through staged writes (`staged_writes`).
"""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.core.warps import shuffle
from taichimd.neighbours.masks import WORD, how_many_below, lowest, without_lowest
from taichimd.neighbours.rows import CHUNK, CHUNKED, WARP, some, those
from taichimd.neighbours.search.bins import LEFT, BinFunctions, Row
from taichimd.neighbours.search.staged_writes import BLOCK, RING, Outbox, put, send
from taichimd.neighbours.sorted_atoms import Search


def inner_search(bins: BinFunctions, near_in_word: DeviceFunction, how: Search) -> DeviceFunction:
    """Device function that holds its own loop; before it, LEFT is 0."""
    real, some_rows = how.real, how.some_rows

    @ti.func
    def has_left(base, hits, n, folded: ti.template()):
        """Whether one of a word's atoms has left the cell."""
        marks, rest = 0, hits
        while rest != 0:
            marks |= bins.mark_of(bins.folded_at(base + lowest(rest), n, folded))
            rest = without_lowest(rest)
        return marks & 1 == 1

    @ti.func
    def inside_word(base, end, found, x, limit2, row: ti.template()):
        """Mask of the atoms of a word that are near; or none and True, if they are not for this search."""
        hits, odd = near_in_word(base, end, -x, True, limit2, row)
        stops = found + ti.math.popcnt(hits) > row.width
        if odd & 1 == 1:
            # A condition of its own: beside an `or` it would be looked for each time.
            if has_left(base, hits, row.n, row.sort.folded):
                stops = True
        return ti.select(stops, 0, hits), stops

    @ti.func
    def search_row(does, row: ti.template()):
        """Fill a row; how many entries were found, or -1: it is left. All 32 threads of a warp call it."""
        limit2 = ti.cast(row.radius2, real)
        x = bins.folded_at(row.i, row.n, row.sort.folded)
        b = row.sort.bin_of[row.i]
        home = bins.home_of(b, row.bins)
        inside = does and bins.mark_of(x) & 1 == 0
        for a in ti.static(range(3)):
            inside = inside and home[a] >= row.reach[a] and home[a] < row.bins[a] - row.reach[a]
        found, written = ti.select(inside, 0, -1), 0
        wide, span = 2 * row.reach[1] + 1, 2 * row.reach[2] + 1
        n_bins = row.bins[0] * row.bins[1] * row.bins[2]
        at = ti.max(b - (row.reach[0] * row.bins[1] + row.reach[1]) * row.bins[2] - row.reach[2], 0)
        base, end = row.sort.starts[at], row.sort.starts[ti.min(at + span, n_bins)]
        left = wide
        for _ in range((2 * row.reach[0] + 1) * wide):
            # Where the next column begins is read along with this one; after the last one anything that is
            # there.
            left -= 1
            at += row.bins[2]
            if left == 0:
                left = wide
                at += (row.bins[1] - wide) * row.bins[2]
            following = ti.max(ti.min(at, n_bins - span), 0)
            next_base = row.sort.starts[following]
            next_end = row.sort.starts[ti.min(following + span, n_bins)]
            while some(base < end and found >= 0):
                hits = 0
                if base < end and found >= 0:
                    near, stops = inside_word(base, end, found, x, limit2, row)
                    hits = near
                    if stops:
                        found = -1
                while some(hits != 0):
                    while hits != 0 and found - written < RING:
                        put(row.box, found, base + lowest(hits) << row.shift_bits)
                        hits = without_lowest(hits)
                        found += 1
                    written = send(row.box, found, written, CHUNK, row.n, row.width, row.entries, CHUNKED)
                base += WORD
            base, end = next_base, next_end
        send(row.box, found, written, 1, row.n, row.width, row.entries, CHUNKED)
        return found

    @ti.func
    def leave(i, leaves, thread, sort: ti.template()):
        """Note the atoms that are left; one thread of a warp counts for all."""
        mask = those(leaves)
        first = 0
        if leaves and thread % WARP == lowest(mask):
            first = ti.atomic_add(sort.sums[LEFT], ti.math.popcnt(mask))
        first = shuffle(first, ti.min(lowest(mask), WARP - 1))
        if leaves:
            sort.order[first + how_many_below(mask, thread % WARP)] = i

    @ti.func
    def fill_rows(
        n, threads, rows: ti.template(), control: ti.template(), ident: ti.template(), sort: ti.template()
    ):
        ti.loop_config(block_dim=BLOCK)
        for thread in range(threads):
            ring = ti.simt.block.SharedArray((RING * BLOCK,), ti.i32)
            i = ti.min(thread, n - 1)
            # In registers: arguments of a kernel are read again after each store.
            of_all, room, code_bits = ti.max(n, 0), ti.max(rows.width, 0), ti.max(rows.shift_bits, 0)
            all_bins, far, radius2 = ti.max(sort.bins, 0), ti.max(sort.reach, 0), sort.radius2
            row = Row(
                i=i, n=of_all, width=room, shift_bits=code_bits, entries=rows.entries, control=control,
                ident=ident, radius2=radius2, bins=all_bins, reach=far, sort=sort, box=Outbox(ring, thread, i)
            )  # fmt: skip
            found = 0
            searches = thread < n and bins.gets_row(i, ident, sort)
            if ti.static(not some_rows):
                found = search_row(searches, row)
            else:
                if some(searches):
                    found = search_row(searches, row)
                if not searches:
                    # A row without entries; threads behind the last atom have none.
                    found = ti.select(thread < n, 0, -1)
            if found >= 0:
                bins.take(i, found, rows.count, control)
            leave(i, found < 0 and thread < n, thread, sort)

    return fill_rows
