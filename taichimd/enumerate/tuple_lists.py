"""Lists of pairs and triplets, made on the device when the near list is cut: count, running sum, fill.

P. E. Small, K. Liu, S. Tiwari, R. K. Kalia, A. Nakano, K. Nomura, P. Vashishta, HPC Asia 2018,
doi:10.1145/3149457.3149463, algorithms 1 and 2, with these differences. Candidates come from the Verlet list,
not from pairs of cells. No global counter is incremented: each atom counts its tuples, a running sum places
them, so that they stand as the atoms and their rows do: triplets in a defined order, pairs as the Verlet list
has them. And a list holds what is within cutoff + inner skin, so that it serves for several steps; what is
beyond the cutoff now adds nothing.

An atom lists the pairs with atoms that come after it. Their other ends are listed in any order: sums over the
pairs of an atom are exact (`reproducible_sum`). Triplets of a centre stand in the order of its near row, s
before t, s < t.
"""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.access import access
from taichimd.enumerate.group import TermGroup
from taichimd.neighbours.control import Control
from taichimd.neighbours.entries import neighbour, vector_to
from taichimd.neighbours.limits import PAIRS, SKIN, limit_of
from taichimd.neighbours.packed import opposite, squared, to_neighbour
from taichimd.neighbours.pages import read
from taichimd.neighbours.rows import body_layout, row_layout
from taichimd.neighbours.scan import scan, scan_ends
from taichimd.neighbours.tuple_arrays import entry_at, pairs_end, triplet_at, triplets_begin, triplets_end


