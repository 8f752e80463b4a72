"""Angles between two bonds of an atom: valence, penalty and three-body conjugation ("coalition").

    E_angle = f7(BO_ij) f7(BO_jk) f8 p_val1 (1 - exp(-p_val2 (Theta0 - Theta)^2))
    E_penalty = p_pen1 f9 exp(-p_pen2 (BO_ij - 2)^2) exp(-p_pen2 (BO_jk - 2)^2)
    E_coalition = p_coa1/(1 + exp(p_coa2 Delta_boc)) exp(-p_coa3 (T_i - BO_ij)^2) exp(-p_coa3 (T_k - BO_jk)^2)
                  exp(-p_coa4 (BO_ij - 1.5)^2) exp(-p_coa4 (BO_jk - 1.5)^2)

Chenoweth, van Duin, Goddard, J. Phys. Chem. A 112, 1040 (2008), equations 13 to 15, with bond orders less
0.001. A thread has a half-bond (j, s) and visits all other bonds of j. So each angle is visited from both of
its sides: each side takes what acts on its own bond and outer atom; the first one what belongs to the centre.
"""

from functools import cache
from typing import Any

from taichimd.core.math import angle, exp, power
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.arrays import GO, A, H, bond_functions, put_vector, vector
from taichimd.forcefields.reaxff.tables import N_ATOM, G, OfAngle, OfAtom

LEAST_ORDER = 0.001
"""Bond orders from which a bond has angles and torsions, which see what is above it."""
LEAST_PRODUCT = 1e-5
"""Product of the two bond orders of an angle from which the angle counts."""
DEGREE = 3.14159265 / 180.0
"""As the published codes round it: the exact number changes energies by 1e-8."""


@ti.func
def to_end(a, b):
    """Cosine and sine of the angle between a and b, and the derivative of the angle to a."""
    aa, bb = a.dot(a), b.dot(b)
    inverse = 1.0 / ti.sqrt(aa * bb)
    c = ti.min(ti.max(a.dot(b) * inverse, -1.0), 1.0)
    n = a.cross(b)
    s = ti.sqrt(n.dot(n)) * inverse
    return c, s, (c / aa * a - inverse * b) / ti.max(s, 1e-10)


