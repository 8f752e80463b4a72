"""The energy of triples from near lists as the warps of a GPU find it, emulated on a CPU."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from ase import Atoms
from row_places import places_of
from triples import brute_force
from warps import WARP, run

near_triples, triple_tiles, rows, axilrod_teller = warps.emulated(
    "enumerate.near_triples", "enumerate.triple_tiles", "neighbours.rows", "forcefields.axilrod_teller"
)
NU = 45.69


@pytest.mark.parametrize(("cutoff", "product_cutoff"), [(30.0, np.inf), (9.0, 6.0)])
def test_warps_of_an_atom_find_each_triple_once(monkeypatch, cutoff, product_cutoff):
    """Of rows in any order, some longer than a warp; with the same bits, however many warps share an atom."""
    monkeypatch.setattr(near_triples, "kernel", lambda *types, **arguments: lambda body: body)
    monkeypatch.setattr(near_triples, "computed_in", lambda real: lambda function: function)
    monkeypatch.setattr(near_triples, "types_of", lambda real: {})
    random, n = np.random.default_rng(5), 36
    x = 4.0 * np.argwhere(np.ones((3, 3, 4))) + random.uniform(-0.4, 0.4, (n, 3))
    width = rows.row_width(n - 1)
    places = places_of(n, width, rows.CHUNKED)
    near = SimpleNamespace(width=width, count=np.full(n, n - 1), entries=np.zeros(n * width, int))
    for i in range(n):
        near.entries[places[i, : n - 1]] = random.permutation(np.delete(np.arange(n), i))
    slots = n * width
    later = SimpleNamespace(
        count=np.zeros(n, int), vectors=np.zeros(3 * slots), kind=np.zeros(slots, int), parts=np.zeros(6 * n)
    )
    atoms = SimpleNamespace(n=n, pos=x, kind=np.zeros(n, int), ident=random.permutation(n))
    verlet = SimpleNamespace(shift_bits=0, shifts=np.zeros((1, 3)))
    spans = SimpleNamespace(system=np.zeros(n, int))
    limits = SimpleNamespace(side2=cutoff**2, product2=product_cutoff**6)
    energy = near_triples.near_energy_kernel.__wrapped__(axilrod_teller.TRIPLET, float, "cuda", 1, True)
    found = []
    for later.shares in (1, 3):
        found.append(np.zeros(triple_tiles.LOST + 1, int))
        run(
            energy, atoms, verlet, near, later, limits, np.array([NU]), np.zeros(99, int), 2, spans, found[-1]
        )
    assert later.count.sum() == n * (n - 1) // 2 or cutoff < 30.0
    np.testing.assert_array_equal(*found)
    # The last loop, over atoms, is done by all threads of the emulated warp.
    units = found[0][: triple_tiles.SPREAD].sum() / WARP
    expected = brute_force(Atoms(f"Ar{n}", x), lambda *_: NU, cutoff, product_cutoff)[0]
    assert units * triple_tiles.UNIT == pytest.approx(expected, rel=1e-9)