def tuple_lists_function(group: TermGroup, real: Any, term: Any, backend: str) -> Any:
    """The device function that lists the tuples of a near list just cut; holds its own parallel loops."""
    terms = group.terms
    has_pair, has_body = group.by_tuple.pairs, group.by_tuple.bodies
    longest, overfull = Control.longest_near + group.number, Control.overfull + group.number
    is_bond_order = terms.bond_order is not None
    far = terms.short_body  # pairs are then found in the Verlet list
    n_kinds = terms.n_kinds
    layout = body_layout(backend) if terms.many_body else row_layout(backend)  # of the near list
    layout_of_pairs = row_layout(backend) if far else layout
    look = access(terms, term, layout)

    @ti.func
    def due(near_width, control: ti.template()):
        """1 between a cut that fits its rows and the end of that cut."""
        yes = 0
        if (
            control[Control.stale] != 0 and control[Control.rebuild] == 0
            and control[longest] <= near_width and control[overfull] == 0
        ):  # fmt: skip
            yes = 1
        return yes

    @ti.func
    def visit(i, s, x, n, width, shift_bits, rows: ti.template()):
        entry = read(rows.entries, i, s, n, width, layout)
        d = vector_to(entry, shift_bits, x, rows.pos, rows.shifts)
        return entry, d.dot(d)

    @ti.func
    def owned(i, entry, shift_bits):
        """Whether an entry of atom i stands for the pair; of an atom and its image, the positive does."""
        j = neighbour(entry, shift_bits)
        code = entry & ((1 << shift_bits) - 1)
        return j > i or (j == i and 2 * code < (1 << shift_bits))

    @ti.func
    def listed(i, entry, n, rows: ti.template(), limits2: ti.template(), places: ti.template()):
        """Whether a pair is within its cutoff and the inner skin, and in both rows: some rows are emptied."""
        j = neighbour(entry, rows.shift_bits)
        apart = to_neighbour(opposite(places[i]), entry, n, rows.shift_bits, places)
        near = squared(apart) < limit_of(PAIRS, i, j, n_kinds, rows.kind, limits2)
        return near and rows.count[j] > 0

    @ti.func
    def accepted(r2_s, r2_t, a, b, c, table: ti.template(), shared, skin):
        """Whether a triplet is within its cutoffs and the inner skin."""
        p = look.body_parameters(table, shared, a, b, c)
        q = look.body_parameters(table, shared, a, c, b)
        one, other = p.cutoff, q.cutoff
        if ti.static(is_bond_order):
            one, other = p.reach, q.reach
        return r2_s < (one + skin) * (one + skin) and r2_t < (other + skin) * (other + skin)

    @ti.func
    def triplets_of(
        i, at, store: ti.template(), n, near_width, shift_bits, near: ti.template(), limits2: ti.template(),
        table: ti.template(), t: ti.template()
    ):  # fmt: skip
        """Number of triplets of centre i; stored from record `at` on."""
        x = near.pos[i]
        skin = ti.cast(limits2[SKIN], term)
        shared = look.read_body(table, 0)
        a = look.kind_of(near.kind, i)
        m = near.count[i]
        found = 0
        for s in range(m):
            entry_s, r2_s = visit(i, s, x, n, near_width, shift_bits, near)
            b = look.kind_of(near.kind, neighbour(entry_s, shift_bits))
            for u in range(s + 1, m):
                entry_u, r2_u = visit(i, u, x, n, near_width, shift_bits, near)
                c = look.kind_of(near.kind, neighbour(entry_u, shift_bits))
                if accepted(ti.cast(r2_s, term), ti.cast(r2_u, term), a, b, c, table, shared, skin):
                    if ti.static(store):
                        place = triplet_at(at + found, n, t)
                        t.tuples[place] = i
                        t.tuples[place + 1] = s | (u << 16)
                    found += 1
        return found

    @ti.func
    def count(rows: ti.template(), g: ti.template(), control: ti.template()):
        for i in range(g.n * due(g.near.width, control)):
            n, t = g.n, g.tuples
            own, with_it, triplets = 0, 0, 0
            if ti.static(has_pair):
                width, shift_bits = rows.width, rows.shift_bits
                for s in range(rows.count[i]):
                    entry = read(rows.entries, i, s, n, width, layout_of_pairs)
                    if listed(i, entry, n, rows, g.near.limits2, g.near.places):
                        with_it += 1
                        if owned(i, entry, shift_bits):
                            own += 1
            if ti.static(has_body):
                triplets = triplets_of(
                    i, 0, False, n, g.near.width, g.near.shift_bits, g.near, g.near.limits2,
                    g.kept.body_table, t
                )  # fmt: skip
            t.firsts[i] = own
            t.firsts[n + i] = with_it
            t.firsts[2 * n + i] = triplets
            t.firsts[3 * n + 1 + i] = 0

    @ti.func
    def fill(rows: ti.template(), g: ti.template(), control: ti.template()):
        for i in range(g.n * due(g.near.width, control)):
            n, t = g.n, g.tuples
            width, shift_bits = rows.width, rows.shift_bits
            if ti.static(has_pair):
                pair, mine = t.firsts[i], t.firsts[n + i]
                for s in range(rows.count[i]):
                    entry = read(rows.entries, i, s, n, width, layout_of_pairs)
                    near = listed(i, entry, n, rows, g.near.limits2, g.near.places)
                    if near and owned(i, entry, shift_bits):
                        t.tuples[3 * pair] = i
                        t.tuples[3 * pair + 1] = entry
                        t.tuples[entry_at(mine, n, t)] = entry
                        pair += 1
                        mine += 1
            if ti.static(has_body):
                triplets_of(
                    i, t.firsts[2 * n + i], True, n, g.near.width, shift_bits, g.near, g.near.limits2,
                    g.kept.body_table, t
                )  # fmt: skip
        if ti.static(has_pair):
            for pair in range(pairs_end(g.n, g.tuples) * due(g.near.width, control)):
                n, t = g.n, g.tuples
                shift_bits = rows.shift_bits
                i, entry = t.tuples[3 * pair], t.tuples[3 * pair + 1]
                j = neighbour(entry, shift_bits)
                mask = (1 << shift_bits) - 1
                # Behind the pairs that j owns.
                at = (
                    t.firsts[n + j]
                    + t.firsts[j + 1]
                    - t.firsts[j]
                    + ti.atomic_add(t.firsts[3 * n + 1 + j], 1)
                )
                t.tuples[3 * pair + 2] = at
                t.tuples[entry_at(at, n, t)] = (i << shift_bits) | (-(entry & mask) & mask)

    @ti.func
    def list_tuples(g: ti.template(), control: ti.template()):
        """Runs between the cut and its end; sets Control.overfull where lists do not fit."""
        t = g.tuples
        if ti.static(far):
            count(g.verlet, g, control)
        else:
            count(g.near, g, control)
        numbers = 3 * g.n * due(g.near.width, control)
        scan(numbers, scan_ends(numbers), t.firsts, t.firsts, 0, t.firsts, 4 * g.n + 1)
        for k in range(3 * g.n * due(g.near.width, control)):
            # Beyond 2^31 a running sum turns negative.
            if t.firsts[k + 1] < 0:
                control[overfull] = 1
        if due(g.near.width, control) == 1:
            triplets = triplets_end(g.n, t) - triplets_begin(g.n, t)
            numbers_of_all = group.values_of_triplet * triplets + 2 * group.values_of_member * pairs_end(
                g.n, t
            )
            if 2 * triplets > t.slopes.shape[0] or numbers_of_all > t.values.shape[0]:
                control[overfull] = 1
        if ti.static(far):
            fill(g.verlet, g, control)
        else:
            fill(g.near, g, control)

    return list_tuples
