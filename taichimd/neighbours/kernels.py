"""Kernels of the neighbour search: spatial sort and fill; one call builds a list.

An entry of a list is one 32-bit integer: the neighbour's sorted index in the high bits, the code of its
image T, 0 for none, in the low ones (`shift_bits`). The distance vector is pos[j] - pos[i] + T, with positions as they
are, never folded: it does not depend on when or where the list was built. The entries of an atom stand in
the order of the bins, in which neighbouring atoms find the same memory; sums over them do not depend on
their order (`enumerate.exact`), or go over the near list, which is ordered (`prune`).
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
    REBUILD,
    STALE,
)
from taichimd.runtime import step_kernel, ti

BLOCK = 128
"""Length of the serial pieces of a scan."""

CLOSEST2 = 4e-4
"""Square of the distance (angstrom) below which two atoms count as coincident."""


@ti.func
def slot(i, s, n, width, by_slot: ti.template()):
    """Place of entry s of atom i: slot-major where a warp reads one slot of 32 atoms, else atom-major."""
    place = i * width + s
    if ti.static(by_slot):
        place = s * n + i
    return place


@ti.func
def through_image(d, entry, shift_bits, shifts: ti.template()):
    """The vector d = r_j - r_i of an entry, through the image that it names."""
    code = entry & ((1 << shift_bits) - 1)
    if code != 0:
        d += shifts[code]
    return d


@ti.func
def scan(n, counts: ti.template(), starts: ti.template(), sums: ti.template()):
    """starts[k] = counts[0] + ... + counts[k-1] for k = 0..n, in three levels of serial pieces.

    `sums` holds the totals of level one, and behind them those of level two.
    """
    first = (n + BLOCK - 1) // BLOCK
    second = (first + BLOCK - 1) // BLOCK
    for b in range(first):
        total = 0
        for k in range(b * BLOCK, ti.min(n, b * BLOCK + BLOCK)):
            starts[k] = total
            total += counts[k]
        sums[b] = total
    for b in range(second):
        total = 0
        for k in range(b * BLOCK, ti.min(first, b * BLOCK + BLOCK)):
            value = sums[k]
            sums[k] = total
            total += value
        sums[first + b] = total
    if n > 0:
        total = 0
        for k in range(second):
            value = sums[first + k]
            sums[first + k] = total
            total += value
        starts[n] = total
    for k in range(n):
        starts[k] += sums[k // BLOCK] + sums[first + k // BLOCK // BLOCK]


@cache
def list_kernels(real: Any, search: Any, by_slot: bool) -> Any:
    """`build` and `refill` for one precision and one list layout.

    Args:
        real: ti.f64 or ti.f32, of the atoms.
        search: the same or ti.f32: of the copies of the positions that the search compares. Half the
            memory; the caller makes the radius longer by what that may be wrong by.
        by_slot: slot-major rows (CUDA).
    """
    vec = ti.types.vector(3, real)
    ivec = ti.types.vector(3, ti.i32)
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=vec, ndim=1)
    searched: Any = ti.types.ndarray(dtype=ti.types.vector(3, search), ndim=1)
    ivecs: Any = ti.types.ndarray(dtype=ivec, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)

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
        control[MOST] = 0
        control[CLOSE] = NONE
        for a in ti.static(range(3)):
            control[IMAGE_X + a] = 0

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
    def fill_rows(n, width, radius2, bins, reach, periodic, most_image, shift_bits, grid: ti.template(), bin_of: ti.template(), starts: ti.template(), folded: ti.template(), turns: ti.template(), turn_code: ti.template(), ident: ti.template(), count: ti.template(), entries: ti.template(), control: ti.template()):  # fmt: skip
        """Neighbours of every atom within the radius, in the order of the bins.

        Counts go on past the width, so that the host knows the need.
        """
        for i in range(n):
            turn_code[i] = image_code(turns[i], most_image)
        limit2 = ti.cast(radius2, search)
        for i in range(n):
            x = folded[i]
            b = bin_of[i]
            at = ivec(b // (bins[1] * bins[2]), (b // bins[2]) % bins[1], b % bins[2])
            found = 0
            low = at - reach
            high = at + reach
            for a in ti.static(range(3)):
                if periodic[a] == 0:
                    low[a] = ti.max(low[a], 0)
                    high[a] = ti.min(high[a], bins[a] - 1)
            for gx in range(low[0], high[0] + 1):
                sx = cells_away(gx, bins[0])
                for gy in range(low[1], high[1] + 1):
                    sy = cells_away(gy, bins[1])
                    row = ((gx - sx * bins[0]) * bins[1] + gy - sy * bins[1]) * bins[2]
                    for sz in range(cells_away(low[2], bins[2]), cells_away(high[2], bins[2]) + 1):
                        # Bins that follow each other along z are one stretch of the sorted atoms.
                        begin = starts[row + ti.max(low[2] - sz * bins[2], 0)]
                        end = starts[row + ti.min(high[2] - sz * bins[2], bins[2] - 1) + 1]
                        offset = -x
                        if sx != 0 or sy != 0 or sz != 0:
                            offset += ti.cast(sx * grid[0] + sy * grid[1] + sz * grid[2], search)
                        offset_code = image_code(ivec(sx, sy, sz), most_image)
                        here = sx == 0 and sy == 0 and sz == 0
                        for j in range(begin, end):
                            d = folded[j] + offset
                            r2 = d.dot(d)
                            if r2 < limit2 and not (here and j == i):
                                if r2 < ti.cast(CLOSEST2, search):
                                    ti.atomic_min(control[CLOSE], ident[i])
                                # Codes are linear in the image S - turn_j + turn_i.
                                code = (offset_code + turn_code[i] - turn_code[j]) & ((1 << shift_bits) - 1)
                                turn = turns[j] - turns[i]
                                # Not their codes: those of turns beyond `most_image` may coincide.
                                if turn[0] != 0 or turn[1] != 0 or turn[2] != 0:
                                    image = ivec(sx, sy, sz) - turn
                                    for a in ti.static(range(3)):
                                        if ti.abs(image[a]) > most_image[a]:
                                            ti.atomic_max(control[IMAGE_X + a], ti.abs(image[a]))
                                if found < width:
                                    entries[slot(i, found, n, width, by_slot)] = (j << shift_bits) | code
                                found += 1
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

    @ti.kernel
    def refill(n: ti.i32, width: ti.i32, radius2: real, bins: ivec, reach: ivec, periodic: ivec, most_image: ivec, shift_bits: ti.i32, grid: vecs, starts: ints, folded: searched, turns: ivecs, turn_code: ints, bin_of: ints, count: ints, entries: ints, control: ints, ident: ints):  # fmt: skip
        """Fill again, into rows that have grown."""
        forget(control)
        fill_rows(n, width, radius2, bins, reach, periodic, most_image, shift_bits, grid, bin_of, starts, folded, turns, turn_code, ident, count, entries, control)  # fmt: skip

    @step_kernel
    def build(n: ti.i32, width: ti.i32, radius2: real, bins: ivec, reach: ivec, periodic: ivec, most_image: ivec, shift_bits: ti.i32, grid: vecs, starts: ints, folded: searched, turns: ivecs, turn_code: ints, bin_of: ints, count: ints, entries: ints, control: ints, sorted_of: ints, counts: ints, sums: ints, order: ints, turns_in: ivecs, bin_in: ints, built_at: vecs, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, kind: ints, pos_out: vecs, vel_out: vecs, force_out: vecs, inverse_mass_out: reals, ident_out: ints, kind_out: ints):  # fmt: skip
        """Sort the atoms in space, into the *_out arrays, and fill the list. One thread per atom or bin."""
        forget(control)
        n_bins = bins[0] * bins[1] * bins[2]
        for k in range(n_bins):
            counts[k] = 0
        bin_atoms(n, pos, grid, bins, periodic, bin_in, turns_in, counts)
        scan(n_bins, counts, starts, sums)
        for k in range(n_bins):
            counts[k] = 0
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
            folded[at] = ti.cast(x - (t[0] * grid[0] + t[1] * grid[1] + t[2] * grid[2]), search)
            built_at[at] = x
        fill_rows(n, width, radius2, bins, reach, periodic, most_image, shift_bits, grid, bin_of, starts, folded, turns, turn_code, ident_out, count, entries, control)  # fmt: skip

    return SimpleNamespace(build=build, refill=refill)
