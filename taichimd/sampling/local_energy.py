"""What a move of one atom changes of the energy, term by term.

    pairs:    dE = sum over neighbours j of u(r') - u(r)
    triples:  dE = sum over pairs of neighbours j < k of u(r'_ij, r'_ik, r_jk) - u(r_ij, r_ik, r_jk)

Neighbours come from lists that reach far enough for both positions. Sums do not depend on their order
(`enumerate.reproducible_sum`): on a GPU the threads of a warp share them, or threads of a block
(`block_moves`).
"""

from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.parameters import reader
from taichimd.enumerate.reproducible_sum import with_term
from taichimd.neighbours.entries import neighbour, vector_to
from taichimd.neighbours.rows import slot
from taichimd.sampling.local_terms import OTHER_CELLS, THE_BATCH, Local


def change_function(local: Local, n_kinds: int, real: Any, term: Any, layout: int, others: int) -> Any:
    """Device function `(sums, i, lane, many, x, y, moving, g, k)`, of any term but one of all triples.

    It adds the change of term k if atom i goes from x to y. If `many` threads share the atom, it is the part
    of thread `lane`. What else moves is `moving`, the `MoveBatch` or the `Colour` of a board: neighbours from
    its `first` to its `last` are left out; `others`: `NOBODY`, `OTHER_CELLS` or `THE_BATCH`.
    """
    of_pair = pair_change(local, n_kinds, term) if local.pair else None
    entry_of = entry_function(real, layout, others)
    energy = None if local.pair else limited_energy(local)

    @computed_in(term)
    def pairs(sums: ti.template(), i, lane, many, x, y, moving, g: ti.template(), k: ti.template()):
        s = lane
        while s < g.rows[k].count[i]:
            old, new, b, counts = entry_of(i, s, x, y, moving, g, k)
            if counts:
                of_pair(sums, old, new, g.atoms.kind[i], b, g.tables[k])
            s += many

    @computed_in(ti.f64)
    def triples(sums: ti.template(), i, lane, many, x, y, moving, g: ti.template(), k: ti.template()):
        table = ti.static(g.tables[k])
        limits = ti.Vector([table[0], table[1]])
        own = g.atoms.kind[i]
        for s in range(1, g.rows[k].count[i]):
            d_far, d_new_far, b, counts = entry_of(i, s, x, y, moving, g, k)
            d, d_new = ti.cast(d_far, ti.f64), ti.cast(d_new_far, ti.f64)
            if counts and (d.dot(d) < limits[0] or d_new.dot(d_new) < limits[0]):
                t = lane
                while t < s:
                    e_far, e_new_far, c, counts_too = entry_of(i, t, x, y, moving, g, k)
                    if counts_too:
                        e, e_new = ti.cast(e_far, ti.f64), ti.cast(e_new_far, ti.f64)
                        opposite = e - d
                        o2 = opposite.dot(opposite)
                        if o2 < limits[0]:
                            nu = table[2 + (own * n_kinds + b) * n_kinds + c]
                            change = energy(d_new, e_new, o2, nu, limits) - energy(d, e, o2, nu, limits)
                            with_term(sums, 1, 0, change)
                    t += many

    return pairs if local.pair else triples


def entry_function(real: Any, layout: int, others: int) -> Any:
    """Device function `(i, s, x, y, moving, g, k)`: entry s of atom i in a move; as `change_function`."""

    @ti.func
    def entry_of(i, s, x, y, moving, g: ti.template(), k: ti.template()):
        """Vectors of entry s from both positions, kind of its atom, and whether it counts."""
        entry = g.rows[k].entries[slot(i, s, g.atoms.n, g.rows[k].width, layout)]
        j = neighbour(entry, g.verlet.shift_bits)
        counts = j != i
        if ti.static(others == OTHER_CELLS):
            cell, own = g.board.cell_of[j], g.board.cell_of[i]
            counts = counts and (cell == own or cell < moving.first or cell >= moving.last)
        if ti.static(others == THE_BATCH):
            place = g.order.place_of[g.atoms.ident[j]]
            counts = counts and (place < moving.first or place >= moving.last)
        d = ti.Vector.zero(real, 3)
        if counts:
            d = vector_to(entry, g.verlet.shift_bits, x, g.atoms.pos, g.verlet.shifts)
        return d, d - (y - x), g.atoms.kind[j], counts

    return entry_of


def limited_energy(local: Local) -> Any:
    """Device function `(d, e, o2, nu, limits)`: the energy of a triple within its cutoffs."""

    @ti.func
    def energy(d, e, o2, nu, limits: ti.template()):
        """Return the energy of a triple, eV; 0 if its sides are too long."""
        d2, e2, u = d.dot(d), e.dot(e), ti.cast(0.0, ti.f64)
        if d2 < limits[0] and e2 < limits[0] and o2 < limits[0] and (d2 * e2) * o2 < limits[1]:
            u, _ = local.triple(d, e, d2, e2, o2, nu)
        return u

    return energy


def pair_change(local: Local, n_kinds: int, term: Any) -> Any:
    """Device function `(sums, old, new, a, b, table)`: adds the change of one pair of kinds a, b."""
    read = reader(local.pair.columns, term)

    @computed_in(term)
    def change(sums: ti.template(), old, new, a, b, table: ti.template()):
        p = read(table, a * n_kinds + b)
        d, e = ti.cast(old, term), ti.cast(new, term)
        d2, e2 = d.dot(d), e.dot(e)
        cut2 = p.cutoff * p.cutoff
        total = 0.0
        if e2 < cut2:
            u, _ = local.pair.function(e2, p)
            total += u
        if d2 < cut2:
            v, _ = local.pair.function(d2, p)
            total -= v
        with_term(sums, 1, 0, ti.cast(total, ti.f64))

    return change
