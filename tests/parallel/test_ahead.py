"""How many steps are queued, and in which of them the device may rebuild lists."""

import pytest

from taichimd.parallel.ahead import MAX_AHEAD, Ahead, spread_of


def test_the_host_looks_where_lists_are_expected_to_end():
    ahead = Ahead(lasts=10.0)
    assert ahead.steps(100) == 11
    ahead.went(8, 0, 0)
    assert ahead.steps(100) == 3
    assert ahead.steps(2) == 2
    assert not any(ahead.may_build(k) for k in range(1, 50))


def test_the_device_builds_around_the_steps_where_lists_are_expected_to_end():
    ahead = Ahead(lasts=10.0, on_device=True)
    assert ahead.steps(100) == MAX_AHEAD
    assert [k for k in range(1, 26) if ahead.may_build(k)] == [9, 10, 11, 19, 20, 21]
    ahead.went(25, 2, 22)
    assert (ahead.age, ahead.lasts) == (3, 10.5)
    assert [k for k in range(1, 10) if ahead.may_build(k)] == [7, 8]


@pytest.mark.parametrize(
    ("made", "served", "expected"), [(0, 0.0, 2.1 + 0.5), (1, 9.0, 3.15 + 0.5), (3, 2.0, 2.0 + 1.05)]
)
def test_terms_serve_until_the_end_of_the_next_lists(made, served, expected):
    assert spread_of(0.5, 1.0, made, served) == pytest.approx(expected)
