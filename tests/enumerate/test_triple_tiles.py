"""Sums over all triples of several systems in tiles, as a block of a GPU finds them: here it has one warp."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from ase import Atoms
from triples import brute_force
from warps import run

tiles, loops, items, axilrod_teller = warps.emulated(
    "enumerate.triple_tiles", "enumerate.tile_loops", "enumerate.triple_items", "forcefields.axilrod_teller"
)
NU = 45.69
TILING = items.Tiling(side=16, each=2, slab=4, split=2)
SIZES = 5, 21


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of pairs that do not count
def test_a_block_has_a_tile_of_one_system(monkeypatch):
    monkeypatch.setattr(tiles, "kernel", lambda *types, **arguments: lambda body: body)
    monkeypatch.setattr(loops, "computed_in", lambda real: lambda function: function)
    monkeypatch.setattr(tiles, "types_of", lambda real: {})
    assert TILING.threads == warps.WARP
    random, n = np.random.default_rng(5), sum(SIZES)
    # Both systems are in one place.
    x = np.concatenate([4.0 * np.argwhere(np.ones((3, 3, 3)))[:size] for size in SIZES])
    x += random.uniform(-0.4, 0.4, (n, 3))
    placed = SimpleNamespace(pos=x, kind=np.zeros(n, int))
    first, end = SIZES[0], n
    spans = SimpleNamespace(begins=np.array([0, first, end]), squares=np.array([0, first**2]))
    energy, pair_sums = tiles.tile_kernels.__wrapped__(axilrod_teller.TRIPLET, "cuda", 1, TILING)
    table = items.of_systems(items.energy_items, SIZES, TILING)
    whole = np.zeros(2 * (tiles.LOST + 1), int)
    run(energy, 0, len(table), table.reshape(-1), spans, placed, np.array([NU]), whole)
    of_pairs = items.of_systems(items.slope_items, SIZES, TILING)
    sums = SimpleNamespace(slope=np.zeros(sum(size**2 for size in SIZES)))
    given = spans, placed, np.array([NU]), np.zeros(99, int), 2, sums
    run(pair_sums, len(of_pairs), of_pairs.reshape(-1), *given)
    for number, (begin, last) in enumerate(((0, first), (first, end))):
        units = whole.reshape(2, -1)[number][: tiles.LOST].reshape(2, -1).sum(axis=1)
        one = Atoms(f"Ar{last - begin}", x[begin:last])
        expected, _, forces, _ = brute_force(one, lambda *_: NU)
        assert units @ [tiles.UNIT, tiles.UNIT**2] == pytest.approx(expected, rel=1e-9)
        slopes = sums.slope[spans.squares[number] :][: len(one) ** 2].reshape(len(one), len(one))
        vectors = one.positions[None] - one.positions[:, None]
        np.testing.assert_allclose(2.0 * np.einsum("ij,ijc->ic", slopes, vectors), forces, atol=1e-12)
