"""Angle terms that are quadratic in the cosine, without a loop over pairs of neighbours.

With unit vectors e_s and weights w_s of the neighbours s, t of an atom i,

    U_i = sum over {s, t} of L w_s w_t (e_s . e_t - c)^2

depends on the others only through a few sums (here for one species; with several, one set for each kind)

    M = sum_t w_t e_t (x) e_t,   m = sum_t w_t e_t,   W = sum_t w_t.

Without the term of s itself, and with b_st = e_s . e_t - c,

    G_s = sum_t w_t b_st e_t = M e_s - c m - (1 - c) w_s e_s,
    B_s = sum_t w_t b_st = m . e_s - c W - (1 - c) w_s,
    dU_i/dr_s = L [w_s' (G_s . e_s - c B_s) e_s + 2 w_s/r_s (G_s - (G_s . e_s) e_s)].

So the first pass leaves ten numbers with each atom, and the second finds dU_i/dr_ij and dU_j/dr_ji from those
of i and j: work and memory grow with the number of neighbours, not of their pairs, and nothing is kept per
entry. On a CPU, with one species and under quadrants, `RUN` neighbours are computed side by side by vector
instructions, and added in the order of the row. That sums of products of unit vectors replace sums over
angles: A. P. Bartok, R. Kondor, G. Csanyi, Phys. Rev. B 87, 184115 (2013); A. V. Shapeev, Multiscale Model.
Simul. 14, 1153 (2016).
"""

from functools import cache
from typing import Any

from taichimd.core.runtime import NAME, computed_in, ti
from taichimd.enumerate.access import access
from taichimd.enumerate.gather import AtomFunctions
from taichimd.enumerate.live import following, marked
from taichimd.enumerate.moments_shared import MomentParts, shared_moments
from taichimd.enumerate.terms import MOMENTS, Terms
from taichimd.neighbours.entries import neighbour, vector_to
from taichimd.neighbours.rows import ATOM_MAJOR, SLOT_MAJOR, slot

AHEAD = 4
"""Entries that a thread of a GPU reads at a time: their latencies pass together."""
RUN = 4
"""Neighbours that a CPU computes side by side: as many as an atom of a crystal with bonds has."""
LOOK = 8
"""Entries whose distances a CPU computes side by side."""


