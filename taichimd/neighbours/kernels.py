"""Kernels of the neighbour search: spatial sort and fill; one call builds a list, or a loop on the device does.

An entry of a list is one 32-bit integer: the neighbour's sorted index in the high bits, the code of its
image T, 0 for none, in the low ones (`shift_bits`). The distance vector is pos[j] - pos[i] + T, with positions as they
are, never folded: it does not depend on when or where the list was built. Sums over the entries of an atom do not
depend on their order (`enumerate.exact`), or go over the near list, which is ordered (`prune`).
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.neighbours.control import (
    CLOSE,
    CUTS,
    IMAGE_X,
    LONGEST,
    MOST,
    NONE,
    OVERFULL,
    REBUILD,
    STALE,
)
from taichimd.neighbours.masks import WORD, lowest, without_lowest
from taichimd.neighbours.rows import slot
from taichimd.neighbours.scan import scan
from taichimd.runtime import step_kernel, ti

LARGE_BLOCK = 512
"""Threads of a block where several share an atom: such loops need more threads than a kernel's grid has blocks for."""

UNROLL = 4
"""Candidates that are compared at a time."""

CLOSEST2 = 4e-4
"""Square of the distance (angstrom) below which two atoms count as coincident."""


@ti.func
def through_image(d, entry, shift_bits, shifts: ti.template()):
    """The vector d = r_j - r_i of an entry, through the image that it names."""
    code = entry & ((1 << shift_bits) - 1)
    if code != 0:
        d += shifts[code]
    return d


