"""Energies that depend on the coordination number of the atom, by tuple decomposition.

Each atom sums its Z_i. A thread for each triplet leaves the derivatives to both sides, dE_i/dZ_i and the
energy. Then each atom adds pairs and triplets in the order of `coordination`: the bits of particle
decomposition.
"""

from functools import cache
from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import access, slope_vector
from taichimd.enumerate.live import BITS, following, marked
from taichimd.enumerate.reproducible_sum import ALL
from taichimd.enumerate.terms import Terms
from taichimd.neighbours.pages import add_vector, set_vector
from taichimd.neighbours.rows import slot
from taichimd.neighbours.tuple_arrays import slots_of, triplet_at, triplets_begin, triplets_end, value_at


@cache
def coordination_tuples(terms: Terms, term: Any, layout: int) -> Any:
    """Device function that fills the partial forces of `gather`, in loops of its own.

    `terms` have a term of coordination, computed in `term`, and no pair term; `layout` is of rows.
    """
    assert terms.coordination is not None
    functions = terms.coordination.function
    look = access(terms, term, layout)
    vec = ti.types.vector(3, term)

    @ti.func
    def place(i, s, g: ti.template()):
        return slot(i, s, g.n, g.near.width, layout)

    @ti.func
    def side(i, s, g: ti.template()):
        """Vector, squared length and kind of a neighbour, parameters, and whether it is within the cutoff."""
        d, r2, b = look.visit(i, s, g.near.pos[i], g.n, g.near.width, g.near.shift_bits, g.near)
        p = look.body_parameters(
            g.kept.body_table, look.read_body(g.kept.body_table, 0), look.kind_of(g.near.kind, i), b, b
        )
        return d, r2, b, p, r2 < p.cutoff * p.cutoff

    @computed_in(term)
    def begin(i, g: ti.template()):
        """Mask of the live entries of i, whose partial forces start with nothing; Z_i, in place of zeta."""
        mask, z = 0, 0.0
        for s in range(g.near.count[i]):
            _, r2, _, p, inside = side(i, s, g)
            if r2 < p.reach * p.reach or g.near.width > BITS:
                mask = marked(mask, s)
                set_vector(g.kept.partial, place(i, s, g), vec(0.0))
            if inside:
                f, _ = functions.coordinate(ti.sqrt(r2), p)
                z += f
        g.kept.live[i] = mask
        g.kept.zeta[place(i, 0, g)] = z

    @computed_in(term)
    def of_triplet(record, g: ti.template()):
        """Derivatives to both sides of a triplet, its dE_i/dZ_i and its energy."""
        i = g.tuples.tuples[triplet_at(record, g.n, g.tuples)]
        s, u = slots_of(record, g.n, g.tuples)
        d_s, r2_s, b, p_s, has_s = side(i, s, g)
        d_u, r2_u, c, p_u, has_u = side(i, u, g)
        to_s, to_u, slope, energy = vec(0.0), vec(0.0), 0.0, 0.0
        if has_s and has_u:
            r_s, r_u = ti.sqrt(r2_s), ti.sqrt(r2_u)
            inverse_s, inverse_u = 1.0 / r_s, 1.0 / r_u
            cosine = d_s.dot(d_u) * (inverse_s * inverse_u)
            w_s, dw_s = functions.weight(r_s, p_s)
            w_u, dw_u = functions.weight(r_u, p_u)
            p = look.body_parameters(g.kept.body_table, p_s, look.kind_of(g.near.kind, i), b, c)
            h, h_cos, h_z = functions.angle(
                cosine, functions.of_coordination(g.kept.zeta[place(i, 0, g)], p), p
            )
            g_cos = w_s * w_u * h_cos
            slope, energy = w_s * w_u * h_z, w_s * w_u * h
            to_s = slope_vector(dw_s * w_u * h, g_cos, cosine, d_s, inverse_s, d_u, inverse_u)
            to_u = slope_vector(w_s * dw_u * h, g_cos, cosine, d_u, inverse_u, d_s, inverse_s)
        return to_s, to_u, slope, energy

    @computed_in(term)
    def add_up(i, g: ti.template(), want: ti.template()):
        """Add pairs, triplets and dE_i/dZ_i to the partial forces of i; U_i."""
        n, t, m, z = g.n, g.tuples, g.near.count[i], g.kept.zeta[place(i, 0, g)]
        record, end = t.firsts[2 * n + i], t.firsts[2 * n + i + 1]
        energy, slope = 0.0, 0.0
        s = following(g.kept.live[i], 0, m)
        while s < m:
            d, r2, _, p, inside = side(i, s, g)
            if inside:
                u, u_r, u_z = functions.pair(ti.sqrt(r2), z, p)
                energy += u
                slope += u_z
                add_vector(g.kept.partial, place(i, s, g), (u_r * (1.0 / ti.sqrt(r2))) * d)
            while record < end and slots_of(record, n, t)[0] <= s:
                first, second = slots_of(record, n, t)
                k, at = record - triplets_begin(n, t), value_at(record, n, t)
                add_vector(g.kept.partial, place(i, first, g), t.slopes[2 * k])
                add_vector(g.kept.partial, place(i, second, g), t.slopes[2 * k + 1])
                slope += t.values[at]
                if ti.static(want == ALL):
                    energy += t.values[at + triplets_end(n, t) - triplets_begin(n, t)]
                record += 1
            s = following(g.kept.live[i], s + 1, m)
        for q in range(m):
            d, r2, _, p, inside = side(i, q, g)
            if inside:
                _, df = functions.coordinate(ti.sqrt(r2), p)
                add_vector(g.kept.partial, place(i, q, g), (slope * df * (1.0 / ti.sqrt(r2))) * d)
        return energy

    @ti.func
    def partials(
        g: ti.template(), energy: ti.template(), control: ti.template(), frozen, want: ti.template()
    ):  # fmt: skip
        for i in range(g.n):
            if control[frozen] == 0:
                begin(i, g)
        for k in range(triplets_end(g.n, g.tuples) - triplets_begin(g.n, g.tuples)):
            if control[frozen] == 0:
                t, record = g.tuples, triplets_begin(g.n, g.tuples) + k
                t.slopes[2 * k], t.slopes[2 * k + 1], slope, e = of_triplet(record, g)
                t.values[value_at(record, g.n, t)] = slope
                if ti.static(want == ALL):
                    t.values[value_at(triplets_end(g.n, t) + k, g.n, t)] = e
        for i in range(g.n):
            if control[frozen] == 0:
                e = add_up(i, g, want)
                if ti.static(want == ALL):
                    energy[i] = e

    return partials
