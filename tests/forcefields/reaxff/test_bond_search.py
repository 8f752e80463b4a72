"""Threads of a warp that share the near row of an atom find its candidates for bonds, in the right order."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from reaxff_systems import CUTOFF, box, on_device
from row_places import places_of

from taichimd.forcefields.reaxff.tables import N_PAIR, OfPair
from taichimd.neighbours.rows import row_layout

of_bonds, rows = warps.emulated("forcefields.reaxff.bond_search", "neighbours.rows")
REACH = np.array([[1.9, 1.6], [1.6, 1.2]])


@pytest.mark.parametrize("width", [3, 40], ids=["rows too short", "room"])
def test_candidates_are_those_within_the_reach_in_the_order_of_the_users_numbers(width):
    """Also in the last warp, of which some threads have no atom, and where there is no room for all."""
    n = 29
    system = box(n, 7.0, apart=0.8)
    state, near, shifts, bits = on_device(system, memory=np.random.default_rng(5).permutation(n))
    pos, kind, ident = (getattr(state, name).to_numpy() for name in ("pos", "kind", "ident"))
    rows_of = places_of(n, near.width, row_layout("cpu"))
    given, count, images = near.entries.to_numpy()[rows_of], near.count.to_numpy(), shifts.to_numpy()
    entries = np.zeros(n * near.width, np.int32)
    entries[places_of(n, near.width, rows.CHUNKED)] = given
    pair = np.zeros((4, N_PAIR))
    pair[:, OfPair.reach] = REACH.ravel()
    bonds = SimpleNamespace(width=width, partner=np.full(n * width, -1))
    arguments = (
        SimpleNamespace(n=n, pos=pos, kind=kind, ident=ident),
        SimpleNamespace(shift_bits=bits, shifts=images),
        SimpleNamespace(width=near.width, count=count, entries=entries),
        bonds,
        SimpleNamespace(pair=pair.ravel()),
    )
    search, found = of_bonds.bond_search_functions("cuda", 2), np.full(n, -1)

    def every_row():
        for thread in range(warps.lane(), -(-n // 4) * warps.WARP, warps.WARP):
            i = min(thread // 8, n - 1)
            candidates = search.shared(i, thread, thread < 8 * n, *arguments)
            if thread < 8 * n and thread % 8 == 0:
                found[i] = candidates

    warps.run(every_row)
    assert CUTOFF > 2 * REACH.max()
    partner = bonds.partner[places_of(n, width, rows.body_layout("cuda"))]
    for i in range(n):
        j, code = given[i, : count[i]] >> bits, given[i, : count[i]] & (2**bits - 1)
        d = pos[j] - pos[i] + images[code]
        inside = (d * d).sum(axis=1) <= REACH[kind[i], kind[j]] ** 2
        expected = given[i, : count[i]][inside][np.lexsort((code[inside], ident[j[inside]]))]
        assert found[i] == len(expected)
        if len(expected) <= width:
            np.testing.assert_array_equal(partner[i, : len(expected)], expected)
    assert found.max() > 3
