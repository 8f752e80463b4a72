"""Energies of embedded atoms by the move of one atom, emulated: of one thread and of those of a warp."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from tests.support import warps

passes, exact, row_sums = warps.emulated(
    "sampling.local_passes", "enumerate.reproducible_sum", "enumerate.row_sums"
)

pytestmark = pytest.mark.both
LENGTH, CUTOFF, SKIN, BITS = 6.0, 5.0, 1.0, 8
"""Of the cell, angstrom: an atom has several images of a neighbour in range, and none of itself."""
IMAGES = [np.zeros(3)] + [LENGTH * np.array(v) for v in product((-1, 0, 1), repeat=3) if any(v)]
KINDS = [0, 1, 0, 0, 1, 1]


def density(r, p, mine, theirs):
    return p.f * np.exp(-r) * (CUTOFF - r) ** 2


def embedding(mine, p):
    return -p.depth * np.sqrt(mine.density + 0.1), np.nan


def pairs(r, p, mine, theirs):
    return p.phi * np.exp(-2.0 * r) * (CUTOFF - r) ** 2, np.nan, np.nan


OF = SimpleNamespace(
    columns=(),
    function=SimpleNamespace(
        arrays=("slope", "density"),
        passes=[
            SimpleNamespace(function=density, writes=("density",)),
            SimpleNamespace(function=embedding, writes=("slope",)),
            SimpleNamespace(function=pairs, writes=()),
        ],
    ),
)
TABLE = [
    SimpleNamespace(f=f, phi=phi, depth=depth, cutoff=CUTOFF)
    for f, phi, depth in ((1.0, 9.0, 1.5), (1.4, 8.0, 0.0), (0.6, 8.5, 0.0), (1.2, 7.0, 2.0))
]
"""By the kinds of an atom and its neighbour, which differ in both directions."""


def system():
    rng = np.random.default_rng(3)
    pos = rng.uniform(0.0, LENGTH, (len(KINDS), 3))
    rows = [
        [j << BITS | k for k, shift in enumerate(IMAGES) for j in range(len(pos))
         if 0.0 < np.linalg.norm(pos[j] + shift - x) < CUTOFF + SKIN]
        for x in pos
    ]  # fmt: skip
    width = max(map(len, rows))
    entries = np.array([row + [-1] * (width - len(row)) for row in rows]).ravel()
    return SimpleNamespace(
        atoms=SimpleNamespace(n=len(pos), pos=pos, kind=KINDS),
        rows=[SimpleNamespace(count=[len(row) for row in rows], entries=entries, width=width)],
        verlet=SimpleNamespace(shift_bits=BITS, shifts=np.array(IMAGES)),
        board=SimpleNamespace(cell_of=[0] * len(pos)),
        tables=[TABLE],
    )


def energy(pos):
    total = 0.0
    for i, x in enumerate(pos):
        rho = 0.0
        for j, shift in product(range(len(pos)), IMAGES):
            r, p = np.linalg.norm(pos[j] + shift - x), TABLE[2 * KINDS[i] + KINDS[j]]
            if 0.0 < r < CUTOFF:
                rho += density(r, p, None, None)
                total += pairs(r, p, None, None)[0]
        total += embedding(SimpleNamespace(density=rho), TABLE[3 * KINDS[i]])[0]
    return total


def test_the_change_is_that_of_the_whole_energy(monkeypatch):
    monkeypatch.setattr(passes, "reader", lambda *_: lambda table, row: table[row])
    g, colour = system(), SimpleNamespace(first=0, last=1)
    change = passes.embedded_change(OF, 2, float, float, 0)
    step = np.array([0.3, -0.25, 0.2])
    for i, x in enumerate(g.atoms.pos.copy()):
        after = g.atoms.pos.copy()
        after[i] += step
        expected = energy(after) - energy(g.atoms.pos)

        def by(lane, many, i=i, x=x):
            sums = exact.empty_sums(1)
            change(sums, i, lane, many, x, x + step, colour, g, 0)
            return row_sums.across(sums, 1, many)[0]

        alone = by(0, 1)
        assert alone == pytest.approx(expected, abs=1e-11)
        assert abs(alone) > 1e-3
        if i == 0:
            assert warps.run(lambda by=by: by(warps.lane(), warps.WARP))[0] == alone
