"""Kernels of the neighbour search: spatial sort, fill, order.

An entry of a list is one 32-bit integer: the neighbour's sorted index in the high bits, the code of its
image T in the low ones (`shift_bits`). The distance vector is pos[j] - pos[i] + T, with positions as they
are, never folded: it does not depend on when or where the list was built. The entries of an atom stand in
the order of the user's atom numbers and, for several images of one atom, of T. So sums over them have one
order, whatever the skin, the moment of the build, or the spatial sort.
"""

from functools import cache
from typing import Any

from taichimd.runtime import ti

BLOCK = 128
"""Length of the serial pieces of a scan."""

# Slots of the status array that a build writes: the longest row, the largest image along each frame vector
# beyond what the codes hold, and the smallest number of an atom that has another one on top of it.
MOST, IMAGE_X, IMAGE_Y, IMAGE_Z, CLOSE = range(5)
STATUS_SIZE = 5
NONE = 2147483647
CLOSEST2 = 4e-4
"""Square of the distance (angstrom) below which two atoms count as coincident."""


@ti.func
def slot(i, s, n, width, by_slot: ti.template()):
    """Place of entry s of atom i: slot-major where a warp reads one slot of 32 atoms, else atom-major."""
    place = i * width + s
    if ti.static(by_slot):
        place = s * n + i
    return place


