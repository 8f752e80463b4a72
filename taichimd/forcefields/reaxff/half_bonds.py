"""Which candidates of an atom are bonded to it, and what each half-bond knows: BO' and its derivatives.

On a GPU eight threads share an atom. Each computes a candidate, then they agree on places and add up BO' in
the order of the candidates: the bits of one thread.
"""

from dataclasses import dataclass

from taichimd.core.math import exp, power
from taichimd.core.runtime import DeviceFunction, ti
from taichimd.core.warps import shuffle
from taichimd.enumerate.row_sums import threads_of_row
from taichimd.forcefields.reaxff.arrays import H, bond_functions, put_vector
from taichimd.forcefields.reaxff.tables import N_PAIR, G, OfPair
from taichimd.neighbours.entries import vector_to
from taichimd.neighbours.rows import WARP, claim, row_layout, some


@dataclass(frozen=True)
class HalfBonds:
    """Device functions that leave the half-bonds of an atom; each returns how many, and the sum of BO'.

    Attributes:
        by_thread: (i, candidates, atoms, verlet, bonds, tables), for a thread with an atom.
        shared: (i, thread, candidates, atoms, verlet, bonds, tables), for the threads that share a row. All
            threads of a warp call it.
    """

    by_thread: DeviceFunction
    shared: DeviceFunction


@ti.func
def part(r, radius, factor, exponent):
    """exp(factor (r/radius)^exponent) and its derivative to r; 0 without a radius."""
    value, slope = 0.0, 0.0
    if radius > 0.0:
        z = factor * power(r / radius, exponent)
        value = exp(z)
        slope = value * z * exponent / r
    return value, slope


@ti.func
def parts(r, q, pair: ti.template()):
    """The three parts of BO' and their derivatives, for the parameters from q on."""
    s, ds = part(r, pair[q + OfPair.r_sigma], pair[q + OfPair.p_bo1], pair[q + OfPair.p_bo2])
    p, dp = part(r, pair[q + OfPair.r_pi], pair[q + OfPair.p_bo3], pair[q + OfPair.p_bo4])
    pp, dpp = part(r, pair[q + OfPair.r_pipi], pair[q + OfPair.p_bo5], pair[q + OfPair.p_bo6])
    return s, p, pp, ds, dp, dpp


@ti.func
def keep(t, m, entry, d, numbers, bonds: ti.template()):
    """Store a half-bond; `numbers` are those of the columns R to SLOPE_PP."""
    bonds.partner[t] = entry
    put_vector(d, H.DX, t, m, bonds.half)
    for k in ti.static(range(7)):
        bonds.half[(H.R + k) * m + t] = numbers[k]


def half_bond_functions(backend: str, n_kinds: int) -> HalfBonds:
    """The functions, for the layouts of a backend.

    Args:
        backend: "cuda" or "cpu".
        n_kinds: species.
    """
    place, _ = bond_functions(backend)
    many = threads_of_row(row_layout(backend))

    @ti.func
    def raw(i, entry, atoms: ti.template(), verlet: ti.template(), tables: ti.template()):
        """Vector of a candidate, and r, BO' before the subtraction, its parts, their derivatives."""
        d = vector_to(entry, verlet.shift_bits, atoms.pos[i], atoms.pos, verlet.shifts)
        r, cut = ti.sqrt(d.dot(d)), tables.general[G.bo_cut]
        q = (atoms.kind[i] * n_kinds + atoms.kind[entry >> verlet.shift_bits]) * N_PAIR
        s, p, pp, ds, dp, dpp = parts(r, q, tables.pair)
        order, slope = (1.0 + cut) * s + p + pp, (1.0 + cut) * ds + dp + dpp
        return d, ti.Vector([r, order, p, pp, slope, dp, dpp])

    @ti.func
    def by_thread(
        i, candidates, atoms: ti.template(), verlet: ti.template(), bonds: ti.template(),
        tables: ti.template()
    ):  # fmt: skip
        n, cut, total, found = atoms.n, tables.general[G.bo_cut], 0.0, 0
        for s in range(candidates):
            entry = bonds.partner[place(i, s, n, bonds.width)]
            d, numbers = raw(i, entry, atoms, verlet, tables)
            if numbers[1] >= cut:
                numbers[1] -= cut
                total += numbers[1]
                keep(place(i, found, n, bonds.width), bonds.places, entry, d, numbers, bonds)
                found += 1
        return found, total

    @ti.func
    def shared(
        i, thread, candidates, atoms: ti.template(), verlet: ti.template(), bonds: ti.template(),
        tables: ti.template()
    ):  # fmt: skip
        n, cut, total, found, s = atoms.n, tables.general[G.bo_cut], 0.0, 0, thread % many
        first = thread % WARP // many * many
        while some(s < candidates):
            # What is not there reads as the atom itself, which has no bond.
            entry, keeps = i << verlet.shift_bits, False
            d, numbers = ti.Vector.zero(ti.f64, 3), ti.Vector.zero(ti.f64, 7)
            if s < candidates:
                entry = bonds.partner[place(i, s, n, bonds.width)]
                d, numbers = raw(i, entry, atoms, verlet, tables)
                keeps = numbers[1] >= cut
            order = ti.select(keeps, numbers[1] - cut, 0.0)
            # All have read their candidates before one of them writes.
            before, all_of_them = claim(keeps, thread)
            if keeps:
                numbers[1] = order
                keep(place(i, found + before, n, bonds.width), bonds.places, entry, d, numbers, bonds)
            for k in ti.static(range(many)):
                total += shuffle(order, first + k)
            found += all_of_them
            s += many
        return found, total

    return HalfBonds(by_thread, shared)
