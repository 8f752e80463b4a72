"""Pairs of an atom on a CPU: `RUN` entries of its row at a time, by vector instructions.

The compilers make vector instructions of a loop over vectors of a function's own, not of one over arrays. So
first loops copy the entries of a run and what they name, and a last loop computes. Entries beyond the cutoff,
and entries that are not there, add zero: a branch would keep the compilers from it. Most runs have no image,
and need not read its vector. Each place of a run has sums of its own, which are added in the end. The sums
are exact (`reproducible_sum`): they have the bits of any other order.
"""

from functools import cache
from typing import Any

from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.access import access
from taichimd.enumerate.reproducible_sum import TERMS, pair_sums
from taichimd.enumerate.terms import Terms
from taichimd.neighbours.entries import neighbour, straight_vector_to
from taichimd.neighbours.pages import read_run
from taichimd.neighbours.rows import ATOM_MAJOR

RUN = 8
"""Entries that a CPU computes side by side: as many float64 as its longest registers hold."""


@cache
def run_function(terms: Terms, real: Any, term: Any) -> DeviceFunction:
    """The device function `pairs` of rows that lie one after the other (`neighbours.rows.ATOM_MAJOR`)."""
    assert terms.pair is not None
    pair, names = terms.pair, terms.pair.columns
    # With one species all entries have the parameters of the first one.
    read_each = not terms.one_species
    look = access(terms, term, ATOM_MAJOR)
    sums = pair_sums(real)

    @computed_in(term)
    def pairs(i, n, width, shift_bits, rows: ti.template(), table: ti.template(), want: ti.template()):
        """Sums over all entries of atom i, for `reproducible_sum.pair_sums`."""
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        shared = look.read_pair(table, 0)
        total = sums.empty(want)
        many = ti.static(2 * TERMS[want])
        m = rows.count[i]
        found = ti.Matrix.zero(ti.f64, many, RUN)
        entries = ti.Vector.zero(ti.i32, RUN)
        apart = ti.Matrix.zero(term, 3, RUN)
        held = ti.Matrix.zero(term, ti.static(len(names) if read_each else 1), RUN)
        for k in range(RUN):
            for q in ti.static(range(many)):
                found[q, k] = total[q]
        for run in range((m + RUN - 1) // RUN):
            first = run * RUN
            images = read_run(entries, rows.entries, i, first, m, n, width)
            if images & ((1 << shift_bits) - 1) == 0:
                for k in range(RUN):
                    d = ti.cast(rows.pos[neighbour(entries[k], shift_bits)] - x, term)
                    for q in ti.static(range(3)):
                        apart[q, k] = d[q]
            else:
                for k in range(RUN):
                    d = ti.cast(straight_vector_to(entries[k], shift_bits, x, rows.pos, rows.shifts), term)
                    for q in ti.static(range(3)):
                        apart[q, k] = d[q]
            if ti.static(read_each):
                for k in range(RUN):
                    own = look.pair_parameters(
                        table, shared, a, look.kind_of(rows.kind, neighbour(entries[k], shift_bits))
                    )
                    for c in ti.static(range(len(names))):
                        held[c, k] = own[names[c]]
            for k in range(RUN):
                d = ti.Vector([apart[q, k] for q in ti.static(range(3))])
                p = shared
                if ti.static(read_each):
                    for c in ti.static(range(len(names))):
                        p[names[c]] = held[c, k]
                r2 = d.dot(d)
                u, w = pair.function(r2, p)
                inside = r2 < p.cutoff * p.cutoff and first + k < m
                here = ti.Vector([found[q, k] for q in ti.static(range(many))])
                sums.add(here, d, ti.select(inside, u, 0.0), ti.select(inside, w, 0.0), want)
                for q in ti.static(range(many)):
                    found[q, k] = here[q]
        empty = sums.empty(want)
        for k in range(RUN):
            for q in ti.static(range(many)):
                total[q] += found[q, k] - empty[q]
        return total

    return pairs
