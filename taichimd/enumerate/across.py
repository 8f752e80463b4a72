"""What the energies of atoms on one side of an interface do to atoms on the other side.

For atom i this is the sum of dU_j/dr_ji over neighbours j on the other side: the virial W_i with r_ij
replaced by 1. The functions read lists, partial forces and sums over neighbours that an evaluation has left.
`side` is 1 or -1 for the atoms of the two sides, by the numbers of the user, and 0 for all others; `me` is
the side of atom i. Sums are those of `reproducible_sum`, so neither lists nor threads change a bit.
"""

from typing import Any

from taichimd.core.arguments import View, device_helper
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import access
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.group import TermGroup
from taichimd.enumerate.live import following
from taichimd.enumerate.moments import moment_functions
from taichimd.enumerate.passes import OfAtom
from taichimd.enumerate.reproducible_sum import with_term
from taichimd.enumerate.terms import PAIR_FORCES
from taichimd.enumerate.visits import visit_function
from taichimd.neighbours.entries import neighbour
from taichimd.neighbours.rows import body_layout, row_layout, slot


def across_functions(group: TermGroup, real: Any, term: Any, backend: str, triple: Any) -> list[Any]:
    """Device functions `(i, me, group, side, nu, limits, sums)`: each adds sum_j dU_j/dr_ji of its terms.

    `group`: whose near lists are fit, and whose terms have left what they keep; `triple`: the function of a
    sum over triples, or None.
    """
    terms = group.terms
    if triple is not None:
        return [_of_triples(triple, terms, row_layout(backend))]
    if terms.passes is not None:
        return _of_passes(terms, term, row_layout(backend))
    separate = group.pairs_after_bodies
    of_pairs, of_bodies = terms.separate if separate else (terms, terms)
    found = []
    if terms.many_body:
        functions = moment_functions if group.in_moments else gather_functions
        found.append(_of_bodies(functions(of_bodies, real, term, body_layout(backend)), body_layout(backend)))
    if of_pairs.pair and (separate or not terms.many_body):
        found.append(_of_pairs(of_pairs, term, row_layout(backend)))
    return found


class Sides(View):
    """The side of an atom, and of all atoms."""

    me: Any
    side: Any


@ti.func
def _opposite(j, me, g: ti.template(), side: ti.template()):
    """Whether atom j is on the other side."""
    return side[g.ident[j]] * me < 0


def _of_bodies(atom: Any, layout: int) -> Any:
    @ti.func
    def add(
        i, me, g: ti.template(), side: ti.template(), nu: ti.template(), limits: ti.template(),
        sums: ti.template()
    ):  # fmt: skip
        rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
        mask, m = g.kept.live[i], rows.count[i]
        s = following(mask, 0, m)
        while s < m:
            j = neighbour(rows.entries[slot(i, s, n, width, layout)], shift_bits)
            if _opposite(j, me, g, side):
                theirs = atom.other_end(i, s, n, width, shift_bits, rows, g.kept)
                for c in ti.static(range(3)):
                    with_term(sums, 3, c, theirs[c])
            s = following(mask, s + 1, m)

    return add


def _of_pairs(terms: Any, term: Any, layout: int) -> Any:
    pair = terms.pair

    @ti.func
    def slope(j, r2, p, mine, g: ti.template()):
        _, w = pair.function(r2, p)
        return -0.5 * w

    return _of_neighbours(access(terms, term, layout), term, 0, False, slope)


def _of_passes(terms: Any, term: Any, layout: int) -> list[Any]:
    program = terms.passes.function
    names, count = program.arrays, len(program.arrays)
    function = next((one.function for one in program.passes if one.kind == PAIR_FORCES), None)
    if function is None:
        return []

    @device_helper
    def of_atom(values: Any) -> OfAtom:
        return OfAtom(**dict(zip(names, values, strict=True)))

    @ti.func
    def slope(j, r2, p, mine, g: ti.template()):
        theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
        r = ti.sqrt(r2)
        _, _, to_theirs = function(r, p, of_atom(mine), of_atom(theirs))
        return -(to_theirs / r)

    return [_of_neighbours(access(terms, term, layout), term, count, True, slope)]


def _of_neighbours(look: Any, term: Any, count: int, near: bool, slope: Any) -> Any:
    """Function that adds `slope` `(j, r2, p, mine, g)` times the vector to neighbours on the other side."""

    @computed_in(term)
    def add_opposite(sums: ti.template(), j, d, r2, p, mine, g: ti.template(), sides: ti.template()):
        if _opposite(j, sides.me, g, sides.side):
            factor = slope(j, r2, p, mine, g)
            for c in ti.static(range(3)):
                with_term(sums, 3, c, factor * d[c])

    visits = visit_function(look, term, count, near, add_opposite)

    @ti.func
    def add(
        i, me, g: ti.template(), side: ti.template(), nu: ti.template(), limits: ti.template(),
        sums: ti.template()
    ):  # fmt: skip
        visits(i, 0, 1, g.kept.pair_table, g, sums, Sides(me=me, side=side))

    return add


def _of_triples(triple: Any, terms: Any, layout: int) -> Any:
    """Each atom has a third of the energy of a triple: dU_j/dr_ji is -f_i/3."""
    look, n_kinds = access(terms, ti.f64, layout), terms.n_kinds

    @computed_in(ti.f64)
    def add(
        i, me, g: ti.template(), side: ti.template(), nu: ti.template(), limits: ti.template(),
        sums: ti.template()
    ):  # fmt: skip
        rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
        x, a = rows.pos[i], look.kind_of(rows.kind, i)
        for s in range(rows.count[i]):
            d, d2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            if d2 < limits.side2:
                j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                for t in range(s + 1, rows.count[i]):
                    e, e2, c = look.visit(i, t, x, n, width, shift_bits, rows)
                    f2 = (e - d).dot(e - d)
                    if e2 < limits.side2 and f2 < limits.side2 and d2 * e2 * f2 < limits.product2:
                        other = look.neighbour_of(i, t, n, width, shift_bits, rows)
                        many = ti.cast(_opposite(j, me, g, side), ti.i32)
                        many += ti.cast(_opposite(other, me, g, side), ti.i32)
                        if many > 0:
                            _, f = triple(d, e, d2, e2, f2, nu[(a * n_kinds + b) * n_kinds + c])
                            for q in ti.static(range(3)):
                                with_term(sums, 3, q, (-many / 3.0) * f[q])

    return add
