"""Bonds and their orders: which pairs are bonded, BO', the corrected BO, and what atoms make of them.

    BO'_s = (1 + bo_cut) exp(p_bo1 (r/r_sigma)^p_bo2) - bo_cut,  BO'_p, BO'_pp alike without bo_cut
    Delta'_i = sum_j BO'_ij - Val_i
    BO = BO' f1 f4 f5,  BO_p = BO'_p f1^2 f4 f5,  BO_pp alike

A. C. T. van Duin, S. Dasgupta, F. Lorant, W. A. Goddard, J. Phys. Chem. A 105, 9396 (2001), and K. Chenoweth,
A. C. T. van Duin, W. A. Goddard, J. Phys. Chem. A 112, 1040 (2008), equations 2 to 4. A pair is bonded where
BO' before the subtraction is at least bo_cut and r at most 5 angstrom. Both halves of a bond compute the same
bits: sums and products of what belongs to the two atoms are written so that they commute.
"""

from functools import cache
from typing import Any

from taichimd.core.math import exp, log
from taichimd.core.runtime import ti
from taichimd.enumerate.queued import goes
from taichimd.enumerate.row_sums import threads_of_row
from taichimd.forcefields.reaxff.arrays import (
    GO,
    HELD,
    MAX_BONDS,
    A,
    H,
    bond_functions,
)
from taichimd.forcefields.reaxff.bond_search import bond_search_functions
from taichimd.forcefields.reaxff.half_bonds import half_bond_functions
from taichimd.forcefields.reaxff.tables import N_ATOM, N_PAIR, G, OfAtom, OfPair
from taichimd.neighbours.control import Control
from taichimd.neighbours.rows import row_layout, whole_warps

LEAST = 1e-10
"""Smaller bond orders are 0."""


