"""Bond orders: what a pair of neighbours adds to both bonds, and the loops over such pairs.

Triples of i are visited once per unordered pair of neighbours s < t. What they add to a neighbour is added
in the order of the other one: the sum of slot s starts from its two-body part, takes what t < s have left,
then its own t > s. `compact` computes the same sums, in the same order, in registers.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.enumerate.access import access, slope_vector
from taichimd.enumerate.live import following
from taichimd.enumerate.terms import BondOrder, Terms
from taichimd.neighbours.pages import add_vector, set_vector, vector_at
from taichimd.neighbours.rows import slot


@dataclass(frozen=True)
class ThirdBodies:
    """Device functions of what a third body adds to a bond order."""

    weigh: DeviceFunction  # weight of a third body, and its slope
    both: DeviceFunction  # `zeta` of two bonds
    zeta_slopes: DeviceFunction  # slopes of both to the two lengths and the cosine


@cache
def third_bodies(functions: BondOrder) -> ThirdBodies:
    """The functions of one bond order."""

    @ti.func
    def weigh(r, p: ti.template()):
        """Weight of a third body at distance r, and its slope."""
        w, dw = functions.weight(r, p)
        inside = r < p.cutoff
        return ti.select(inside, w, 0.0), ti.select(inside, dw, 0.0)

    @ti.func
    def zeta_slopes(w_s, dw_s, w_t, dw_t, slope_s, slope_t, z: ti.template()):
        """Slopes of zeta_s and zeta_t to r_s, r_t and the cosine, times dU/dzeta; bonds may change places."""
        a, b = slope_s * w_t, slope_t * w_s
        g_s = a * z[1] + (b * z[6] + slope_t * dw_s * z[4])
        g_t = b * z[5] + (a * z[2] + slope_s * dw_t * z[0])
        return g_s, g_t, a * z[3] + b * z[7]

    @ti.func
    def both(r_s, r_t, cosine, p: ti.template(), q: ti.template()):
        """`functions.zeta` for s and for t, eight numbers."""
        s_z, s_bond, s_third, s_cos = functions.zeta(r_s, r_t, cosine, p)
        t_z, t_bond, t_third, t_cos = functions.zeta(r_t, r_s, cosine, q)
        return ti.Vector([s_z, s_bond, s_third, s_cos, t_z, t_bond, t_third, t_cos])

    return ThirdBodies(weigh, both, zeta_slopes)


@dataclass(frozen=True)
class BondOrderLoops:
    """Device functions for one atom with any number of neighbours."""

    bonds: DeviceFunction  # energies, and slopes to each zeta
    forces: DeviceFunction  # chain rule through every zeta


@cache
def bond_order_loops(terms: Terms, real: Any, layout: int) -> BondOrderLoops:
    """The loops of one bond order."""
    assert terms.bond_order is not None
    functions = terms.bond_order.function
    third = third_bodies(functions)
    look = access(terms, real, layout)

    @ti.func
    def bonds(i, mask, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """zeta_ij = sum over k of the third-body function; then dU_i/dzeta, 0 beyond the cutoff, and U_i."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        energy = 0.0
        m = rows.count[i]
        s = following(mask, 0, m)
        while s < m:
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, rows)
            if r2_s < look.reach2(kept.body_table, shared, a, b):
                r_s = ti.sqrt(r2_s)
                inverse_s = 1.0 / r_s
                own = kept.zeta[slot(i, s, n, width, layout)]
                t = following(mask, s + 1, m)
                while t < m:
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, rows)
                    if r2_t < look.reach2(kept.body_table, shared, a, c):
                        r_t = ti.sqrt(r2_t)
                        cosine = d_s.dot(d_t) * (inverse_s * (1.0 / r_t))
                        p = look.body_parameters(kept.body_table, shared, a, b, c)
                        q = look.body_parameters(kept.body_table, shared, a, c, b)
                        w_s, _ = third.weigh(r_s, q)
                        w_t, _ = third.weigh(r_t, p)
                        z = third.both(r_s, r_t, cosine, p, q)
                        own += w_t * z[0]
                        kept.zeta[slot(i, t, n, width, layout)] += w_s * z[4]
                    t = following(mask, t + 1, m)
                p = look.body_parameters(kept.body_table, shared, a, b, b)
                slope = 0.0
                if r_s < p.cutoff:
                    w, dw = third.weigh(r_s, p)
                    u, u_r, u_zeta = functions.bond(r_s, w, dw, own, p)
                    energy += 0.5 * u
                    slope = 0.5 * u_zeta
                    add_vector(kept.partial, slot(i, s, n, width, layout), (0.5 * u_r * inverse_s) * d_s)
                kept.zeta[slot(i, s, n, width, layout)] = slope
            s = following(mask, s + 1, m)
        return energy

    @ti.func
    def forces(i, mask, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """Chain rule through every zeta of i, with slope = dU_i/dzeta."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        m = rows.count[i]
        s = following(mask, 0, m)
        while s < m:
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, rows)
            if r2_s < look.reach2(kept.body_table, shared, a, b):
                r_s = ti.sqrt(r2_s)
                inverse_s = 1.0 / r_s
                slope_s = kept.zeta[slot(i, s, n, width, layout)]
                own = vector_at(kept.partial, slot(i, s, n, width, layout))
                t = following(mask, s + 1, m)
                while t < m:
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, rows)
                    if r2_t < look.reach2(kept.body_table, shared, a, c):
                        at = slot(i, t, n, width, layout)
                        r_t = ti.sqrt(r2_t)
                        inverse_t = 1.0 / r_t
                        cosine = d_s.dot(d_t) * (inverse_s * inverse_t)
                        p = look.body_parameters(kept.body_table, shared, a, b, c)
                        q = look.body_parameters(kept.body_table, shared, a, c, b)
                        w_s, dw_s = third.weigh(r_s, q)
                        w_t, dw_t = third.weigh(r_t, p)
                        z = third.both(r_s, r_t, cosine, p, q)
                        g_s, g_t, g_cos = third.zeta_slopes(w_s, dw_s, w_t, dw_t, slope_s, kept.zeta[at], z)
                        own += slope_vector(g_s, g_cos, cosine, d_s, inverse_s, d_t, inverse_t)
                        add_vector(
                            kept.partial, at, slope_vector(g_t, g_cos, cosine, d_t, inverse_t, d_s, inverse_s)
                        )
                    t = following(mask, t + 1, m)
                set_vector(kept.partial, slot(i, s, n, width, layout), own)
            s = following(mask, s + 1, m)

    return BondOrderLoops(bonds, forces)
