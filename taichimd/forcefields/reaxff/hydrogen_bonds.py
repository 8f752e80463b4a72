"""Hydrogen bonds: donor i - H ... acceptor k.

    E = p_hb1 (1 - exp(-p_hb2 BO_iH)) exp(-p_hb3 (r0/r_Hk + r_Hk/r0 - 2)) sin^4(Theta/2)

Chenoweth, van Duin, Goddard, J. Phys. Chem. A 112, 1040 (2008), equation 18, for r_Hk up to 7.5 angstrom and
BO_iH from 0.01 on. The acceptor may be an image of the donor, but not the donor itself. A thread has an atom
H and visits acceptors in the near list, for one bond to a donor after the other; on a GPU a warp shares the
atom: so there are warps enough to hide the wait for memory, and no warp without an atom. The thread of an
acceptor visits the same bonds, for the force on the acceptor. `bonds.donors` says which bonds of an atom H
may be to donors. Sums have the same bits in any order (`enumerate.row_sums`).
"""

from functools import cache
from typing import Any

from taichimd.core.math import exp
from taichimd.core.runtime import ti
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import across, threads_of_row
from taichimd.forcefields.reaxff.arrays import GO, A, H, bond_functions, vector
from taichimd.forcefields.reaxff.tables import N_ATOM, OfAtom, OfHydrogen
from taichimd.neighbours.entries import vector_to
from taichimd.neighbours.rows import WARP, row_layout, slot

REACH = 7.5
"""angstrom, from H to the acceptor."""
LEAST_ORDER = 0.01
LOG_SLOTS = 15
"""A row of bonds has fewer slots than 2 to this: the first one of a donor and the one after the last are kept
in one number."""
HYDROGEN, OTHER = 1.0, 2.0
"""Values of the column hb: hydrogen; donor or acceptor."""


