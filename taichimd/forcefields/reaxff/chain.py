"""From what terms leave with bonds and atoms to forces: two passes over the bonds.

Terms leave dE/dBO, dE/dBO_pi, dE/dBO_pipi with bonds (Cb, Cp, Cpp) and dE/dT with atoms (CT), T_i = sum_j
BO_ij. With G = f1 f4 f5, and Q = Cp BO_p + Cpp BO_pp, A = (Cb + CT_i + CT_j) BO + Q,

    H = (Cb + CT_i + CT_j) G + 2 p_boc3 p_boc4 BO' A ((1 - f4) + (1 - f5))
    CD_i = sum_j (A + Q) d(ln f1)/dDelta'_i - A p_boc3 (1 - f4)
    dE/dr = (H + CD_i + CD_j) dBO'/dr + G f1 (Cp dBO'_p/dr + Cpp dBO'_pp/dr)

So all forces of bond orders are along bonds: there is no loop over third atoms, and no derivative of a bond
order is stored. The accumulation of dE/dBO before forces is that of H. M. Aktulga, J. C. Fogarty, S. A.
Pandit, A. Y. Grama, Parallel Comput. 38, 245 (2012).
"""

from functools import cache
from typing import Any

from taichimd.core.math import log
from taichimd.core.runtime import ti
from taichimd.enumerate.access import load_matrix, store_matrix
from taichimd.forcefields.reaxff.arrays import GO, A, H, bond_functions, put_vector, vector
from taichimd.forcefields.reaxff.bond_orders import f4
from taichimd.forcefields.reaxff.tables import N_ATOM, N_PAIR, G, OfAtom, OfPair

OF_HALF = (
    ("E_ANGLE", 3),
    ("E_PENALTY", 4),
    ("E_COALITION", 5),
    ("E_HYDROGEN", 6),
    ("E_TORSION", 7),
    ("E_CONJUGATION", 8),
)
"""Columns of half-bonds whose sums are energies of atoms, with the numbers of the terms."""


