"""Triples within a cutoff that a move changes, shared by a block of threads of a GPU.

Cells are few, and the moves of one come one after the other. So a move must be quick, and a warp has too few
threads for its pairs of neighbours. A block first keeps the neighbours that are in range, each fetched once,
in any order; then its threads share their pairs evenly. Sums do not depend on their order
(`enumerate.reproducible_sum`).
"""

from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.all_triples import later
from taichimd.enumerate.reproducible_sum import empty_sums, total_of, with_term
from taichimd.enumerate.row_sums import from_first, together
from taichimd.neighbours.masks import how_many_below
from taichimd.neighbours.rows import WARP, those
from taichimd.sampling.block_room import BLOCK
from taichimd.sampling.local_energy import entry_function, limited_energy
from taichimd.sampling.local_terms import OTHER_CELLS, Local


@ti.func
def open_room(block, lane, room: ti.template()):
    """Before the first move of a block."""
    if lane == 0:
        room.kept[2 * block] = 0
        room.kept[2 * block + 1] = 0
    ti.simt.block.sync()


@ti.func
def of_block(sums, block, lane, room: ti.template()):
    """The sum that a block has found, in all its threads."""
    total, empty = together(sums, 1, ti.static(WARP.bit_length() - 1)), empty_sums(1)
    if lane % WARP == 0:
        for v in ti.static(range(2)):
            room.parts[2 * (block * (BLOCK // WARP) + lane // WARP) + v] = total[v] - empty[v]
    ti.simt.block.sync()
    found = empty
    for warp in ti.static(range(BLOCK // WARP)):
        for v in ti.static(range(2)):
            found[v] += room.parts[2 * (block * (BLOCK // WARP) + warp) + v]
    return total_of(found[0], found[1])


def block_triples(local: Local, n_kinds: int, real: Any, layout: int) -> Any:
    """Device function `(sums, i, block, lane, turn, x, y, colour, g, k)` of triples within a cutoff.

    It adds the change of term k if atom i goes from x to y. All threads of a block call it; `lane` is the
    number of one. `turn` is 0 and 1 in turns. Between two calls they wait for each other.
    """
    entry_of = entry_function(real, layout, OTHER_CELLS)
    energy = limited_energy(local)

    @ti.func
    def keep(i, block, lane, turn, x, y, colour, limit, g: ti.template(), k: ti.template()):
        """Keep the neighbours that are in range before the move, or after it; how many they are."""
        count = g.rows[k].count[i]
        for chunk in range((count + BLOCK - 1) // BLOCK):
            s, keeps, kind = chunk * BLOCK + lane, 0, 0
            d, d_new = ti.Vector.zero(ti.f64, 3), ti.Vector.zero(ti.f64, 3)
            if s < count:
                d_far, d_new_far, b, counts = entry_of(i, s, x, y, colour, g, k)
                d, d_new, kind = ti.cast(d_far, ti.f64), ti.cast(d_new_far, ti.f64), b
                if counts and (d.dot(d) < limit or d_new.dot(d_new) < limit):
                    keeps = 1
            votes, at = those(keeps), 0
            if lane % WARP == 0:
                at = ti.atomic_add(g.room.kept[2 * block + turn], ti.math.popcnt(votes))
            at = from_first(at) + how_many_below(votes, lane % WARP)
            if keeps == 1:
                g.room.kinds[block * g.room.width + at] = kind
                for v in ti.static(range(3)):
                    g.room.vectors[(6 * block + v) * g.room.width + at] = d[v]
                    g.room.vectors[(6 * block + 3 + v) * g.room.width + at] = d_new[v]
        ti.simt.block.sync()
        if lane == 0:
            g.room.kept[2 * block + 1 - turn] = 0
        return g.room.kept[2 * block + turn]

    @ti.func
    def vector(block, at, moved: ti.template(), room: ti.template()):
        start = 6 * block + 3 * moved
        return ti.Vector([room.vectors[(start + v) * room.width + at] for v in ti.static(range(3))])

    @computed_in(ti.f64)
    def triples(sums: ti.template(), i, block, lane, turn, x, y, colour, g: ti.template(), k: ti.template()):
        table = ti.static(g.tables[k])
        limits = ti.Vector([table[0], table[1]])
        many, own, p = keep(i, block, lane, turn, x, y, colour, limits[0], g, k), g.atoms.kind[i], lane
        while p < many * (many - 1) // 2:
            # Pairs on a ring.
            s, t = p % many, later(p % many, p // many + 1, many)
            d, e = vector(block, s, 0, g.room), vector(block, t, 0, g.room)
            opposite = e - d
            o2 = opposite.dot(opposite)
            if o2 < limits[0]:
                b, c = g.room.kinds[block * g.room.width + s], g.room.kinds[block * g.room.width + t]
                nu = table[2 + (own * n_kinds + b) * n_kinds + c]
                d_new, e_new = vector(block, s, 1, g.room), vector(block, t, 1, g.room)
                change = energy(d_new, e_new, o2, nu, limits) - energy(d, e, o2, nu, limits)
                with_term(sums, 1, 0, change)
            p += BLOCK

    return triples
