"""Tuple decomposition ("TD"): one thread per pair and per triplet of a list, then sums per atom.

P. E. Small et al., HPC Asia 2018, doi:10.1145/3149457.3149463. Threads of one warp do the same work, whatever
the rows of atoms look like, and each pair is computed once, not from both ends. Nothing is added atomically:
a thread leaves u'/r with both members of its pair, or two vectors with its triplet, and then each atom adds
up those of its own, which `tuple_arrays.Tuples` lists.

Pairs are added exactly (`reproducible_sum`), triplets in the order of the loops of `gather` and `bond_order`:
the same bits as particle decomposition has. But for angle terms, which `moments` never enumerates; and where
particle decomposition adds pair and three-body terms within the cutoff of both up in one partial force.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.access import access, slope_vector
from taichimd.enumerate.live import BITS, following, marked
from taichimd.enumerate.reproducible_sum import ALL, FORCE, pair_sums
from taichimd.enumerate.terms import Terms
from taichimd.enumerate.threads_per_atom import atom_sums
from taichimd.enumerate.triplet_values import angle_values, bond_order_values
from taichimd.neighbours.entries import neighbour, straight_vector_to, vector_to
from taichimd.neighbours.pages import add_vector, set_vector
from taichimd.neighbours.rows import ATOM_MAJOR, CHUNK, slot, whole_warps
from taichimd.neighbours.tuple_arrays import (
    entry_at,
    pairs_end,
    slots_of,
    triplet_at,
    triplets_begin,
    triplets_end,
    value_at,
)

VECTOR = 16
"""Pairs that a CPU evaluates side by side, in a loop without branches, which compilers turn into SIMD
code."""


@dataclass(frozen=True)
class PairTuples:
    """Device functions of a pair term by tuple."""

    evaluate: DeviceFunction  # u'/r of all pairs, in a loop of its own
    slope: DeviceFunction  # of one pair
    pairs: DeviceFunction  # sums over the pairs of an atom
    add_up: DeviceFunction  # forces of all atoms on CUDA, in a loop of its own


@cache
def pair_tuples(terms: Terms, real: Any, term: Any, on_gpu: bool) -> PairTuples:
    """The functions of a pair term; on a GPU threads side by side, else vector instructions."""
    function = terms.pair.function if terms.pair else None
    look = access(terms, term, ATOM_MAJOR)
    sums, shared = pair_sums(real), atom_sums(real, CHUNK)

    @computed_in(term)
    def of_pair(i, d, entry, shift_bits, kind: ti.template(), table: ti.template()):
        """Energy and u'/r of a pair at distance vector d, zero beyond the cutoff: a choice, not a branch."""
        r2 = d.dot(d)
        shared = look.read_pair(table, 0)
        p = look.pair_parameters(
            table, shared, look.kind_of(kind, i), look.kind_of(kind, neighbour(entry, shift_bits))
        )
        u, w = function(r2, p)
        inside = r2 < p.cutoff * p.cutoff
        return ti.select(inside, u, 0.0), ti.select(inside, w, 0.0)

    @ti.func
    def slope(pair, n, shift_bits, rows: ti.template(), table: ti.template(), t: ti.template()):
        i, entry = t.tuples[3 * pair], t.tuples[3 * pair + 1]
        d = ti.cast(straight_vector_to(entry, shift_bits, rows.pos[i], rows.pos, rows.shifts), term)
        _, w = of_pair(i, d, entry, shift_bits, rows.kind, table)
        return w

    @ti.func
    def put(pair, w, n, t: ti.template()):
        """Leave u'/r of a pair with both its members."""
        i = t.tuples[3 * pair]
        t.values[value_at(t.firsts[n + i] + pair - t.firsts[i], n, t)] = w
        t.values[value_at(t.tuples[3 * pair + 2], n, t)] = w

    @ti.func
    def evaluate(
        n, shift_bits, rows: ti.template(), table: ti.template(), control: ti.template(), frozen,
        t: ti.template()
    ):  # fmt: skip
        if ti.static(on_gpu):
            for pair in range(pairs_end(n, t)):
                if control[frozen] == 0:
                    put(pair, slope(pair, n, shift_bits, rows, table, t), n, t)
        else:
            for block in range((pairs_end(n, t) + VECTOR - 1) // VECTOR):
                if control[frozen] == 0:
                    # First what a compiler can turn into vector instructions, then what it cannot.
                    slopes = ti.Vector.zero(term, VECTOR)
                    for k in range(VECTOR):
                        pair = ti.min(block * VECTOR + k, pairs_end(n, t) - 1)
                        slopes[k] = slope(pair, n, shift_bits, rows, table, t)
                    for k in range(ti.min(VECTOR, pairs_end(n, t) - block * VECTOR)):
                        put(block * VECTOR + k, slopes[k], n, t)

    @computed_in(term)
    def pairs(
        i, first, stride: ti.template(), n, shift_bits, rows: ti.template(), table: ti.template(),
        t: ti.template(), want: ti.template()
    ):  # fmt: skip
        """Sums over every `stride`-th member of atom i from `first` on, for `reproducible_sum.pair_sums`."""
        x = rows.pos[i]
        total = sums.empty(want)
        begin, m = t.firsts[n + i], t.firsts[n + i + 1] - t.firsts[n + i]
        for k in range((m - first + stride - 1) // stride):
            member = begin + first + stride * k
            entry = t.tuples[entry_at(member, n, t)]
            d = ti.cast(vector_to(entry, shift_bits, x, rows.pos, rows.shifts), term)
            u, w = 0.0, t.values[value_at(member, n, t)]
            # What only the end of a run asks for is not kept.
            if ti.static(want == ALL):
                u, w = of_pair(i, d, entry, shift_bits, rows.kind, table)
            sums.add(total, d, u, w, want)
        return total

    @ti.func
    def add_up(
        n, shift_bits, rows: ti.template(), table: ti.template(), energy: ti.template(), force: ti.template(),
        virial: ti.template(), control: ti.template(), frozen, t: ti.template()
    ):  # fmt: skip
        """Forces of all atoms on CUDA: threads side by side share an atom, as its members stand."""
        for thread in range(whole_warps(n * CHUNK)):
            i = thread // CHUNK
            does = i < n and control[frozen] == 0
            total = sums.empty(FORCE)
            if does:
                total = pairs(i, thread % CHUNK, CHUNK, n, shift_bits, rows, table, t, FORCE)
            shared.store(i, thread, does, total, energy, force, virial)

    return PairTuples(evaluate, slope, pairs, add_up)


@dataclass(frozen=True)
class TripletTuples:
    """Device functions of a three-body term by tuple."""

    partials: DeviceFunction  # fills the partial forces of `gather` in loops of its own
    vectors: DeviceFunction  # derivatives of one triplet


@cache
def triplet_tuples(terms: Terms, real: Any, term: Any, layout: int) -> TripletTuples:
    """The functions of a three-body term."""
    vec = ti.types.vector(3, term)
    look = access(terms, term, layout)
    is_bond_order = terms.bond_order is not None
    value = bond_order_values(terms, look) if is_bond_order else angle_values(terms, look)

    @ti.func
    def sides(record, n, width, shift_bits, rows: ti.template(), t: ti.template()):
        """Centre and slots of a triplet; vectors, squared lengths and kinds of both sides."""
        i = t.tuples[triplet_at(record, n, t)]
        s, u = slots_of(record, n, t)
        x = rows.pos[i]
        d_s, r2_s, b = look.visit(i, s, x, n, width, shift_bits, rows)
        d_u, r2_u, c = look.visit(i, u, x, n, width, shift_bits, rows)
        return i, s, u, d_s, r2_s, b, d_u, r2_u, c

    @computed_in(term)
    def vectors(record, n, width, shift_bits, rows: ti.template(), kept: ti.template(), t: ti.template()):
        """Derivatives to both sides of a triplet; its energy (of a bond order: nothing)."""
        i, s, u, d_s, r2_s, b, d_u, r2_u, c = sides(record, n, width, shift_bits, rows, t)
        a = look.kind_of(rows.kind, i)
        to_s, to_u = vec(0.0), vec(0.0)
        h = 0.0
        if value.inside(r2_s, r2_u, a, b, c, kept.body_table):
            r_s, r_u = ti.sqrt(r2_s), ti.sqrt(r2_u)
            inverse_s, inverse_u = 1.0 / r_s, 1.0 / r_u
            cosine = d_s.dot(d_u) * (inverse_s * inverse_u)
            at_s, at_u = 0.0, 0.0
            if ti.static(is_bond_order):
                at_s, at_u = kept.zeta[slot(i, s, n, width, layout)], kept.zeta[slot(i, u, n, width, layout)]
            energy, h_s, h_u, h_cos = value.slopes(r_s, r_u, cosine, a, b, c, at_s, at_u, kept.body_table)
            h = energy
            to_s = slope_vector(h_s, h_cos, cosine, d_s, inverse_s, d_u, inverse_u)
            to_u = slope_vector(h_u, h_cos, cosine, d_u, inverse_u, d_s, inverse_s)
        return to_s, to_u, h

    @computed_in(term)
    def zetas(record, n, width, shift_bits, rows: ti.template(), kept: ti.template(), t: ti.template()):
        """What a triplet adds to the zetas of both its bonds."""
        i, _, _, d_s, r2_s, b, d_u, r2_u, c = sides(record, n, width, shift_bits, rows, t)
        a = look.kind_of(rows.kind, i)
        to_s, to_u = 0.0, 0.0
        if value.inside(r2_s, r2_u, a, b, c, kept.body_table):
            r_s, r_u = ti.sqrt(r2_s), ti.sqrt(r2_u)
            cosine = d_s.dot(d_u) * ((1.0 / r_s) * (1.0 / r_u))
            to_s, to_u = value.zetas(r_s, r_u, cosine, a, b, c, kept.body_table)
        return to_s, to_u

    @computed_in(term)
    def bonds(i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), t: ti.template()):
        """U_i from the zetas of every bond of i, which give way to dU_i/dzeta; stores partial forces."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        for record in range(t.firsts[2 * n + i], t.firsts[2 * n + i + 1]):
            s, u = slots_of(record, n, t)
            k = 2 * (record - triplets_begin(n, t))
            kept.zeta[slot(i, s, n, width, layout)] += t.slopes[k][0]
            kept.zeta[slot(i, u, n, width, layout)] += t.slopes[k + 1][0]
        energy = 0.0
        m = rows.count[i]
        s = following(kept.live[i], 0, m)
        while s < m:
            at = slot(i, s, n, width, layout)
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            u, u_zeta, radial = value.bond(ti.sqrt(r2), kept.zeta[at], a, b, kept.body_table)
            energy += u
            add_vector(kept.partial, at, radial * d)
            kept.zeta[at] = u_zeta
            s = following(kept.live[i], s + 1, m)
        return energy

    @computed_in(term)
    def clear(i, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """Mask of the live entries of i, whose partial forces and zetas start with nothing."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        mask = 0
        for s in range(rows.count[i]):
            _, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            if r2 < look.reach2(kept.body_table, shared, a, b) or width > BITS:
                mask = marked(mask, s)
                set_vector(kept.partial, slot(i, s, n, width, layout), vec(0.0))
                if ti.static(is_bond_order):
                    kept.zeta[slot(i, s, n, width, layout)] = 0.0
        return mask

    @ti.func
    def add_up(i, n, width, partial: ti.template(), t: ti.template(), want: ti.template()):
        """Add the derivatives of all triplets of i to its partial forces; their energy."""
        energy = ti.cast(0.0, term)
        for record in range(t.firsts[2 * n + i], t.firsts[2 * n + i + 1]):
            s, u = slots_of(record, n, t)
            k = 2 * (record - triplets_begin(n, t))
            add_vector(partial, slot(i, s, n, width, layout), t.slopes[k])
            add_vector(partial, slot(i, u, n, width, layout), t.slopes[k + 1])
            if ti.static(want == ALL):
                energy += t.values[value_at(record, n, t)]
        return energy

    @ti.func
    def partials(
        n, width, shift_bits, rows: ti.template(), kept: ti.template(), energy: ti.template(),
        control: ti.template(), frozen, t: ti.template(), want: ti.template()
    ):  # fmt: skip
        if ti.static(is_bond_order):
            for k in range(triplets_end(n, t) - triplets_begin(n, t)):
                if control[frozen] == 0:
                    to_s, to_u = zetas(triplets_begin(n, t) + k, n, width, shift_bits, rows, kept, t)
                    t.slopes[2 * k][0] = to_s
                    t.slopes[2 * k + 1][0] = to_u
            for i in range(n):
                if control[frozen] == 0:
                    kept.live[i] = clear(i, n, width, shift_bits, rows, kept)
                    e = bonds(i, n, width, shift_bits, rows, kept, t)
                    if ti.static(want == ALL):
                        energy[i] = e
        for k in range(triplets_end(n, t) - triplets_begin(n, t)):
            if control[frozen] == 0:
                record = triplets_begin(n, t) + k
                to_s, to_u, h = vectors(record, n, width, shift_bits, rows, kept, t)
                t.slopes[2 * k] = to_s
                t.slopes[2 * k + 1] = to_u
                if ti.static(want == ALL):
                    t.values[value_at(record, n, t)] = h
        for i in range(n):
            if control[frozen] == 0:
                if ti.static(not is_bond_order):
                    kept.live[i] = clear(i, n, width, shift_bits, rows, kept)
                e = add_up(i, n, width, kept.partial, t, want)
                if ti.static(want == ALL and not is_bond_order):
                    energy[i] = e

    return TripletTuples(partials, vectors)
