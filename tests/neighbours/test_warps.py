"""What the threads of a warp tell each other when lists are made: 32 of them, emulated on a CPU."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps
from row_places import places_of
from warps import WARP, lane, run

from taichimd.neighbours.sorted_atoms import Search

scan, rows, staged, inner = warps.emulated(
    "neighbours.scan", "neighbours.rows", "neighbours.search.staged_writes", "neighbours.search.inner"
)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 511, 512, 513, 1600])
def test_running_sums(n):
    values = np.random.default_rng(n).integers(0, 9, n)
    starts, sums = np.full(n + 1, -1), np.zeros(scan.scan_size(n), int)
    run(scan.scan, n, scan.scan_ends(n), values, starts, 0, sums, 0)
    np.testing.assert_array_equal(starts, np.concatenate([[0], np.cumsum(values)]))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_claim_counts_within_the_threads_of_an_atom(share):
    keeps = np.random.default_rng(2).random(WARP) < share
    found = run(lambda: rows.claim(keeps[lane()], 64 + lane()))
    for k in range(WARP):
        first = k // rows.CHUNK * rows.CHUNK
        assert found[k] == (keeps[first:k].sum(), keeps[first : first + rows.CHUNK].sum())


@pytest.mark.parametrize("most", [0, 7, 8, 30, 60])
def test_staged_writes_bring_every_entry_to_its_row(most):
    """Rows of many lengths, some longer than there is room for, filled at many rates."""
    random = np.random.default_rng(most)
    width, thread0 = 40, 64
    length = random.integers(0, most + 1, WARP)
    row = random.permutation(WARP)
    rates = random.integers(0, 9, (100, WARP))
    entries = np.full(WARP * width, -1)

    def fill():
        k, found, written = lane(), 0, 0
        box = staged.Outbox(
            staged.ti.simt.block.SharedArray((staged.RING * staged.BLOCK,), int), thread0 + k, row[k]
        )
        for rate in rates[:, k]:
            for _ in range(rate):
                if found < length[k] and found - written < staged.RING:
                    staged.put(box, found, 1000 * row[k] + found)
                    found += 1
            written = staged.send(box, found, written, rows.CHUNK, WARP, width, entries, rows.CHUNKED)
        written = staged.send(box, found, written, 1, WARP, width, entries, rows.CHUNKED)
        return found, written

    assert run(fill) == [(n, n) for n in length]
    table = entries[places_of(WARP, width, rows.CHUNKED)]
    for k in range(WARP):
        expected = np.full(width, -1)
        kept = min(length[k], width)
        expected[:kept] = 1000 * row[k] + np.arange(kept)
        np.testing.assert_array_equal(table[row[k]], expected)


@pytest.mark.parametrize("some_rows", [False, True])
def test_the_inner_search_fills_rows_or_leaves_them(some_rows):
    """Atoms in bins, some at the ends of the cell, some that have left it, some with too many neighbours.

    With `some_rows` all atoms of two warps, and some others, get no rows.
    """
    random = np.random.default_rng(4)
    bins, reach, width = np.array([6, 5, 5]), np.array([1, 1, 1]), 16
    places = random.random((450, 3)) * bins
    ids = np.ravel_multi_index(places.astype(int).T, bins)
    order = np.argsort(ids, kind="stable")
    places, ids = places[order], ids[order]
    n, left_cell = len(places), set(random.choice(450, 4, replace=False).tolist())
    starts = np.concatenate([np.searchsorted(ids, np.arange(bins.prod())), [n]])
    near = np.linalg.norm(places[:, None] - places[None], axis=-1) < 0.95
    np.fill_diagonal(near, False)
    rowless = {i for i in range(n) if 128 <= i < 192 or i % 5 == 0} if some_rows else set()
    # What the search for all offers: here an atom's folded position is its number.
    bins_of = SimpleNamespace(
        folded_at=lambda i, n, folded: np.array([i]),
        mark_of=lambda x: int(x[0] in left_cell),
        home_of=lambda b, bins: np.array(np.unravel_index(b, bins)),
        gets_row=lambda i, ident, sort: i not in rowless,
        take=lambda i, found, count, control: count.__setitem__(i, found),
    )

    def near_in_word(base, end, x, inside, limit2, row):
        return sum(1 << k for k in range(min(end - base, 32)) if near[row.i, base + k]), 1

    threads = -(-n // WARP) * WARP
    table = SimpleNamespace(width=width, shift_bits=3, entries=np.full(n * width, -1), count=np.full(n, -1))
    sort = SimpleNamespace(
        folded=None, bin_of=ids, starts=starts, bins=bins, reach=reach, radius2=1.0,
        sums=np.zeros(1, int), order=np.full(n, -1),
    )  # fmt: skip
    run(
        inner.inner_search(bins_of, near_in_word, Search(float, some_rows=some_rows)),
        n,
        threads,
        table,
        None,
        None,
        sort,
    )

    home = np.array(np.unravel_index(ids, bins)).T
    inside = ((home >= reach) & (home < bins - reach)).all(axis=1)
    expected, left = {}, set()
    for i in range(n):
        neighbours = np.flatnonzero(near[i])
        if i in rowless:
            assert table.count[i] == 0
        elif (
            inside[i] and i not in left_cell and not left_cell & set(neighbours) and len(neighbours) <= width
        ):
            expected[i] = set(neighbours << 3)
        else:
            left.add(i)
    assert len(expected) > 30
    assert near[inside].sum(axis=1).max() > width
    assert near[np.ix_(inside, list(left_cell))].any()
    assert set(sort.order[: sort.sums[0]]) == left
    assert sort.sums[0] == len(left)
    filled = table.entries[places_of(n, width, rows.CHUNKED)]
    for i, neighbours in expected.items():
        assert set(filled[i, : table.count[i]]) == neighbours
        assert table.count[i] == len(neighbours)


def test_threads_that_do_not_all_come_are_found_out():
    def ballot_or_shuffle():
        return rows.those(True) if lane() < 5 else rows.ti.simt.subgroup.shuffle(1, 0)

    with pytest.raises(AssertionError, match="wait for different things"):
        run(ballot_or_shuffle)
    with pytest.raises(AssertionError, match=r"different things: \['ballot', 'end'\]"):
        run(lambda: rows.those(True) if lane() < 5 else 0)
