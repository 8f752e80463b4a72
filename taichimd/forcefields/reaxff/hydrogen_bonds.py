"""Hydrogen bonds: donor i - H ... acceptor k.

    E = p_hb1 (1 - exp(-p_hb2 BO_iH)) exp(-p_hb3 (r0/r_Hk + r_Hk/r0 - 2)) sin^4(Theta/2)

Chenoweth, van Duin, Goddard, J. Phys. Chem. A 112, 1040 (2008), equation 18, for r_Hk up to 7.5 angstrom and BO_iH from 0.01
on. The acceptor may be an image of the donor, but not the donor itself. A thread has a half-bond of H to a donor and
visits acceptors in the near list. A second loop visits the same bonds from their acceptors, for the force on these.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, kernel, types_of
from taichimd.core.math import exp
from taichimd.core.runtime import ti
from taichimd.enumerate.access import distance_vector
from taichimd.forcefields.reaxff.arrays import GO, STATUS, A, Bonds, H, Tables, bond_functions, vector
from taichimd.forcefields.reaxff.lanes import across, empty, with_term
from taichimd.forcefields.reaxff.tables import N_ATOM, OfAtom, OfHydrogen
from taichimd.neighbours.rows import NearRows, VerletRows, row_layout, slot
from taichimd.system.state import Atoms

REACH = 7.5
"""angstrom, from H to the acceptor."""
LEAST_ORDER = 0.01
HYDROGEN, OTHER = 1.0, 2.0
"""Of the column hb: hydrogen; donor or acceptor."""


@cache
def hydrogen_bond_kernel(backend: str, n_kinds: int, energies: bool, virials: bool) -> Any:
    """Kernel `hydrogen_bonds`; with `energies` it leaves those, with `virials` it begins the virials of atoms."""
    types, layout = types_of(ti.f64), row_layout(backend)
    place, owner = bond_functions(backend)
    first_row = n_kinds**3 + 1 + n_kinds**4
    numbers = 12 if virials else 3

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

    @kernel(types, atoms=Atoms.only("n", "pos", "kind"), verlet=VerletRows.only("shift_bits", "shifts"), near=NearRows.only("width", "count", "entries"), bonds=Bonds.only("width", "count", "partner", "half", "atom"), tables=Tables.only("atom", "hydrogen", "rows"), virial=Array("real", "9n", "3x3 virial of each atom, eV") if virials else None, status=STATUS)  # fmt: skip
    def hydrogen_bonds(atoms, verlet, near, bonds, tables, virial, status):
        n, width, shift_bits = atoms.n, bonds.width, verlet.shift_bits
        m = n * width
        for t in range(m):
            h, s = owner(t, n, width)
            if status[GO] == 1 and s < bonds.count[h]:
                donor = bonds.partner[t]
                i = donor >> shift_bits
                # dE/dBO, forces on donor and acceptors, energy.
                sums = empty(8)
                order = bonds.half[H.BO * m + t]
                if (
                    order >= LEAST_ORDER
                    and tables.atom[atoms.kind[h] * N_ATOM + OfAtom.hb] == HYDROGEN
                    and tables.atom[atoms.kind[i] * N_ATOM + OfAtom.hb] == OTHER
                ):
                    d = vector(H.DX, t, m, bonds.half)
                    pair = first_row + (atoms.kind[i] * n_kinds + atoms.kind[h]) * n_kinds
                    for v in range(near.count[h]):
                        entry = near.entries[slot(h, v, n, near.width, layout)]
                        row = tables.rows[pair + atoms.kind[entry >> shift_bits]]
                        if row >= 0 and entry != donor:
                            far = distance_vector(entry, shift_bits, atoms.pos[h], atoms.pos, verlet.shifts)
                            if far.dot(far) <= REACH * REACH:
                                e, to_order, to_donor, to_acceptor = one(order, d, far, row, tables.hydrogen)
                                with_term(sums, 8, 0, to_order)
                                for c in ti.static(range(3)):
                                    with_term(sums, 8, 1 + c, -to_donor[c])
                                    with_term(sums, 8, 4 + c, to_acceptor[c])
                                with_term(sums, 8, 7, e)
                total = across(sums, 8, 1)
                bonds.half[H.CB * m + t] += total[0]
                for c in ti.static(range(3)):
                    bonds.half[(H.OUTER_X + c) * m + t] += total[1 + c]
                    bonds.half[(H.COUNTER_X + c) * m + t] = total[4 + c]
                if ti.static(energies):
                    bonds.half[H.E_HYDROGEN * m + t] = total[7]
        for k in range(n):
            if status[GO] == 1:
                sums = empty(numbers)
                mask = (1 << shift_bits) - 1
                if tables.atom[atoms.kind[k] * N_ATOM + OfAtom.hb] == OTHER:
                    for v in range(near.count[k]):
                        entry = near.entries[slot(k, v, n, near.width, layout)]
                        h = entry >> shift_bits
                        if tables.atom[atoms.kind[h] * N_ATOM + OfAtom.hb] == HYDROGEN:
                            far = -distance_vector(entry, shift_bits, atoms.pos[k], atoms.pos, verlet.shifts)
                            if far.dot(far) <= REACH * REACH:
                                seen = (k << shift_bits) | (-(entry & mask) & mask)
                                for s in range(bonds.count[h]):
                                    t = place(h, s, n, width)
                                    donor = bonds.partner[t]
                                    a = atoms.kind[donor >> shift_bits]
                                    row = tables.rows[
                                        first_row + (a * n_kinds + atoms.kind[h]) * n_kinds + atoms.kind[k]
                                    ]
                                    order = bonds.half[H.BO * m + t]
                                    if (
                                        row >= 0 and donor != seen and order >= LEAST_ORDER
                                        and tables.atom[a * N_ATOM + OfAtom.hb] == OTHER
                                    ):  # fmt: skip
                                        _e, _b, _d, slope = one(
                                            order, vector(H.DX, t, m, bonds.half), far, row, tables.hydrogen
                                        )
                                        for c in ti.static(range(3)):
                                            with_term(sums, numbers, c, -slope[c])
                                        for c in ti.static(range(3, numbers)):
                                            with_term(sums, numbers, c, -far[c // 3 - 1] * slope[c % 3])
                total = across(sums, numbers, 1)
                for c in ti.static(range(3)):
                    bonds.atom[(A.ACCEPTED_X + c) * n + k] = total[c]
                for c in ti.static(range(3, numbers)):
                    virial[9 * k + c - 3] = total[c]

    return hydrogen_bonds
