"""The factorised approximate inverse: rows against dense solves, its transpose, crowded atoms."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from reaxff_systems import CUTOFF, ETA, GAMMA, Bench, box, dense_charges, taper, vectors

from taichimd.forcefields.reaxff.charges import CLOSE
from taichimd.forcefields.reaxff.options import COUPLING
from taichimd.forcefields.reaxff.precondition import MAX_CLOSE, SIZE

shared, shared_rows = warps.emulated("forcefields.reaxff.precondition", "neighbours.rows")


def factors(bench):
    """G from the slots of smaller numbers, and from those of larger ones; how many atoms are close."""
    close, n = bench.charges.close, bench.state.n
    ident = bench.state.ident.to_numpy()
    entries = close.entries.to_numpy().reshape(n, MAX_CLOSE) >> bench.bits
    values, count = close.factors.to_numpy().reshape(n, MAX_CLOSE), close.count.to_numpy()
    lower, upper = np.diag(close.diagonal.to_numpy()[np.argsort(ident)]), np.zeros((n, n))
    for i in range(n):
        for s in range(count[i] if count[i] <= MAX_CLOSE else 0):
            a, b = ident[i], ident[entries[i, s]]
            if a > b:
                lower[a, b] += values[i, s]
            else:
                upper[b, a] += values[i, s]
    return lower, upper, count[np.argsort(ident)]


def row(system, i, members, d):
    """Row of G for atom i with members at distance vectors d from it."""
    at, kinds = np.vstack([d, np.zeros(3)]), system.kinds[[*members, i]]
    r = np.linalg.norm(at[:, None] - at[None], axis=-1)
    a = COUPLING * taper(r) * (r**3 + GAMMA[kinds[:, None], kinds] ** -3) ** (-1 / 3)
    a[np.diag_indices(len(kinds))] = ETA[kinds]
    y = np.linalg.solve(a, np.eye(len(kinds))[-1])
    return y / np.sqrt(y[-1])


@pytest.mark.parametrize(
    "memory", [None, np.random.default_rng(4).permutation(60)], ids=["as given", "permuted"]
)
def test_rows_are_those_of_dense_factorisations(memory):
    system = box(60, 9.0)
    bench = Bench(system, memory=memory)
    bench.charges_of()
    lower, upper, _ = factors(bench)
    assert CLOSE <= CUTOFF / 2
    d, (i, j), _ = vectors(system.positions, system.cell, CLOSE)
    for atom in range(60):
        mine = (i == atom) & (j < atom)
        members, first = np.unique(j[mine], return_index=True)
        assert len(members) == mine.sum() < SIZE
        expected = np.zeros(60)
        expected[[*members, atom]] = row(system, atom, members, d[mine][first])
        np.testing.assert_allclose(lower[atom], expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(upper, np.tril(lower, -1))
    assert np.count_nonzero(upper) > 100


def test_crowded_atoms_have_a_diagonal_and_the_transpose_fits():
    """More close atoms than there is room for, several images of one, larger matrices than are factorised."""
    system = box(40, 5.5, apart=0.7)
    bench = Bench(system, tolerance=1e-12)
    q = bench.charges_of()
    lower, upper, count = factors(bench)
    crowded = count > MAX_CLOSE
    assert 3 < crowded.sum() < 33
    assert (np.count_nonzero(lower, axis=1) <= SIZE).all()
    np.testing.assert_array_equal(upper, np.tril(lower, -1))
    alone = np.diag(1 / np.sqrt(ETA[system.kinds]))
    np.testing.assert_array_equal(lower[crowded], alone[crowded])
    np.testing.assert_array_equal(lower[:, crowded], alone[:, crowded])
    assert abs(q - dense_charges(system)).max() < 1e-10


def test_it_saves_half_of_the_iterations():
    def iterations(reach):
        bench = Bench(box(60, 9.0), tolerance=1e-8)
        bench.charges.close.reach = reach
        bench.charges_of()
        return bench.charges.statistics().iterations

    assert iterations(CLOSE) <= 0.5 * iterations(0.0)


@pytest.mark.long
@pytest.mark.parametrize("crowded", [False, True])
def test_threads_of_a_warp_compute_the_bits_of_one_thread(crowded):
    """Sixteen threads for an atom sort its close atoms and factorise their matrix; eight mirror the rows."""
    bench = Bench(box(21, 4.4, apart=0.7) if crowded else box(15, 6.0))
    bench.charges_of()
    close, state, n = bench.charges.close, bench.state, bench.state.n
    expected = {name: getattr(close, name).to_numpy() for name in ("entries", "factors", "diagonal")}
    count, rng = close.count.to_numpy(), np.random.default_rng(1)
    assert (count > MAX_CLOSE).any() == crowded
    entries = expected["entries"].copy().reshape(n, MAX_CLOSE)
    for i in range(n):
        if count[i] <= MAX_CLOSE:
            entries[i, : count[i]] = rng.permutation(entries[i, : count[i]])
    found = SimpleNamespace(
        count=count, entries=entries.ravel(), factors=np.full(MAX_CLOSE * n, np.nan), diagonal=np.zeros(n)
    )
    screening = bench.charges.screening
    g = SimpleNamespace(
        atoms=SimpleNamespace(
            n=n, pos=state.pos.to_numpy(), kind=state.kind.to_numpy(), ident=state.ident.to_numpy()
        ),
        matrix=SimpleNamespace(shift_bits=bench.bits),
        close=found,
        elements=bench.charges.elements.to_numpy(),
        screening=SimpleNamespace(
            lower=screening.lower, inverse_width=screening.inverse_width, coupling=screening.coupling,
            inverse_gamma3=screening.inverse_gamma3.to_numpy(),
        ),
    )  # fmt: skip
    functions = shared.factor_functions(2, shared_rows.ATOM_MAJOR, lambda i, g: 0, many=8)
    warps.run(functions.factorise, bench.shifts.to_numpy(), g)
    used = np.arange(MAX_CLOSE) < np.where(count > MAX_CLOSE, 0, count)[:, None]
    for name in ("entries", "factors"):
        one, other = (values.reshape(n, MAX_CLOSE)[used] for values in (vars(found)[name], expected[name]))
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.diagonal, expected["diagonal"])