@cache
def hydrogen_bonds_function(backend: str, n_kinds: int, energies: bool, virials: bool) -> Any:
    """Device function `hydrogen_bonds`. `energies`: it stores energies. `virials`: it starts virials."""
    layout = row_layout(backend)
    place, _ = bond_functions(backend)
    first_row = n_kinds**3 + 1 + n_kinds**4
    numbers, many = 12 if virials else 3, WARP if threads_of_row(layout) > 1 else 1

    @ti.func
    def one(order, to_donor, to_acceptor, row, hydrogen: ti.template()):
        """Energy, dE/dBO, and the derivatives to the vectors from H to donor and acceptor."""
        p = row * OfHydrogen.columns
        r0, p1 = hydrogen[p + OfHydrogen.r0], hydrogen[p + OfHydrogen.p_hb1]
        p2, p3 = hydrogen[p + OfHydrogen.p_hb2], hydrogen[p + OfHydrogen.p_hb3]
        bb, rr = to_donor.dot(to_donor), to_acceptor.dot(to_acceptor)
        r = ti.sqrt(rr)
        inverse = 1.0 / ti.sqrt(bb * rr)
        c = to_donor.dot(to_acceptor) * inverse
        weak = exp(-p2 * order)
        e = p1 * exp(-p3 * (r0 / r + r / r0 - 2.0))
        half = 0.5 * (1.0 - c)
        angular = half * half
        to_c = -0.5 * e * (1.0 - weak) * (1.0 - c)
        to_r = e * (1.0 - weak) * angular * p3 * (r0 / rr - 1.0 / r0)
        donor = to_c * (inverse * to_acceptor - c / bb * to_donor)
        acceptor = to_c * (inverse * to_donor - c / rr * to_acceptor) + to_r / r * to_acceptor
        return e * (1.0 - weak) * angular, e * p2 * weak * angular, donor, acceptor

    @ti.func
    def add_acceptors(sums: ti.template(), t, h, lane, g: ti.template()):
        """Add dE/dBO, forces on donor and acceptors, energy: half-bond t of h, each `many`-th neighbour."""
        atoms, near, bonds, tables, shift_bits = g.atoms, g.near, g.bonds, g.tables, g.verlet.shift_bits
        n, m = atoms.n, bonds.places
        donor = bonds.partner[t]
        order = bonds.half[H.BO * m + t]
        d = vector(H.DX, t, m, bonds.half)
        pair = first_row + (atoms.kind[donor >> shift_bits] * n_kinds + atoms.kind[h]) * n_kinds
        for step in range((near.count[h] - lane + many - 1) // many):
            entry = near.entries[slot(h, lane + many * step, n, near.width, layout)]
            row = tables.rows[pair + atoms.kind[entry >> shift_bits]]
            if row >= 0 and entry != donor:
                far = vector_to(entry, shift_bits, atoms.pos[h], atoms.pos, g.verlet.shifts)
                if far.dot(far) <= REACH * REACH:
                    e, to_order, to_donor, to_acceptor = one(order, d, far, row, tables.hydrogen)
                    with_term(sums, 8, 0, to_order)
                    for c in ti.static(range(3)):
                        with_term(sums, 8, 1 + c, -to_donor[c])
                        with_term(sums, 8, 4 + c, to_acceptor[c])
                    with_term(sums, 8, 7, e)

    @ti.func
    def add_donors(sums: ti.template(), k, lane, g: ti.template()):
        """Add the force on acceptor k, and its virial, of every `many`-th neighbour."""
        atoms, near, bonds, tables, shift_bits = g.atoms, g.near, g.bonds, g.tables, g.verlet.shift_bits
        n, m, mask = atoms.n, bonds.places, (1 << shift_bits) - 1
        for step in range((near.count[k] - lane + many - 1) // many):
            entry = near.entries[slot(k, lane + many * step, n, near.width, layout)]
            h = entry >> shift_bits
            donors = bonds.donors[h]
            if donors > 0:
                far = -vector_to(entry, shift_bits, atoms.pos[k], atoms.pos, g.verlet.shifts)
                if far.dot(far) <= REACH * REACH:
                    seen = (k << shift_bits) | (-(entry & mask) & mask)
                    for s in range(donors & ((1 << LOG_SLOTS) - 1), donors >> LOG_SLOTS):
                        t = place(h, s, n, bonds.width)
                        donor = bonds.partner[t]
                        a = atoms.kind[donor >> shift_bits]
                        row = tables.rows[first_row + (a * n_kinds + atoms.kind[h]) * n_kinds + atoms.kind[k]]
                        order = bonds.half[H.BO * m + t]
                        if (
                            row >= 0 and donor != seen and order >= LEAST_ORDER
                            and tables.atom[a * N_ATOM + OfAtom.hb] == OTHER
                        ):  # fmt: skip
                            d = vector(H.DX, t, m, bonds.half)
                            _energy, _to_order, _to_donor, slope = one(order, d, far, row, tables.hydrogen)
                            for c in ti.static(range(3)):
                                with_term(sums, numbers, c, -slope[c])
                            for c in ti.static(range(3, numbers)):
                                with_term(sums, numbers, c, -far[c // 3 - 1] * slope[c % 3])

    @ti.func
    def gives(t, g: ti.template()):
        """Whether half-bond t of a hydrogen atom is to a donor."""
        a = g.atoms.kind[g.bonds.partner[t] >> g.verlet.shift_bits]
        order = g.bonds.half[H.BO * g.bonds.places + t]
        return order >= LEAST_ORDER and g.tables.atom[a * N_ATOM + OfAtom.hb] == OTHER

    @ti.func
    def find_donors(h, g: ti.template()):
        """Leave which slots of atom h have its bonds to donors; other bonds have no hydrogen bonds."""
        m, first, end = g.bonds.places, 0, 0
        hydrogen = g.tables.atom[g.atoms.kind[h] * N_ATOM + OfAtom.hb] == HYDROGEN
        for s in range(g.bonds.count[h]):
            t = place(h, s, g.atoms.n, g.bonds.width)
            if hydrogen and gives(t, g):
                if end == 0:
                    first = s
                end = s + 1
            for c in ti.static(range(3)):
                g.bonds.half[(H.COUNTER_X + c) * m + t] = 0.0
            if ti.static(energies):
                g.bonds.half[H.E_HYDROGEN * m + t] = 0.0
        g.bonds.donors[h] = (end << LOG_SLOTS) + first

    @ti.func
    def of_hydrogen(h, lane, g: ti.template()):
        """Bonds of atom h to donors."""
        m, donors = g.bonds.places, g.bonds.donors[h]
        for s in range(donors & ((1 << LOG_SLOTS) - 1), donors >> LOG_SLOTS):
            t = place(h, s, g.atoms.n, g.bonds.width)
            if gives(t, g):
                sums = empty_sums(8)
                add_acceptors(sums, t, h, lane, g)
                total = across(sums, 8, many)
                if lane == 0:
                    g.bonds.half[H.CB * m + t] += total[0]
                    for c in ti.static(range(3)):
                        g.bonds.half[(H.OUTER_X + c) * m + t] += total[1 + c]
                        g.bonds.half[(H.COUNTER_X + c) * m + t] = total[4 + c]
                    if ti.static(energies):
                        g.bonds.half[H.E_HYDROGEN * m + t] = total[7]

    @ti.func
    def of_acceptor(k, lane, g: ti.template(), virial: ti.template()):
        """Bonds of donors to atom k."""
        n, total = g.atoms.n, ti.Vector.zero(ti.f64, numbers)
        if g.tables.atom[g.atoms.kind[k] * N_ATOM + OfAtom.hb] == OTHER:
            sums = empty_sums(numbers)
            add_donors(sums, k, lane, g)
            total = across(sums, numbers, many)
        if lane == 0:
            for c in ti.static(range(3)):
                g.bonds.atom[(A.ACCEPTED_X + c) * n + k] = total[c]
            for c in ti.static(range(3, numbers)):
                virial[9 * k + c - 3] = total[c]

    @ti.func
    def hydrogen_bonds(g: ti.template(), virial: ti.template()):
        for h in range(g.atoms.n):
            if g.status[GO] == 1:
                find_donors(h, g)
        # A warp has one atom: all of its threads take the same branches around sums. An atom has work as a
        # hydrogen or as an acceptor: in one loop, all warps have work at a time.
        for thread in range(g.atoms.n * many):
            if g.status[GO] == 1:
                of_hydrogen(thread // many, thread % many, g)
                of_acceptor(thread // many, thread % many, g, virial)

    return hydrogen_bonds
