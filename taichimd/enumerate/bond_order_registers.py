"""Bond orders of an atom with few neighbours: all of it in registers, every loop unrolled.

Most atoms of a covalent crystal have three or four neighbours within the cutoff. For those, distances,
weights, zetas and partial forces fit the registers of one thread, and the pairs of neighbours, independent
of each other, are straight code that a processor overlaps. Missing neighbours are stood in for by one with
zero weight, whose terms are zeros: sums have the terms of `bond_order`'s loops in the same order, hence the
same bits.
"""

from functools import cache
from itertools import combinations
from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.access import access, slope_vector
from taichimd.enumerate.bond_order import third_bodies
from taichimd.enumerate.live import BITS, marked
from taichimd.enumerate.terms import Terms
from taichimd.neighbours.pages import set_vector
from taichimd.neighbours.rows import ATOM_MAJOR, slot

MAX_IN_REGISTERS = 4
"""Neighbours within reach that are held in registers: as many as a tetrahedral crystal has."""
AHEAD = 4
"""Entries that a thread of a GPU reads at a time: their latencies pass together."""
BLOCK = 192
"""Threads of a block on a GPU that has more atoms than it does at a time: fewer registers a
thread leave room for more warps, which outweighs what the compiler puts aside (docs/decisions, 018)."""
PAIRS = [(m, s, t) for m, (s, t) in enumerate(combinations(range(MAX_IN_REGISTERS), 2))]
"""Number of a pair of neighbours, and the two."""


@cache
def compact_function(terms: Terms, real: Any, layout: int) -> Any:
    """The device function that does one atom of a bond order, if it has few neighbours.

    For one species and no pair term: with parameters that differ from tuple to tuple the unrolled code takes
    a minute to compile.
    """
    assert terms.bond_order is not None
    functions = terms.bond_order.function
    third = third_bodies(functions)
    look = access(terms, real, layout)
    ahead = 1 if layout == ATOM_MAJOR else AHEAD
    vec = ti.types.vector(3, real)
    reals = ti.types.vector(MAX_IN_REGISTERS, real)
    ints = ti.types.vector(MAX_IN_REGISTERS, ti.i32)
    vecs = ti.types.matrix(MAX_IN_REGISTERS, 3, real)
    doubles = ti.types.matrix(len(PAIRS), 8, real)
    cosine_of = ti.types.vector(len(PAIRS), real)

    @ti.func
    def row(m: ti.template(), k: ti.template()):
        return vec(m[k, 0], m[k, 1], m[k, 2])

    @ti.func
    def compact(i, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """Number and mask of the live neighbours, and U_i; also partial forces of `MAX_IN_REGISTERS`."""
        x = rows.pos[i]
        p = look.read_body(kept.body_table, 0)
        d, r, place = vecs(0.0), reals(0.0), ints(0)
        for k in ti.static(range(MAX_IN_REGISTERS)):
            d[k, 0] = p.reach
            r[k] = p.reach * p.reach
        found, mask = 0, 0
        m = rows.count[i]
        for base in range((m + ahead - 1) // ahead):
            visits = [
                look.visit(i, ti.min(base * ahead + a, m - 1), x, n, width, shift_bits, rows)
                for a in ti.static(range(ahead))
            ]  # fmt: skip
            for a in ti.static(range(ahead)):
                s = base * ahead + a
                d_s, r2_s, _ = visits[a]
                if s < m and r2_s < p.reach * p.reach:
                    for k in ti.static(range(MAX_IN_REGISTERS)):
                        if found == k:
                            r[k], place[k] = r2_s, s
                            for c in ti.static(range(3)):
                                d[k, c] = d_s[c]
                    found += 1
                    mask = marked(mask, s)
                elif s < m and width > BITS:
                    mask = marked(mask, s)
                    set_vector(kept.partial, slot(i, s, n, width, layout), vec(0.0))
        energy = 0.0
        if found <= MAX_IN_REGISTERS:
            inverse, w, dw, zeta, slope = reals(0.0), reals(0.0), reals(0.0), reals(0.0), reals(0.0)
            cosines, z, out = cosine_of(0.0), doubles(0.0), vecs(0.0)
            for k in ti.static(range(MAX_IN_REGISTERS)):
                r[k] = ti.sqrt(r[k])
                inverse[k] = 1.0 / r[k]
                f, df = third.weigh(r[k], p)
                w[k] = ti.select(k < found, f, 0.0)
                dw[k] = ti.select(k < found, df, 0.0)
            for m, s, t in ti.static(PAIRS):
                cosines[m] = row(d, s).dot(row(d, t)) * (inverse[s] * inverse[t])
                both = third.both(r[s], r[t], cosines[m], p, p)
                for c in ti.static(range(8)):
                    z[m, c] = both[c]
                zeta[s] += w[t] * z[m, 0]
                zeta[t] += w[s] * z[m, 4]
            for k in ti.static(range(MAX_IN_REGISTERS)):
                u, u_r, u_zeta = functions.bond(r[k], w[k], dw[k], zeta[k], p)
                inside = k < found and r[k] < p.cutoff
                energy += ti.select(inside, 0.5 * u, 0.0)
                slope[k] = ti.select(inside, 0.5 * u_zeta, 0.0)
                radial = ti.select(inside, 0.5 * u_r * inverse[k], 0.0)
                for c in ti.static(range(3)):
                    out[k, c] = radial * d[k, c]
            for m, s, t in ti.static(PAIRS):
                pair = ti.Vector([z[m, c] for c in ti.static(range(8))])
                g_s, g_t, g_cos = third.zeta_slopes(w[s], dw[s], w[t], dw[t], slope[s], slope[t], pair)
                d_s, d_t = row(d, s), row(d, t)
                to_s = slope_vector(g_s, g_cos, cosines[m], d_s, inverse[s], d_t, inverse[t])
                to_t = slope_vector(g_t, g_cos, cosines[m], d_t, inverse[t], d_s, inverse[s])
                for c in ti.static(range(3)):
                    out[s, c] += to_s[c]
                    out[t, c] += to_t[c]
            for k in ti.static(range(MAX_IN_REGISTERS)):
                if k < found:
                    set_vector(kept.partial, slot(i, place[k], n, width, layout), row(out, k))
        return found, mask, energy

    return compact