@cache
def bond_orders_function(backend: str, n_kinds: int) -> Any:
    """Device function `bonds`: rows of half-bonds, bond orders, and what each atom makes of their sum."""
    place, owner = bond_functions(backend)
    search, half_bonds = bond_search_functions(backend, n_kinds), half_bond_functions(backend, n_kinds)
    many = threads_of_row(row_layout(backend))
    shared = many > 1

    @ti.func
    def of_atom(
        i, found, total, atoms: ti.template(), bonds: ti.template(), tables: ti.template()
    ):  # fmt: skip
        """What atom i makes of the sum of its bond orders."""
        n, a = atoms.n, atoms.kind[i]
        bonds.count[i] = found
        g1, g2 = tables.general[G.p_boc1], tables.general[G.p_boc2]
        delta = total - tables.atom[a * N_ATOM + OfAtom.Val]
        bonds.atom[A.DELTA * n + i] = delta
        bonds.atom[A.DELTA_BOC * n + i] = total - tables.atom[a * N_ATOM + OfAtom.Val_boc]
        bonds.atom[A.F2_PART * n + i] = exp(-g1 * delta)
        bonds.atom[A.F3_PART * n + i] = exp(-g2 * delta)

    @ti.func
    def bond_orders(
        atoms: ti.template(), verlet: ti.template(), near: ti.template(), bonds: ti.template(),
        tables: ti.template(), control: ti.template(), status: ti.template(), when, group
    ):  # fmt: skip
        for _ in range(1):
            status[GO] = goes(when, control)
            status[HELD] = 1 - status[GO]
            if status[GO] == 1:
                # Else it is what the host has to make room for.
                status[MAX_BONDS] = 0
        for thread in range(whole_warps(atoms.n * many) if ti.static(shared) else atoms.n):
            i = ti.min(thread // many, atoms.n - 1)
            does = thread < atoms.n * many and status[GO] == 1
            candidates, found, total = 0, 0, 0.0
            if ti.static(shared):
                candidates = search.shared(i, thread, does, atoms, verlet, near, bonds, tables)
                there = ti.min(candidates, bonds.width)
                found, total = half_bonds.shared(i, thread, there, atoms, verlet, bonds, tables)
            else:
                if does:
                    candidates = search.by_thread(i, atoms, verlet, near, bonds, tables)
                    there = ti.min(candidates, bonds.width)
                    found, total = half_bonds.by_thread(i, there, atoms, verlet, bonds, tables)
            if does and thread % many == 0:
                if candidates > status[MAX_BONDS]:
                    ti.atomic_max(status[MAX_BONDS], candidates)
                of_atom(i, found, total, atoms, bonds, tables)
        for _ in range(1):
            if status[GO] == 1 and status[MAX_BONDS] > bonds.width:
                # The host grows the rows, and the step is done again.
                status[GO], status[HELD] = 0, 1
                control[Control.overfull + group] = 1
                control[Control.rebuild] = 1
        for t in range(bonds.places):
            n, width, m, shift_bits = atoms.n, bonds.width, bonds.places, verlet.shift_bits
            i, s = owner(t, n, width)
            if status[GO] == 1 and s < bonds.count[i]:
                entry = bonds.partner[t]
                j, mask = entry >> shift_bits, (1 << shift_bits) - 1
                mirrored = (i << shift_bits) | (-(entry & mask) & mask)
                for u in range(bonds.count[j]):
                    if bonds.partner[place(j, u, n, width)] == mirrored:
                        bonds.twin[t] = place(j, u, n, width)
                a, b = atoms.kind[i], atoms.kind[j]
                q = (a * n_kinds + b) * N_PAIR
                f1, f45 = 1.0, 1.0
                order = bonds.half[H.RAW * m + t]
                if tables.pair[q + OfPair.ovcorr] > 0.0:
                    va, vb = tables.atom[a * N_ATOM + OfAtom.Val], tables.atom[b * N_ATOM + OfAtom.Val]
                    f2 = bonds.atom[A.F2_PART * n + i] + bonds.atom[A.F2_PART * n + j]
                    f3 = (
                        -log(0.5 * (bonds.atom[A.F3_PART * n + i] + bonds.atom[A.F3_PART * n + j]))
                        / (tables.general[G.p_boc2])
                    )
                    f1 = 0.5 * ((va + f2) / (va + f2 + f3) + (vb + f2) / (vb + f2 + f3))
                if tables.pair[q + OfPair.v13corr] > 0.0:
                    f45 = f4(order, bonds.atom[A.DELTA_BOC * n + i], q, tables.pair) * f4(
                        order, bonds.atom[A.DELTA_BOC * n + j], q, tables.pair
                    )
                f = f1 * f45
                pi = bonds.half[H.RAW_P * m + t] * (f1 * f)
                pipi = bonds.half[H.RAW_PP * m + t] * (f1 * f)
                sum_of = order * f
                bonds.half[H.BO * m + t] = clipped(sum_of)
                bonds.half[H.BO_S * m + t] = clipped(sum_of - pi - pipi)
                bonds.half[H.BO_P * m + t] = clipped(pi)
                bonds.half[H.BO_PP * m + t] = clipped(pipi)
        for i in range(atoms.n):
            n, width, m, shift_bits = atoms.n, bonds.width, bonds.places, verlet.shift_bits
            if status[GO] == 1:
                total = 0.0
                for s in range(bonds.count[i]):
                    total += bonds.half[H.BO * m + place(i, s, n, width)]
                q = atoms.kind[i] * N_ATOM
                val_e = tables.atom[q + OfAtom.Val_e]
                excess = total - val_e
                pairs = ti.cast(ti.cast(0.5 * excess, ti.i32), ti.f64)
                left = excess - 2.0 * pairs
                g16 = tables.general[G.p_lp1]
                e = exp(-g16 * (2.0 + left) * (2.0 + left))
                lone = e - pairs
                negative = ti.select(left < 0.0, 1.0, 0.0)
                bonds.atom[A.T * n + i] = total
                bonds.atom[A.LP * n + i] = 0.5 * (val_e - tables.atom[q + OfAtom.Val]) - lone
                bonds.atom[A.LP_SLOPE * n + i] = 2.0 * g16 * (2.0 + left) * e
                bonds.atom[A.NLP * n + i] = negative * lone
                bonds.atom[A.NEGATIVE * n + i] = negative

    @ti.func
    def clipped(order):
        return ti.select(order < LEAST, 0.0, order)

    return bond_orders


@ti.func
def f4(order, delta_boc, q, pair: ti.template()):
    """1/(1 + exp(-p_boc3 (p_boc4 BO'^2 - Delta'_boc) + p_boc5))."""
    return 1.0 / (
        1.0
        + exp(
            -pair[q + OfPair.p_boc3] * (pair[q + OfPair.p_boc4] * order * order - delta_boc)
            + pair[q + OfPair.p_boc5]
        )
    )
