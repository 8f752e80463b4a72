"""The softness of ACKS2 on a GPU, where eight threads share a row: the pairs and the bits of one thread."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from peers import path_of
from reaxff_samples import water

from taichimd import Engine, ReaxFF

softness, rows = warps.emulated("forcefields.reaxff.softness", "neighbours.rows")


def of_engine(engine):
    """What the loops read of an evaluated system, with room for what they leave; its near list, images."""
    evaluator = engine.device.evaluators[0]
    charges, state = evaluator.charges, engine.device.state
    n, near = state.n, evaluator._near[1].near
    threads = -(-8 * n // warps.WARP) * warps.WARP
    soft, screening = charges.soft, charges.screening
    room = {"count": np.zeros(n, int), "diagonal": np.zeros(n), "size": np.zeros(n), "reference": np.zeros(n)}
    g = SimpleNamespace(
        threads=threads,
        atoms=SimpleNamespace(n=n, **{k: getattr(state, k).to_numpy() for k in ("pos", "kind", "ident")}),
        matrix=SimpleNamespace(shift_bits=charges.matrix.shift_bits),
        elements=charges.elements.to_numpy(),
        screening=SimpleNamespace(
            **{k: getattr(screening, k) for k in ("cutoff", "lower", "inverse_width", "coupling")},
            inverse_gamma3=screening.inverse_gamma3.to_numpy(),
        ),
        soft=SimpleNamespace(
            amplitude=soft.amplitude, width=soft.width, radii=soft.radii.to_numpy(),
            given=soft.given.to_numpy(), entries=np.zeros(soft.width * n, int),
            values=np.zeros(soft.width * n), left=np.zeros((n, 2)), **room,
        ),
        v=SimpleNamespace(z=1e-5 * np.random.default_rng(1).normal(size=(n, 2))),
    )  # fmt: skip
    listed = SimpleNamespace(width=near.width, count=near.count.to_numpy(), entries=near.entries.to_numpy())
    return g, listed, engine.device.lists.verlet.shifts.to_numpy()


@pytest.mark.long
def test_threads_that_share_a_row_compute_the_bits_of_one_thread():
    engine = Engine(water(8, 6.3), ReaxFF(path_of("acks2_ff.water"), charges="acks2"), backend="cpu")
    engine.evaluate()
    soft = engine.device.evaluators[0].charges.soft
    g, near, shifts = of_engine(engine)
    shared = softness.soft_functions(2, rows.CHUNKED, rows.ATOM_MAJOR, lambda i, g: 0, lambda i, g: 1e-9)
    assert shared.threads == 8
    warps.run(shared.fill, near, shifts, g)
    for name in ("count", "diagonal", "size", "reference"):
        np.testing.assert_array_equal(vars(g.soft)[name], getattr(soft, name).to_numpy())
    n, entries, values = g.atoms.n, soft.entries.to_numpy(), soft.values.to_numpy()
    assert g.soft.count.max() > 8
    lines = np.zeros((n, n))
    for i in range(n):
        one = [rows.slot(i, s, n, soft.width, rows.ATOM_MAJOR) for s in range(g.soft.count[i])]
        other = [rows.slot(i, s, n, soft.width, rows.CHUNKED) for s in range(g.soft.count[i])]
        expected = sorted(zip(entries[one], values[one], strict=True))
        assert sorted(zip(g.soft.entries[other], g.soft.values[other], strict=True)) == expected
        for entry, value in expected:
            lines[i, entry >> g.matrix.shift_bits] -= value
    warps.run(shared.left, False, g)
    lines[np.diag_indices(n)] = -lines.sum(1)
    scale = softness.power_of_two(1e-9)
    np.testing.assert_allclose(g.soft.left[:, 0], scale * (lines @ g.v.z[:, 0]), rtol=1e-12, atol=1e-13)
    # The order of a row has no part in the bits.
    for i in range(n):
        at = [rows.slot(i, s, n, soft.width, rows.CHUNKED) for s in range(g.soft.count[i])]
        mixed = np.random.default_rng(i).permutation(at)
        g.soft.entries[at], g.soft.values[at] = g.soft.entries[mixed], g.soft.values[mixed]
    before = g.soft.left.copy()
    warps.run(shared.left, False, g)
    np.testing.assert_array_equal(g.soft.left, before)
