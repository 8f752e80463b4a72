"""Threads of a warp that share the near row of an atom find its candidates for bonds, in the right order."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from reaxff_systems import CUTOFF, box, on_device
from row_places import places_of

from taichimd.forcefields.reaxff.arrays import HALF
from taichimd.forcefields.reaxff.tables import N_PAIR, G, OfPair
from taichimd.neighbours.rows import row_layout

of_bonds, half_bonds, rows = warps.emulated(
    "forcefields.reaxff.bond_search", "forcefields.reaxff.half_bonds", "neighbours.rows"
)
# Their exponents wrap around in 32 bits, as Python's whole numbers do not.
half_bonds.exp, half_bonds.power = np.exp, np.power
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


def test_threads_that_share_an_atom_leave_the_half_bonds_of_one_thread():
    """Of candidates some are bonded; an atom without a candidate, and one with more than threads."""
    n, width, bits, rng = 5, 24, 4, np.random.default_rng(2)
    counts = np.array([3, 0, 19, 8, 1])
    pos = np.concatenate([np.zeros((n, 3)), rng.uniform(-1.4, 1.4, (30, 3))])
    kind = rng.integers(0, 2, len(pos))
    pair, general = np.zeros((4, N_PAIR)), np.zeros(40)
    for name, values in {
        "r_sigma": (1.2, 1.0, 1.0, 0.7), "p_bo1": -0.1, "p_bo2": 6.0,
        "r_pi": (1.1, -1.0, -1.0, -1.0), "p_bo3": -0.3, "p_bo4": 5.0,
        "r_pipi": (-1.0, -1.0, -1.0, 0.8), "p_bo5": -0.2, "p_bo6": 7.0,
    }.items():  # fmt: skip
        pair[:, getattr(OfPair, name)] = values
    general[G.bo_cut] = 0.3
    candidates = rng.integers(n, len(pos), (n, width)) << bits
    of_bonds_of = half_bonds.half_bond_functions("cuda", 2)
    places = places_of(n, width, rows.body_layout("cuda"))
    atoms = SimpleNamespace(n=n, pos=pos, kind=kind)
    verlet = SimpleNamespace(shift_bits=bits, shifts=np.zeros((16, 3)))
    tables = SimpleNamespace(pair=pair.ravel(), general=general)

    def bonds():
        partner = np.zeros(n * width, np.int32)
        partner[places] = candidates
        return SimpleNamespace(
            width=width, places=n * width, partner=partner, half=np.zeros(len(HALF) * n * width)
        )

    one, other, together = bonds(), bonds(), {}
    alone = [of_bonds_of.by_thread(i, counts[i], atoms, verlet, one, tables) for i in range(n)]

    def every_row():
        for thread in range(warps.lane(), 2 * warps.WARP, warps.WARP):
            i = min(thread // 8, n - 1)
            there = counts[i] if thread < 8 * n else 0
            found = of_bonds_of.shared(i, thread, there, atoms, verlet, other, tables)
            if thread < 8 * n:
                together[thread] = found

    warps.run(every_row)
    assert all(together[thread] == alone[thread // 8] for thread in range(8 * n))
    assert 3 < sum(found for found, _ in alone) < counts.sum() - 3
    for i, (found, _) in enumerate(alone):
        np.testing.assert_array_equal(other.partner[places[i, :found]], one.partner[places[i, :found]])
    np.testing.assert_array_equal(other.half, one.half)
