"""The near list: the rows of the Verlet list cut down to what the next steps can need.

Two skins. The Verlet list reaches cutoff + outer skin and is built rarely; the near list keeps of it the
pairs within their own cutoff + inner skin, and is what the loops over triples read. It is filtered again, on
the device and without the host, once an atom has moved by half the inner skin since the last cut. A cut is
complete as long as no atom has moved from the build by more than half of what the skins differ by: otherwise
the kernel asks for a rebuild and freezes.

The entries of an atom stand in the order of the user's atom numbers and, for several images of one atom, of
T, and entries beyond a cutoff add nothing. So sums over them have one order: neither a skin, nor the moment
of a build or a cut, nor the spatial sort shows in a result.

Distances are those of `packed` positions. Where rows are in chunks (`rows`) and long, the threads of a chunk
share an atom, and entries are put in order afterwards.

`reverse` says where the entry (j, i) of an entry (i, j) stands. Pair potentials need neither it nor an order
(`enumerate.reproducible_sum`).
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import Control
from taichimd.neighbours.cut_runs import cut_function
from taichimd.neighbours.entries import insert, neighbour
from taichimd.neighbours.limits import LARGEST, LARGEST_PAIR, PAIRS, SMALLEST_PAIR, UNITS, limit_of
from taichimd.neighbours.packed import opposite, packed, squared, to_neighbour
from taichimd.neighbours.pages import read as read_entry
from taichimd.neighbours.pages import write
from taichimd.neighbours.rows import ATOM_MAJOR, CHUNK, CHUNKED, body_layout, claim, is_left, row_layout, slot
from taichimd.neighbours.tuple_arrays import pair_width
from taichimd.system.cell import NEAR_LIST

AHEAD, AHEAD_SHARED = 8, 4
"""Entries that a thread of a GPU reads at a time: their latencies pass together."""


def threads_of_cut(backend: str, has_pairs: bool) -> int:
    """Threads that share an atom in a cut: several if rows are in chunks and long, as for pair terms.

    Rows of three-body terms alone are cut by one thread for each atom, which leaves them in order
    (docs/decisions, 009).
    """
    return CHUNK if row_layout(backend) == CHUNKED and has_pairs else 1


@dataclass(frozen=True)
class PruneFunctions:
    """Device functions of the cut of a near list."""

    prune: DeviceFunction  # cuts the list if it is stale, in loops of its own
    unfit: DeviceFunction  # whether its rows have too little room


def prune_functions(
    n_kinds: int,
    backend: str,
    ordered: bool,
    with_reverse: bool,
    box: Any,
    threads: int,
    pair_rows: bool = False,
    number: int = 0,
) -> PruneFunctions:
    """The functions for the near list of a group (its `number`) of terms; `threads` share an atom.

    `ordered`: put rows in order, where sums depend on it; `with_reverse`: make `reverse`, where something is
    kept per entry; `pair_rows`: make a second near list, of the pair term, whose cutoff is longer.
    """
    rows = row_layout(backend)
    layout = body_layout(backend) if ordered else rows
    shared = threads > 1
    ahead = AHEAD_SHARED if shared else AHEAD
    in_runs = cut_function(n_kinds, ordered, pair_rows) if rows == ATOM_MAJOR else None
    longest, overfull = Control.longest_near + number, Control.overfull + number

    @ti.func
    def place_of(keeps, kept, thread):
        """Place of an entry, if it is kept, after those of its atom that are known, and how many are then."""
        place, then = kept, kept
        if ti.static(shared):
            before, all_of_them = claim(keeps, thread)
            place += before
            then += all_of_them
        elif keeps:
            then += 1
        return place, then

    @ti.func
    def cut_row(i, thread, m, n, width, near_width, shift_bits, g: ti.template()):
        """Copy the near ones of the first m entries of atom i, by the threads that share it; their number."""
        lane = thread % threads
        largest = ti.cast(g.near.limits2[LARGEST], ti.i32)
        smallest_pair = ti.cast(g.near.limits2[SMALLEST_PAIR], ti.i32)
        largest_pair = ti.cast(g.near.limits2[LARGEST_PAIR], ti.i32)
        here = opposite(g.near.places[i])
        kept, pairs = 0, 0
        first = lane
        while is_left(first < m, shared):
            # What is not there reads as the first atom.
            read = [
                ti.select(
                    first + threads * k < m,
                    read_entry(
                        g.verlet.entries, i, ti.min(first + threads * k, ti.max(m - 1, 0)), n, width, rows
                    ),
                    0,
                )
                for k in ti.static(range(ahead))
            ]  # fmt: skip
            apart = [to_neighbour(here, entry, n, shift_bits, g.near.places) for entry in ti.static(read)]
            for k in ti.static(range(ahead)):
                entry = read[k]
                r2 = squared(apart[k])
                there_is = first + threads * k < m
                if ti.static(pair_rows):
                    keeps = there_is and r2 < largest_pair
                    if keeps and r2 >= smallest_pair:
                        keeps = r2 < limit_of(
                            PAIRS, i, neighbour(entry, shift_bits), n_kinds, g.verlet.kind, g.near.limits2
                        )
                    place, pairs = place_of(keeps, pairs, thread)
                    if keeps and place < pair_width(n, g.tuples):
                        write(g.tuples.tuples, i, place, n, pair_width(n, g.tuples), rows, entry)
                keeps = there_is and r2 < largest
                if ti.static(n_kinds > 1):
                    if keeps:
                        keeps = r2 < limit_of(
                            0, i, neighbour(entry, shift_bits), n_kinds, g.verlet.kind, g.near.limits2
                        )
                place, kept = place_of(keeps, kept, thread)
                if keeps and place < near_width:
                    if ti.static(ordered and not shared):
                        insert(i, place, entry, n, near_width, shift_bits, g.ident, g.near.entries, layout)
                    else:
                        g.near.entries[slot(i, place, n, near_width, layout)] = entry
            first += threads * ahead
        return kept, pairs

    @ti.func
    def prune(g: ti.template(), most_drift2, control: ti.template(), cells: ti.template()):
        for k in range(g.places_end):
            if control[Control.stale] != 0 and control[Control.rebuild] == 0:
                per_angstrom = ti.cast(g.near.limits2[UNITS], ti.f64)
                if k < g.n:
                    g.near.places[k] = packed(g.near.pos[k], per_angstrom)
                else:
                    g.near.places[k] = packed(g.near.shifts[k - g.n], per_angstrom)
        # Whole warps: all of their threads have a say in what is left to do.
        for thread in range(g.cut_end):
            n, near_width = g.n, g.near.width
            i = ti.min(thread // threads, n - 1)
            does = thread < n * threads and control[Control.stale] != 0 and control[Control.rebuild] == 0
            m = 0
            if does:
                m = g.verlet.count[i]
                if box.strayed(i, g.near.pos[i], g.verlet.made_at[i], most_drift2, False, cells) == 1:
                    control[Control.rebuild] = 1
            kept, pairs = 0, 0
            if ti.static(bool(in_runs)):
                if does:
                    kept, pairs = in_runs(i, m, g)
            elif is_left(does, shared):
                kept, pairs = cut_row(i, thread, m, n, g.verlet.width, near_width, g.verlet.shift_bits, g)
            if does and thread % threads == 0:
                g.near.count[i] = kept
                g.near.made_at[i] = g.near.pos[i]
                if kept > control[longest]:
                    ti.atomic_max(control[longest], kept)
                if ti.static(pair_rows):
                    g.tuples.firsts[i] = pairs
                    if pairs > g.tuples.firsts[n]:
                        ti.atomic_max(g.tuples.firsts[n], pairs)
                    if pairs > pair_width(n, g.tuples):
                        control[overfull] = 1
        if ti.static(ordered and shared):
            for i in range(g.n):
                if control[Control.stale] != 0 and control[Control.rebuild] == 0:
                    n, near_width, shift_bits = g.n, g.near.width, g.verlet.shift_bits
                    for s in range(1, ti.min(g.near.count[i], near_width)):
                        insert(
                            i, s, g.near.entries[slot(i, s, n, near_width, layout)], n, near_width,
                            shift_bits, g.ident, g.near.entries, layout
                        )  # fmt: skip
        if ti.static(with_reverse):
            for i in range(g.n):
                if control[Control.stale] != 0 and control[Control.rebuild] == 0:
                    n, near_width, shift_bits = g.n, g.near.width, g.verlet.shift_bits
                    mask = (1 << shift_bits) - 1
                    for s in range(ti.min(g.near.count[i], near_width)):
                        entry = g.near.entries[slot(i, s, n, near_width, layout)]
                        j = neighbour(entry, shift_bits)
                        # The image seen from the other side has the negative code.
                        mirrored = (i << shift_bits) | (-(entry & mask) & mask)
                        # A row that was emptied, which no atom that counts needs, has none.
                        reverse = slot(i, s, n, near_width, layout)
                        for u in range(ti.min(g.near.count[j], near_width)):
                            at = slot(j, u, n, near_width, layout)
                            if g.near.entries[at] == mirrored:
                                reverse = at
                        g.kept.reverse[slot(i, s, n, near_width, layout)] = reverse

    @ti.func
    def unfit(near_width, control: ti.template()):
        """Whether the rows of a cut have too little room. Serial."""
        return ti.cast(control[longest] > near_width, ti.i32) | ti.cast(control[overfull] != 0, ti.i32)

    return PruneFunctions(prune, unfit)


def close_cut_function(box: Any) -> Any:
    """The device function that ends a cut: the near lists are fit, or there is too little room. Serial."""

    @ti.func
    def close_cut(unfit, control: ti.template(), cells: ti.template()):
        if control[Control.stale] != 0 and control[Control.rebuild] == 0:
            if unfit != 0:
                control[Control.rebuild] = 1
            else:
                control[Control.stale] = 0
                control[Control.cuts] += 1
                if ti.static(box.moves):
                    box.forget(NEAR_LIST, cells)

    return close_cut
