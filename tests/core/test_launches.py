"""Launches with the arrays of an earlier call: the same results, and nothing of what is gone."""

import gc

import pytest

from taichimd.core.arguments import ArrayField, Number, kernel, types_of
from taichimd.core.runtime import NAME, start, ti

pytestmark = pytest.mark.skipif(NAME != "quadrants", reason="only quadrants tells how to launch again")


@pytest.fixture
def scaled():
    """A kernel y = factor x + count + shift[1], in the first n elements."""
    start("cpu")

    @kernel(
        types_of(ti.f64),
        x=ArrayField("f64", "n", "numbers"),
        y=ArrayField("f64", "n", "results"),
        n=Number("i32", "how many"),
        factor=Number("f64", "a number"),
        count=Number("i64", "a whole number"),
        shift=Number("ivec", "a vector"),
    )
    def scaled(x, y, n, factor, count, shift):
        for i in range(n):
            y[i] = factor * x[i] + count + shift[1]

    return scaled


def arrays(value):
    x, y = ti.ndarray(ti.f64, 4), ti.ndarray(ti.f64, 4)
    x.fill(value)
    y.fill(0.0)
    return x, y


def test_numbers_may_change_from_call_to_call(scaled, monkeypatch):
    (x, y), shift = arrays(3.0), ti.Vector([1, 2, 3])
    scaled(x, y, 4, 2.0, 10, shift)
    assert y.to_numpy().tolist() == [18.0] * 4
    monkeypatch.setattr(scaled, "compiled", None)  # calling it would fail
    scaled(x, y, 2, 0.5, 2**40, shift)
    assert y.to_numpy().tolist() == [1.5 + 2**40 + 2] * 2 + [18.0] * 2


def test_other_arrays_and_vectors_are_not_those_of_before(scaled):
    (x, y), (a, b), shift = arrays(3.0), arrays(5.0), ti.Vector([1, 2, 3])
    scaled(x, y, 4, 2.0, 10, shift)
    scaled(a, b, 4, 2.0, 10, shift)
    scaled(x, b, 1, 1.0, 0, ti.Vector([0, -3, 0]))
    assert y.to_numpy().tolist() == [18.0] * 4
    assert b.to_numpy().tolist() == [0.0, 22.0, 22.0, 22.0]


def test_vectors_may_change_from_call_to_call(scaled, monkeypatch):
    (x, y), first = arrays(3.0), ti.Vector([1, 2, 3])
    scaled(x, y, 4, 2.0, 10, first)
    monkeypatch.setattr(scaled, "compiled", None)  # calling it would fail
    for shift, expected in ((ti.Vector([0, -7, 0]), 9.0), (first, 18.0), (ti.Vector([0, 5, 0]), 21.0)):
        scaled(x, y, 4, 2.0, 10, shift)
        assert y.to_numpy().tolist() == [expected] * 4


def test_arrays_that_are_gone_are_forgotten(scaled):
    shift = ti.Vector([0, 0, 0])
    for value in (1.0, 2.0, 3.0):
        x, y = arrays(value)
        scaled(x, y, 4, 1.0, 0, shift)
        assert y.to_numpy().tolist() == [value] * 4
        del x, y
        gc.collect()
    assert not scaled._launches._calls


def test_arrays_of_numpy_take_the_way_of_the_runtime(scaled):
    x, _ = arrays(1.0)
    y = x.to_numpy()
    for _ in range(2):
        scaled(x, y, 4, 3.0, 0, ti.Vector([0, 0, 0]))
    assert y.tolist() == [3.0] * 4
    assert not scaled._launches._calls


def test_a_graph_that_loops_on_the_device_is_launched_again(monkeypatch):
    """y grows by `add` as long as there are turns to do, twice in each: nested loops."""
    start("cpu")

    @kernel(
        types_of(ti.f64),
        graph=True,
        y=ArrayField("f64", "n", "results"),
        turns=ArrayField("i32", "", "turns to do"),
        within=ArrayField("i32", "", "turns of the inner loop to do"),
        add=Number("f64", "a number"),
    )
    def grow(y, turns, within, add):
        while ti.graph.do_while(turns):
            for _ in range(1):
                within[None] = 2
            while ti.graph.do_while(within):
                for i in range(y.shape[0]):
                    y[i] += add
                for _ in range(1):
                    within[None] -= 1
            for _ in range(1):
                turns[None] -= 1

    y, turns, within = ti.ndarray(ti.f64, 4), ti.ndarray(ti.i32, ()), ti.ndarray(ti.i32, ())
    y.fill(0.0)
    expected = 0.0
    for again, (number, add) in enumerate([(3, 1.0), (2, 0.5), (5, 2.0)]):
        turns.fill(number)
        grow(y, turns, within, add)
        expected += 2 * number * add
        assert y.to_numpy().tolist() == [expected] * 4
        if again == 0:
            monkeypatch.setattr(grow, "compiled", None)  # calling it would fail