@ti.kernel
def exclusive_scan(n: ti.i32, counts: ti.types.ndarray(dtype=ti.i32, ndim=1), starts: ti.types.ndarray(dtype=ti.i32, ndim=1), sums: ti.types.ndarray(dtype=ti.i32, ndim=1)):  # fmt: skip
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
    for _ in range(1):
        total = 0
        for k in range(second):
            value = sums[first + k]
            sums[first + k] = total
            total += value
        starts[n] = total
    for k in range(n):
        starts[k] += sums[k // BLOCK] + sums[first + k // BLOCK // BLOCK]


@cache
def list_kernels(real: Any, by_slot: bool) -> Any:
    """Kernels that touch coordinates, for one precision and one list layout."""
    vec = ti.types.vector(3, real)
    ivec = ti.types.vector(3, ti.i32)
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=vec, ndim=1)
    ivecs: Any = ti.types.ndarray(dtype=ivec, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def bin_atoms(n: ti.i32, n_bins: ti.i32, pos: vecs, inverse: vecs, geometry: vecs, bins: ivec, periodic: ivec, bin_of: ints, turns: ivecs, counts: ints, status: ints):  # fmt: skip
        """Bin of each atom, whole turns that fold it into the cell, atoms per bin.

        `geometry` holds the grid's origin and bins per fractional unit. Launch: one thread per atom.
        """
        for k in range(n_bins):
            counts[k] = 0
        for k in range(STATUS_SIZE):
            status[k] = NONE if k == CLOSE else 0
        for i in range(n):
            x = pos[i]
            fractional = x[0] * inverse[0] + x[1] * inverse[1] + x[2] * inverse[2]
            index = 0
            turn = ivec(0)
            for a in ti.static(range(3)):
                f = fractional[a] - geometry[0][a]
                if periodic[a] != 0:
                    whole = ti.floor(f)
                    turn[a] = ti.cast(whole, ti.i32)
                    f -= whole
                # Clamped as a real number: far strays would overflow an integer.
                c = ti.cast(ti.min(ti.max(f * geometry[1][a], 0.0), bins[a] - 1.0), ti.i32)
                index = index * bins[a] + c
            turns[i] = turn
            bin_of[i] = index
            ti.atomic_add(counts[index], 1)

    @ti.kernel
    def place_atoms(n: ti.i32, n_bins: ti.i32, bin_of: ints, starts: ints, fill: ints, order: ints):
        """Atoms of each bin, in any order: `order[starts[bin]...]`. Launch: one thread per atom."""
        for k in range(n_bins):
            fill[k] = 0
        for i in range(n):
            b = bin_of[i]
            order[starts[b] + ti.atomic_add(fill[b], 1)] = i

    @ti.kernel
    def sort_atoms(n: ti.i32, frame: vecs, bin_of: ints, starts: ints, order: ints, turns: ivecs, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, kind: ints, pos_out: vecs, vel_out: vecs, force_out: vecs, inverse_mass_out: reals, ident_out: ints, kind_out: ints, sorted_of: ints, folded: vecs, turns_out: ivecs, bin_out: ints, built_at: vecs):  # fmt: skip
        """Move every per-atom quantity to its sorted place: by bin, within a bin by the user's number.

        Ranking by number makes the order defined although `place_atoms` filled the bins in any order.
        """
        for k in range(n):
            i = order[k]
            b = bin_of[i]
            mine = ident[i]
            rank = 0
            for other in range(starts[b], starts[b + 1]):
                if ident[order[other]] < mine:
                    rank += 1
            at = starts[b] + rank
            t = turns[i]
            pos_out[at] = pos[i]
            vel_out[at] = vel[i]
            force_out[at] = force[i]
            inverse_mass_out[at] = inverse_mass[i]
            ident_out[at] = mine
            kind_out[at] = kind[i]
            sorted_of[mine] = at
            turns_out[at] = t
            bin_out[at] = b
            folded[at] = pos[i] - (t[0] * frame[0] + t[1] * frame[1] + t[2] * frame[2])
            built_at[at] = pos[i]

    @ti.kernel
    def fill_rows(n: ti.i32, width: ti.i32, radius2: real, bins: ivec, reach: ivec, periodic: ivec, most_image: ivec, shift_bits: ti.i32, frame: vecs, bin_of: ints, starts: ints, folded: vecs, turns: ivecs, ident: ints, count: ints, keys: ints, status: ints):  # fmt: skip
        """Neighbours of every atom within the radius, unordered, as keys (user's number, image).

        Counts go on past the width, so that the host knows the need. Launch: one thread per atom.
        """
        for i in range(n):
            x = folded[i]
            own_turn = turns[i]
            b = bin_of[i]
            cz = b % bins[2]
            cy = (b // bins[2]) % bins[1]
            cx = b // (bins[1] * bins[2])
            found = 0
            low = ivec(cx, cy, cz) - reach
            high = ivec(cx, cy, cz) + reach
            for a in ti.static(range(3)):
                if periodic[a] == 0:
                    low[a] = ti.max(low[a], 0)
                    high[a] = ti.min(high[a], bins[a] - 1)
            for gx in range(low[0], high[0] + 1):
                sx = gx // bins[0] if periodic[0] != 0 else 0
                for gy in range(low[1], high[1] + 1):
                    sy = gy // bins[1] if periodic[1] != 0 else 0
                    row = ((gx - sx * bins[0]) * bins[1] + gy - sy * bins[1]) * bins[2]
                    first = low[2] // bins[2] if periodic[2] != 0 else 0
                    last = high[2] // bins[2] if periodic[2] != 0 else 0
                    for sz in range(first, last + 1):
                        # Bins that follow each other along z are one stretch of the sorted atoms.
                        begin = row + ti.max(low[2] - sz * bins[2], 0)
                        end = row + ti.min(high[2] - sz * bins[2], bins[2] - 1)
                        offset = sx * frame[0] + sy * frame[1] + sz * frame[2] - x
                        here = sx == 0 and sy == 0 and sz == 0
                        for j in range(starts[begin], starts[end + 1]):
                            d = folded[j] + offset
                            if d.dot(d) < radius2 and not (here and j == i):
                                if d.dot(d) < CLOSEST2:
                                    ti.atomic_min(status[CLOSE], ident[i])
                                image = ivec(sx, sy, sz) - turns[j] + own_turn
                                code = 0
                                for a in ti.static(range(3)):
                                    if ti.abs(image[a]) > most_image[a]:
                                        ti.atomic_max(status[IMAGE_X + a], ti.abs(image[a]))
                                    code = code * (2 * most_image[a] + 1) + image[a] + most_image[a]
                                if found < width:
                                    keys[slot(i, found, n, width, by_slot)] = (ident[j] << shift_bits) | code
                                found += 1
            count[i] = found
            ti.atomic_max(status[MOST], found)

    @ti.kernel
    def order_rows(n: ti.i32, width: ti.i32, shift_bits: ti.i32, sorted_of: ints, count: ints, keys: ints, entries: ints):  # fmt: skip
        """Put each row in order of its keys and turn user's numbers into sorted indices.

        The place of a key is the number of smaller ones; eight are ranked in one pass over the row, in
        registers. Launch: one thread per atom.
        """
        for i in range(n):
            m = ti.min(count[i], width)
            mask = (1 << shift_bits) - 1
            for group in range((m + 7) // 8):
                base = group * 8
                key = ti.Vector([2147483647, 2147483647, 2147483647, 2147483647, 2147483647, 2147483647, 2147483647, 2147483647])  # fmt: skip
                rank = ti.Vector([0, 0, 0, 0, 0, 0, 0, 0])
                for q in ti.static(range(8)):
                    if base + q < m:
                        key[q] = keys[slot(i, base + q, n, width, by_slot)]
                for t in range(m):
                    other = keys[slot(i, t, n, width, by_slot)]
                    for q in ti.static(range(8)):
                        rank[q] += ti.cast(other < key[q], ti.i32)
                for q in ti.static(range(8)):
                    if base + q < m:
                        entry = (sorted_of[key[q] >> shift_bits] << shift_bits) | (key[q] & mask)
                        entries[slot(i, rank[q], n, width, by_slot)] = entry

    class Kernels:
        """The compiled set."""

    for kernel in (bin_atoms, place_atoms, sort_atoms, fill_rows, order_rows):
        setattr(Kernels, kernel.__name__, staticmethod(kernel))
    return Kernels
