"""Torsions i-j-k-l about a bond jk, and four-body conjugation.

    E_torsion = f10 sin(Theta_ijk) sin(Theta_jkl) 1/2 (V1 (1 + cos w)
                + V2 exp(p_tor1 (2 - BO_p,jk - f11)^2) (1 - cos 2w) + V3 (1 + cos 3w))
    E_conjugation = f12 p_cot1 (1 + (cos^2 w - 1) sin(Theta_ijk) sin(Theta_jkl))

Chenoweth, van Duin, Goddard, J. Phys. Chem. A 112, 1040 (2008), equations 16 and 17, with bond orders less
0.001. A thread has a half-bond (j, s) to k and visits the other bonds of j and of k. So each torsion is
visited from both halves of its centre bond. Each visit takes the force on its own outer atom i, and half of
what belongs to the centre. A thread leaves what acts on the bond ij in `ends`, with the centre bond's half:
that of ij adds it up (`chain`).
"""

from functools import cache
from typing import Any

from taichimd.core.math import exp
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.angles import LEAST_ORDER, LEAST_PRODUCT, to_end
from taichimd.forcefields.reaxff.arrays import (
    GO,
    A,
    H,
    bond_functions,
    put_vector,
    vector,
)
from taichimd.forcefields.reaxff.tables import N_ATOM, G, OfAtom, OfTorsion

LEAST_TRIPLE = 0.001
"""Product of the three bond orders of a torsion from which the torsion counts."""
SAME = 0.01
"""angstrom^2: two atoms of one number this near are one, and not images of each other."""


