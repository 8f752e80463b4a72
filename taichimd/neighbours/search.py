"""The search itself: which atoms are within a radius of each, found through the bins that they were sorted into.

A column of bins is one stretch of the sorted atoms. A thread that has an atom alone compares a word of them, then stores those
that are near, so that loads need not wait for stores; on a GPU through staged writes (`staged_writes`), and most atoms before in a loop of their
own (`inner_search`). Where rows are in chunks (`rows`), the eight threads of a chunk may share
an atom (`VerletList.search`): they compare eight of a stretch at once, and what is near goes into the row side by side.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import ti
from taichimd.neighbours.control import CLOSE, CUTS, IMAGE_X, MOST, NONE, REBUILD, STALE
from taichimd.neighbours.inner_search import CLOSEST2, LEFT, Row, inner_search
from taichimd.neighbours.masks import WORD, lowest, without_lowest
from taichimd.neighbours.rows import CHUNK, CHUNKED, claim, is_left, slot, some, whole_warps
from taichimd.neighbours.sorted_atoms import (
    BINS,
    FIRST_BIN,
    FIRST_CODE,
    LAYOUT,
    PERIODIC,
    REACH,
    UNROLL,
    Ground,
    Search,
)
from taichimd.neighbours.staged_writes import BLOCK, RING, Outbox, put, send


@cache
def search_functions(how: Search, layout: int) -> Any:
    """Device functions `fold`, which stores a position to compare, and `fill_rows`, which holds its own loops, and their ends.

    Args:
        how: see there.
        layout: of rows.
    """
    search, together = how.real, how.together
    threads = CHUNK if together else 1
    alone = layout == CHUNKED and not together
    ivec = ti.types.vector(3, ti.i32)
    bits = ti.i32 if search == ti.f32 else ti.i64

    @ti.func
    def of_layout(i, at: ti.template(), sort: ti.template()):
        """A number of the layout of atom i's system."""
        return sort.layouts[LAYOUT * sort.system[i] + at]

    @ti.func
    def three_of_layout(i, at: ti.template(), sort: ti.template()):
        return ivec(of_layout(i, at, sort), of_layout(i, at + 1, sort), of_layout(i, at + 2, sort))

    @ti.func
    def grid_of(i, sort: ti.template()):
        return 8 * sort.system[i]

    @device_helper
    def ground_of(i: Any, sort: Any) -> Ground:
        """The `Ground` of atom i, at the compilation of a kernel."""
        if not how.batch:
            return Ground(
                bins=sort.bins, reach=sort.reach, periodic=sort.periodic, grid=0, first_bin=0, first_code=0
            )
        threes = {"bins": BINS, "reach": REACH, "periodic": PERIODIC}
        return Ground(
            grid=grid_of(i, sort),
            first_bin=of_layout(i, FIRST_BIN, sort),
            first_code=of_layout(i, FIRST_CODE, sort),
            **{name: three_of_layout(i, at, sort) for name, at in threes.items()},
        )

    @ti.func
    def corner(cells, ground: ti.template(), sort: ti.template()):
        """The vector to a cell of the lattice."""
        return (
            cells[0] * sort.grid[ground.grid]
            + cells[1] * sort.grid[ground.grid + 1]
            + cells[2] * sort.grid[ground.grid + 2]
        )

    @ti.func
    def fold(at, n, x, turn, folded: ti.template()):
        """Store a folded position. The last bit of z says whether the atom has left the cell: most have not."""
        z = ti.bit_cast(ti.cast(x[2], search), bits) & ~1
        if turn[0] != 0 or turn[1] != 0 or turn[2] != 0:
            z |= 1
        folded[at] = ti.cast(x[0], search)
        folded[n + UNROLL + at] = ti.cast(x[1], search)
        folded[2 * (n + UNROLL) + at] = ti.bit_cast(z, search)

    @ti.func
    def folded_at(j, n, folded: ti.template()):
        """One coordinate of all atoms after the other: those of neighbours in memory are read at once."""
        return ti.Vector([folded[j + k * (n + UNROLL)] for k in ti.static(range(3))])

    @ti.func
    def mark_of(x):
        """The last bit says it; the others mean nothing."""
        return ti.cast(ti.bit_cast(x[2], bits), ti.i32)

    @ti.func
    def image_code(image, most_image, ground: ti.template()):
        """Linear code of an image, 0 for none; lists hold it modulo 2^shift_bits.

        In a batch each system has codes of its own, which stand in the same order.
        """
        code = (image[0] * (2 * most_image[1] + 1) + image[1]) * (2 * most_image[2] + 1) + image[2]
        if ti.static(how.batch):
            code += ti.select(code > 0, ground.first_code, ti.select(code < 0, -ground.first_code, 0))
        return code

    @ti.func
    def entry_of(j, odd, cells, code, row: ti.template()):
        """The entry of j in a row, found so many cells away; `odd`, if one of them may have left the cell."""
        if odd & 1 == 1:
            image = cells - (row.sort.turns[j] - row.sort.turns[row.i])
            code = image_code(image, row.most_image, row.ground)
            for a in ti.static(range(3)):
                if ti.abs(image[a]) > row.most_image[a]:
                    ti.atomic_max(row.control[IMAGE_X + a], ti.abs(image[a]))
        return (j << row.shift_bits) | (code & ((1 << row.shift_bits) - 1))

    @ti.func
    def cells_away(index, bins):
        """Whole cells between a bin and the cell's own; most often none, and a division is slow."""
        away = 0
        if index < 0 or index >= bins:
            away = index // bins
        return away

    @ti.func
    def compare_word(base, end, n, offset, limit2, folded: ti.template()):
        """Compare up to a word of atoms from `base` on.

        Mask of those within the limit; of these or the next ones the smallest r^2, and whether any is marked.
        """
        number = ti.min(end - base, WORD)
        hits, odd = 0, 0
        closest = limit2
        for first in range((number + UNROLL - 1) // UNROLL):
            some_hits = 0
            for u in ti.static(range(UNROLL)):
                # Behind the last atom there is room for a group.
                other = folded_at(base + first * UNROLL + u, n, folded)
                d = other + offset
                r2 = d.dot(d)
                some_hits |= ti.select(r2 < limit2, 1 << u, 0)
                closest = ti.min(closest, r2)
                odd |= mark_of(other)
            hits |= some_hits << (first * UNROLL)
        if number < WORD:
            hits &= (1 << number) - 1
        return hits, closest, odd

    @ti.func
    def look_closer(
        i, base, n, hits, offset, ident: ti.template(), folded: ti.template(), control: ti.template()
    ):
        """Note atom i if another one is on top of it."""
        left = hits
        while left != 0:
            d = folded_at(base + lowest(left), n, folded) + offset
            left = without_lowest(left)
            if d.dot(d) < ti.cast(CLOSEST2, search):
                ti.atomic_min(control[CLOSE], ident[i])

    @ti.func
    def near_in_word(i, base, end, n, offset, here, limit2, ident: ti.template(), control: ti.template(), sort: ti.template()):  # fmt: skip
        """Mask of a word's atoms that are near atom i, and whether one of the word may have left the cell."""
        hits, closest, odd = compare_word(base, end, n, offset, limit2, sort.folded)
        if here and i >= base and i < base + WORD:
            hits &= ~(1 << (i - base))
        if closest < ti.cast(CLOSEST2, search):
            look_closer(i, base, n, hits, offset, ident, sort.folded, control)
        return hits, odd

    @ti.func
    def visit_words(base, end, offset, cells, code, found, written, limit2, x, row: ti.template()):
        """Put what is near of a stretch of atoms into a row, by one thread; how many entries it has then.

        And how many of them have been sent on, where there is staged writes. All 32 threads of a warp call it then.
        """
        here = cells[0] == 0 and cells[1] == 0 and cells[2] == 0
        while is_left(base < end, alone):
            hits, odd = 0, 0
            if base < end:
                hits, odd = near_in_word(
                    row.i, base, end, row.n, offset, here, limit2, row.ident, row.control, row.sort
                )
                odd |= mark_of(x)
            while is_left(hits != 0, alone):
                while hits != 0 and (ti.static(not alone) or found - written < RING):
                    j = base + lowest(hits)
                    hits = without_lowest(hits)
                    entry = entry_of(j, odd, cells, code, row)
                    if ti.static(alone):
                        put(row.box, found, entry)
                    elif found < row.width:
                        row.entries[slot(row.i, found, row.n, row.width, layout)] = entry
                    found += 1
                if ti.static(alone):
                    written = send(row.box, found, written, CHUNK, row.n, row.width, row.entries, layout)
            base += WORD
        return found, written

    @ti.func
    def visit_chunks(base, end, offset, cells, code, found, limit2, x, row: ti.template()):
        """The same by the threads that share the atom. All 32 of a warp call it, with nothing to do for some."""
        own = row.i if cells[0] == 0 and cells[1] == 0 and cells[2] == 0 else -1
        low = code & ((1 << row.shift_bits) - 1)
        j = base + row.thread % CHUNK
        while is_left(j < end, True):
            other = folded_at(ti.min(j, row.n - 1), row.n, row.sort.folded)
            d = other + offset
            r2 = d.dot(d)
            # No `and`: branches cost more than what they would save.
            near = ti.cast(r2 < limit2, ti.i32) & ti.cast(j < end, ti.i32) & ti.cast(j != own, ti.i32)
            before, more = claim(near == 1, row.thread)
            place = found + before
            entry = (j << row.shift_bits) | low
            odd = (mark_of(other) | mark_of(x)) & 1
            if (near & (odd | ti.cast(r2 < ti.cast(CLOSEST2, search), ti.i32))) == 1:
                if r2 < ti.cast(CLOSEST2, search):
                    ti.atomic_min(row.control[CLOSE], row.ident[row.i])
                entry = entry_of(j, odd, cells, code, row)
            if (near & ti.cast(place < row.width, ti.i32)) == 1:
                row.entries[slot(row.i, place, row.n, row.width, layout)] = entry
            found += more
            j += CHUNK
        return found

    @ti.func
    def home_of(b, bins):
        """Along each axis, the bin of that number."""
        return ivec(b // (bins[1] * bins[2]), (b // bins[2]) % bins[1], b % bins[2])

    @ti.func
    def following(place, first, last):
        """The next piece of the columns around an atom: along z, then y, then x."""
        x, y, z = place[0], place[1], place[2] + 1
        if z > last[2]:
            z = first[2]
            y += 1
            if y > last[1]:
                y = first[1]
                x += 1
        return ivec(x, y, z)

    @ti.func
    def stretch(place, last, low_z, high_z, row: ti.template()):
        """Where a piece of a column begins and ends among the sorted atoms, and how many cells away it is.

        Bins that follow each other along z are one stretch.
        """
        bins, periodic, starts = ti.static((row.bins, row.periodic, row.sort.starts))
        sx, sy, sz = cells_away(place[0], bins[0]), cells_away(place[1], bins[1]), place[2]
        base, end = 0, 0
        if place[0] <= last[0] and (sx == 0 or periodic[0] != 0) and (sy == 0 or periodic[1] != 0):
            column = ((place[0] - sx * bins[0]) * bins[1] + place[1] - sy * bins[1]) * bins[2]
            if ti.static(how.batch):
                column += row.ground.first_bin
            base = starts[column + ti.max(low_z - sz * bins[2], 0)]
            end = starts[column + ti.min(high_z - sz * bins[2], bins[2] - 1) + 1]
        return base, end, ivec(sx, sy, sz)

    @ti.func
    def search_row(does, row: ti.template()):
        """Fill a row; how many entries were found. Where threads work together all 32 of a warp call it."""
        limit2 = ti.cast(row.radius2, search)
        x = folded_at(row.i, row.n, row.sort.folded)
        b = row.sort.bin_of[row.i]
        if ti.static(how.batch):
            b -= row.ground.first_bin
        home = home_of(b, row.bins)
        low_z, high_z = home[2] - row.reach[2], home[2] + row.reach[2]
        if row.periodic[2] == 0:
            low_z, high_z = ti.max(low_z, 0), ti.min(high_z, row.bins[2] - 1)
        # Bins along x and y; along z cells, since a column may go on in the next one.
        first = ivec(home[0] - row.reach[0], home[1] - row.reach[1], cells_away(low_z, row.bins[2]))
        last = ivec(home[0] + row.reach[0], home[1] + row.reach[1], cells_away(high_z, row.bins[2]))
        if not does:
            first[0] = last[0] + 1
        place = first
        base, end, cells = stretch(place, last, low_z, high_z, row)
        found, written = 0, 0
        while is_left(place[0] <= last[0], alone or together):
            # Where the next one begins is read along with this one.
            place = following(place, first, last)
            next_base, next_end, next_cells = stretch(place, last, low_z, high_z, row)
            offset, code = -x, 0
            if cells[0] != 0 or cells[1] != 0 or cells[2] != 0:
                offset += ti.cast(corner(cells, row.ground, row.sort), search)
                code = image_code(cells, row.most_image, row.ground)
            if ti.static(together):
                found = visit_chunks(base, end, offset, cells, code, found, limit2, x, row)
            else:
                found, written = visit_words(base, end, offset, cells, code, found, written, limit2, x, row)
            base, end, cells = next_base, next_end, next_cells
        if ti.static(alone):
            send(row.box, found, written, 1, row.n, row.width, row.entries, layout)
        return found

    @ti.func
    def take(i, found, count: ti.template(), control: ti.template()):
        """Note the length of a row."""
        count[i] = found
        # Most atoms need no atomic: the maximum is soon known.
        if found > control[MOST]:
            ti.atomic_max(control[MOST], found)

    shared = SimpleNamespace(
        real=search,
        near_in_word=near_in_word,
        folded_at=folded_at,
        mark_of=mark_of,
        home_of=home_of,
        take=take,
    )
    search_inside = inner_search(shared, layout) if alone else None

    @ti.func
    def end_for(n):
        """Where each loop of `fill_rows` ends: whole warps, where threads work together."""
        return whole_warps(n * threads) if ti.static(layout == CHUNKED) else n

    @ti.func
    def fill_rows(
        n, end, rows: ti.template(), control: ti.template(), ident: ti.template(), sort: ti.template()
    ):
        """Neighbours of every atom within the radius, in the order of the bins.

        Counts go on past the width, so that the host knows the need.
        """
        # In registers in each loop: arguments of a kernel are read again after each store.
        if ti.static(alone):
            search_inside(n, end, rows, control, ident, sort)
            ti.loop_config(block_dim=BLOCK)
            for thread in range(end):
                ring = ti.simt.block.SharedArray((RING * BLOCK,), ti.i32)
                does = thread < sort.sums[LEFT]
                if some(does):
                    i = 0
                    if does:
                        i = sort.order[thread]
                    of_all, room, code_bits = ti.max(n, 0), ti.max(rows.width, 0), ti.max(rows.shift_bits, 0)
                    ground = ground_of(i, sort)
                    radius2, most_image = sort.radius2, sort.most_image
                    bins, reach, periodic = ground.bins, ground.reach, ground.periodic
                    row = Row(i=i, thread=thread, n=of_all, width=room, shift_bits=code_bits, entries=rows.entries, control=control, ident=ident, radius2=radius2, bins=bins, reach=reach, periodic=periodic, most_image=most_image, ground=ground, sort=sort, box=Outbox(ring, thread, i))  # fmt: skip
                    found = search_row(does, row)
                    if does:
                        take(i, found, rows.count, control)
        else:
            for thread in range(end):
                i = ti.min(thread // threads, n - 1)
                does = thread < n * threads
                if does or ti.static(together):
                    of_all, room, code_bits = ti.max(n, 0), ti.max(rows.width, 0), ti.max(rows.shift_bits, 0)
                    ground = ground_of(i, sort)
                    radius2, most_image = sort.radius2, sort.most_image
                    bins, reach, periodic = ground.bins, ground.reach, ground.periodic
                    row = Row(i=i, thread=thread, n=of_all, width=room, shift_bits=code_bits, entries=rows.entries, control=control, ident=ident, radius2=radius2, bins=bins, reach=reach, periodic=periodic, most_image=most_image, ground=ground, sort=sort, box=None)  # fmt: skip
                    found = search_row(does, row)
                    if does and thread % threads == 0:
                        take(i, found, rows.count, control)
        if n > 0:
            image_fits = True
            for a in ti.static(range(3)):
                image_fits = image_fits and control[IMAGE_X + a] <= sort.most_image[a]
            fits = image_fits and control[MOST] <= rows.width and control[CLOSE] == NONE
            control[REBUILD] = 0 if fits else 1
            control[STALE] = 1
            control[CUTS] = 0

    return SimpleNamespace(
        fold=fold, end_for=end_for, fill_rows=fill_rows, ground_of=ground_of, corner=corner
    )
