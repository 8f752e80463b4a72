"""The loop over the neighbours of an atom that are within their cutoff."""

from collections.abc import Callable
from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import Access


def visit_function(look: Access, term: Any, count: int, near: bool, act: Callable[..., None]) -> Any:
    """Device function `(i, lane, many, table, g, sums, how)`: visits every `many`-th entry, from `lane` on.

    `count`: stored numbers of an atom; `near`: whether the near list is read; `act`: device function `(sums,
    j, d, r2, p, mine, g, how)` of neighbour, distance vector, its square, parameters of the pair, stored
    numbers of atom i.
    """

    @device_helper
    def rows_of(g: Any) -> Any:
        return g.near if near else g.verlet

    @computed_in(term)
    def visits(
        i, lane, many: ti.template(), table: ti.template(), g: ti.template(), sums: ti.template(),
        how: ti.template()
    ):  # fmt: skip
        rows = rows_of(g)
        n, width, shift_bits = g.n, rows.width, rows.shift_bits
        x, a = rows.pos[i], look.kind_of(rows.kind, i)
        mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
        shared = look.read_pair(table, 0)
        for k in range((rows.count[i] - lane + many - 1) // many):
            s = lane + many * k
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p = look.pair_parameters(table, shared, a, b)
            if r2 < p.cutoff * p.cutoff:
                j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                act(sums, j, d, r2, p, mine, g, how)

    return visits
