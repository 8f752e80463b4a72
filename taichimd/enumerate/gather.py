"""Neighbour gather ("PD"): one thread per atom, no write conflicts, every sum in list order.

Force on atom i in the form of Fan et al., Comput. Phys. Commun. 218, 10 (2017), eqs. 12-14, 20:

    F_i = sum_j F_ij,   F_ij = dU_i/dr_ij - dU_j/dr_ji,   W_i = -1/2 sum_j r_ij (x) F_ij,   r_ij = r_j - r_i.

A potential of pairs alone needs one pass: F_ij = u'(r) r_ij/r. Anything with three-body terms takes two:
`partials` lets the thread of atom i store dU_i/dr_ij for each of its neighbours, and `gather` combines them
with the reverse ones, found through the index `reverse`.

Triples of i are visited once per unordered pair of neighbours; what a triple adds to either neighbour goes
to entries that only this thread writes.
"""

from functools import cache
from typing import Any

from taichimd.enumerate.parameters import reader
from taichimd.forcefields.terms import Terms
from taichimd.neighbours.kernels import slot
from taichimd.runtime import ti


@ti.func
def neighbour(entry, shift_bits):
    """Sorted index of the neighbour in an entry."""
    return entry >> shift_bits


@ti.func
def distance_vector(entry, shift_bits, x, pos: ti.template(), shifts: ti.template()):
    """r_ij = r_j - r_i for an entry of atom i at x, through the right image."""
    return (pos[entry >> shift_bits] - x) + shifts[entry & ((1 << shift_bits) - 1)]