@cache
def torsions_function(backend: str, n_kinds: int, energies: bool) -> Any:
    """Device function `torsions`; with `energies` it leaves those, too."""
    place, owner = bond_functions(backend)
    first_row = n_kinds**3 + 1

    @ti.func
    def torsions(
        atoms: ti.template(), shift_bits, bonds: ti.template(), tables: ti.template(), status: ti.template()
    ):
        for t in range(bonds.places):
            n, width, m = atoms.n, bonds.width, bonds.places
            j, s = owner(t, n, width)
            if status[GO] == 1 and s < bonds.count[j]:
                centre = bonds.half[H.BO * m + t]
                k = bonds.partner[t] >> shift_bits
                back = bonds.twin[t]
                jk = vector(H.DX, t, m, bonds.half)
                length2 = jk.dot(jk)
                length = ti.sqrt(length2)
                kj_kinds = atoms.kind[j] * n_kinds + atoms.kind[k]
                x = (
                    bonds.atom[A.T * n + j]
                    - tables.atom[atoms.kind[j] * N_ATOM + OfAtom.Val_ang]
                    + (bonds.atom[A.T * n + k] - tables.atom[atoms.kind[k] * N_ATOM + OfAtom.Val_ang])
                )
                g25, g26 = tables.general[G.p_tor3], tables.general[G.p_tor4]
                down, up = ti.min(exp(-g25 * x), 1e150), ti.min(exp(g26 * x), 1e150)
                whole = 1.0 + down + up
                f11 = (2.0 + down) / whole
                f11_slope = (-g25 * (down / whole)) - f11 * (g26 * (up / whole) - g25 * (down / whole))
                g24, g28 = tables.general[G.p_tor2], tables.general[G.p_cot2]
                b2 = centre - LEAST_ORDER
                x2 = exp(-g24 * b2)
                y = 2.0 - bonds.half[H.BO_P * m + t] - f11
                cb_centre, cp_centre, ct, e_torsion, e_conjugation = 0.0, 0.0, 0.0, 0.0, 0.0
                between = ti.Vector([0.0, 0.0, 0.0])
                for v in range(bonds.count[j]):
                    t1 = place(j, v, n, width)
                    order1 = bonds.half[H.BO * m + t1]
                    cb = 0.0
                    force = ti.Vector([0.0, 0.0, 0.0])
                    if (
                        v != s and centre > LEAST_ORDER and order1 > LEAST_ORDER
                        and order1 * centre > LEAST_PRODUCT
                    ):  # fmt: skip
                        i = bonds.partner[t1] >> shift_bits
                        ji = vector(H.DX, t1, m, bonds.half)
                        b1 = order1 - LEAST_ORDER
                        x1 = exp(-g24 * b1)
                        c1, s1, to_i = to_end(ji, jk)
                        # Under Taichi a name keeps its first type: `_` cannot be a number, then a vector.
                        _c1, _s1, to_k = to_end(jk, ji)
                        n1 = ji.cross(jk)
                        for u in range(bonds.count[k]):
                            t3 = place(k, u, n, width)
                            order3 = bonds.half[H.BO * m + t3]
                            # Few pass: what the rest needs is read for them alone.
                            if (
                                t3 != back and order3 > LEAST_ORDER and order3 * centre > LEAST_PRODUCT
                                and order1 * centre * order3 > LEAST_TRIPLE
                            ):  # fmt: skip
                                l = bonds.partner[t3] >> shift_bits  # noqa: E741
                                kl = vector(H.DX, t3, m, bonds.half)
                                closes = ji - (jk + kl)
                                row = tables.rows[
                                    first_row
                                    + (atoms.kind[i] * n_kinds * n_kinds + kj_kinds) * n_kinds
                                    + atoms.kind[l]
                                ]
                                if row >= 0 and not (i == l and closes.dot(closes) < SAME):
                                    p = row * OfTorsion.columns
                                    b3 = order3 - LEAST_ORDER
                                    x3 = exp(-g24 * b3)
                                    c2, s2, _to_l = to_end(kl, -jk)
                                    _c2, _s2, to_j = to_end(-jk, kl)
                                    n2 = jk.cross(kl)
                                    n11, n22 = ti.max(n1.dot(n1), 1e-20), ti.max(n2.dot(n2), 1e-20)
                                    inverse = 1.0 / ti.sqrt(n11 * n22)
                                    cos_w = -n1.dot(n2) * inverse
                                    sin_w = -length * ji.dot(n2) * inverse
                                    # Of vectors in a line both are 0; w is 0 then.
                                    norm2 = cos_w * cos_w + sin_w * sin_w
                                    if norm2 > 0.25:
                                        scale = 1.0 / ti.sqrt(norm2)
                                        cos_w *= scale
                                        sin_w *= scale
                                    else:
                                        cos_w, sin_w = 1.0, 0.0
                                    v1, v3 = (
                                        tables.torsion[p + OfTorsion.V1],
                                        tables.torsion[p + OfTorsion.V3],
                                    )
                                    p_tor1 = tables.torsion[p + OfTorsion.p_tor1]
                                    v2 = tables.torsion[p + OfTorsion.V2] * exp(p_tor1 * y * y)
                                    sin2 = sin_w * sin_w
                                    # cos 2w = 1 - 2 sin^2, cos 3w = cos (1 - 4 sin^2), sin 3w = sin (3 - 4
                                    # sin^2).
                                    of_w = 0.5 * (
                                        v1 * (1.0 + cos_w)
                                        + v2 * (2.0 * sin2)
                                        + v3 * (1.0 + cos_w * (1.0 - 4.0 * sin2))
                                    )
                                    to_w = 0.5 * (
                                        -v1 * sin_w
                                        + 4.0 * v2 * sin_w * cos_w
                                        - 3.0 * v3 * sin_w * (3.0 - 4.0 * sin2)
                                    )
                                    o1, o2, o3 = 1.0 - x1, 1.0 - x2, 1.0 - x3
                                    f10 = o1 * o3 * o2
                                    ss = s1 * s2
                                    q = ss * of_w * g24
                                    y1, y2, y3 = b1 - 1.5, b2 - 1.5, b3 - 1.5
                                    f12 = tables.torsion[p + OfTorsion.p_cot1] * exp(
                                        -g28 * (y1 * y1 + y3 * y3 + y2 * y2)
                                    )
                                    e = f12 * (1.0 - sin2 * ss)
                                    cb += q * x1 * (o2 * o3) - 2.0 * g28 * y1 * e
                                    cb_centre += q * x2 * (o1 * o3) - 2.0 * g28 * y2 * e
                                    z = f10 * ss * (2.0 * v2 * sin2) * p_tor1 * y
                                    cp_centre -= z
                                    ct -= z * f11_slope
                                    h1 = (f10 * of_w - f12 * sin2) * s2 * c1
                                    h2 = (f10 * of_w - f12 * sin2) * s1 * c2
                                    hw = ss * (f10 * to_w - 2.0 * f12 * cos_w * sin_w)
                                    w_i = hw * length / n11 * n1
                                    w_l = hw * length / n22 * n2
                                    force -= h1 * to_i + w_i
                                    between += (
                                        h1 * to_k - h2 * to_j
                                        - (ji.dot(jk) / length2) * w_i - (kl.dot(jk) / length2) * w_l
                                    )  # fmt: skip
                                    e_torsion += f10 * ss * of_w
                                    e_conjugation += e
                    bonds.ends[place(j, v, n, width) + m * s] = cb
                    for c in ti.static(range(3)):
                        bonds.ends[((c + 1) * width + s) * m + t1] = force[c]
                bonds.half[H.CB * m + t] += 0.5 * cb_centre
                bonds.half[H.CP * m + t] += 0.5 * cp_centre
                bonds.half[H.CT_CENTRE * m + t] += ct
                put_vector(vector(H.OUTER_X, t, m, bonds.half) - 0.5 * between, H.OUTER_X, t, m, bonds.half)
                if ti.static(energies):
                    bonds.half[H.E_TORSION * m + t] = 0.5 * e_torsion
                    bonds.half[H.E_CONJUGATION * m + t] = 0.5 * e_conjugation

    return torsions
