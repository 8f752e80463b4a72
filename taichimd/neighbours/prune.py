"""The near list: the rows of the Verlet list cut down to what the next steps can need.

Two skins. The Verlet list reaches cutoff + outer skin and is built rarely; the near list keeps of it the
pairs within their own cutoff + inner skin, and is what the loops over triples read. It is cut anew, on the
device and without the host, once an atom has moved by half the inner skin since the last cut. A cut is
complete as long as no atom has moved from the build by more than half of what the skins differ by: otherwise
the kernel asks for a rebuild and freezes.

The entries of an atom stand in the order of the user's atom numbers and, for several images of one atom, of
T, and entries beyond a cutoff add nothing. So sums over them have one order: neither a skin, nor the moment
of a build or a cut, nor the spatial sort shows in a result.

Where sums need no order, several threads may share an atom, and its entries stand as they were found.

Distances are those of `packed` positions.

`reverse` says where the entry (j, i) of an entry (i, j) stands. Pair potentials need neither it nor an order
(`enumerate.exact`).
"""

from types import SimpleNamespace
from typing import Any

from taichimd.neighbours.control import CUTS, LONGEST, OVERFULL, REBUILD, STALE
from taichimd.neighbours.kernels import LARGE_BLOCK, slot
from taichimd.neighbours.limits import LARGEST, LARGEST_PAIR, PAIRS, SMALLEST_PAIR, UNITS, limit_of
from taichimd.neighbours.packed import opposite, packed, squared
from taichimd.neighbours.tuple_arrays import row_width
from taichimd.runtime import ti


