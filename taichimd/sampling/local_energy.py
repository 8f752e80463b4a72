"""What a move of one atom changes of the energy: of its pairs, and of the triples that it is in, term by term.

    pairs:    dE = sum over neighbours j of u(r') - u(r)
    triples:  dE = sum over pairs of neighbours j < k of u(r'_ij, r'_ik, r_jk) - u(r_ij, r_ik, r_jk)

Neighbours come from lists that reach far enough for both positions. Sums do not depend on their order
(`enumerate.reproducible_sum`): on a GPU the threads of a warp share them.
"""

from dataclasses import dataclass
from math import isinf
from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import distance_vector
from taichimd.enumerate.all_triples import later
from taichimd.enumerate.parameters import reader
from taichimd.enumerate.reproducible_sum import with_term
from taichimd.forcefields.bound import Bound
from taichimd.forcefields.terms import PairTerm, Triples
from taichimd.neighbours.rows import slot


@dataclass(frozen=True)
class Local:
    """A term whose change is known, as kernels are compiled for it.

    Attributes:
        pair: a pair term; else None. triple: function of a triple's energy; else None.
        everywhere: whether all triples count, whatever their sides; then `triple` is a `TripletFunction`.
    """

    pair: PairTerm | None = None
    triple: Any = None
    everywhere: bool = False


def locals_of(bounds: tuple[Bound, ...]) -> tuple[Local, ...] | None:
    """The terms of all groups, or None if one does not say how its energy changes with one atom."""
    found = []
    for bound in bounds:
        terms = bound.terms
        if isinstance(bound.triples, Triples):
            everywhere = isinf(bound.triples.cutoff)
            function = bound.triples.whole if everywhere else bound.triples.function
            found.append(Local(triple=function, everywhere=everywhere))
        elif terms.pair is not None and not (terms.many_body or terms.passes or terms.queued):
            found.append(Local(pair=terms.pair))
        else:
            return None
    return tuple(found)