@cache
def moment_functions(terms: Terms, real: Any, term: Any, layout: int) -> AtomFunctions:
    """Functions that are made and called as those of `gather_functions`."""
    assert terms.angle is not None
    weight, pair, kinds = terms.angle.function, terms.pair, terms.n_kinds
    has_pair = pair is not None
    look = access(terms, term, layout)
    ahead = 1 if layout == ATOM_MAJOR else AHEAD
    vec = ti.types.vector(3, term)
    square = ti.types.matrix(3, 3, term)
    sums = ti.types.vector(MOMENTS * kinds, term)

    @ti.func
    def weigh(r, a, b, table: ti.template(), shared):
        """Weight and slope of a neighbour (kind b, distance r) of an atom of kind a; row of its angle."""
        p = look.body_parameters(table, shared, a, b, b)
        w, dw = 0.0, 0.0
        if r < p.range:
            w, dw = weight(r, p)
        return w, dw, p

    @ti.func
    def of_kind(moments, c: ti.template()):
        """M, m, W of the neighbours of kind c."""
        k = ti.static(MOMENTS * c)
        m2 = square(
            moments[k], moments[k + 1], moments[k + 2],
            moments[k + 1], moments[k + 3], moments[k + 4],
            moments[k + 2], moments[k + 4], moments[k + 5],
        )  # fmt: skip
        return m2, vec(moments[k + 6], moments[k + 7], moments[k + 8]), moments[k + 9]

    @ti.func
    def read(i, stored: ti.template()):
        moments = sums(0.0)
        for k in ti.static(range(MOMENTS * kinds)):
            moments[k] = stored[MOMENTS * kinds * i + k]
        return moments

    @ti.func
    def add(moments: ti.template(), w, e, b):
        we = w * e
        for c in ti.static(range(kinds)):
            if b == c:
                k = ti.static(MOMENTS * c)
                for x in ti.static(range(3)):
                    for y in ti.static(range(x, 3)):
                        moments[k + (0, 2, 3)[x] + y] += we[x] * e[y]
                    moments[k + 6 + x] += we[x]
                moments[k + 9] += w

    @ti.func
    def energy_of(moments, a, table: ti.template(), shared):
        """U_i, and with it half of L (1 - c)^2 w_s^2 of every s."""
        energy = 0.0
        for b in ti.static(range(kinds)):
            for c in ti.static(range(kinds)):
                p = look.body_parameters(table, shared, a, b, c)
                m2, m1, m0 = of_kind(moments, b)
                n2, n1, n0 = of_kind(moments, c)
                square_sum = (m2 * n2).sum() - 2.0 * p.costheta0 * m1.dot(n1)
                energy += 0.5 * p.strength * (square_sum + p.costheta0 * p.costheta0 * m0 * n0)
        return energy

    @ti.func
    def slope(moments, e, inverse, w, dw, a, b, table: ti.template(), shared):
        """Derivative of the angles of an atom of kind a to the vector e/inverse to a neighbour of kind b."""
        radial, turning = 0.0, vec(0.0)
        for c in ti.static(range(kinds)):
            p = look.body_parameters(table, shared, a, b, c)
            m2, m1, m0 = of_kind(moments, c)
            itself = (1.0 - p.costheta0) * (w if b == c else 0.0)
            g = m2 @ e - p.costheta0 * m1 - itself * e
            along = g.dot(e)
            radial += p.strength * (along - p.costheta0 * (m1.dot(e) - p.costheta0 * m0 - itself))
            turning += p.strength * (g - along * e)
        return (dw * radial) * e + (2.0 * w * inverse) * turning

    @computed_in(term)
    def partials(i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), want: ti.template()):
        """Store the moments of atom i and which of its entries are live; returns U_i if wanted."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        m = rows.count[i]
        mask = 0
        for base in range((m + ahead - 1) // ahead):
            visits = [
                look.visit(i, ti.min(base * ahead + k, m - 1), x, n, width, shift_bits, rows)
                for k in ti.static(range(ahead))
            ]  # fmt: skip
            for k in ti.static(range(ahead)):
                _, r2, b = visits[k]
                if base * ahead + k < m and r2 < reach2(kept.pair_table, kept.body_table, shared, a, b):
                    mask = marked(mask, base * ahead + k)
        kept.live[i] = mask
        energy = 0.0
        moments = sums(0.0)
        s = following(mask, 0, m)
        while s < m:
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            r = ti.sqrt(r2)
            w, _, q = weigh(r, a, b, kept.body_table, shared)
            add(moments, w, (1.0 / r) * d, b)
            if ti.static(want):
                bend = 1.0 - q.costheta0
                energy -= 0.5 * q.strength * (bend * bend) * (w * w)
                energy += 0.5 * two_bodies(r2, a, b, kept.pair_table)[0]
            s = following(mask, s + 1, m)
        for k in ti.static(range(MOMENTS * kinds)):
            kept.moments[MOMENTS * kinds * i + k] = moments[k]
        if ti.static(want):
            energy += energy_of(moments, a, kept.body_table, shared)
        return energy

    @ti.func
    def reach2(pair_table: ti.template(), body_table: ti.template(), shared, a, b):
        """Square of the longest distance at which kinds a and b act on each other."""
        reach2 = look.reach2(body_table, shared, a, b)
        if ti.static(has_pair):
            cutoff = look.pair_parameters(pair_table, look.read_pair(pair_table, 0), a, b).cutoff
            reach2 = ti.max(reach2, cutoff * cutoff)
        return reach2

    @ti.func
    def two_bodies(r2, a, b, table: ti.template()):
        """Energy of the pair term and its slope over r, 0 beyond its cutoff."""
        u, w = 0.0, 0.0
        if ti.static(has_pair):
            p = look.pair_parameters(table, look.read_pair(table, 0), a, b)
            if r2 < p.cutoff * p.cutoff:
                u, w = pair.function(r2, p)
        return u, w

    @ti.func
    def contribution(j, d, own, a, shared, rows: ti.template(), kept: ti.template()):
        """What neighbour j at d adds to the force on an atom of kind a, and what of it is the energy of j."""
        theirs = read(j, kept.moments)
        r2 = d.dot(d)
        b = look.kind_of(rows.kind, j)
        force, theirs_too = ti.Vector.zero(real, 3), vec(0.0)
        if r2 < reach2(kept.pair_table, kept.body_table, shared, a, b):
            r = ti.sqrt(r2)
            inverse = 1.0 / r
            e = inverse * d
            w, dw, _ = weigh(r, a, b, kept.body_table, shared)
            mine = slope(own, e, inverse, w, dw, a, b, kept.body_table, shared)
            if ti.static(kinds > 1):
                w, dw, _ = weigh(r, b, a, kept.body_table, shared)
            theirs_too = slope(theirs, -e, inverse, w, dw, b, a, kept.body_table, shared)
            half = (0.5 * two_bodies(r2, a, b, kept.pair_table)[1]) * d
            mine += half
            theirs_too -= half
            force = ti.cast(mine, real) - ti.cast(theirs_too, real)
        return force, theirs_too

    @computed_in(term)
    def gather(i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), want: ti.template()):
        """Force of atom i from the moments of both ends, virial from what the others' energies do."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_body(kept.body_table, 0)
        own = read(i, kept.moments)
        force = ti.Vector.zero(real, 3)
        virial = ti.Matrix.zero(real, 3, 3)
        mask = kept.live[i]
        m = rows.count[i]
        s = following(mask, 0, m)
        upcoming = rows.entries[slot(i, ti.max(ti.min(s, m - 1), 0), n, width, layout)]
        while s < m:
            entry = upcoming
            s = following(mask, s + 1, m)
            # Read before the work on this one, so that its latency passes meanwhile.
            upcoming = rows.entries[slot(i, ti.min(s, m - 1), n, width, layout)]
            j = neighbour(entry, shift_bits)
            d = ti.cast(vector_to(entry, shift_bits, x, rows.pos, rows.shifts), term)
            part, theirs = contribution(j, d, own, a, shared, rows, kept)
            force += part
            if ti.static(want):
                virial += ti.cast(d.outer_product(theirs), real)
        return force, virial

    @computed_in(term)
    def other_end(i, s, n, width, shift_bits, rows: ti.template(), kept: ti.template()):
        """What the energy of the atom of entry s does to atom i."""
        entry = rows.entries[slot(i, s, n, width, layout)]
        j = neighbour(entry, shift_bits)
        d = ti.cast(vector_to(entry, shift_bits, rows.pos[i], rows.pos, rows.shifts), term)
        a, b = look.kind_of(rows.kind, i), look.kind_of(rows.kind, j)
        shared = look.read_body(kept.body_table, 0)
        r2, found = d.dot(d), vec(0.0)
        if r2 < reach2(kept.pair_table, kept.body_table, shared, a, b):
            r = ti.sqrt(r2)
            inverse = 1.0 / r
            w, dw, _ = weigh(r, b, a, kept.body_table, shared)
            found = slope(read(j, kept.moments), -inverse * d, inverse, w, dw, b, a, kept.body_table, shared)
            found -= (0.5 * two_bodies(r2, a, b, kept.pair_table)[1]) * d
        return ti.cast(found, real)

    @ti.func
    def live_in_row(i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), reach2_of_all):
        """Mask of the live entries of atom i, of one species."""
        x, m, mask = rows.pos[i], rows.count[i], 0
        apart, near = ti.Matrix.zero(term, 3, LOOK), ti.Vector.zero(ti.i32, LOOK)
        for run in range((m + LOOK - 1) // LOOK):
            first = run * LOOK
            for k in range(LOOK):
                d, _, _ = look.visit(i, ti.min(first + k, m - 1), x, n, width, shift_bits, rows)
                for q in ti.static(range(3)):
                    apart[q, k] = d[q]
            for k in range(LOOK):
                d = vec(apart[0, k], apart[1, k], apart[2, k])
                near[k] = ti.cast(d.dot(d) < reach2_of_all and first + k < m, ti.i32)
            for k in range(LOOK):
                if near[k] != 0:
                    mask = marked(mask, first + k)
        return mask

    @ti.func
    def next_run(
        i, x, m, mask, first, n, width, shift_bits,
        rows: ti.template(), apart: ti.template(), others: ti.template(),
    ):  # fmt: skip
        """The next live entries of atom i at x, from slot `first` on; a row that ends repeats its last one.

        Leaves distance vectors in `apart`, atoms in `others`; returns how many there are, and the slot that
        follows.
        """
        many, last, s = 0, first, first
        for k in range(RUN):
            if s < m:
                last = s
                many += 1
            entry = rows.entries[slot(i, last, n, width, layout)]
            d = ti.cast(vector_to(entry, shift_bits, x, rows.pos, rows.shifts), term)
            for q in ti.static(range(3)):
                apart[q, k] = d[q]
            others[k] = neighbour(entry, shift_bits)
            s = following(mask, ti.min(s + 1, m), m)
        return many, s

    @computed_in(term)
    def partials_in_runs(
        i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), want: ti.template()
    ):
        """What `partials` does."""
        x = rows.pos[i]
        shared = look.read_body(kept.body_table, 0)
        m = rows.count[i]
        mask = live_in_row(
            i, n, width, shift_bits, rows, kept, reach2(kept.pair_table, kept.body_table, shared, 0, 0)
        )
        kept.live[i] = mask
        energy = 0.0
        moments = sums(0.0)
        apart, along = ti.Matrix.zero(term, 3, RUN), ti.Matrix.zero(term, 3, RUN)
        others = ti.Vector.zero(ti.i32, RUN)
        weights = ti.Vector.zero(term, RUN)
        of_pair, of_itself = ti.Vector.zero(term, RUN), ti.Vector.zero(term, RUN)
        s = following(mask, 0, m)
        while s < m:
            many, s = next_run(i, x, m, mask, s, n, width, shift_bits, rows, apart, others)
            for k in range(RUN):
                d = vec(apart[0, k], apart[1, k], apart[2, k])
                r2 = d.dot(d)
                r = ti.sqrt(r2)
                w, _, q = weigh(r, 0, 0, kept.body_table, shared)
                weights[k] = w
                e = (1.0 / r) * d
                for c in ti.static(range(3)):
                    along[c, k] = e[c]
                if ti.static(want):
                    bend = 1.0 - q.costheta0
                    of_pair[k] = 0.5 * two_bodies(r2, 0, 0, kept.pair_table)[0]
                    of_itself[k] = 0.5 * q.strength * (bend * bend) * (w * w)
            for k in range(many):
                add(moments, weights[k], vec(along[0, k], along[1, k], along[2, k]), 0)
                if ti.static(want):
                    energy -= of_itself[k]
                    energy += of_pair[k]
        for k in ti.static(range(MOMENTS)):
            kept.moments[MOMENTS * i + k] = moments[k]
        if ti.static(want):
            energy += energy_of(moments, 0, kept.body_table, shared)
        return energy

    @computed_in(term)
    def gather_in_runs(
        i, n, width, shift_bits, rows: ti.template(), kept: ti.template(), want: ti.template()
    ):
        """What `gather` does."""
        x = rows.pos[i]
        shared = look.read_body(kept.body_table, 0)
        own = read(i, kept.moments)
        force = ti.Vector.zero(real, 3)
        virial = ti.Matrix.zero(real, 3, 3)
        mask = kept.live[i]
        m = rows.count[i]
        apart, theirs = ti.Matrix.zero(term, 3, RUN), ti.Matrix.zero(term, MOMENTS, RUN)
        others = ti.Vector.zero(ti.i32, RUN)
        here, there = ti.Matrix.zero(term, 3, RUN), ti.Matrix.zero(term, 3, RUN)
        longest2 = reach2(kept.pair_table, kept.body_table, shared, 0, 0)
        s = following(mask, 0, m)
        while s < m:
            many, s = next_run(i, x, m, mask, s, n, width, shift_bits, rows, apart, others)
            for k in range(RUN):
                for q in ti.static(range(MOMENTS)):
                    theirs[q, k] = kept.moments[MOMENTS * others[k] + q]
            for k in range(RUN):
                d = vec(apart[0, k], apart[1, k], apart[2, k])
                other = ti.Vector([theirs[q, k] for q in ti.static(range(MOMENTS))])
                r2 = d.dot(d)
                r = ti.sqrt(r2)
                inverse = 1.0 / r
                e = inverse * d
                w, dw, _ = weigh(r, 0, 0, kept.body_table, shared)
                half = (0.5 * two_bodies(r2, 0, 0, kept.pair_table)[1]) * d
                mine = slope(own, e, inverse, w, dw, 0, 0, kept.body_table, shared) + half
                theirs_too = slope(other, -e, inverse, w, dw, 0, 0, kept.body_table, shared) - half
                for q in ti.static(range(3)):
                    here[q, k] = mine[q]
                    there[q, k] = theirs_too[q]
            for k in range(many):
                d = vec(apart[0, k], apart[1, k], apart[2, k])
                if d.dot(d) < longest2:
                    mine, theirs_too = (
                        vec(here[0, k], here[1, k], here[2, k]),
                        vec(there[0, k], there[1, k], there[2, k]),
                    )
                    force += ti.cast(mine, real) - ti.cast(theirs_too, real)
                    if ti.static(want):
                        virial += ti.cast(d.outer_product(theirs_too), real)
        return force, virial

    # Taichi's compiler makes no vector instructions of these loops: there they take a third longer.
    if layout == ATOM_MAJOR and terms.one_species and NAME == "quadrants":
        return AtomFunctions(partials_in_runs, gather_in_runs, other_end)
    parts = MomentParts(look, read, reach2, weigh, contribution, (vec, term, real))
    together = shared_moments(parts, kinds) if layout == SLOT_MAJOR else None
    return AtomFunctions(partials, gather, other_end, shared=together)
