"""Energies that depend on the coordination number of the atom: three loops over the neighbours of one atom.

The first loop sums the coordination number Z_i, the second sums pairs and triplets with their dE_i/dZ_i, and
the third gives dE_i/dZ_i to every neighbour. Only the neighbours of i are visited, so the partial forces are
those of any three-body term, and `gather` adds them up.
"""

from functools import cache
from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.access import access, slope_vector
from taichimd.enumerate.live import following
from taichimd.enumerate.terms import Terms
from taichimd.neighbours.pages import add_vector, set_vector, vector_at
from taichimd.neighbours.rows import slot


@cache
def coordination_function(terms: Terms, real: Any, layout: int) -> Any:
    """The device function of one atom: adds to the partial forces of its live entries, returns its energy."""
    assert terms.coordination is not None
    functions = terms.coordination.function
    look = access(terms, real, layout)
    one = terms.one_species

    @ti.func
    def around(i, mask, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """U_i; adds dU_i/dr_ij to the partial forces of the live entries."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        m = rows.count[i]
        z = 0.0
        s = following(mask, 0, m)
        while s < m:
            _, r2_s, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p_s = look.body_parameters(kept.body_table, shared, a, b, b)
            if r2_s < p_s.cutoff * p_s.cutoff:
                f, _ = functions.coordinate(ti.sqrt(r2_s), p_s)
                z += f
            s = following(mask, s + 1, m)
        # With one species the numbers that depend on Z alone are computed once.
        own_numbers = functions.of_coordination(z, shared)
        energy, slope = 0.0, 0.0
        s = following(mask, 0, m)
        while s < m:
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p_s = look.body_parameters(kept.body_table, shared, a, b, b)
            if r2_s < p_s.cutoff * p_s.cutoff:
                r_s = ti.sqrt(r2_s)
                inverse_s = 1.0 / r_s
                u, u_r, u_z = functions.pair(r_s, z, p_s)
                w_s, dw_s = functions.weight(r_s, p_s)
                energy += u
                slope += u_z
                own = vector_at(kept.partial, slot(i, s, n, width, layout)) + (u_r * inverse_s) * d_s
                t = following(mask, s + 1, m)
                while t < m:
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, rows)
                    p_t = look.body_parameters(kept.body_table, shared, a, c, c)
                    if r2_t < p_t.cutoff * p_t.cutoff:
                        r_t = ti.sqrt(r2_t)
                        inverse_t = 1.0 / r_t
                        cosine = d_s.dot(d_t) * (inverse_s * inverse_t)
                        w_t, dw_t = functions.weight(r_t, p_t)
                        p = look.body_parameters(kept.body_table, shared, a, b, c)
                        numbers = own_numbers
                        if ti.static(not one):
                            numbers = functions.of_coordination(z, p)
                        h, h_cos, h_z = functions.angle(cosine, numbers, p)
                        both = w_s * w_t
                        energy += both * h
                        slope += both * h_z
                        g_cos = both * h_cos
                        own += slope_vector(dw_s * w_t * h, g_cos, cosine, d_s, inverse_s, d_t, inverse_t)
                        add_vector(
                            kept.partial,
                            slot(i, t, n, width, layout),
                            slope_vector(w_s * dw_t * h, g_cos, cosine, d_t, inverse_t, d_s, inverse_s),
                        )
                    t = following(mask, t + 1, m)
                set_vector(kept.partial, slot(i, s, n, width, layout), own)
            s = following(mask, s + 1, m)
        s = following(mask, 0, m)
        while s < m:
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p_s = look.body_parameters(kept.body_table, shared, a, b, b)
            if r2_s < p_s.cutoff * p_s.cutoff:
                r_s = ti.sqrt(r2_s)
                _, df = functions.coordinate(r_s, p_s)
                add_vector(kept.partial, slot(i, s, n, width, layout), (slope * df * (1.0 / r_s)) * d_s)
            s = following(mask, s + 1, m)
        return energy

    return around
