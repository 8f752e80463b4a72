"""The search itself: which atoms are within a radius of each, found through the bins that they were sorted into.

A column of bins is one stretch of the sorted atoms. A thread that has an atom alone compares a word of them, then stores those
that are near, so that loads need not wait for stores; on a GPU most atoms are done before in a loop of their own
(`inner_search`). Where rows are in chunks (`rows`), the eight threads of a chunk may share
an atom (`VerletList.search`): they compare eight of a stretch at once, and what is near goes into the row side by side.
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.neighbours.control import CLOSE, CUTS, IMAGE_X, MOST, NONE, REBUILD, STALE
from taichimd.neighbours.inner_search import CLOSEST2, LEFT, inner_search
from taichimd.neighbours.masks import WORD, lowest, without_lowest
from taichimd.neighbours.rows import CHUNK, CHUNKED, claim, is_left, slot, whole_warps
from taichimd.runtime import Bundle, ti

UNROLL = 4
"""Atoms that a thread compares at a time."""


@dataclass(frozen=True)
class Search:
    """How a search is compiled.

    Attributes:
        real: ti.f64 or ti.f32, of the copies of the positions that are compared. Half the memory; the caller makes the
            radius longer by what that may be wrong by.
        together: the threads of a chunk share an atom; for rows in chunks.
    """

    real: Any
    together: bool = False


@ti.data_oriented
class Sorted(Bundle):
    """Where atoms are in space: what the sort leaves for the search, as one argument of device functions.

    Attributes:
        grid: vectors of the cell and of its bins (`kernels.bin_atoms`).
        starts: first atom of each bin. folded: positions to compare. turns: whole cells an atom is away from the first.
        bin_of: bin of each atom. Of the sort alone: sorted_of, counts, sums, order, turns_in, bin_in.
    """

    def __init__(self, grid: Any, starts: Any, folded: Any, turns: Any, bin_of: Any, sorted_of: Any = None, counts: Any = None, sums: Any = None, order: Any = None, turns_in: Any = None, bin_in: Any = None) -> None:  # fmt: skip
        self.grid, self.starts, self.folded, self.turns, self.bin_of = grid, starts, folded, turns, bin_of
        self.sorted_of, self.counts, self.sums, self.order = sorted_of, counts, sums, order
        self.turns_in, self.bin_in = turns_in, bin_in


@cache
def search_functions(how: Search, layout: int) -> Any:
    """Device functions `fold`, which stores a position to compare, and `fill_rows`, which holds its own loops, and their ends.

    Args:
        how: see there.
        layout: of rows.
    """
    search, together = how.real, how.together
    threads = CHUNK if together else 1
    inner_first = layout == CHUNKED and not together
    ivec = ti.types.vector(3, ti.i32)
    bits = ti.i32 if search == ti.f32 else ti.i64

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
    def image_code(image, most_image):
        """Linear code of an image, 0 for none; lists hold it modulo 2^shift_bits."""
        return (image[0] * (2 * most_image[1] + 1) + image[1]) * (2 * most_image[2] + 1) + image[2]

    @ti.func
    def entry_of(
        j, i, odd, cells, code, shift_bits, most_image, turns: ti.template(), control: ti.template()
    ):
        """The entry of j in the row of i, found so many cells away; `odd`, if one of them may have left the cell."""
        if odd & 1 == 1:
            image = cells - (turns[j] - turns[i])
            code = image_code(image, most_image)
            for a in ti.static(range(3)):
                if ti.abs(image[a]) > most_image[a]:
                    ti.atomic_max(control[IMAGE_X + a], ti.abs(image[a]))
        return (j << shift_bits) | (code & ((1 << shift_bits) - 1))

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
    def visit_words(i, base, end, offset, cells, code, found, limit2, n, width, shift_bits, x, entries: ti.template(), control: ti.template(), ident: ti.template(), most_image, sort: ti.template()):  # fmt: skip
        """Put what is near of a stretch of atoms into the row of atom i, by one thread; how many entries it has then."""
        here = cells[0] == 0 and cells[1] == 0 and cells[2] == 0
        while base < end:
            hits, closest, odd = compare_word(base, end, n, offset, limit2, sort.folded)
            if here and i >= base and i < base + WORD:
                hits &= ~(1 << (i - base))
            if closest < ti.cast(CLOSEST2, search):
                look_closer(i, base, n, hits, offset, ident, sort.folded, control)
            while hits != 0:
                at = lowest(hits)
                hits = without_lowest(hits)
                entry = entry_of(base + at, i, odd | mark_of(x), cells, code, shift_bits, most_image, sort.turns, control)  # fmt: skip
                if found < width:
                    entries[slot(i, found, n, width, layout)] = entry
                found += 1
            base += WORD
        return found

    @ti.func
    def visit_chunks(i, base, end, offset, cells, code, found, limit2, thread, n, width, shift_bits, x, entries: ti.template(), control: ti.template(), ident: ti.template(), most_image, sort: ti.template()):  # fmt: skip
        """The same by the threads that share the atom. All 32 of a warp call it, with nothing to do for some."""
        own = i if cells[0] == 0 and cells[1] == 0 and cells[2] == 0 else -1
        low = code & ((1 << shift_bits) - 1)
        j = base + thread % CHUNK
        while is_left(j < end, True):
            other = folded_at(ti.min(j, n - 1), n, sort.folded)
            d = other + offset
            r2 = d.dot(d)
            # No `and`: branches cost more than what they would save.
            near = ti.cast(r2 < limit2, ti.i32) & ti.cast(j < end, ti.i32) & ti.cast(j != own, ti.i32)
            before, more = claim(near == 1, thread)
            place = found + before
            entry = (j << shift_bits) | low
            odd = (mark_of(other) | mark_of(x)) & 1
            if (near & (odd | ti.cast(r2 < ti.cast(CLOSEST2, search), ti.i32))) == 1:
                if r2 < ti.cast(CLOSEST2, search):
                    ti.atomic_min(control[CLOSE], ident[i])
                entry = entry_of(j, i, odd, cells, code, shift_bits, most_image, sort.turns, control)
            if (near & ti.cast(place < width, ti.i32)) == 1:
                entries[slot(i, place, n, width, layout)] = entry
            found += more
            j += CHUNK
        return found

    @ti.func
    def home_of(b, bins):
        """Along each axis, the bin of that number."""
        return ivec(b // (bins[1] * bins[2]), (b // bins[2]) % bins[1], b % bins[2])

    @ti.func
    def search_row(i, thread, does, n, width, shift_bits, entries: ti.template(), control: ti.template(), ident: ti.template(), radius2, bins, reach, periodic, most_image, sort: ti.template()):  # fmt: skip
        """Fill the row of atom i; how many entries were found."""
        limit2 = ti.cast(radius2, search)
        x = folded_at(i, n, sort.folded)
        b = sort.bin_of[i]
        home = home_of(b, bins)
        low_z, high_z = home[2] - reach[2], home[2] + reach[2]
        if periodic[2] == 0:
            low_z, high_z = ti.max(low_z, 0), ti.min(high_z, bins[2] - 1)
        first_z, last_z = cells_away(low_z, bins[2]), cells_away(high_z, bins[2])
        found = 0
        for dx in range(-reach[0], reach[0] + 1):
            gx = home[0] + dx
            sx = cells_away(gx, bins[0])
            for dy in range(-reach[1], reach[1] + 1):
                gy = home[1] + dy
                sy = cells_away(gy, bins[1])
                there_is = does and (sx == 0 or periodic[0] != 0) and (sy == 0 or periodic[1] != 0)
                row = ((gx - sx * bins[0]) * bins[1] + gy - sy * bins[1]) * bins[2]
                sz = first_z
                while is_left(there_is and sz <= last_z, together):
                    # Bins that follow each other along z are one stretch of the sorted atoms.
                    base, end = 0, 0
                    if there_is and sz <= last_z:
                        base = sort.starts[row + ti.max(low_z - sz * bins[2], 0)]
                        end = sort.starts[row + ti.min(high_z - sz * bins[2], bins[2] - 1) + 1]
                    cells = ivec(sx, sy, sz)
                    offset = -x
                    if sx != 0 or sy != 0 or sz != 0:
                        offset += ti.cast(sx * sort.grid[0] + sy * sort.grid[1] + sz * sort.grid[2], search)
                    code = image_code(cells, most_image)
                    if ti.static(together):
                        found = visit_chunks(i, base, end, offset, cells, code, found, limit2, thread, n, width, shift_bits, x, entries, control, ident, most_image, sort)  # fmt: skip
                    else:
                        found = visit_words(i, base, end, offset, cells, code, found, limit2, n, width, shift_bits, x, entries, control, ident, most_image, sort)  # fmt: skip
                    sz += 1
        return found

    shared = SimpleNamespace(
        real=search, compare_word=compare_word, folded_at=folded_at, mark_of=mark_of, look_closer=look_closer, home_of=home_of,
    )  # fmt: skip
    search_inside = inner_search(shared, layout) if inner_first else None

    @ti.func
    def ends_for(n):
        """Where the loops of `fill_rows` end: whole warps, where threads work together."""
        return ti.Vector([whole_warps(n), whole_warps(n * threads) if ti.static(together) else n])

    @ti.func
    def fill_rows(n, ends, width, shift_bits, count: ti.template(), entries: ti.template(), control: ti.template(), ident: ti.template(), radius2: ti.template(), bins: ti.template(), reach: ti.template(), periodic: ti.template(), most_image: ti.template(), sort: ti.template()):  # fmt: skip
        """Neighbours of every atom within the radius, in the order of the bins.

        Counts go on past the width, so that the host knows the need.
        """
        if ti.static(inner_first):
            search_inside(
                n, ends[0], width, shift_bits, count, entries, control, ident, radius2, bins, reach, sort
            )
        for thread in range(ends[1]):
            i = ti.min(thread // threads, n - 1)
            does = thread < n * threads
            if ti.static(inner_first):
                does = thread < sort.sums[LEFT]
                if does:
                    i = sort.order[thread]
            if does or ti.static(together):
                # In registers: arguments of a kernel are read again after each store.
                of_all, room, code_bits = ti.max(n, 0), ti.max(width, 0), ti.max(shift_bits, 0)
                found = search_row(i, thread, does, of_all, room, code_bits, entries, control, ident, radius2, bins, reach, periodic, most_image, sort)  # fmt: skip
                if does and thread % threads == 0:
                    count[i] = found
                    # Most atoms need no atomic: the maximum is soon known.
                    if found > control[MOST]:
                        ti.atomic_max(control[MOST], found)
        if n > 0:
            image_fits = True
            for a in ti.static(range(3)):
                image_fits = image_fits and control[IMAGE_X + a] <= most_image[a]
            fits = image_fits and control[MOST] <= width and control[CLOSE] == NONE
            control[REBUILD] = 0 if fits else 1
            control[STALE] = 1
            control[CUTS] = 0

    return SimpleNamespace(fold=fold, ends_for=ends_for, fill_rows=fill_rows)