def prune_functions(
    n_kinds: int,
    by_slot: bool,
    ordered: bool,
    with_reverse: bool,
    coupled: Any,
    cell: bool,
    lanes: int = 1,
    pair_rows: bool = False,
) -> Any:
    """Device functions `prune`, which cuts the near list if it is stale and holds its own parallel loops, and `close`.

    Args:
        n_kinds: species.
        by_slot: slot-major rows (CUDA).
        ordered: put rows in order, where sums depend on it.
        with_reverse: make `reverse`, where something is kept per entry.
        coupled: functions of thermostat or barostat, of which `strayed` is the displacement test.
        cell: whether the cell moves; how far is in the array `bath`.
        lanes: threads that share an atom, where rows need no order.
        pair_rows: make a second near list, of the pair term, whose cutoff is longer; in `t`.
    """
    ahead = 8 if by_slot else 1  # entries read at a time: their latencies pass together
    lanes = 1 if ordered else lanes
    stride = lanes * ahead
    atoms = LARGE_BLOCK // lanes  # of a block

    @ti.func
    def key_of(entry, shift_bits, ident: ti.template()):
        return (ident[entry >> shift_bits] << shift_bits) | (entry & ((1 << shift_bits) - 1))

    @ti.func
    def insert(i, kept, entry, n, near_width, shift_bits, ident: ti.template(), near: ti.template()):
        """Put an entry into its place among the `kept` ones of atom i."""
        at = kept
        if ti.static(ordered):
            key = key_of(entry, shift_bits, ident)
            while at > 0 and key_of(near[slot(i, at - 1, n, near_width, by_slot)], shift_bits, ident) > key:
                near[slot(i, at, n, near_width, by_slot)] = near[slot(i, at - 1, n, near_width, by_slot)]
                at -= 1
        near[slot(i, at, n, near_width, by_slot)] = entry

    @ti.func
    def cut_row(i, lane, at, held: ti.template(), n, width, near_width, shift_bits, most_drift2, pos: ti.template(), ident: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), limits2: ti.template(), places: ti.template(), built_at: ti.template(), near: ti.template(), control: ti.template(), bath: ti.template(), t: ti.template()):  # fmt: skip
        """Copy of every `lanes`-th entry of atom i what is near; how many that were. `held` counts those of all threads."""
        if coupled.strayed(pos[i], built_at[i], most_drift2, False, bath) == 1:
            control[REBUILD] = 1
        largest = ti.cast(limits2[LARGEST], ti.i32)
        smallest_pair, largest_pair = (
            ti.cast(limits2[SMALLEST_PAIR], ti.i32),
            ti.cast(limits2[LARGEST_PAIR], ti.i32),
        )
        mask = (1 << shift_bits) - 1
        here = opposite(places[i])
        kept, pairs = 0, 0
        m = count[i]
        for base in range((m - lane + stride - 1) // stride):
            first = base * stride + lane
            read = [
                entries[slot(i, ti.min(first + lanes * k, m - 1), n, width, by_slot)]
                for k in ti.static(range(ahead))
            ]
            apart = [
                places[entry >> shift_bits] + places[n + (entry & mask)] + here for entry in ti.static(read)
            ]
            for k in ti.static(range(ahead)):
                entry = read[k]
                r2 = squared(apart[k])
                there_is = first + lanes * k < m
                if ti.static(pair_rows):
                    if there_is and r2 < largest_pair:
                        if r2 < smallest_pair or r2 < limit_of(
                            PAIRS, i, entry >> shift_bits, n_kinds, kind, limits2
                        ):
                            if pairs < row_width(n, t):
                                t.tuples[slot(i, pairs, n, row_width(n, t), by_slot)] = entry
                            pairs += 1
                if (
                    there_is
                    and r2 < largest
                    and r2 < limit_of(0, i, entry >> shift_bits, n_kinds, kind, limits2)
                ):
                    place = kept
                    if ti.static(lanes > 1):
                        place = ti.atomic_add(held[at], 1)
                    if place < near_width:
                        insert(i, place, entry, n, near_width, shift_bits, ident, near)
                    kept += 1
        if ti.static(pair_rows):
            t.firsts[i] = pairs
            if pairs > t.firsts[n]:
                ti.atomic_max(t.firsts[n], pairs)
            if pairs > row_width(n, t):
                control[OVERFULL] = 1
        return kept

    @ti.func
    def close_row(i, kept, pos: ti.template(), near_count: ti.template(), pruned_at: ti.template(), control: ti.template()):  # fmt: skip
        near_count[i] = kept
        pruned_at[i] = pos[i]
        if kept > control[LONGEST]:
            ti.atomic_max(control[LONGEST], kept)

    @ti.func
    def prune(n, width, near_width, shift_bits, most_drift2, pos: ti.template(), ident: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), limits2: ti.template(), places: ti.template(), built_at: ti.template(), near_count: ti.template(), near: ti.template(), reverse: ti.template(), pruned_at: ti.template(), control: ti.template(), bath: ti.template(), t: ti.template()):  # fmt: skip
        mask = (1 << shift_bits) - 1
        for k in range(n + shifts.shape[0]):
            if control[STALE] != 0 and control[REBUILD] == 0:
                per_angstrom = ti.cast(limits2[UNITS], ti.f64)
                if k < n:
                    places[k] = packed(pos[k], per_angstrom)
                else:
                    places[k] = packed(shifts[k - n], per_angstrom)
        if ti.static(lanes == 1):
            for i in range(n):
                if control[STALE] != 0 and control[REBUILD] == 0:
                    kept = cut_row(i, 0, 0, near_count, n, width, near_width, shift_bits, most_drift2, pos, ident, kind, count, entries, shifts, limits2, places, built_at, near, control, bath, t)  # fmt: skip
                    close_row(i, kept, pos, near_count, pruned_at, control)
        else:
            ti.loop_config(block_dim=LARGE_BLOCK)
            for thread in range((n + atoms - 1) // atoms * LARGE_BLOCK):
                # Threads beyond the last atom stay for the barriers. Those of a warp have the same lane, and neighbours.
                held = ti.simt.block.SharedArray((atoms,), ti.i32)
                at, lane = thread % atoms, thread % LARGE_BLOCK // atoms
                i = thread // LARGE_BLOCK * atoms + at
                does = i < n and control[STALE] != 0
                if lane == 0:
                    held[at] = 0
                ti.simt.block.sync()
                if does and control[REBUILD] == 0:
                    cut_row(i, lane, at, held, n, width, near_width, shift_bits, most_drift2, pos, ident, kind, count, entries, shifts, limits2, places, built_at, near, control, bath, t)  # fmt: skip
                ti.simt.block.sync()
                if does and lane == 0:
                    close_row(i, held[at], pos, near_count, pruned_at, control)
                ti.simt.block.sync()
        if ti.static(with_reverse):
            for i in range(n):
                if control[STALE] != 0 and control[REBUILD] == 0:
                    for s in range(ti.min(near_count[i], near_width)):
                        entry = near[slot(i, s, n, near_width, by_slot)]
                        j = entry >> shift_bits
                        # The image seen from the other side has the negative code.
                        mirrored = (i << shift_bits) | (-(entry & mask) & mask)
                        for u in range(ti.min(near_count[j], near_width)):
                            at = slot(j, u, n, near_width, by_slot)
                            if near[at] == mirrored:
                                reverse[slot(i, s, n, near_width, by_slot)] = at

    @ti.func
    def close_cut(near_width, control: ti.template(), bath: ti.template()):
        """The end of a cut: the near list is fit, or there is too little room. Serial."""
        if control[STALE] != 0 and control[REBUILD] == 0:
            if control[LONGEST] > near_width or control[OVERFULL] != 0:
                control[REBUILD] = 1
            else:
                control[STALE] = 0
                control[CUTS] += 1
                if ti.static(cell):
                    coupled.forget_near(bath)

    return SimpleNamespace(prune=prune, close=close_cut)
