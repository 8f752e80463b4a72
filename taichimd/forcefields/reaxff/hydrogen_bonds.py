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
from taichimd.enumerate.access import distance_vector, store_matrix
from taichimd.forcefields.reaxff.arrays import GO, STATUS, A, Bonds, H, Tables, bond_functions, put_vector, vector
from taichimd.forcefields.reaxff.tables import N_ATOM, OfAtom, OfHydrogen
from taichimd.neighbours.rows import NearRows, VerletRows, body_layout, slot
from taichimd.system.state import Atoms

REACH = 7.5
"""angstrom, from H to the acceptor."""
LEAST_ORDER = 0.01
HYDROGEN, OTHER = 1.0, 2.0
"""Of the column hb: hydrogen; donor or acceptor."""


@cache
def hydrogen_bond_kernel(backend: str, n_kinds: int, energies: bool, virials: bool) -> Any:
    """Kernel `hydrogen_bonds`; with `energies` it leaves those, with `virials` it begins the virials of atoms."""
    types, layout = types_of(ti.f64), body_layout(backend)
    place, owner = bond_functions(backend)
    first_row = n_kinds**3 + 1 + n_kinds**4

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
                energy, cb = 0.0, 0.0
                on_donor, on_acceptors = ti.Vector([0.0, 0.0, 0.0]), ti.Vector([0.0, 0.0, 0.0])
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
                                energy += e
                                cb += to_order
                                on_donor -= to_donor
                                on_acceptors += to_acceptor
                bonds.half[H.CB * m + t] += cb
                put_vector(
                    vector(H.OUTER_X, t, m, bonds.half) + on_donor, H.OUTER_X, t, m, bonds.half
                )
                put_vector(on_acceptors, H.COUNTER_X, t, m, bonds.half)
                if ti.static(energies):
                    bonds.half[H.E_HYDROGEN * m + t] = energy
        for k in range(n):
            if status[GO] == 1:
                force, w = ti.Vector([0.0, 0.0, 0.0]), ti.Matrix.zero(ti.f64, 3, 3)
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
                                        _, _, _, slope = one(
                                            order, vector(H.DX, t, m, bonds.half), far, row, tables.hydrogen
                                        )
                                        force -= slope
                                        w -= far.outer_product(slope)
                for c in ti.static(range(3)):
                    bonds.atom[(A.ACCEPTED_X + c) * n + k] = force[c]
                if ti.static(virials):
                    store_matrix(virial, k, w)

    return hydrogen_bonds
