"""The search itself: which atoms are within a radius of each, found through the bins that they were sorted into.

A column of bins is one stretch of the sorted atoms. Of a word of them at a time all are compared, then those that are near go
into the row. Where rows are in chunks (`rows`) and on a GPU, they wait in shared memory until a chunk is full, and eight
threads write it at once: entries that go to memory one by one cost it a sector each.
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.neighbours.control import CLOSE, CUTS, IMAGE_X, MOST, NONE, REBUILD, STALE
from taichimd.neighbours.masks import WORD, lowest, without_lowest
from taichimd.neighbours.rows import CHUNK, CHUNKED, LOG_CHUNK, is_left, slot, some
from taichimd.runtime import ti

LARGE_BLOCK = 512
"""Threads of a block where several share an atom: such loops need more threads than a kernel's grid has blocks for."""
SMALL_BLOCK = 128

UNROLL = 4
"""Candidates that are compared at a time."""
CLOSEST2 = 4e-4
"""Square of the distance (angstrom) below which two atoms count as coincident."""


@dataclass(frozen=True)
class Search:
    """How a search is compiled.

    Attributes:
        real: ti.f64 or ti.f32, of the copies of the positions that are compared. Half the memory; the caller makes the
            radius longer by what that may be wrong by.
        lanes: threads that share an atom; the entries of a row then stand in any order.
        long_rows: stage the entries of threads that have an atom alone, too. On an H200 that makes silica of 786,432 atoms
            (500 entries a row) 2% faster, the melt of 1,048,576 (80) 6% slower, by what it takes in registers.
    """

    real: Any
    lanes: int = 1
    long_rows: bool = False


