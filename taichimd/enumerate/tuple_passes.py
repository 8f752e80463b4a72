"""Passes over pairs by tuple decomposition: a thread for each pair of a list, then sums per atom.

A thread leaves numbers with both members of its pair (`tuple_arrays.Tuples`), and then each atom adds up the
numbers of its members, exactly: where the function of a pair gives both atoms the same, as that of embedded
atoms, the bits are those of particle decomposition.
"""

from collections.abc import Callable
from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import Access
from taichimd.neighbours.entries import neighbour, vector_to
from taichimd.neighbours.tuple_arrays import entry_at, pairs_end, value_at


def pair_function(look: Access, term: Any, count: int, numbers: Callable[[int], int], of_pair: Any) -> Any:
    """Device function `(pair, table, g, how)`.

    Leaves the numbers of a pair with its members, 0 beyond cutoffs.
    `numbers`: how many a member has, by `how`; `of_pair`: device function `(r, p, q, mine, theirs, how)`,
    numbers of the first, then of the second atom, which sees the pair with parameters q.
    """

    @computed_in(term)
    def leave(pair, table: ti.template(), g: ti.template(), how: ti.template()):
        n, t, rows = g.n, g.tuples, g.near
        i, entry = t.tuples[3 * pair], t.tuples[3 * pair + 1]
        j = neighbour(entry, rows.shift_bits)
        d = ti.cast(vector_to(entry, rows.shift_bits, rows.pos[i], rows.pos, rows.shifts), term)
        r2, a, b = d.dot(d), look.kind_of(rows.kind, i), look.kind_of(rows.kind, j)
        shared = look.read_pair(table, 0)
        p = look.pair_parameters(table, shared, a, b)
        found = ti.Vector.zero(term, ti.static(2 * numbers(how)))
        if r2 < p.cutoff * p.cutoff:
            mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
            theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
            q = look.pair_parameters(table, shared, b, a)
            found = of_pair(ti.sqrt(r2), p, q, mine, theirs, how)
        one = value_at(t.firsts[n + i] + pair - t.firsts[i], n, t)
        other = value_at(t.tuples[3 * pair + 2], n, t)
        for k in ti.static(range(numbers(how))):
            t.values[one + 2 * k * pairs_end(n, t)] = found[k]
            t.values[other + 2 * k * pairs_end(n, t)] = found[ti.static(numbers(how) + k)]

    return leave


def member_function(term: Any, numbers: Callable[[int], int], add: Callable[..., None]) -> Any:
    """As `visits.visit_function`, of the members of an atom, by `add`: `(sums, d, r2, values, how)`."""

    @computed_in(term)
    def visits(
        i, lane, many: ti.template(), table: ti.template(), g: ti.template(), sums: ti.template(),
        how: ti.template()
    ):  # fmt: skip
        n, t, rows = g.n, g.tuples, g.near
        begin = t.firsts[n + i] + lane
        for k in range((t.firsts[n + i + 1] - begin + many - 1) // many):
            member = begin + many * k
            entry = t.tuples[entry_at(member, n, t)]
            d = ti.cast(vector_to(entry, rows.shift_bits, rows.pos[i], rows.pos, rows.shifts), term)
            at = value_at(member, n, t)
            values = [t.values[at + 2 * q * pairs_end(n, t)] for q in ti.static(range(numbers(how)))]
            add(sums, d, d.dot(d), values, how)

    return visits