@cache
def list_kernels(real: Any, search: Any, layout: int, lanes: int = 1) -> Any:
    """Kernels `build` and `refill`, and the device function `rebuild`, for one precision and one list layout.

    Args:
        real: ti.f64 or ti.f32, of the atoms.
        search: the same or ti.f32: of the copies of the positions that the search compares. Half the
            memory; the caller makes the radius longer by what that may be wrong by.
        layout: of rows (`neighbours.rows`).
        lanes: threads that share an atom in the search; the entries of a row then stand in any order.
    """
    vec = ti.types.vector(3, real)
    ivec = ti.types.vector(3, ti.i32)
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=vec, ndim=1)
    searched: Any = ti.types.ndarray(dtype=ti.types.vector(3, search), ndim=1)
    ivecs: Any = ti.types.ndarray(dtype=ivec, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    bits = ti.i32 if search == ti.f32 else ti.i64
    atoms = LARGE_BLOCK // lanes  # of a block

    @ti.func
    def bin_atoms(n, pos: ti.template(), grid: ti.template(), bins, periodic, bin_of: ti.template(), turns: ti.template(), counts: ti.template()):  # fmt: skip
        """Bin of each atom, whole turns that fold it into the cell, atoms per bin.

        `grid` holds the frame's vectors (rows 0-2), its inverse (3-5), origin (6) and bins per unit (7).
        """
        for i in range(n):
            x = pos[i]
            fractional = x[0] * grid[3] + x[1] * grid[4] + x[2] * grid[5]
            index = 0
            turn = ivec(0)
            for a in ti.static(range(3)):
                f = fractional[a] - grid[6][a]
                if periodic[a] != 0:
                    whole = ti.floor(f)
                    turn[a] = ti.cast(whole, ti.i32)
                    f -= whole
                # Clamped as a real number: far strays would overflow an integer.
                c = ti.cast(ti.min(ti.max(f * grid[7][a], 0.0), bins[a] - 1.0), ti.i32)
                index = index * bins[a] + c
            turns[i] = turn
            bin_of[i] = index
            ti.atomic_add(counts[index], 1)

    @ti.func
    def forget(control: ti.template()):
        control[LONGEST] = 0
        control[OVERFULL] = 0
        control[MOST] = 0
        control[CLOSE] = NONE
        for a in ti.static(range(3)):
            control[IMAGE_X + a] = 0

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
    def claim(at, found, number, held: ti.template()):
        """First of some places in a row of which `found` are taken, by this thread, or by what `held` says for all of them."""
        place = found
        if ti.static(lanes > 1):
            place = ti.atomic_add(held[at], number)
        return place

    @ti.func
    def compared(base, end, offset, limit2, folded: ti.template()):
        """Mask of those within the limit, of up to a word of atoms from `base` on; smallest r^2 of them.

        Nothing is stored, so that loads need not wait for stores.
        """
        count = ti.min(end - base, WORD)
        hits = 0
        closest = limit2
        for group in range((count + UNROLL - 1) // UNROLL):
            for u in ti.static(range(UNROLL)):
                k = group * UNROLL + u
                d = folded[base + k] + offset  # behind the last atom there is room for a group
                r2 = d.dot(d)
                hits |= ti.select((r2 < limit2) & (k < count), 1, 0) << k
                closest = ti.min(closest, r2)
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
    def search_row(i, lane, at, held: ti.template(), n, width, shift_bits, count: ti.template(), entries: ti.template(), control: ti.template(), ident: ti.template(), radius2, bins, reach, periodic, most_image, grid: ti.template(), starts: ti.template(), folded: ti.template(), turns: ti.template(), bin_of: ti.template()):  # fmt: skip
        """Fill every `lanes`-th column of bins into the row of atom i; how many entries that were."""
        limit2 = ti.cast(radius2, search)
        x = folded[i]
        b = bin_of[i]
        home = ivec(b // (bins[1] * bins[2]), (b // bins[2]) % bins[1], b % bins[2])
        found = 0
        column = 0
        low = home - reach
        high = home + reach
        for a in ti.static(range(3)):
            if periodic[a] == 0:
                low[a] = ti.max(low[a], 0)
                high[a] = ti.min(high[a], bins[a] - 1)
        first_z, last_z = cells_away(low[2], bins[2]), cells_away(high[2], bins[2])
        for gx in range(low[0], high[0] + 1):
            sx = cells_away(gx, bins[0])
            for gy in range(low[1], high[1] + 1):
                sy = cells_away(gy, bins[1])
                row = ((gx - sx * bins[0]) * bins[1] + gy - sy * bins[1]) * bins[2]
                last = last_z
                if ti.static(lanes > 1):
                    if column % lanes != lane:
                        last = first_z - 1
                    column += 1
                for sz in range(first_z, last + 1):
                    # Bins that follow each other along z are one stretch of the sorted atoms.
                    begin = starts[row + ti.max(low[2] - sz * bins[2], 0)]
                    end = starts[row + ti.min(high[2] - sz * bins[2], bins[2] - 1) + 1]
                    offset = -x
                    if sx != 0 or sy != 0 or sz != 0:
                        offset += ti.cast(sx * grid[0] + sy * grid[1] + sz * grid[2], search)
                    offset_code = image_code(ivec(sx, sy, sz), most_image)
                    here = sx == 0 and sy == 0 and sz == 0
                    base = begin
                    while base < end:
                        hits, closest = compared(base, end, offset, limit2, folded)
                        if here and i >= base and i < base + WORD:
                            hits &= ~(1 << (i - base))
                        if closest < ti.cast(CLOSEST2, search):
                            look_closer(i, base, hits, offset, ident, folded, control)
                        number = ti.math.popcnt(hits)
                        place = claim(at, found, number, held)
                        found += number
                        while hits != 0:
                            j = base + lowest(hits)
                            hits = without_lowest(hits)
                            code = offset_code
                            if marked(folded[j]) | marked(x) == 1:
                                image = ivec(sx, sy, sz) - (turns[j] - turns[i])
                                code = image_code(image, most_image)
                                for a in ti.static(range(3)):
                                    if ti.abs(image[a]) > most_image[a]:
                                        ti.atomic_max(control[IMAGE_X + a], ti.abs(image[a]))
                            if place < width:
                                entry = (j << shift_bits) | (code & ((1 << shift_bits) - 1))
                                entries[slot(i, place, n, width, layout)] = entry
                            place += 1
                        base += WORD
        return found

    @ti.func
    def fill_rows(n, width, shift_bits, count: ti.template(), entries: ti.template(), control: ti.template(), ident: ti.template(), radius2, bins, reach, periodic, most_image, grid: ti.template(), starts: ti.template(), folded: ti.template(), turns: ti.template(), bin_of: ti.template()):  # fmt: skip
        """Neighbours of every atom within the radius; one thread an atom finds them in the order of the bins.

        Counts go on past the width, so that the host knows the need.
        """
        if ti.static(lanes == 1):
            for i in range(n):
                found = search_row(i, 0, 0, count, n, width, shift_bits, count, entries, control, ident, radius2, bins, reach, periodic, most_image, grid, starts, folded, turns, bin_of)  # fmt: skip
                count[i] = found
                # Most atoms need no atomic: the maximum is soon known.
                if found > control[MOST]:
                    ti.atomic_max(control[MOST], found)
        else:
            ti.loop_config(block_dim=LARGE_BLOCK)
            for thread in range((n + atoms - 1) // atoms * LARGE_BLOCK):
                # Threads beyond the last atom stay for the barriers. Those of a warp have the same lane, and neighbours.
                held = ti.simt.block.SharedArray((atoms,), ti.i32)
                at, lane = thread % atoms, thread % LARGE_BLOCK // atoms
                i = thread // LARGE_BLOCK * atoms + at
                if lane == 0:
                    held[at] = 0
                ti.simt.block.sync()
                if i < n:
                    search_row(i, lane, at, held, n, width, shift_bits, count, entries, control, ident, radius2, bins, reach, periodic, most_image, grid, starts, folded, turns, bin_of)  # fmt: skip
                ti.simt.block.sync()
                if i < n and lane == 0:
                    found = held[at]
                    count[i] = found
                    if found > control[MOST]:
                        ti.atomic_max(control[MOST], found)
                ti.simt.block.sync()
        if n > 0:
            image_fits = True
            for a in ti.static(range(3)):
                image_fits = image_fits and control[IMAGE_X + a] <= most_image[a]
            fits = image_fits and control[MOST] <= width and control[CLOSE] == NONE
            control[REBUILD] = 0 if fits else 1
            control[STALE] = 1
            control[CUTS] = 0

    @ti.kernel
    def refill(n: ti.i32, width: ti.i32, shift_bits: ti.i32, count: ints, entries: ints, control: ints, ident: ints, radius2: real, bins: ivec, reach: ivec, periodic: ivec, most_image: ivec, grid: vecs, starts: ints, folded: searched, turns: ivecs, bin_of: ints):  # fmt: skip
        """Fill again, into rows that have grown."""
        forget(control)
        fill_rows(n, width, shift_bits, count, entries, control, ident, radius2, bins, reach, periodic, most_image, grid, starts, folded, turns, bin_of)  # fmt: skip

    @ti.func
    def rebuild(n, width, shift_bits, count: ti.template(), entries: ti.template(), control: ti.template(), built_at: ti.template(), pos: ti.template(), vel: ti.template(), force: ti.template(), inverse_mass: ti.template(), ident: ti.template(), kind: ti.template(), radius2, bins, reach, periodic, most_image, grid: ti.template(), starts: ti.template(), folded: ti.template(), turns: ti.template(), bin_of: ti.template(), sorted_of: ti.template(), counts: ti.template(), sums: ti.template(), order: ti.template(), turns_in: ti.template(), bin_in: ti.template(), pos_out: ti.template(), vel_out: ti.template(), force_out: ti.template(), inverse_mass_out: ti.template(), ident_out: ti.template(), kind_out: ti.template()):  # fmt: skip
        """Sort the n atoms in space, through the *_out arrays, and fill the list; nothing for n = 0."""
        n_bins = bins[0] * bins[1] * bins[2]
        if n == 0:
            n_bins = 0
        else:
            forget(control)
        for k in range(n_bins):
            starts[k] = 0
            counts[k] = 0
        bin_atoms(n, pos, grid, bins, periodic, bin_in, turns_in, starts)
        scan(n_bins, starts, 0, sums, 0)
        for i in range(n):
            b = bin_in[i]
            order[starts[b] + ti.atomic_add(counts[b], 1)] = i
        for k in range(n):
            # The bins were filled in any order; ranking by the user's number makes it a defined one.
            i = order[k]
            b = bin_in[i]
            mine = ident[i]
            rank = 0
            for other in range(starts[b], starts[b + 1]):
                if ident[order[other]] < mine:
                    rank += 1
            at = starts[b] + rank
            t = turns_in[i]
            x = pos[i]
            pos_out[at] = x
            vel_out[at] = vel[i]
            force_out[at] = force[i]
            inverse_mass_out[at] = inverse_mass[i]
            ident_out[at] = mine
            kind_out[at] = kind[i]
            sorted_of[mine] = at
            turns[at] = t
            bin_of[at] = b
            folded[at] = mark(ti.cast(x - (t[0] * grid[0] + t[1] * grid[1] + t[2] * grid[2]), search), t)
            built_at[at] = x
        for i in range(n):
            pos[i] = pos_out[i]
            vel[i] = vel_out[i]
            force[i] = force_out[i]
            inverse_mass[i] = inverse_mass_out[i]
            ident[i] = ident_out[i]
            kind[i] = kind_out[i]
        fill_rows(n, width, shift_bits, count, entries, control, ident, radius2, bins, reach, periodic, most_image, grid, starts, folded, turns, bin_of)  # fmt: skip

    @step_kernel
    def build(n: ti.i32, width: ti.i32, shift_bits: ti.i32, count: ints, entries: ints, control: ints, built_at: vecs, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, kind: ints, radius2: real, bins: ivec, reach: ivec, periodic: ivec, most_image: ivec, grid: vecs, starts: ints, folded: searched, turns: ivecs, bin_of: ints, sorted_of: ints, counts: ints, sums: ints, order: ints, turns_in: ivecs, bin_in: ints, pos_out: vecs, vel_out: vecs, force_out: vecs, inverse_mass_out: reals, ident_out: ints, kind_out: ints):  # fmt: skip
        """Sort the atoms in space and fill the list. Launch: one thread per atom or bin."""
        rebuild(n, width, shift_bits, count, entries, control, built_at, pos, vel, force, inverse_mass, ident, kind, radius2, bins, reach, periodic, most_image, grid, starts, folded, turns, bin_of, sorted_of, counts, sums, order, turns_in, bin_in, pos_out, vel_out, force_out, inverse_mass_out, ident_out, kind_out)  # fmt: skip

    return SimpleNamespace(build=build, refill=refill, rebuild=rebuild)
