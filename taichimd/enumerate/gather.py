"""Neighbour gather ("PD"): one thread per atom, no write conflicts, every sum in list order.

Force on atom i in the form of Fan et al., Comput. Phys. Commun. 218, 10 (2017), eqs. 12-14, 20:

    F_i = sum_j F_ij,   F_ij = dU_i/dr_ij - dU_j/dr_ji,   W_i = -1/2 sum_j r_ij (x) F_ij,   r_ij = r_j - r_i.

A potential of pairs alone needs one pass: F_ij = u'(r) r_ij/r. Anything with three-body terms takes two:
`partials` lets the thread of atom i store dU_i/dr_ij for each of its neighbours, and `gather` combines them
with the reverse ones, found through the index `reverse`.

Triples of i are visited once per unordered pair of neighbours s < t. What they add to a neighbour is added
in the order of the other one: the sum of slot s starts from its two-body part, takes what t < s have left
in memory, then its own t > s. `bond_threads` computes the same sums, in the same order, with one thread per
neighbour.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.enumerate.access import access, distance_vector
from taichimd.forcefields.terms import Terms
from taichimd.neighbours.kernels import slot
from taichimd.runtime import ti


@cache
def gather_functions(terms: Terms, real: Any, by_slot: bool) -> Any:
    """Device functions of one force field: `pairs` for pair potentials, else `partials` and `gather`."""
    vec = ti.types.vector(3, real)
    pair, triplet, bond = terms.pair, terms.triplet, terms.bond_order
    has_pair, has_triplet, has_bond = pair is not None, triplet is not None, bond is not None
    look = access(terms, real, by_slot)

    @ti.func
    def pairs(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), want: ti.template()):  # fmt: skip
        """Force, energy and virial of atom i from a pair potential."""
        x = pos[i]
        a = look.kind_of(kind, i)
        shared = look.read_pair(table, 0)
        force = vec(0.0)
        energy = 0.0
        virial = ti.Matrix.zero(real, 3, 3)
        for s in range(count[i]):
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, pos, kind, entries, shifts)
            p = look.pair_parameters(table, shared, a, b)
            if r2 < p.cutoff * p.cutoff:
                u, w = pair.function(r2, p)
                f = w * d
                force += f
                if ti.static(want):
                    energy += 0.5 * u
                    virial -= 0.5 * d.outer_product(f)
        return force, energy, virial

    @ti.func
    def partials(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), pair_table: ti.template(), body_table: ti.template(), partial: ti.template(), zeta: ti.template()):  # fmt: skip
        """Store dU_i/dr_ij for every entry of atom i; returns U_i."""
        x = pos[i]
        a = look.kind_of(kind, i)
        energy = 0.0
        for s in range(count[i]):
            own = vec(0.0)
            if ti.static(has_pair):
                shared = look.read_pair(pair_table, 0)
                d, r2, b = look.visit(i, s, x, n, width, shift_bits, pos, kind, entries, shifts)
                p = look.pair_parameters(pair_table, shared, a, b)
                if r2 < p.cutoff * p.cutoff:
                    u, w = pair.function(r2, p)
                    own = 0.5 * w * d
                    energy += 0.5 * u
            partial[slot(i, s, n, width, by_slot)] = own
            if ti.static(has_bond):
                zeta[slot(i, s, n, width, by_slot)] = 0.0
        if ti.static(has_triplet):
            energy += triplets(
                i, n, width, shift_bits, pos, kind, count, entries, shifts, body_table, partial
            )
        if ti.static(has_bond):
            energy += bonds(i, n, width, shift_bits, pos, kind, count, entries, shifts, body_table, partial, zeta)  # fmt: skip
            bond_order_forces(i, n, width, shift_bits, pos, kind, count, entries, shifts, body_table, partial, zeta)  # fmt: skip
        return energy

    @ti.func
    def triplets(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), partial: ti.template()):  # fmt: skip
        """Angle terms h(r_ij, r_ik, cos) centred on i, each neighbour within its cutoff."""
        x = pos[i]
        a = look.kind_of(kind, i)
        shared = look.read_body(table, 0)
        energy = 0.0
        for s in range(count[i]):
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, pos, kind, entries, shifts)
            if r2_s < look.reach2(table, shared, a, b):
                r_s = ti.sqrt(r2_s)
                inverse_s = 1.0 / r_s
                own = partial[slot(i, s, n, width, by_slot)]
                for t in range(s + 1, count[i]):
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, pos, kind, entries, shifts)
                    p = look.body_parameters(table, shared, a, b, c)
                    q = look.body_parameters(table, shared, a, c, b)
                    if r2_s < p.cutoff * p.cutoff and r2_t < q.cutoff * q.cutoff:
                        r_t = ti.sqrt(r2_t)
                        inverse_t = 1.0 / r_t
                        cosine = d_s.dot(d_t) * (inverse_s * inverse_t)
                        h, h_s, h_t, h_cos = triplet.function(r_s, r_t, cosine, p)
                        energy += h
                        own += slope_vector(h_s, h_cos, cosine, d_s, inverse_s, d_t, inverse_t)
                        at = slot(i, t, n, width, by_slot)
                        partial[at] += slope_vector(h_t, h_cos, cosine, d_t, inverse_t, d_s, inverse_s)
                partial[slot(i, s, n, width, by_slot)] = own
        return energy

    @ti.func
    def bonds(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), partial: ti.template(), zeta: ti.template()):  # fmt: skip
        """zeta_ij = sum over k of the third-body function, and the energy of every bond of i.

        Once the loop has passed s, its zeta is complete and gives way to dU_i/dzeta, 0 beyond the cutoff.
        """
        x = pos[i]
        a = look.kind_of(kind, i)
        shared = look.read_body(table, 0)
        energy = 0.0
        for s in range(count[i]):
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, pos, kind, entries, shifts)
            if r2_s < look.reach2(table, shared, a, b):
                r_s = ti.sqrt(r2_s)
                inverse_s = 1.0 / r_s
                own = zeta[slot(i, s, n, width, by_slot)]
                for t in range(s + 1, count[i]):
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, pos, kind, entries, shifts)
                    if r2_t < look.reach2(table, shared, a, c):
                        r_t = ti.sqrt(r2_t)
                        cosine = d_s.dot(d_t) * (inverse_s * (1.0 / r_t))
                        p = look.body_parameters(table, shared, a, b, c)
                        q = look.body_parameters(table, shared, a, c, b)
                        z_s, z_t = zetas(r_s, r_t, cosine, p, q)
                        own += z_s
                        zeta[slot(i, t, n, width, by_slot)] += z_t
                p = look.body_parameters(table, shared, a, b, b)
                slope = 0.0
                if r_s < p.cutoff:
                    u, u_r, u_zeta = bond.bond(r_s, own, p)
                    energy += 0.5 * u
                    slope = 0.5 * u_zeta
                    partial[slot(i, s, n, width, by_slot)] += (0.5 * u_r * inverse_s) * d_s
                zeta[slot(i, s, n, width, by_slot)] = slope
        return energy

    @ti.func
    def bond_order_forces(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), partial: ti.template(), slope: ti.template()):  # fmt: skip
        """Chain rule through every zeta of i, with slope = dU_i/dzeta."""
        x = pos[i]
        a = look.kind_of(kind, i)
        shared = look.read_body(table, 0)
        for s in range(count[i]):
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, pos, kind, entries, shifts)
            if r2_s < look.reach2(table, shared, a, b):
                r_s = ti.sqrt(r2_s)
                inverse_s = 1.0 / r_s
                slope_s = slope[slot(i, s, n, width, by_slot)]
                own = partial[slot(i, s, n, width, by_slot)]
                for t in range(s + 1, count[i]):
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, pos, kind, entries, shifts)
                    if r2_t < look.reach2(table, shared, a, c):
                        at = slot(i, t, n, width, by_slot)
                        r_t = ti.sqrt(r2_t)
                        inverse_t = 1.0 / r_t
                        cosine = d_s.dot(d_t) * (inverse_s * inverse_t)
                        p = look.body_parameters(table, shared, a, b, c)
                        q = look.body_parameters(table, shared, a, c, b)
                        g_s, g_t, g_cos = zeta_slopes(r_s, r_t, cosine, slope_s, slope[at], p, q)
                        own += slope_vector(g_s, g_cos, cosine, d_s, inverse_s, d_t, inverse_t)
                        partial[at] += slope_vector(g_t, g_cos, cosine, d_t, inverse_t, d_s, inverse_s)
                partial[slot(i, s, n, width, by_slot)] = own

    # One species has one cutoff, which the caller has tested: without branches the compiler sees that both
    # directions share the angular part.
    @ti.func
    def zetas(r_s, r_t, cosine, p, q):
        """What the pair (s, t) adds to zeta_s and to zeta_t."""
        z_s, z_t = 0.0, 0.0
        if ti.static(terms.one_species):
            z_s = bond.zeta(r_s, r_t, cosine, p)[0]
            z_t = bond.zeta(r_t, r_s, cosine, q)[0]
        else:
            if r_t < p.cutoff:
                z_s = bond.zeta(r_s, r_t, cosine, p)[0]
            if r_s < q.cutoff:
                z_t = bond.zeta(r_t, r_s, cosine, q)[0]
        return z_s, z_t

    @ti.func
    def zeta_slopes(r_s, r_t, cosine, slope_s, slope_t, p, q):
        """Slopes of zeta_s (p) and zeta_t (q) to r_s, r_t and the cosine, each times its dU/dzeta.

        Two terms each, so that it does not matter which bond comes first.
        """
        g_s, g_t, g_cos = 0.0, 0.0, 0.0
        if ti.static(terms.one_species):
            _, s_bond, s_third, s_cos = bond.zeta(r_s, r_t, cosine, p)
            _, t_bond, t_third, t_cos = bond.zeta(r_t, r_s, cosine, q)
            g_s = slope_s * s_bond + slope_t * t_third
            g_t = slope_s * s_third + slope_t * t_bond
            g_cos = slope_s * s_cos + slope_t * t_cos
        else:
            if r_t < p.cutoff:
                _, z_bond, z_third, z_cos = bond.zeta(r_s, r_t, cosine, p)
                g_s += slope_s * z_bond
                g_t += slope_s * z_third
                g_cos += slope_s * z_cos
            if r_s < q.cutoff:
                _, z_bond, z_third, z_cos = bond.zeta(r_t, r_s, cosine, q)
                g_s += slope_t * z_third
                g_t += slope_t * z_bond
                g_cos += slope_t * z_cos
        return g_s, g_t, g_cos

    @ti.func
    def slope_vector(g_r, g_cos, cosine, d, inverse, d_other, inverse_other):
        """Derivative to the vector d of something with slopes g_r to its length and g_cos to the cosine."""
        return ((g_r - g_cos * cosine * inverse) * inverse) * d + (
            g_cos * (inverse * inverse_other)
        ) * d_other

    @ti.func
    def gather(i, n, width, shift_bits, pos: ti.template(), count: ti.template(), entries: ti.template(), reverse: ti.template(), shifts: ti.template(), partial: ti.template(), want: ti.template()):  # fmt: skip
        """Force and virial of atom i from the partial derivatives of both ends."""
        force = vec(0.0)
        virial = ti.Matrix.zero(real, 3, 3)
        for s in range(count[i]):
            at = slot(i, s, n, width, by_slot)
            f = partial[at] - partial[reverse[at]]
            force += f
            if ti.static(want):
                d = distance_vector(entries[at], shift_bits, pos[i], pos, shifts)
                virial -= 0.5 * d.outer_product(f)
        return force, virial

    return SimpleNamespace(
        pairs=pairs, partials=partials, gather=gather, zeta_slopes=zeta_slopes, slope_vector=slope_vector
    )
