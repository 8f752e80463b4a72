"""Sides of triangles as warps of a GPU find them: within the cutoff, in order, each pair with one atom."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from row_places import places_of
from warps import lane, run

(near_sides,) = warps.emulated("enumerate.near_sides")
BITS = 3
"""Of a code: up to three images each way."""


def listed(n, length, random):
    """Atoms of a periodic row of this length, and entries of each, in any order, with its own images."""
    x = np.zeros((n, 3))
    x[:, 0] = random.uniform(0.0, length, n)
    shifts = np.zeros((2**BITS, 3))
    images = np.arange(-3, 4)
    shifts[images, 0] = images * length
    entries = [
        random.permutation(
            [(j << BITS) | (t % 2**BITS) for j in range(n) for t in images if j != i or t != 0]
        )
        for i in range(n)
    ]
    return x, shifts, entries


def rows_of(entries):
    """Rows in chunks, and their length."""
    n, width = len(entries), near_sides.rows.row_width(max(map(len, entries)))
    table = np.zeros(n * width, int)
    at = places_of(n, width, near_sides.rows.CHUNKED)
    for i, row in enumerate(entries):
        table[at[i, : len(row)]] = row
    return SimpleNamespace(width=width, count=np.array([len(row) for row in entries]), entries=table)


@pytest.mark.parametrize(("n", "reach"), [(1, 3.1), (3, 0.4), (20, 1.6), (20, 0.3)])
def test_each_pair_belongs_to_one_atom(n, reach):
    random = np.random.default_rng(n)
    x, shifts, entries = listed(n, 1.0, random)
    ident = random.permutation(n)
    places, near = np.argsort(ident), rows_of(entries)
    slots = n * near.width
    sides = SimpleNamespace(
        width=near.width, count=np.zeros(n, int), first=np.zeros(n, int), total=np.zeros(1, int),
        known=np.zeros(5 * slots),
        **{name: np.full(slots, -7) for name in ("keys", "kind", "found", "turn", "pairs")},
    )  # fmt: skip
    g = SimpleNamespace(
        atoms=SimpleNamespace(n=n, pos=x, kind=np.arange(n), ident=ident),
        verlet=SimpleNamespace(shift_bits=BITS, shifts=shifts),
        near=near, limits=SimpleNamespace(side2=reach**2), places=places, sides=sides, when=2,
        control=np.zeros(99, int),
    )  # fmt: skip
    side = near_sides.side_functions(SimpleNamespace(pair=lambda r2: -r2), "cuda")
    for i in range(n):
        run(lambda i=i: side.collect(i, lane(), g))
    for place in range(slots):
        side.rank(place, g)
    pairs = sides.pairs[: sides.total[0]]
    owners, seen = {}, 0
    for i in range(n):
        d = x[entries[i] >> BITS] - x[i] + shifts[entries[i] & (2**BITS - 1)]
        within = (d * d).sum(axis=1) < reach**2
        keys = (ident[entries[i] >> BITS] << BITS) | (entries[i] & (2**BITS - 1))
        order = np.argsort(keys[within])
        mine = slice(i * near.width, i * near.width + within.sum())
        np.testing.assert_array_equal(sides.keys[mine], keys[within][order])
        np.testing.assert_array_equal(sides.kind[mine], (entries[i] >> BITS)[within][order])
        known = sides.known.reshape(-1, 5)[mine]
        np.testing.assert_array_equal(known[:, :3], d[within][order])
        np.testing.assert_array_equal(known[:, 4], -known[:, 3])
        seen += within.sum()
        for place in range(mine.start, mine.stop):
            owners[place] = int(np.sum(pairs == place))
            opposite = side.opposite(i, place, g)
            assert opposite != place
            assert side.opposite(opposite // near.width, opposite, g) == place
            np.testing.assert_array_equal(
                sides.known[5 * opposite : 5 * opposite + 3], -d[within][order][place - mine.start]
            )
    assert len(owners) == seen == 2 * len(pairs)
    for place, times in owners.items():
        assert times + owners[side.opposite(place // near.width, place, g)] == 1
        # The last ones of a row.
        assert place + 1 not in owners or (place + 1) % near.width == 0 or times <= owners[place + 1]