@cache
def search_functions(how: Search, layout: int) -> Any:
    """Device functions `mark`, for folded positions, and `fill_rows`, which holds its own loop.

    Args:
        how: see there.
        layout: of rows.
    """
    search, lanes = how.real, how.lanes
    ivec = ti.types.vector(3, ti.i32)
    bits = ti.i32 if search == ti.f32 else ti.i64
    staged = layout == CHUNKED and (lanes > 1 or how.long_rows)
    block, stage_size = (LARGE_BLOCK, 2 * CHUNK) if lanes > 1 else (SMALL_BLOCK, 4 * CHUNK)
    atoms = block // lanes  # of a block

    @ti.func
    def mark(x, turn):
        """A folded position whose last bit of z says whether the atom has left the cell: most have not."""
        z = ti.bit_cast(x[2], bits) & ~1
        if turn[0] != 0 or turn[1] != 0 or turn[2] != 0:
            z |= 1
        return ti.Vector([x[0], x[1], ti.bit_cast(z, search)])

    @ti.func
    def marked(x):
        return ti.cast(ti.bit_cast(x[2], bits) & 1, ti.i32)

    @ti.func
    def image_code(image, most_image):
        """Linear code of an image, 0 for none; lists hold it modulo 2^shift_bits."""
        return (image[0] * (2 * most_image[1] + 1) + image[1]) * (2 * most_image[2] + 1) + image[2]

    @ti.func
    def cells_away(index, bins):
        """Whole cells between a bin and the cell's own; most often none, and a division is slow."""
        away = 0
        if index < 0 or index >= bins:
            away = index // bins
        return away

    @ti.func
    def compared(base, end, offset, limit2, folded: ti.template()):
        """Mask of those within the limit, of up to a word of atoms from `base` on; smallest r^2 of them, or of the next ones.

        Nothing is stored, so that loads need not wait for stores.
        """
        number = ti.min(end - base, WORD)
        hits = 0
        closest = limit2
        for first in range((number + UNROLL - 1) // UNROLL):
            some_hits = 0
            for u in ti.static(range(UNROLL)):
                # Behind the last atom there is room for a group.
                d = folded[base + first * UNROLL + u] + offset
                r2 = d.dot(d)
                some_hits |= ti.select(r2 < limit2, 1 << u, 0)
                closest = ti.min(closest, r2)
            hits |= some_hits << (first * UNROLL)
        if number < WORD:
            hits &= (1 << number) - 1
        return hits, closest

    @ti.func
    def look_closer(
        i, base, hits, offset, ident: ti.template(), folded: ti.template(), control: ti.template()
    ):
        """Note atom i if another one is on top of it."""
        left = hits
        while left != 0:
            d = folded[base + lowest(left)] + offset
            left = without_lowest(left)
            if d.dot(d) < ti.cast(CLOSEST2, search):
                ti.atomic_min(control[CLOSE], ident[i])

    @ti.func
    def staged_at(k, thread):
        """Where entry k of a thread is staged: neither the same k nor the same thread are in one bank of memory."""
        return (k & (stage_size - 1)) * (block + 1) + thread

    @ti.func
    def spill(i, thread, place, first, number, n, width, stage: ti.template(), entries: ti.template()):
        """Write `number` staged entries, up to a chunk, into row i from `place` on; all 32 threads of a warp call it.

        Eight threads write a chunk at once. One by one, entries of different atoms would be a sector of memory each.
        """
        ti.simt.subgroup.sync()
        # Eight bits for the number and where it begins: both are less than 16 or a multiple of a chunk.
        mine = (place << 8) | ((first & (stage_size - 1)) // CHUNK << 4) | number
        k = thread & (CHUNK - 1)
        for turn in range(CHUNK):
            ahead = turn - k  # of this thread, the one whose entries these are
            theirs = ti.simt.subgroup.shuffle(mine, ti.cast((thread + ahead) & 31, ti.u32))
            at = (theirs >> 8) + k
            if k < (theirs & 15) and at < width:
                entry = stage[staged_at(((theirs >> 4) << LOG_CHUNK) + k, thread + ahead)]
                entries[slot(i + ahead, at, n, width, layout)] = entry
        ti.simt.subgroup.sync()

    @ti.func
    def claim(at, found, number, taken: ti.template()):
        """First of some places in a row of which `found` are taken, by this thread, or by what `taken` says for all of them."""
        place = found
        if ti.static(lanes > 1):
            if number > 0:
                place = ti.atomic_add(taken[at], number)
        return place

    @ti.func
    def search_row(i, lane, thread, stage: ti.template(), taken: ti.template(), n, width, shift_bits, entries: ti.template(), control: ti.template(), ident: ti.template(), radius2, bins, reach, periodic, most_image, grid: ti.template(), starts: ti.template(), folded: ti.template(), turns: ti.template(), bin_of: ti.template()):  # fmt: skip
        """Fill every `lanes`-th column of bins into the row of atom i.

        With staged rows all 32 threads of a warp go the same way, whether there is an atom or not, and keep in `stage` what
        does not fill a chunk yet. How many entries were found, and how many of them are in the row.
        """
        limit2 = ti.cast(radius2, search)
        does, own = True, i
        if ti.static(staged):  # threads beyond the last atom, too
            does, own = i < n, ti.min(i, n - 1)
        x = folded[own]
        b = bin_of[own]
        home = ivec(b // (bins[1] * bins[2]), (b // bins[2]) % bins[1], b % bins[2])
        low_z, high_z = home[2] - reach[2], home[2] + reach[2]
        if periodic[2] == 0:
            low_z, high_z = ti.max(low_z, 0), ti.min(high_z, bins[2] - 1)
        first_z, last_z = cells_away(low_z, bins[2]), cells_away(high_z, bins[2])
        found, kept, column = 0, 0, 0
        for dx in range(-reach[0], reach[0] + 1):
            gx = home[0] + dx
            sx = cells_away(gx, bins[0])
            for dy in range(-reach[1], reach[1] + 1):
                gy = home[1] + dy
                sy = cells_away(gy, bins[1])
                there_is = does and (sx == 0 or periodic[0] != 0) and (sy == 0 or periodic[1] != 0)
                if ti.static(lanes > 1):
                    there_is = there_is and column % lanes == lane
                    column += 1
                row = ((gx - sx * bins[0]) * bins[1] + gy - sy * bins[1]) * bins[2]
                sz = first_z
                while is_left(there_is and sz <= last_z, staged):
                    # Bins that follow each other along z are one stretch of the sorted atoms.
                    base, end = 0, 0
                    if there_is and sz <= last_z:
                        base = starts[row + ti.max(low_z - sz * bins[2], 0)]
                        end = starts[row + ti.min(high_z - sz * bins[2], bins[2] - 1) + 1]
                    offset = -x
                    if sx != 0 or sy != 0 or sz != 0:
                        offset += ti.cast(sx * grid[0] + sy * grid[1] + sz * grid[2], search)
                    offset_code = image_code(ivec(sx, sy, sz), most_image)
                    here = sx == 0 and sy == 0 and sz == 0
                    while is_left(base < end, staged):
                        hits = 0
                        if base < end:
                            hits, closest = compared(base, end, offset, limit2, folded)
                            if here and i >= base and i < base + WORD:
                                hits &= ~(1 << (i - base))
                            if closest < ti.cast(CLOSEST2, search):
                                look_closer(i, base, hits, offset, ident, folded, control)
                        while is_left(hits != 0, staged):
                            while hits != 0 and (not staged or found - kept < stage_size):
                                j = base + lowest(hits)
                                hits = without_lowest(hits)
                                code = offset_code
                                if marked(folded[j]) | marked(x) == 1:
                                    image = ivec(sx, sy, sz) - (turns[j] - turns[i])
                                    code = image_code(image, most_image)
                                    for a in ti.static(range(3)):
                                        if ti.abs(image[a]) > most_image[a]:
                                            ti.atomic_max(control[IMAGE_X + a], ti.abs(image[a]))
                                entry = (j << shift_bits) | (code & ((1 << shift_bits) - 1))
                                if ti.static(staged):
                                    stage[staged_at(found, thread)] = entry
                                else:
                                    kept += 1
                                    if found < width:
                                        entries[slot(i, found, n, width, layout)] = entry
                                found += 1
                            if ti.static(staged):
                                while some(found - kept > stage_size - CHUNK):
                                    number = ti.select(found - kept >= CHUNK, CHUNK, 0)
                                    place = claim(thread % atoms, kept, number, taken)
                                    spill(i, thread, place, kept, number, n, width, stage, entries)
                                    kept += number
                        base += WORD
                    sz += 1
        return found, kept

    @ti.func
    def fill_rows(n, width, shift_bits, count: ti.template(), entries: ti.template(), control: ti.template(), ident: ti.template(), radius2, bins, reach, periodic, most_image, grid: ti.template(), starts: ti.template(), folded: ti.template(), turns: ti.template(), bin_of: ti.template()):  # fmt: skip
        """Neighbours of every atom within the radius; one thread an atom finds them in the order of the bins.

        Counts go on past the width, so that the host knows the need.
        """
        if ti.static(not staged):
            for i in range(n):
                # In registers: arguments of a kernel are read again after each store.
                of_all, room, code_bits = ti.max(n, 0), ti.max(width, 0), ti.max(shift_bits, 0)
                found, _ = search_row(i, 0, 0, count, count, of_all, room, code_bits, entries, control, ident, radius2, bins, reach, periodic, most_image, grid, starts, folded, turns, bin_of)  # fmt: skip
                count[i] = found
                # Most atoms need no atomic: the maximum is soon known.
                if found > control[MOST]:
                    ti.atomic_max(control[MOST], found)
        else:
            ti.loop_config(block_dim=block)
            for index in range((n + atoms - 1) // atoms * block):
                # Threads beyond the last atom stay for the barriers. Those of a warp have the same lane, and neighbours.
                stage = ti.simt.block.SharedArray((stage_size * (block + 1),), ti.i32)
                taken = ti.simt.block.SharedArray((atoms,), ti.i32)
                thread = index % block
                at, lane = thread % atoms, thread // atoms
                i = index // block * atoms + at
                if ti.static(lanes > 1):
                    if lane == 0:
                        taken[at] = 0
                    ti.simt.block.sync()
                found, kept = search_row(i, lane, thread, stage, taken, n, width, shift_bits, entries, control, ident, radius2, bins, reach, periodic, most_image, grid, starts, folded, turns, bin_of)  # fmt: skip
                if ti.static(lanes > 1):  # whole chunks of all threads come first
                    ti.simt.block.sync()
                while some(found > kept):
                    number = ti.min(found - kept, CHUNK)
                    place = claim(at, kept, number, taken)
                    spill(i, thread, place, kept, number, n, width, stage, entries)
                    kept += number
                if ti.static(lanes > 1):
                    ti.simt.block.sync()
                    found = taken[at]
                if i < n and lane == 0:
                    count[i] = found
                    if found > control[MOST]:
                        ti.atomic_max(control[MOST], found)
                if ti.static(lanes > 1):
                    ti.simt.block.sync()
        if n > 0:
            image_fits = True
            for a in ti.static(range(3)):
                image_fits = image_fits and control[IMAGE_X + a] <= most_image[a]
            fits = image_fits and control[MOST] <= width and control[CLOSE] == NONE
            control[REBUILD] = 0 if fits else 1
            control[STALE] = 1
            control[CUTS] = 0

    return SimpleNamespace(mark=mark, fill_rows=fill_rows)
