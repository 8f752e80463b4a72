"""One thread per neighbour: the partial forces of `gather`, with more and shorter threads.

A GPU wants tens of thousands of threads; one per atom leaves it idle on small systems and runs long chains
of dependent arithmetic on large ones. Here the thread of (i, s) computes all of what ends up in slot s of
atom i. Each triple is evaluated from both of its neighbours, twice the arithmetic of `gather`, but every
sum has the same terms in the same order, so the bits are the same.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.enumerate.access import access
from taichimd.enumerate.gather import gather_functions
from taichimd.forcefields.terms import Terms
from taichimd.neighbours.kernels import slot
from taichimd.runtime import ti


@cache
def bond_thread_functions(terms: Terms, real: Any, by_slot: bool) -> Any:
    """Device functions `first` and `second`, to be called for every (i, s), one after the other.

    `first` stores the two-body part and, for bond orders, dU_i/dzeta; `second` adds the three-body part.
    """
    vec = ti.types.vector(3, real)
    pair, triplet, bond = terms.pair, terms.triplet, terms.bond_order
    has_pair, has_bond = pair is not None, bond is not None
    look = access(terms, real, by_slot)
    atom = gather_functions(terms, real, by_slot)

    @ti.func
    def first(i, s, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), pair_table: ti.template(), body_table: ti.template(), partial: ti.template(), slope: ti.template()):  # fmt: skip
        x = pos[i]
        a = look.kind_of(kind, i)
        d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, pos, kind, entries, shifts)
        own = vec(0.0)
        if ti.static(has_pair):
            shared_pair = look.read_pair(pair_table, 0)
            p = look.pair_parameters(pair_table, shared_pair, a, b)
            if r2_s < p.cutoff * p.cutoff:
                _, w = pair.function(r2_s, p)
                own = 0.5 * w * d_s
        if ti.static(has_bond):
            shared = look.read_body(body_table, 0)
            p = look.body_parameters(body_table, shared, a, b, b)
            own_slope = 0.0
            r_s = ti.sqrt(r2_s)
            if r_s < p.cutoff:
                inverse_s = 1.0 / r_s
                zeta = 0.0
                for t in range(count[i]):
                    if t != s:
                        d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, pos, kind, entries, shifts)
                        if r2_t < look.reach2(body_table, shared, a, c):
                            r_t = ti.sqrt(r2_t)
                            cosine = d_s.dot(d_t) * (inverse_s * (1.0 / r_t))
                            q = look.body_parameters(body_table, shared, a, b, c)
                            if r_t < q.cutoff:
                                z, _, _, _ = bond.zeta(r_s, r_t, cosine, q)
                                zeta += z
                _, u_r, u_zeta = bond.bond(r_s, zeta, p)
                own_slope = 0.5 * u_zeta
                own += (0.5 * u_r * inverse_s) * d_s
            slope[slot(i, s, n, width, by_slot)] = own_slope
        partial[slot(i, s, n, width, by_slot)] = own

    @ti.func
    def second(i, s, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), partial: ti.template(), slope: ti.template()):  # fmt: skip
        x = pos[i]
        a = look.kind_of(kind, i)
        shared = look.read_body(table, 0)
        d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, pos, kind, entries, shifts)
        if r2_s < look.reach2(table, shared, a, b):
            r_s = ti.sqrt(r2_s)
            inverse_s = 1.0 / r_s
            at = slot(i, s, n, width, by_slot)
            own = partial[at]
            for t in range(count[i]):
                if t != s:
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, pos, kind, entries, shifts)
                    p = look.body_parameters(table, shared, a, b, c)
                    q = look.body_parameters(table, shared, a, c, b)
                    if ti.static(has_bond):
                        if r2_t < look.reach2(table, shared, a, c):
                            r_t = ti.sqrt(r2_t)
                            inverse_t = 1.0 / r_t
                            cosine = d_s.dot(d_t) * (inverse_s * inverse_t)
                            slope_t = slope[slot(i, t, n, width, by_slot)]
                            g_s, _, g_cos = atom.zeta_slopes(r_s, r_t, cosine, slope[at], slope_t, p, q)
                            own += atom.slope_vector(g_s, g_cos, cosine, d_s, inverse_s, d_t, inverse_t)
                    else:
                        if r2_s < p.cutoff * p.cutoff and r2_t < q.cutoff * q.cutoff:
                            r_t = ti.sqrt(r2_t)
                            inverse_t = 1.0 / r_t
                            cosine = d_s.dot(d_t) * (inverse_s * inverse_t)
                            # The function sees the lower slot first, as in `gather`.
                            low, high, parameters = r_s, r_t, p
                            if t < s:
                                low, high, parameters = r_t, r_s, q
                            _, h_low, h_high, h_cos = triplet.function(low, high, cosine, parameters)
                            h_s = h_high if t < s else h_low
                            own += atom.slope_vector(h_s, h_cos, cosine, d_s, inverse_s, d_t, inverse_t)
            partial[at] = own

    return SimpleNamespace(first=first, second=second)
