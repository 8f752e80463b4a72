"""All threads of a warp decide alike, on the sums that belong to the moves before."""

from types import SimpleNamespace

import numpy as np
import pytest
import warps

tally, batch, exact = warps.emulated("sampling.tally", "sampling.move_batch", "enumerate.reproducible_sum")
KEPT = 1
BEFORE = 0b101
"""Moves 0 and 2 of a batch were accepted."""


def empty():
    entries = (KEPT + 1) * batch.SUMS
    sums = entries * tally.SLOTS
    return SimpleNamespace(
        high=np.zeros(sums, int), low=np.zeros(sums, int), marks=np.zeros(2 * entries, int)
    )


def entries_of(s):
    """What counts for a move: its own sum, and those with each other of the batch."""
    found = {s}
    for t in range(batch.MOVES):
        low, high = min(s, t), max(s, t)
        first = batch.MOVES + 3 * (high * (high - 1) // 2 + low)
        if t != s:
            found.add(first if s < t else first + 1 + ((BEFORE >> t) & 1))
    return found


@pytest.fixture
def functions():
    return tally.tally_functions.__wrapped__(True)


@pytest.mark.both
@pytest.mark.parametrize("s", [0, 1, 3, 7])
def test_a_move_has_the_sums_of_what_has_moved(functions, s):
    random, given = np.random.default_rng(s), empty()
    numbers = random.normal(size=(batch.SUMS, warps.WARP))
    own = random.normal(size=warps.WARP)

    def decide():
        lane = warps.lane()
        for entry in range(batch.SUMS):
            sums = exact.empty_sums(1)
            exact.with_term(sums, 1, 0, numbers[entry, lane])
            functions.leave(sums[0], sums[1], lane + warps.WARP * entry, KEPT * batch.SUMS + entry, given)
        warps._exchange("end of a loop", None)
        sums = exact.empty_sums(1)
        exact.with_term(sums, 1, 0, own[lane])
        change, up, down = functions.found(sums[0], sums[1], lane, s, BEFORE, KEPT, given)
        answers = [
            functions.accepts(-at, change, up, down, 1.0) for at in (change_of + 1e-9, change_of - 1e-9)
        ]
        warps._exchange("end of a loop", None)
        functions.forget(lane, warps.WARP, KEPT, given)
        return change, answers

    counted = entries_of(s)
    change_of = sum(numbers[entry].sum() for entry in counted) + own.sum()
    assert len(counted) == batch.MOVES
    found = warps.run(decide)
    assert found[0][0] == pytest.approx(change_of, abs=1e-12)
    assert {tuple(answers) for _, answers in found} == {(1, 0)}
    assert not given.high.any()
    assert not given.low.any()


@pytest.mark.parametrize(("value", "expected"), [(1e9, 0), (-1e9, 1), (np.nan, 0)])
def test_what_is_out_of_range_is_decided_without_a_sum(functions, value, expected):
    given, s = empty(), 1

    def decide():
        lane = warps.lane()
        sums = exact.empty_sums(1)
        exact.with_term(sums, 1, 0, value if lane == 5 else 0.0)
        functions.leave(sums[0], sums[1], lane, KEPT * batch.SUMS + s, given)
        warps._exchange("end of a loop", None)
        change, up, down = functions.found(*exact.empty_sums(1), lane, s, BEFORE, KEPT, given)
        return functions.accepts(np.log(0.5), change, up, down, 1.0)

    assert set(warps.run(decide)) == {expected}
