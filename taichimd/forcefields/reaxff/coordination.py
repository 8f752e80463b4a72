"""Energies of bonds, lone pairs, over- and undercoordination, and what they give to bonds and atoms.

Chenoweth, van Duin, Goddard, J. Phys. Chem. A 112, 1040 (2008), equations 6 to 12; the triple bond's
stabilisation and the C2 correction with them. With T_i = sum_j BO_ij,

    E_bond = -(De_s BO_s exp(p_be1 (1 - BO_s^p_be2)) + De_p BO_p + De_pp BO_pp)
    S1 = sum_j p_ovun1 De_s BO_ij,  S2 = sum_j (Delta_j - Delta_lp,j) (BO_p + BO_pp)
    Dc = Delta_i - Delta_lp,i/(1 + p_ovun3 exp(p_ovun4 S2))
    E_over = S1 Dc/((Dc + Val) (1 + exp(p_ovun2 Dc)))
    E_under = -p_ovun5 (1 - exp(p_ovun6 Dc))/((1 + exp(-p_ovun2 Dc)) (1 + p_ovun7 exp(p_ovun8 S2)))

In S2 and Dc lone pairs count for light atoms alone. Each half of a bond has half of the bond's energy. The
loop also leaves what all angles of an atom have in common.
"""

from functools import cache
from typing import Any

from taichimd.core.math import exp, power
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.arrays import GO, A, H, bond_functions
from taichimd.forcefields.reaxff.tables import N_ATOM, N_PAIR, G, OfAtom, OfPair

LARGE = 1e150
"""Upper bound of numbers that may overflow, so that quotients of them are 0 and not undefined."""


