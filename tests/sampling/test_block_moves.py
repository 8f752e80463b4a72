"""Threads of a block that share a move find what one thread finds."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps

pytestmark = pytest.mark.both

LIMIT = 4.0
moves, exact = warps.emulated("sampling.block_moves", "enumerate.reproducible_sum")


def triple(d, e, a, b, c, nu):
    """An energy that is symmetric in the neighbours, to the bit."""
    return nu * ((a + b) + 1.0 / (c + 0.1)), None


def given(positions, kinds, moves_now):
    """Atom 0 has all others as neighbours; some are in cells that move at the same time."""
    n = len(positions)
    rows = SimpleNamespace(width=n, count=np.array([n]), entries=np.arange(n))
    return SimpleNamespace(
        atoms=SimpleNamespace(n=1, pos=positions, kind=kinds),
        rows=[rows],
        verlet=SimpleNamespace(shift_bits=0, shifts=np.zeros((1, 3))),
        tables=[np.concatenate([[LIMIT, 20.0], np.array([1.0, 2.0, 2.0, 3.0, 2.0, 3.0, 3.0, 5.0])])],
        board=SimpleNamespace(cell_of=np.where(moves_now, 1, 0)),
    )


@pytest.mark.parametrize("n", [3, 33, 60])
def test_pairs_of_neighbours_are_dealt_to_the_threads_of_a_block(monkeypatch, n):
    monkeypatch.setattr(moves, "BLOCK", warps.WARP)
    random = np.random.default_rng(n)
    positions, kinds = random.normal(size=(n, 3)) * 1.5, random.integers(0, 2, n)
    g = given(positions, kinds, random.random(n) < 0.1)
    g.board.cell_of[0] = 0
    block, steps = 1, random.normal(size=(3, 3)) * 0.3
    g.room = SimpleNamespace(
        width=n, vectors=np.full(12 * n, np.nan), kinds=np.full(2 * n, -1), kept=np.full(4, 7),
        parts=np.full(4, np.nan),
    )  # fmt: skip
    local, colour = SimpleNamespace(triple=triple), SimpleNamespace(first=0, last=2)
    shared = moves.block_triples(local, 2, float, 0)

    def several():
        moves.open_room(block, warps.lane(), g.room)
        found = []
        for turn, step in enumerate(steps):
            sums = exact.empty_sums(1)
            x = positions[0]
            shared(sums, 0, block, warps.lane(), turn % 2, x, x + step, colour, g, 0)
            found.append(moves.of_block(sums, block, warps.lane(), g.room))
        return found

    found = warps.run(several)
    for step, changes in zip(steps, np.transpose(found), strict=True):
        assert len(set(changes.tolist())) == 1
        assert n < 10 or changes[0] != 0.0
        assert changes[0] == change_by(g, positions[0], positions[0] + step)


def change_by(g, x, y):
    """The same by one thread."""
    sums, table, seen = exact.empty_sums(1), g.tables[0], g.board.cell_of == 0
    others = [j for j in range(1, len(seen)) if seen[j]]
    for at, j in enumerate(others):
        for k in others[:at]:
            d, e = g.atoms.pos[j] - x, g.atoms.pos[k] - x
            nu = table[2 + (g.atoms.kind[0] * 2 + g.atoms.kind[j]) * 2 + g.atoms.kind[k]]
            energies = [of(d - s, e - s, nu, table) for s in (y - x, np.zeros(3))]
            c = (e - d).dot(e - d)
            if c < LIMIT:
                exact.with_term(sums, 1, 0, energies[0](c) - energies[1](c))
    return exact.total_of(*sums)


def of(d, e, nu, table):
    """Energy of a triple by the square of its third side."""
    a, b = d.dot(d), e.dot(e)
    return lambda c: triple(d, e, a, b, c, nu)[0] if a < LIMIT and b < LIMIT and a * b * c < table[1] else 0.0
