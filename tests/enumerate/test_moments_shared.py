"""Angle terms as sums of moments by four threads for each atom, emulated: the same bits as one thread."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from row_places import places_of

from taichimd.neighbours.rows import SLOT_MAJOR

(moments,) = warps.emulated("enumerate.moments")
BITS, REACH, WIDTH = 2, 3.0, 40
CUTOFF = 2.9


class Of(SimpleNamespace):
    """What says of terms, which caches know by their identity."""

    __hash__ = object.__hash__


class Struct(SimpleNamespace):
    """Parameters of a tuple."""

    def __setitem__(self, name, value):
        setattr(self, name, value)


def vector(length, dtype):
    return lambda *values: np.array(values if len(values) > 1 else [values[0]] * length, float)


@pytest.fixture(autouse=True)
def types(monkeypatch):
    of_types = SimpleNamespace(
        vector=vector,
        matrix=lambda rows, columns, dtype: lambda *values: np.array(values, float).reshape(rows, columns),
        struct=lambda **names: Struct,
    )
    monkeypatch.setattr(moments.ti, "types", of_types, raising=False)


def functions(kinds):
    """Both ways, of weights and pairs that are made up."""

    def weight(r, p):
        return np.exp(-p.decay * r), -p.decay * np.exp(-p.decay * r)

    def pair(r2, p):
        return 1.0 / r2, -2.0 * p.depth / (r2 * r2)

    angle = SimpleNamespace(function=weight, columns=("strength", "costheta0", "decay", "range", "reach"))
    terms = Of(
        angle=angle, body=angle, pair=SimpleNamespace(function=pair, columns=("depth", "cutoff")),
        passes=None, n_kinds=kinds, one_species=kinds == 1,
    )  # fmt: skip
    return moments.moment_functions.__wrapped__(terms, float, float, SLOT_MAJOR)


def system(kinds, longest, seed):
    """Atoms with rows of many lengths, of which about half of the entries are within reach."""
    random = np.random.default_rng(seed)
    n = 11
    pos = random.uniform(0.0, 5.0, (n, 3))
    count = random.integers(0, longest + 1, n)
    count[:3] = 0, longest, longest
    table = np.zeros((n, WIDTH), int)
    for i in range(n):
        others = np.setdiff1d(np.arange(n << BITS), i << BITS | np.arange(1 << BITS))
        table[i, : count[i]] = random.choice(others, count[i], replace=False)
    entries = np.full(n * WIDTH, -1)
    entries[places_of(n, WIDTH, SLOT_MAJOR)] = table
    body = [
        [random.uniform(0.5, 2.0), -1.0 / 3.0, random.uniform(0.3, 0.6), REACH, REACH]
        for _ in range(kinds**3)
    ]
    rows = SimpleNamespace(
        pos=pos, kind=random.integers(0, kinds, n), count=count, entries=entries,
        shifts=random.uniform(-0.5, 0.5, (1 << BITS, 3)) * (np.arange(1 << BITS) > 0)[:, None],
    )  # fmt: skip
    kept = SimpleNamespace(
        pair_table=np.array([[0.7 + k, CUTOFF] for k in range(kinds**2)]).ravel(), body_table=np.ravel(body),
        live=np.full(n, -1), moments=np.full(10 * kinds * n, np.nan),
    )  # fmt: skip
    return n, rows, kept


@pytest.mark.parametrize(("kinds", "longest", "seed"), [(1, 16, 1), (1, 38, 2), (2, 9, 3)])
def test_four_threads_have_the_bits_of_one(kinds, longest, seed):
    one = functions(kinds)
    n, rows, kept = system(kinds, longest, seed)
    expected = np.zeros((n, 3))
    for i in range(n):
        one.partials(i, n, WIDTH, BITS, rows, kept, False)
    for i in range(n):
        expected[i] = one.gather(i, n, WIDTH, BITS, rows, kept, False)[0]
    live, sums = kept.live.copy(), kept.moments.copy()
    assert np.isfinite(sums).all()
    assert 1 < max(bin(int(mask) & 0xFFFFFFFF).count("1") for mask in live)
    kept.live[:], kept.moments[:] = -1, np.nan

    found = np.full((n, 3), np.nan)
    frozen = n - 2

    def stage(name):
        for base in range(0, 64, warps.WARP):
            thread = base + warps.lane()
            does = thread < 4 * n and thread // 4 != frozen
            result = getattr(one.shared, name)(thread, does, n, WIDTH, BITS, rows, kept)
            if name == "gather" and does:
                assert np.isnan(found[thread // 4]).all() or (found[thread // 4] == result).all()
                found[thread // 4] = result

    warps.run(stage, "partials")
    assert kept.live[frozen] == -1
    assert np.isnan(kept.moments.reshape(n, -1)[frozen]).all()
    others = np.arange(n) != frozen
    np.testing.assert_array_equal(kept.live[others], live[others])
    np.testing.assert_array_equal(kept.moments.reshape(n, -1)[others], sums.reshape(n, -1)[others])
    kept.live[:], kept.moments[:] = live, sums
    warps.run(stage, "gather")
    assert np.abs(expected[others]).max() > 0.1
    np.testing.assert_array_equal(found[others], expected[others])
