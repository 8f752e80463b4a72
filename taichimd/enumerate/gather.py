"""Neighbour gather ("PD"): one thread per atom, no write conflicts, sums that do not depend on the list.

Force on atom i in the form of Fan et al., Comput. Phys. Commun. 218, 10 (2017), eqs. 28 and 30:

    F_i = sum_j (dU_i/dr_ij - dU_j/dr_ji),   W_i = sum_j r_ij (x) dU_j/dr_ji,   r_ij = r_j - r_i.

Many ways share the virial among atoms. This W_i is the one whose product with the velocity, W_i v_i,
is the atom's part of the heat current (eq. 30). Fan's eq. 29, -1/2 sum_j r_ij (x) F_ij, has the same sum over
atoms, but gives another current as soon as there are three-body terms; for pairs the two are the same.

A potential of pairs alone needs one pass: F_ij = u'(r) r_ij/r, summed in any order (`reproducible_sum`).
Anything with three-body terms takes two: `partials` lets the thread of atom i store dU_i/dr_ij for each of
its neighbours, and `gather` combines them with the reverse ones, found through the index `reverse`. Those
sums run over the near list, which has a defined order.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.access import access, slope_vector
from taichimd.enumerate.bond_order import bond_order_loops
from taichimd.enumerate.bond_order_registers import MAX_IN_REGISTERS, compact_function
from taichimd.enumerate.coordination import coordination_function
from taichimd.enumerate.crowded import MAX_IN_ARRAYS, crowded_function
from taichimd.enumerate.live import BITS, following, marked
from taichimd.enumerate.reproducible_sum import pair_sums
from taichimd.enumerate.terms import Terms
from taichimd.neighbours.entries import vector_to
from taichimd.neighbours.pages import add_vector, set_vector, vector_at
from taichimd.neighbours.rows import ATOM_MAJOR, slot

AHEAD = 2
"""Entries that a thread of a GPU reads at a time: their latencies pass together."""


@dataclass(frozen=True)
class AtomFunctions:
    """Device functions of one atom."""

    partials: DeviceFunction  # stores what the energy of the atom does to its neighbours; the energy
    gather: DeviceFunction  # then, force and virial of the atom
    other_end: DeviceFunction  # then, of an entry (i, j), dU_j/dr_ji
    pairs: DeviceFunction | None = None  # sums over its pairs; None where angles are sums over neighbours
    of_few: DeviceFunction | None = None  # `partials` of atoms with few neighbours, in registers; or None
    of_many: DeviceFunction | None = None  # then `partials` of the other atoms
    shared: Any = None  # of angles that are sums over neighbours, the functions of an atom that threads share


def zeta_from(terms: Terms, layout: int, straight: bool) -> int:
    """Slots of a row from which `gather_functions` use `zeta`; fewer neighbours are done without it."""
    compact = straight and terms.bond_order is not None and terms.one_species and terms.pair is None
    return MAX_IN_ARRAYS + 1 if compact and layout != ATOM_MAJOR else 0


@cache
def gather_functions(terms: Terms, real: Any, term: Any, layout: int, straight: bool = True) -> AtomFunctions:
    """The functions of one force field: `pairs` for pair potentials, else `partials` and `gather`.

    Positions and forces are `real`, what is computed from distances and stored for each entry is `term`.
    `straight`: whether `compact` may be used where it can: faster, the same bits, and minutes of compilation
    in a kernel that holds several steps.
    """
    vec = ti.types.vector(3, term)
    pair, triplet = terms.pair, terms.triplet
    has_pair, has_triplet, has_bond = pair is not None, triplet is not None, terms.bond_order is not None
    look = access(terms, term, layout)
    sums = pair_sums(real)
    bond = bond_order_loops(terms, term, layout) if has_bond else None
    around = coordination_function(terms, term, layout) if terms.coordination else None
    straight = straight and has_bond and terms.one_species and not has_pair
    few = compact_function(terms, term, layout) if straight else None
    # On a CPU nobody waits for an atom with more neighbours, but everybody for the compiler.
    crowded = crowded_function(terms, term, layout) if few and layout != ATOM_MAJOR else None

    @computed_in(term)
    def pairs(
        i, first, stride: ti.template(), n, width, shift_bits, rows: ti.template(), table: ti.template(),
        want: ti.template()
    ):  # fmt: skip
        """Sums over every `stride`-th entry of atom i from `first` on, for `reproducible_sum.pair_sums`."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_pair(table, 0)
        total = sums.empty(want)
        m = rows.count[i]
        begin = first
        if ti.static(layout != ATOM_MAJOR):
            # First as many entries at a time as every thread has.
            for _ in range(m // (stride * AHEAD)):
                visits = [
                    look.visit(i, begin + stride * k, x, n, width, shift_bits, rows)
                    for k in ti.static(range(AHEAD))
                ]
                for k in ti.static(range(AHEAD)):
                    d, r2, b = visits[k]
                    p = look.pair_parameters(table, shared, a, b)
                    # Some atom of a warp has a neighbour here: a branch would save nothing, and keep entries
                    # from overlapping.
                    u, w = pair.function(r2, p)
                    inside = r2 < p.cutoff * p.cutoff
                    sums.add(total, d, ti.select(inside, u, 0.0), ti.select(inside, w, 0.0), want)
                begin += stride * AHEAD
        for k in range((m - begin + stride - 1) // stride):
            d, r2, b = look.visit(i, begin + stride * k, x, n, width, shift_bits, rows)
            p = look.pair_parameters(table, shared, a, b)
            if r2 < p.cutoff * p.cutoff:
                u, w = pair.function(r2, p)
                sums.add(total, d, u, w, want)
        return total

    @computed_in(term)
    def partials(i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), want: ti.template()):
        """Store dU_i/dr_ij for every live entry of atom i, and which they are; returns U_i."""
        found = MAX_IN_REGISTERS + 1
        energy = 0.0
        mask = 0
        if ti.static(bool(few)):
            found, mask, energy = few(i, n, width, shift_bits, rows, kept)
        if found > MAX_IN_REGISTERS:
            mask, energy = of_many(i, found, mask, n, width, shift_bits, rows, kept)
        kept.live[i] = mask
        return energy

    @computed_in(term)
    def partials_of_few(i, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """The same of an atom with few neighbours, without U_i; others wait for `partials_of_many`."""
        found, mask, _ = few(i, n, width, shift_bits, rows, kept)
        kept.live[i] = mask
        if found > MAX_IN_REGISTERS:
            kept.waiting[ti.atomic_add(kept.waiting[n], 1)] = i

    @computed_in(term)
    def partials_of_many(k, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """The same of atom k of those that wait."""
        i = kept.waiting[k]
        live = kept.live[i]
        mask, _ = of_many(i, ti.math.popcnt(live), live, n, width, shift_bits, rows, kept)
        kept.live[i] = mask

    @ti.func
    def of_many(i, found, live, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """Mask of the live entries of an atom, and U_i; of `found` neighbours those in `live` are known."""
        mask, energy, done = live, 0.0, False
        if ti.static(bool(crowded)):
            if found <= MAX_IN_ARRAYS and width <= BITS:
                energy = crowded(i, mask, n, width, shift_bits, rows, kept)
                done = True
        if not done:
            mask, energy = two_bodies(i, n, width, shift_bits, rows, kept)
            if ti.static(has_triplet):
                energy += triplets(i, mask, n, width, shift_bits, rows, kept)
            if ti.static(has_bond):
                energy += bond.bonds(i, mask, n, width, shift_bits, rows, kept)
                bond.forces(i, mask, n, width, shift_bits, rows, kept)
            if ti.static(bool(around)):
                energy += around(i, mask, n, width, shift_bits, rows, kept)
        return mask, energy

    @ti.func
    def two_bodies(i, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """Mask of the live entries of i; partial forces start with the pair term, zetas with zero."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared_body = look.read_body(kept.body_table, 0)
        energy = 0.0
        mask = 0
        for s in range(rows.count[i]):
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            reach2 = look.reach2(kept.body_table, shared_body, a, b)
            own = vec(0.0)
            if ti.static(has_pair):
                shared = look.read_pair(kept.pair_table, 0)
                p = look.pair_parameters(kept.pair_table, shared, a, b)
                reach2 = ti.max(reach2, p.cutoff * p.cutoff)
                if r2 < p.cutoff * p.cutoff:
                    u, w = pair.function(r2, p)
                    own = 0.5 * w * d
                    energy += 0.5 * u
            if r2 < reach2 or width > BITS:
                mask = marked(mask, s)
                set_vector(kept.partial, slot(i, s, n, width, layout), own)
                if ti.static(has_bond):
                    kept.zeta[slot(i, s, n, width, layout)] = 0.0
        return mask, energy

    @ti.func
    def triplets(i, mask, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """Angle terms h(r_ij, r_ik, cos) centred on i, each neighbour within its cutoff."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        energy = 0.0
        m = rows.count[i]
        s = following(mask, 0, m)
        while s < m:
            d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, rows)
            if r2_s < look.reach2(kept.body_table, shared, a, b):
                r_s = ti.sqrt(r2_s)
                inverse_s = 1.0 / r_s
                own = vector_at(kept.partial, slot(i, s, n, width, layout))
                t = following(mask, s + 1, m)
                while t < m:
                    d_t, r2_t, c = look.visit(i, t, x, n, width, shift_bits, rows)
                    p = look.body_parameters(kept.body_table, shared, a, b, c)
                    q = look.body_parameters(kept.body_table, shared, a, c, b)
                    if r2_s < p.cutoff * p.cutoff and r2_t < q.cutoff * q.cutoff:
                        r_t = ti.sqrt(r2_t)
                        inverse_t = 1.0 / r_t
                        cosine = d_s.dot(d_t) * (inverse_s * inverse_t)
                        h, h_s, h_t, h_cos = triplet.function(r_s, r_t, cosine, p)
                        energy += h
                        own += slope_vector(h_s, h_cos, cosine, d_s, inverse_s, d_t, inverse_t)
                        at = slot(i, t, n, width, layout)
                        add_vector(
                            kept.partial, at, slope_vector(h_t, h_cos, cosine, d_t, inverse_t, d_s, inverse_s)
                        )
                    t = following(mask, t + 1, m)
                set_vector(kept.partial, slot(i, s, n, width, layout), own)
            s = following(mask, s + 1, m)
        return energy

    @ti.func
    def stored(partial: ti.template(), at):
        """What is summed is float64 in "mixed", too."""
        return ti.cast(vector_at(partial, at), real)

    @ti.func
    def gather(i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), want: ti.template()):
        """Force of atom i from the partial derivatives of both ends, virial from those of the other ends."""
        force = ti.Vector.zero(real, 3)
        virial = ti.Matrix.zero(real, 3, 3)
        mask = kept.live[i]
        m = rows.count[i]
        s = following(mask, 0, m)
        while s < m:
            at = slot(i, s, n, width, layout)
            s = following(mask, s + 1, m)
            # The next one is read along with this one: their latencies pass together.
            more = slot(i, ti.min(s, m - 1), n, width, layout)
            f, g = (
                stored(kept.partial, at) - stored(kept.partial, kept.reverse[at]),
                stored(kept.partial, more) - stored(kept.partial, kept.reverse[more]),
            )
            force += f
            if ti.static(want):
                d = vector_to(rows.entries[at], shift_bits, rows.pos[i], rows.pos, rows.shifts)
                virial += d.outer_product(stored(kept.partial, kept.reverse[at]))
            if s < m:
                force += g
                if ti.static(want):
                    d = vector_to(rows.entries[more], shift_bits, rows.pos[i], rows.pos, rows.shifts)
                    virial += d.outer_product(stored(kept.partial, kept.reverse[more]))
                s = following(mask, s + 1, m)
        return force, virial

    @ti.func
    def other_end(i, s, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """What the energy of the atom of entry s does to atom i."""
        return stored(kept.partial, kept.reverse[slot(i, s, n, width, layout)])

    two_loops = (partials_of_few, partials_of_many) if few else (None, None)
    return AtomFunctions(partials, gather, other_end, pairs, *two_loops)