def change_function(local: Local, n_kinds: int, real: Any, term: Any, layout: int, boards: bool) -> Any:
    """Device function `(sums, i, lane, many, x, y, first, g, k)`: adds the change of term k if atom i goes from x to y.

    Of `many` threads that share the atom, it is the part of number `lane`. `first` is the first cell of the atom's colour. Of all
    triples i is the user's number of the atom.

    Args:
        local: the term.
        n_kinds: species.
        real: type of positions.
        term: of what is computed from distances.
        layout: of rows.
        boards: whether atoms in other cells of the same colour move at the same time.
    """
    read = reader(local.pair.columns, term) if local.pair else None
    width = local.triple.width if local.everywhere else 0

    @ti.func
    def entry_of(i, s, x, y, first, g: ti.template(), k: ti.template()):
        """Vectors of entry s from both positions, kind of its atom, and whether it counts.

        Atoms of other cells of the same colour move meanwhile. They are out of range and must not be looked at.
        """
        entry = g.rows[k].entries[slot(i, s, g.atoms.n, g.rows[k].width, layout)]
        j = entry >> g.verlet.shift_bits
        counts = j != i
        if ti.static(boards):
            cell, own = g.board.cell_of[j], g.board.cell_of[i]
            counts = counts and (cell == own or cell < first or cell >= first + g.size)
        d = ti.Vector.zero(real, 3)
        if counts:
            d = distance_vector(entry, g.verlet.shift_bits, x, g.atoms.pos, g.verlet.shifts)
        return d, d - (y - x), g.atoms.kind[j], counts

    @computed_in(term)
    def pairs(sums: ti.template(), i, lane, many, x, y, first, g: ti.template(), k: ti.template()):
        s = lane
        while s < g.rows[k].count[i]:
            old, new, b, counts = entry_of(i, s, x, y, first, g, k)
            if counts:
                p = read(g.tables[k], g.atoms.kind[i] * n_kinds + b)
                d, e = ti.cast(old, term), ti.cast(new, term)
                d2, e2 = d.dot(d), e.dot(e)
                cut2 = p.cutoff * p.cutoff
                change = 0.0
                if e2 < cut2:
                    u, _ = local.pair.function(e2, p)
                    change += u
                if d2 < cut2:
                    v, _ = local.pair.function(d2, p)
                    change -= v
                with_term(sums, 1, 0, ti.cast(change, ti.f64))
            s += many

    @ti.func
    def energy(d, e, o2, nu, limits: ti.template()):
        """Of a triple, if its sides are short enough."""
        d2, e2, u = d.dot(d), e.dot(e), ti.cast(0.0, ti.f64)
        if d2 < limits[0] and e2 < limits[0] and o2 < limits[0] and (d2 * e2) * o2 < limits[1]:
            u, _ = local.triple(d, e, d2, e2, o2, nu)
        return u

    @computed_in(ti.f64)
    def triples(sums: ti.template(), i, lane, many, x, y, first, g: ti.template(), k: ti.template()):
        table = ti.static(g.tables[k])
        limits = ti.Vector([table[0], table[1]])
        own = g.atoms.kind[i]
        for s in range(1, g.rows[k].count[i]):
            d_far, d_new_far, b, counts = entry_of(i, s, x, y, first, g, k)
            d, d_new = ti.cast(d_far, ti.f64), ti.cast(d_new_far, ti.f64)
            if counts and (d.dot(d) < limits[0] or d_new.dot(d_new) < limits[0]):
                t = lane
                while t < s:
                    e_far, e_new_far, c, counts_too = entry_of(i, t, x, y, first, g, k)
                    if counts_too:
                        e, e_new = ti.cast(e_far, ti.f64), ti.cast(e_new_far, ti.f64)
                        opposite = e - d
                        o2 = opposite.dot(opposite)
                        if o2 < limits[0]:
                            nu = table[2 + (own * n_kinds + b) * n_kinds + c]
                            change = energy(d_new, e_new, o2, nu, limits) - energy(d, e, o2, nu, limits)
                            with_term(sums, 1, 0, change)
                    t += many

    @ti.func
    def one_triple(atom, q, r, x, own, g: ti.template(), k: ti.template()):
        """Change with an atom and two others, by their numbers among these; x and `own` belong to the first."""
        j, third, n = ti.select(q >= atom, q + 1, q), ti.select(r >= atom, r + 1, r), g.atoms.n
        opposite = ti.Vector([g.tally.sides[(4 + v) * n + third] - x[v] for v in ti.static(range(3))])
        o2 = opposite.dot(opposite)
        w_o, nu = local.triple.pair(o2), g.tables[k][2]
        if ti.static(n_kinds > 1):
            row = (g.placed.kind[atom] * n_kinds + g.placed.kind[j]) * n_kinds
            nu = g.tables[k][2 + row + g.placed.kind[third]]
        energies = ti.Vector.zero(ti.f64, 2)
        for m in ti.static(range(2)):
            c = ti.Vector([own[m, v] for v in ti.static(range(width))])
            b, w_b = g.tally.sides[2 * m * n + third], g.tally.sides[(2 * m + 1) * n + third]
            energies[m] = own[m, width + 1] * local.triple.energy(c, own[m, width], b, o2, w_b, w_o)
        return nu * (energies[1] - energies[0])

    @computed_in(ti.f64)
    def all_triples(
        sums: ti.template(), atom, lane, many, x_real, y_real, first, g: ti.template(), k: ti.template()
    ):
        n, others = g.atoms.n, g.atoms.n - 1
        part, q, steps = lane // others, lane % others, (others - 1) // 2
        if part < g.share.parts:
            j, own = ti.select(q >= atom, q + 1, q), ti.Matrix.zero(ti.f64, 2, width + 2)
            x = g.placed.pos[j]
            for m in ti.static(range(2)):
                a, w_a = g.tally.sides[2 * m * n + j], g.tally.sides[(2 * m + 1) * n + j]
                c = local.triple.constants(a)
                for v in ti.static(range(width)):
                    own[m, v] = c[v]
                own[m, width] = a
                own[m, width + 1] = local.triple.energy_factor(a, w_a)
            # In runs whose length depends on n alone: the bits are the same on every backend.
            run = ti.cast(0.0, ti.f64)
            for d in range(1 + part * steps // g.share.parts, 1 + (part + 1) * steps // g.share.parts):
                run += one_triple(atom, q, later(q, d, others), x, own, g, k)
            if part == 0 and others % 2 == 0 and q < others // 2:
                run += one_triple(atom, q, q + others // 2, x, own, g, k)
            with_term(sums, 1, 0, run)

    return pairs if local.pair else all_triples if local.everywhere else triples


def sides_function(function: Any) -> Any:
    """Device function `(x, y, j, n, placed, sides)`: what atom j gives to all triples with an atom at x, and at y."""

    @computed_in(ti.f64)
    def store(x, y, j, n, placed: ti.template(), sides: ti.template()):
        z = placed.pos[j]
        d, e = z - ti.cast(x, ti.f64), z - ti.cast(y, ti.f64)
        found = [d.dot(d), function.pair(d.dot(d)), e.dot(e), function.pair(e.dot(e)), z[0], z[1], z[2]]
        for m in ti.static(range(7)):
            sides[m * n + j] = found[m]

    return store
