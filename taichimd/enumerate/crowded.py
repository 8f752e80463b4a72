"""Bond orders of an atom with more neighbours than fit in registers: loops over arrays of the thread.

In a hot crystal few atoms have a fifth neighbour within reach, but a thread that is busy with one keeps all
others waiting, and in a liquid most atoms have. Distances, weights and sums stay with the thread (on a GPU in
its local memory, near the processor) instead of being read from the arrays of all atoms for each pair of
neighbours. Sums have the terms of `bond_order`'s loops in the same order, hence the same bits.
"""

from functools import cache
from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.access import access, slope_vector
from taichimd.enumerate.bond_order import third_bodies
from taichimd.enumerate.live import following
from taichimd.enumerate.terms import Terms
from taichimd.neighbours.pages import set_vector
from taichimd.neighbours.rows import slot

MAX_IN_ARRAYS = 8
"""Neighbours within reach. A liquid of silicon has six, a dense one eight."""


@cache
def crowded_function(terms: Terms, real: Any, layout: int) -> Any:
    """Device function of an atom with up to `MAX_IN_ARRAYS` live neighbours; bond orders of one species."""
    assert terms.bond_order is not None
    functions = terms.bond_order.function
    third = third_bodies(functions)
    look = access(terms, real, layout)
    vec = ti.types.vector(3, real)
    reals = ti.types.vector(MAX_IN_ARRAYS, real)
    ints = ti.types.vector(MAX_IN_ARRAYS, ti.i32)
    vecs = ti.types.matrix(MAX_IN_ARRAYS, 3, real)

    @ti.func
    def row(m: ti.template(), k):
        return vec(m[k, 0], m[k, 1], m[k, 2])

    @ti.func
    def add_row(m: ti.template(), k, x):
        for c in ti.static(range(3)):
            m[k, c] += x[c]

    @ti.func
    def crowded(i, mask, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """U_i; partials of the live neighbours, of which the mask has at most `MAX_IN_ARRAYS`, are stored."""
        x = rows.pos[i]
        p = look.read_body(kept.body_table, 0)
        d, out, place = vecs(0.0), vecs(0.0), ints(0)
        r, inverse, w, dw, zeta = reals(0.0), reals(0.0), reals(0.0), reals(0.0), reals(0.0)
        found, m = 0, rows.count[i]
        at = following(mask, 0, m)
        while at < m:
            d_s, r2, _ = look.visit(i, at, x, n, width, shift_bits, rows)
            add_row(d, found, d_s)
            r[found] = ti.sqrt(r2)
            inverse[found] = 1.0 / r[found]
            w_s, dw_s = third.weigh(r[found], p)
            w[found], dw[found], place[found] = w_s, dw_s, at
            found += 1
            at = following(mask, at + 1, m)
        energy = 0.0
        for s in range(found):
            d_s, own = row(d, s), zeta[s]
            for t in range(s + 1, found):
                cosine = d_s.dot(row(d, t)) * (inverse[s] * inverse[t])
                z = third.both(r[s], r[t], cosine, p, p)
                own += w[t] * z[0]
                zeta[t] += w[s] * z[4]
            # Complete; it gives way to dU_i/dzeta.
            zeta[s] = 0.0
            if r[s] < p.cutoff:
                u, u_r, u_zeta = functions.bond(r[s], w[s], dw[s], own, p)
                energy += 0.5 * u
                zeta[s] = 0.5 * u_zeta
                add_row(out, s, (0.5 * u_r * inverse[s]) * d_s)
        for s in range(found):
            d_s, own = row(d, s), row(out, s)
            for t in range(s + 1, found):
                d_t = row(d, t)
                cosine = d_s.dot(d_t) * (inverse[s] * inverse[t])
                z = third.both(r[s], r[t], cosine, p, p)
                g_s, g_t, g_cos = third.zeta_slopes(w[s], dw[s], w[t], dw[t], zeta[s], zeta[t], z)
                own += slope_vector(g_s, g_cos, cosine, d_s, inverse[s], d_t, inverse[t])
                add_row(out, t, slope_vector(g_t, g_cos, cosine, d_t, inverse[t], d_s, inverse[s]))
            set_vector(kept.partial, slot(i, place[s], n, width, layout), own)
        return energy

    return crowded