@cache
def chain_function(backend: str, n_kinds: int, energies: bool, virials: bool, lammps_forces: bool) -> Any:
    """Device function `chain`: forces of all bonded terms.

    Args:
        backend: "cuda" or "cpu".
        n_kinds: species.
        energies: leave energies of atoms by terms.
        virials: add to the virials of atoms.
        lammps_forces: use LAMMPS's factor in the derivative of over- and undercoordination between a light
            and a heavy atom, and its derivative of bond orders below 1e-10: not the gradient of the energy,
            for comparisons.
    """
    place, owner = bond_functions(backend)
    energy_columns = [(getattr(H, name), number) for name, number in OF_HALF]

    @ti.func
    def chain(
        atoms: ti.template(), shift_bits, bonds: ti.template(), tables: ti.template(), out: ti.template(),
        status: ti.template()
    ):  # fmt: skip
        # What torsions about other bonds have left for this one.
        for t in range(bonds.places):
            n, width, m = atoms.n, bonds.width, bonds.places
            j, s = owner(t, n, width)
            if status[GO] == 1 and s < bonds.count[j]:
                cb = bonds.half[H.CB * m + t]
                force = vector(H.OUTER_X, t, m, bonds.half)
                for v in range(bonds.count[j]):
                    cb += bonds.ends[v * m + t]
                    for c in ti.static(range(3)):
                        force[c] += bonds.ends[((c + 1) * width + v) * m + t]
                bonds.half[H.CB * m + t] = cb
                put_vector(force, H.OUTER_X, t, m, bonds.half)
        # dE/dT of atoms, and what angles give to all bonds of their centre.
        for i in range(atoms.n):
            n, width, m = atoms.n, bonds.width, bonds.places
            if status[GO] == 1:
                q = atoms.kind[i] * N_ATOM
                light = tables.atom[q + OfAtom.light]
                lp_slope = bonds.atom[A.LP_SLOPE * n + i]
                ct, to_sbo = bonds.atom[A.CT * n + i], 0.0
                for s in range(bonds.count[i]):
                    t = place(i, s, n, width)
                    j = bonds.partner[t] >> shift_bits
                    to_sbo += bonds.half[H.SBO * m + t]
                    ct += bonds.half[H.CT_CENTRE * m + t] + bonds.half[H.CT_END * m + bonds.twin[t]]
                    pi = bonds.half[H.BO_P * m + t] + bonds.half[H.BO_PP * m + t]
                    factor = tables.atom[atoms.kind[j] * N_ATOM + OfAtom.light]
                    if ti.static(not lammps_forces):
                        factor *= light
                    ct += bonds.atom[A.Y * n + j] * pi * (1.0 - factor * lp_slope)
                p = bonds.atom[A.POWER_PART * n + i]
                loss = tables.general[G.p_val8] * lp_slope * bonds.atom[A.NEGATIVE * n + i]
                bonds.atom[A.CT * n + i] = ct - to_sbo * (1.0 - p) * (1.0 - loss)
                eighth = to_sbo * 8.0 * p * bonds.atom[A.VALENCE_PART * n + i]
                for s in range(bonds.count[i]):
                    t = place(i, s, n, width)
                    order = bonds.half[H.BO * m + t]
                    cube = order * order * order
                    bonds.half[H.CB * m + t] -= eighth * (cube * cube * order)
                    bonds.half[H.CP * m + t] += to_sbo
                    bonds.half[H.CPP * m + t] += to_sbo
        for t in range(bonds.places):
            n, width, m = atoms.n, bonds.width, bonds.places
            i, s = owner(t, n, width)
            if status[GO] == 1 and s < bonds.count[i]:
                first_pass(t, i, n, m, shift_bits, atoms, bonds, tables)
        for i in range(atoms.n):
            n, width, m = atoms.n, bonds.width, bonds.places
            if status[GO] == 1:
                cd = 0.0
                for s in range(bonds.count[i]):
                    cd += bonds.half[H.CD_PART * m + place(i, s, n, width)]
                bonds.atom[A.CD * n + i] = cd
        for i in range(atoms.n):
            n, width, m = atoms.n, bonds.width, bonds.places
            if status[GO] == 1:
                force = vector(A.ACCEPTED_X, i, n, bonds.atom)
                w = ti.Matrix.zero(ti.f64, 3, 3)
                if ti.static(virials):
                    w = load_matrix(out.virial, i)
                for s in range(bonds.count[i]):
                    t = place(i, s, n, width)
                    j, back = bonds.partner[t] >> shift_bits, bonds.twin[t]
                    d = vector(H.DX, t, m, bonds.half)
                    slope = (
                        bonds.half[H.H * m + t] + (bonds.atom[A.CD * n + i] + bonds.atom[A.CD * n + j])
                    ) * bonds.half[H.SLOPE * m + t] + bonds.half[H.PI_SLOPE * m + t]
                    along = (slope / bonds.half[H.R * m + t]) * d
                    outer = vector(H.OUTER_X, t, m, bonds.half)
                    force += along + (vector(H.OUTER_X, back, m, bonds.half) - outer)
                    force += vector(H.COUNTER_X, t, m, bonds.half)
                    if ti.static(virials):
                        w += d.outer_product(outer - 0.5 * along)
                out.force[i] = force
                if ti.static(virials):
                    store_matrix(out.virial, i, w)
                if ti.static(energies):
                    for k in ti.static(range(len(energy_columns))):
                        total = 0.0
                        for s in range(bonds.count[i]):
                            total += bonds.half[energy_columns[k][0] * m + place(i, s, n, width)]
                        bonds.terms[energy_columns[k][1] * n + i] = total

    @ti.func
    def both(column: ti.template(), t, m, bonds: ti.template()):
        """What both halves of a bond know."""
        return bonds.half[column * m + t] + bonds.half[column * m + bonds.twin[t]]

    @ti.func
    def first_pass(t, i, n, m, shift_bits, atoms: ti.template(), bonds: ti.template(), tables: ti.template()):
        """H of a half-bond, and its share of dE/dDelta'_i."""
        j = bonds.partner[t] >> shift_bits
        a, b = atoms.kind[i], atoms.kind[j]
        q = (a * n_kinds + b) * N_PAIR
        order = bonds.half[H.RAW * m + t]
        g1, g2 = tables.general[G.p_boc1], tables.general[G.p_boc2]
        f1, log_slope = 1.0, 0.0
        if tables.pair[q + OfPair.ovcorr] > 0.0:
            va, vb = tables.atom[a * N_ATOM + OfAtom.Val], tables.atom[b * N_ATOM + OfAtom.Val]
            x, z = bonds.atom[A.F2_PART * n + i], bonds.atom[A.F3_PART * n + i]
            f2 = x + bonds.atom[A.F2_PART * n + j]
            zz = z + bonds.atom[A.F3_PART * n + j]
            f3 = -log(0.5 * zz) / g2
            na, nb = va + f2 + f3, vb + f2 + f3
            f1 = 0.5 * ((va + f2) / na + (vb + f2) / nb)
            to_f2 = 0.5 * (f3 / (na * na) + f3 / (nb * nb))
            to_f3 = -0.5 * ((va + f2) / (na * na) + (vb + f2) / (nb * nb))
            log_slope = (-g1 * x * to_f2 + z / zz * to_f3) / f1
        f_i, f_j, p3, p4 = 1.0, 1.0, 0.0, 0.0
        if tables.pair[q + OfPair.v13corr] > 0.0:
            p3, p4 = tables.pair[q + OfPair.p_boc3], tables.pair[q + OfPair.p_boc4]
            f_i = f4(order, bonds.atom[A.DELTA_BOC * n + i], q, tables.pair)
            f_j = f4(order, bonds.atom[A.DELTA_BOC * n + j], q, tables.pair)
        g = f1 * (f_i * f_j)
        w = both(H.CB, t, m, bonds) + (bonds.atom[A.CT * n + i] + bonds.atom[A.CT * n + j])
        cp, cpp = both(H.CP, t, m, bonds), both(H.CPP, t, m, bonds)
        if ti.static(not lammps_forces):
            w = ti.select(bonds.half[H.BO * m + t] > 0.0, w, 0.0)
            cp = ti.select(bonds.half[H.BO_P * m + t] > 0.0, cp, 0.0)
            cpp = ti.select(bonds.half[H.BO_PP * m + t] > 0.0, cpp, 0.0)
        pi = (g * f1) * (cp * bonds.half[H.RAW_P * m + t] + cpp * bonds.half[H.RAW_PP * m + t])
        share = w * order * g + pi
        bonds.half[H.H * m + t] = w * g + 2.0 * p3 * p4 * order * share * ((1.0 - f_i) + (1.0 - f_j))
        bonds.half[H.CD_PART * m + t] = (share + pi) * log_slope - share * p3 * (1.0 - f_i)
        bonds.half[H.PI_SLOPE * m + t] = (g * f1) * (
            cp * bonds.half[H.SLOPE_P * m + t] + cpp * bonds.half[H.SLOPE_PP * m + t]
        )

    return chain