@cache
def coordination_function(backend: str, n_kinds: int, energies: bool) -> Any:
    """Device function of all terms of atoms and bonds alone; with `energies` it leaves those, too."""
    place, _ = bond_functions(backend)

    @ti.func
    def light_pairs(j, n, atoms: ti.template(), bonds: ti.template(), tables: ti.template()):
        """Delta_lp of an atom if it is light, else 0."""
        return tables.atom[atoms.kind[j] * N_ATOM + OfAtom.light] * bonds.atom[A.LP * n + j]

    @ti.func
    def delta(j, n, atoms: ti.template(), bonds: ti.template(), tables: ti.template()):
        return bonds.atom[A.T * n + j] - tables.atom[atoms.kind[j] * N_ATOM + OfAtom.Val]

    @ti.func
    def of_bonds(i, x, y, over, atoms: ti.template(), bonds: ti.template(), tables: ti.template()):
        """Bonds of atom i, for y = dE/dS2 and over = dE/dS1: dE/dBO, energies of bonds and C2, dE/dT of i."""
        n, width = atoms.n, bonds.width
        m = n * width
        a = atoms.kind[i]
        light = tables.atom[a * N_ATOM + OfAtom.light]
        d_i = delta(i, n, atoms, bonds, tables)
        e_bond, e_c2, ct = 0.0, 0.0, 0.0
        for s in range(bonds.count[i]):
            t = place(i, s, n, width)
            j = bonds.partner[t] >> x
            q = (a * n_kinds + atoms.kind[j]) * N_PAIR
            order, sigma = bonds.half[H.BO * m + t], bonds.half[H.BO_S * m + t]
            de, p1, p2 = (
                tables.pair[q + OfPair.De_s],
                tables.pair[q + OfPair.p_be1],
                tables.pair[q + OfPair.p_be2],
            )
            de_p, de_pp = tables.pair[q + OfPair.De_p], tables.pair[q + OfPair.De_pp]
            raised = power(sigma, p2)
            e = de * exp(p1 * (1.0 - raised))
            w = ti.select(sigma > 0.0, -0.5 * e * (1.0 - p1 * p2 * raised), 0.0)
            e_bond -= 0.5 * (
                e * sigma + de_p * bonds.half[H.BO_P * m + t] + de_pp * bonds.half[H.BO_PP * m + t]
            )
            cb = w + over * tables.pair[q + OfPair.p_ovun1] * de
            d_j = delta(j, n, atoms, bonds, tables)
            pi = y * (d_j - light * light_pairs(j, n, atoms, bonds, tables))
            if tables.pair[q + OfPair.triple] > 0.0 and order >= 1.0:
                g4, g5, g8 = tables.general[G.p_trip4], tables.general[G.p_trip3], tables.general[G.p_trip2]
                mine = exp(-g4 * (bonds.atom[A.T * n + i] - order))
                theirs = exp(-g4 * (bonds.atom[A.T * n + j] - order))
                steep = ti.min(exp(g5 * (d_i + d_j)), LARGE)
                h = 1.0 / (1.0 + 25.0 * steep)
                k = tables.general[G.p_trip1] * exp(-g8 * (order - 2.5) * (order - 2.5)) * h
                e_bond += 0.5 * k * (mine + theirs)
                cb += 0.5 * k * (mine + theirs) * (g4 - 2.0 * g8 * (order - 2.5))
                ct -= k * (g4 * mine + 25.0 * g5 * steep * h * (mine + theirs))
            c2 = tables.general[G.k_c2]
            if tables.pair[q + OfPair.carbon] > 0.0:
                v = order - d_i - 0.04 * d_i * d_i * d_i * d_i
                if v > 3.0:
                    e_c2 += c2 * (v - 3.0) * (v - 3.0)
                    cb += 2.0 * c2 * (v - 3.0)
                    ct -= 2.0 * c2 * (v - 3.0) * (1.0 + 0.16 * d_i * d_i * d_i)
            bonds.half[H.CB * m + t] = cb
            bonds.half[H.CP * m + t] = pi - w - 0.5 * de_p
            bonds.half[H.CPP * m + t] = pi - w - 0.5 * de_pp
        return e_bond, e_c2, ct

    @ti.func
    def common_of_angles(i, n, pi, eighth, bonds: ti.template(), tables: ti.template(), q):
        """What the angles at atom i have in common, of sum_j (BO_p + BO_pp) and sum_j BO^8."""
        p = exp(-eighth)
        u = (
            bonds.atom[A.T * n + i]
            - tables.atom[q + OfAtom.Val_ang]
            + (tables.general[G.p_val8] * bonds.atom[A.NLP * n + i])
        )
        sbo = pi - (1.0 - p) * u
        g17 = tables.general[G.p_val9]
        sbo2, slope = 0.0, 0.0
        if sbo > 0.0 and sbo <= 1.0:
            sbo2 = power(sbo, g17)
            slope = g17 * sbo2 / sbo
        elif sbo > 1.0 and sbo < 2.0:
            rest = power(2.0 - sbo, g17)
            sbo2 = 2.0 - rest
            slope = g17 * rest / (2.0 - sbo)
        elif sbo >= 2.0:
            sbo2 = 2.0
        bonds.atom[A.POWER_PART * n + i] = p
        bonds.atom[A.VALENCE_PART * n + i] = u
        bonds.atom[A.THETA_PART * n + i] = exp(-tables.general[G.p_val10] * (2.0 - sbo2))
        bonds.atom[A.SBO_SLOPE * n + i] = slope

    @ti.func
    def coordination(
        atoms: ti.template(), shift_bits, bonds: ti.template(), tables: ti.template(), status: ti.template()
    ):
        for i in range(atoms.n):
            n, width, m = atoms.n, bonds.width, bonds.places
            if status[GO] == 1:
                a = atoms.kind[i]
                q = a * N_ATOM
                light = tables.atom[q + OfAtom.light]
                s1, s2, pi_sum, eighth = 0.0, 0.0, 0.0, 0.0
                for s in range(bonds.count[i]):
                    t = place(i, s, n, width)
                    j = bonds.partner[t] >> shift_bits
                    of_pair = (a * n_kinds + atoms.kind[j]) * N_PAIR
                    order = bonds.half[H.BO * m + t]
                    pi = bonds.half[H.BO_P * m + t] + bonds.half[H.BO_PP * m + t]
                    s1 += tables.pair[of_pair + OfPair.p_ovun1] * tables.pair[of_pair + OfPair.De_s] * order
                    s2 += (
                        delta(j, n, atoms, bonds, tables) - light * light_pairs(j, n, atoms, bonds, tables)
                    ) * pi
                    pi_sum += pi
                    squared = order * order
                    eighth += (squared * squared) * (squared * squared)
                lp, lp_slope = bonds.atom[A.LP * n + i], bonds.atom[A.LP_SLOPE * n + i]
                mine = light * lp
                x = ti.min(tables.general[G.p_ovun3] * exp(tables.general[G.p_ovun4] * s2), LARGE)
                dc = delta(i, n, atoms, bonds, tables) - mine / (1.0 + x)
                p2, p5 = tables.atom[q + OfAtom.p_ovun2], tables.atom[q + OfAtom.p_ovun5]
                o = ti.min(exp(p2 * dc), LARGE)
                inside, outside = 1.0 / (1.0 + o), o / (1.0 + o)
                d = 1.0 / (dc + tables.atom[q + OfAtom.Val] + 1e-8)
                g7, g10 = tables.general[G.p_ovun6], tables.general[G.p_ovun8]
                e6 = exp(g7 * dc)
                y = ti.min(tables.general[G.p_ovun7] * exp(g10 * s2), LARGE)
                k = 1.0 / (1.0 + y)
                over = dc * d * inside
                to_dc = s1 * d * inside * (1.0 - dc * d - p2 * dc * outside) + (
                    p5 * k * outside * (g7 * e6 - (1.0 - e6) * p2 * inside)
                )
                # x/(1 + x)^2 without the square, which overflows.
                to_s2 = p5 * (1.0 - e6) * outside * g10 * (y * k) * k + (
                    to_dc * mine * tables.general[G.p_ovun4] * (x / (1.0 + x)) / (1.0 + x)
                )
                p_lp = tables.atom[q + OfAtom.p_lp2]
                e75 = ti.min(exp(-75.0 * lp), LARGE)
                ct = p_lp * (1.0 / (1.0 + e75) + 75.0 * lp * (e75 / (1.0 + e75)) / (1.0 + e75)) * lp_slope
                ct += to_dc * (1.0 - light * lp_slope / (1.0 + x))
                common_of_angles(i, n, pi_sum, eighth, bonds, tables, q)
                e_bond, e_c2, more = of_bonds(i, shift_bits, to_s2, over, atoms, bonds, tables)
                bonds.atom[A.Y * n + i] = to_s2
                bonds.atom[A.CT * n + i] = ct + more
                if ti.static(energies):
                    bonds.terms[i] = e_bond
                    bonds.terms[n + i] = s1 * over - p5 * (1.0 - e6) * outside * k
                    bonds.terms[2 * n + i] = p_lp * lp / (1.0 + e75) + e_c2

    return coordination