@cache
def angles_function(backend: str, n_kinds: int, energies: bool) -> Any:
    """Device function `angles`; with `energies` it leaves those, too."""
    place, owner = bond_functions(backend)

    @ti.func
    def angles(
        atoms: ti.template(), shift_bits, bonds: ti.template(), tables: ti.template(), status: ti.template()
    ):
        for t in range(bonds.places):
            n, width, m = atoms.n, bonds.width, bonds.places
            j, s = owner(t, n, width)
            if status[GO] == 1 and s < bonds.count[j]:
                own = vector(H.DX, t, m, bonds.half)
                order = bonds.half[H.BO * m + t]
                b = atoms.kind[j]
                i = bonds.partner[t] >> shift_bits
                a = atoms.kind[i]
                cb, ct, ct_end, to_sbo = 0.0, 0.0, 0.0, 0.0
                e_angle, e_penalty, e_coalition = 0.0, 0.0, 0.0
                force = ti.Vector([0.0, 0.0, 0.0])
                if order > LEAST_ORDER:
                    p3, p5 = tables.atom[b * N_ATOM + OfAtom.p_val3], tables.atom[b * N_ATOM + OfAtom.p_val5]
                    total = bonds.atom[A.T * n + j]
                    d_angle = total - tables.atom[b * N_ATOM + OfAtom.Val_ang]
                    # f9 and what the coalition has of the centre.
                    delta = total - tables.atom[b * N_ATOM + OfAtom.Val]
                    g21, g22 = tables.general[G.p_pen3], tables.general[G.p_pen4]
                    down, up = exp(-g21 * delta), ti.min(exp(g22 * delta), 1e150)
                    whole = 1.0 + down + up
                    f9 = (2.0 + down) / whole
                    f9_slope = (-g21 * down - f9 * (g22 * up - g21 * down)) / whole
                    g3 = tables.general[G.p_coa2]
                    steep = ti.min(exp(g3 * (total - tables.atom[b * N_ATOM + OfAtom.Val_boc])), 1e150)
                    e6 = ti.min(exp(tables.general[G.p_val6] * d_angle), 1e150)
                    et = bonds.atom[A.THETA_PART * n + j]
                    b1 = order - LEAST_ORDER
                    for u in range(bonds.count[j]):
                        t2 = place(j, u, n, width)
                        order2 = bonds.half[H.BO * m + t2]
                        if u != s and order2 > LEAST_ORDER and order * order2 > LEAST_PRODUCT:
                            k = bonds.partner[t2] >> shift_bits
                            b2 = order2 - LEAST_ORDER
                            triple = (a * n_kinds + b) * n_kinds + atoms.kind[k]
                            first = ti.select(u > s, 1.0, 0.0)
                            slope = 0.0
                            cosine, sine, gradient = to_end(own, vector(H.DX, t2, m, bonds.half))
                            theta = angle(cosine, sine)
                            for row in range(tables.rows[triple], tables.rows[triple + 1]):
                                p = row * OfAngle.columns
                                p1, p2 = tables.angle[p + OfAngle.p_val1], tables.angle[p + OfAngle.p_val2]
                                p4, p7 = tables.angle[p + OfAngle.p_val4], tables.angle[p + OfAngle.p_val7]
                                theta00 = tables.angle[p + OfAngle.Theta00]
                                raised = power(b1, p4)
                                x1, x2 = exp(-p3 * raised), exp(-p3 * power(b2, p4))
                                e7 = ti.min(exp(-p7 * d_angle), 1e150)
                                g15 = tables.general[G.p_val6]
                                rest = 1.0 + e6 + e7
                                quotient = (2.0 + e6) / rest
                                f8 = p5 - (p5 - 1.0) * quotient
                                f8_slope = -(p5 - 1.0) * (
                                    g15 * (e6 / rest) - quotient * (g15 * (e6 / rest) - p7 * (e7 / rest))
                                )
                                theta0 = DEGREE * (180.0 - theta00 * (1.0 - et))
                                x = exp(-p2 * (theta0 - theta) * (theta0 - theta))
                                h = p1 * (ti.select(p1 >= 0.0, 1.0, 0.0) - x)
                                # dh/dTheta0, which is -dh/dTheta.
                                to_theta = 2.0 * p1 * p2 * (theta0 - theta) * x
                                f7 = (1.0 - x1) * (1.0 - x2)
                                cb += p3 * p4 * (raised / b1) * x1 * (1.0 - x2) * f8 * h
                                slope -= f7 * f8 * to_theta
                                ct += first * f7 * f8_slope * h
                                to_sbo += first * f7 * f8 * to_theta * DEGREE * theta00 * et
                                e_angle += first * f7 * f8 * h
                                g20 = tables.general[G.p_pen2]
                                y1, y2 = b1 - 2.0, b2 - 2.0
                                e = tables.angle[p + OfAngle.p_pen1] * exp(-g20 * (y1 * y1 + y2 * y2))
                                cb -= 2.0 * g20 * y1 * e * f9
                                ct += first * e * f9_slope
                                e_penalty += first * e * f9
                                g31, g39 = tables.general[G.p_coa4], tables.general[G.p_coa3]
                                z1, z2 = bonds.atom[A.T * n + i] - b1, bonds.atom[A.T * n + k] - b2
                                y1, y2 = b1 - 1.5, b2 - 1.5
                                e = (
                                    tables.angle[p + OfAngle.p_coa1]
                                    / (1.0 + steep)
                                    * exp(-g39 * (z1 * z1 + z2 * z2) - g31 * (y1 * y1 + y2 * y2))
                                )
                                cb += e * (2.0 * g39 * z1 - 2.0 * g31 * y1)
                                ct_end -= 2.0 * g39 * z1 * e
                                ct -= first * e * g3 * (steep / (1.0 + steep))
                                e_coalition += first * e
                            force -= slope * gradient
                bonds.half[H.CB * m + t] += cb
                bonds.half[H.CT_CENTRE * m + t] = ct
                bonds.half[H.CT_END * m + t] = ct_end
                bonds.half[H.SBO * m + t] = (
                    to_sbo * tables.general[G.p_val10] * bonds.atom[A.SBO_SLOPE * n + j]
                )
                put_vector(force, H.OUTER_X, t, m, bonds.half)
                if ti.static(energies):
                    bonds.half[H.E_ANGLE * m + t] = e_angle
                    bonds.half[H.E_PENALTY * m + t] = e_penalty
                    bonds.half[H.E_COALITION * m + t] = e_coalition

    return angles