@cache
def gather_functions(terms: Terms, real: Any, by_slot: bool) -> Any:
    """Device functions of one force field: `pairs` for pair potentials, else `partials` and `gather`."""
    vec = ti.types.vector(3, real)
    one = terms.one_species
    n_kinds = terms.n_kinds
    pair, triplet, bond = terms.pair, terms.triplet, terms.bond_order
    read_pair = reader(pair.columns, real) if pair else None
    body = triplet or bond
    has_pair, has_triplet, has_bond = pair is not None, triplet is not None, bond is not None
    read_body = reader(body.columns, real) if body else None

    # With one species its parameters are read once, into registers (`shared`), not once per tuple.
    @ti.func
    def pair_parameters(table: ti.template(), shared, a, b):
        p = shared
        if ti.static(not one):
            p = read_pair(table, a * n_kinds + b)
        return p

    @ti.func
    def body_parameters(table: ti.template(), shared, a, b, c):
        p = shared
        if ti.static(not one):
            p = read_body(table, (a * n_kinds + b) * n_kinds + c)
        return p

    @ti.func
    def kind_of(kind: ti.template(), j):
        return 0 if ti.static(one) else kind[j]

    @ti.func
    def reach(table: ti.template(), shared, a, entry, kind: ti.template(), shift_bits):
        """Longest distance at which the neighbour of an entry takes part in any triple of an atom of kind a."""
        b = kind_of(kind, neighbour(entry, shift_bits))
        return body_parameters(table, shared, a, b, b).reach

    @ti.func
    def pairs(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), want: ti.template()):  # fmt: skip
        """Force, energy and virial of atom i from a pair potential."""
        x = pos[i]
        a = kind_of(kind, i)
        shared = read_pair(table, 0)
        force = vec(0.0)
        energy = 0.0
        virial = ti.Matrix.zero(real, 3, 3)
        for s in range(count[i]):
            entry = entries[slot(i, s, n, width, by_slot)]
            d = distance_vector(entry, shift_bits, x, pos, shifts)
            r2 = d.dot(d)
            p = pair_parameters(table, shared, a, kind_of(kind, neighbour(entry, shift_bits)))
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
        a = kind_of(kind, i)
        energy = 0.0
        for s in range(count[i]):
            own = vec(0.0)
            if ti.static(has_pair):
                shared = read_pair(pair_table, 0)
                entry = entries[slot(i, s, n, width, by_slot)]
                d = distance_vector(entry, shift_bits, x, pos, shifts)
                r2 = d.dot(d)
                p = pair_parameters(pair_table, shared, a, kind_of(kind, neighbour(entry, shift_bits)))
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
            bond_orders(i, n, width, shift_bits, pos, kind, count, entries, shifts, body_table, zeta)
            energy += bonds(
                i, n, width, shift_bits, pos, kind, count, entries, shifts, body_table, partial, zeta
            )
            bond_order_forces(
                i, n, width, shift_bits, pos, kind, count, entries, shifts, body_table, partial, zeta
            )
        return energy

    @ti.func
    def triplets(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), partial: ti.template()):  # fmt: skip
        """Angle terms h(r_ij, r_ik, cos) centred on i, both neighbours within the triple's cutoff."""
        x = pos[i]
        a = kind_of(kind, i)
        shared = read_body(table, 0)
        energy = 0.0
        for s in range(count[i]):
            entry_s = entries[slot(i, s, n, width, by_slot)]
            d_s = distance_vector(entry_s, shift_bits, x, pos, shifts)
            r2_s = d_s.dot(d_s)
            if r2_s < reach(table, shared, a, entry_s, kind, shift_bits) ** 2:
                r_s = ti.sqrt(r2_s)
                b = kind_of(kind, neighbour(entry_s, shift_bits))
                own = vec(0.0)
                for t in range(s + 1, count[i]):
                    entry_t = entries[slot(i, t, n, width, by_slot)]
                    d_t = distance_vector(entry_t, shift_bits, x, pos, shifts)
                    r2_t = d_t.dot(d_t)
                    p = body_parameters(table, shared, a, b, kind_of(kind, neighbour(entry_t, shift_bits)))
                    q = body_parameters(table, shared, a, kind_of(kind, neighbour(entry_t, shift_bits)), b)
                    if r2_s < p.cutoff * p.cutoff and r2_t < q.cutoff * q.cutoff:
                        r_t = ti.sqrt(r2_t)
                        cosine = d_s.dot(d_t) / (r_s * r_t)
                        h, h_s, h_t, h_cos = triplet.function(r_s, r_t, cosine, p)
                        energy += h
                        cross = h_cos / (r_s * r_t)
                        own += (h_s / r_s - h_cos * cosine / r2_s) * d_s + cross * d_t
                        at = slot(i, t, n, width, by_slot)
                        partial[at] += (h_t / r_t - h_cos * cosine / r2_t) * d_t + cross * d_s
                partial[slot(i, s, n, width, by_slot)] += own
        return energy

    @ti.func
    def bond_orders(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), zeta: ti.template()):  # fmt: skip
        """zeta_ij = sum over k of the third-body function, for every bond of i."""
        x = pos[i]
        a = kind_of(kind, i)
        shared = read_body(table, 0)
        for s in range(count[i]):
            entry_s = entries[slot(i, s, n, width, by_slot)]
            d_s = distance_vector(entry_s, shift_bits, x, pos, shifts)
            r2_s = d_s.dot(d_s)
            if r2_s < reach(table, shared, a, entry_s, kind, shift_bits) ** 2:
                r_s = ti.sqrt(r2_s)
                b = kind_of(kind, neighbour(entry_s, shift_bits))
                own = 0.0
                for t in range(s + 1, count[i]):
                    entry_t = entries[slot(i, t, n, width, by_slot)]
                    d_t = distance_vector(entry_t, shift_bits, x, pos, shifts)
                    r2_t = d_t.dot(d_t)
                    if r2_t < reach(table, shared, a, entry_t, kind, shift_bits) ** 2:
                        r_t = ti.sqrt(r2_t)
                        c = kind_of(kind, neighbour(entry_t, shift_bits))
                        cosine = d_s.dot(d_t) / (r_s * r_t)
                        p = body_parameters(table, shared, a, b, c)
                        if r_t < p.cutoff:
                            z, _, _, _ = bond.zeta(r_s, r_t, cosine, p)
                            own += z
                        q = body_parameters(table, shared, a, c, b)
                        if r_s < q.cutoff:
                            z, _, _, _ = bond.zeta(r_t, r_s, cosine, q)
                            zeta[slot(i, t, n, width, by_slot)] += z
                zeta[slot(i, s, n, width, by_slot)] += own

    @ti.func
    def bonds(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), partial: ti.template(), zeta: ti.template()):  # fmt: skip
        """Energy of the bonds of i; replaces zeta_ij by dU_i/dzeta_ij, 0 beyond the bond's cutoff."""
        x = pos[i]
        a = kind_of(kind, i)
        shared = read_body(table, 0)
        energy = 0.0
        for s in range(count[i]):
            at = slot(i, s, n, width, by_slot)
            d = distance_vector(entries[at], shift_bits, x, pos, shifts)
            r2 = d.dot(d)
            b = kind_of(kind, neighbour(entries[at], shift_bits))
            p = body_parameters(table, shared, a, b, b)
            slope = 0.0
            if r2 < p.cutoff * p.cutoff:
                r = ti.sqrt(r2)
                u, u_r, u_zeta = bond.bond(r, zeta[at], p)
                energy += 0.5 * u
                slope = 0.5 * u_zeta
                partial[at] += (0.5 * u_r / r) * d
            zeta[at] = slope
        return energy

    @ti.func
    def bond_order_forces(i, n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), partial: ti.template(), slope: ti.template()):  # fmt: skip
        """Chain rule through every zeta of i, with slope = dU_i/dzeta."""
        x = pos[i]
        a = kind_of(kind, i)
        shared = read_body(table, 0)
        for s in range(count[i]):
            entry_s = entries[slot(i, s, n, width, by_slot)]
            d_s = distance_vector(entry_s, shift_bits, x, pos, shifts)
            r2_s = d_s.dot(d_s)
            if r2_s < reach(table, shared, a, entry_s, kind, shift_bits) ** 2:
                r_s = ti.sqrt(r2_s)
                b = kind_of(kind, neighbour(entry_s, shift_bits))
                slope_s = slope[slot(i, s, n, width, by_slot)]
                own = vec(0.0)
                for t in range(s + 1, count[i]):
                    at = slot(i, t, n, width, by_slot)
                    entry_t = entries[at]
                    d_t = distance_vector(entry_t, shift_bits, x, pos, shifts)
                    r2_t = d_t.dot(d_t)
                    if r2_t < reach(table, shared, a, entry_t, kind, shift_bits) ** 2:
                        r_t = ti.sqrt(r2_t)
                        c = kind_of(kind, neighbour(entry_t, shift_bits))
                        cosine = d_s.dot(d_t) / (r_s * r_t)
                        p = body_parameters(table, shared, a, b, c)
                        g_s, g_t, g_cos = 0.0, 0.0, 0.0
                        if r_t < p.cutoff:
                            _, z_bond, z_third, z_cos = bond.zeta(r_s, r_t, cosine, p)
                            g_s += slope_s * z_bond
                            g_t += slope_s * z_third
                            g_cos += slope_s * z_cos
                        q = body_parameters(table, shared, a, c, b)
                        if r_s < q.cutoff:
                            _, z_bond, z_third, z_cos = bond.zeta(r_t, r_s, cosine, q)
                            g_s += slope[at] * z_third
                            g_t += slope[at] * z_bond
                            g_cos += slope[at] * z_cos
                        cross = g_cos / (r_s * r_t)
                        own += (g_s / r_s - g_cos * cosine / r2_s) * d_s + cross * d_t
                        partial[at] += (g_t / r_t - g_cos * cosine / r2_t) * d_t + cross * d_s
                partial[slot(i, s, n, width, by_slot)] += own

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

    class Functions:
        """The device functions of one force field."""

    Functions.pairs, Functions.partials, Functions.gather = map(staticmethod, (pairs, partials, gather))  # type: ignore[attr-defined]
    return Functions
