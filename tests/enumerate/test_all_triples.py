"""All triples of n atoms: each comes once, in both orders, whatever the number of threads."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from taichimd.core.arguments import ArrayField, Number, kernel, types_of
from taichimd.core.runtime import start, ti
from taichimd.enumerate.all_triples import BALANCED, DIRECT, MAPPINGS, before, steps_of

TYPES = types_of(ti.f64)
FOUND = ArrayField("i32", "n^3", "how often a triple was visited")


@ti.func
def note(visits: ti.template(), i, j, k, found: ti.template()):
    low, high = ti.min(i, j, k), ti.max(i, j, k)
    n = visits[0]
    found[(low * n + i + j + k - low - high) * n + high] += 1
    visits[1] += 1


def visiting(mapping):
    visit = MAPPINGS[mapping](note)

    @kernel(
        TYPES, n=Number("i32", "atoms"), parts=Number("i64", "threads of an atom"), found=FOUND, visits=FOUND
    )
    def run(n, parts, found, visits):
        # In series: two threads may visit one triple where a mapping is wrong.
        ti.loop_config(serialize=True)
        for thread in range(n * ti.cast(parts, ti.i32)):
            i = thread // ti.cast(parts, ti.i32)
            count = ti.Vector([n, 0])
            visit(i, ti.cast(thread, ti.i64) % parts, parts, n, count, found)
            visits[thread] = count[1]

    return run


def array(length):
    start()
    made = ti.ndarray(ti.i32, length)
    made.fill(0)
    return made


@pytest.mark.parametrize("mapping", [BALANCED, DIRECT])
def test_each_triple_comes_once(mapping):
    run = visiting(mapping)
    for n in range(3, 40):
        for parts in (1, 2, 5):
            found, visits = array(n**3), array(n * parts)
            run(n, parts, found, visits)
            counts = found.to_numpy().reshape(n, n, n)
            expected = np.zeros_like(counts)
            for triple in combinations(range(n), 3):
                expected[triple] = 1
            assert np.array_equal(counts, expected), (n, parts)
            of_threads = visits.to_numpy()
            assert of_threads.sum() == comb(n, 3)
            if mapping == BALANCED:
                assert np.ptp(of_threads) <= 2, (
                    "parts differ by rounding and the pattern of three equal steps"
                )


def test_numbers_of_triples_of_a_million_atoms():
    """Integers beyond 32 bits, and a square root of them, find the very steps."""
    large = ArrayField("i64", "2", "numbers of triples")
    steps = ArrayField("i32", "2 numbers", "steps d and e")

    @kernel(TYPES, n=Number("i32", "atoms"), numbers=large, steps=steps)
    def invert(n, numbers, steps):
        for t in range(numbers.shape[0]):
            d, e = steps_of(numbers[t], n)
            steps[2 * t], steps[2 * t + 1] = d, e
            numbers[t] = before(d, n)

    start()
    for n in (999, 3375, 999_998, 999_999, 1_000_000):
        most = (n - 1) // 3
        d = np.unique(np.concatenate([np.arange(1, 400), np.linspace(1, most, 2000).astype(int), [most]]))
        d = d[d <= most]
        firsts = (d - 1) * (2 * n - 3 * d) // 2
        lasts = d * (2 * n - 3 * (d + 1)) // 2 - 1
        numbers = ti.ndarray(ti.i64, 2 * len(d))
        numbers.from_numpy(np.concatenate([firsts, lasts]))
        found = array(4 * len(d))
        invert(n, numbers, found)
        at = found.to_numpy().reshape(2, len(d), 2)
        assert np.array_equal(at[0], np.stack([d, d], axis=1)), n
        assert np.array_equal(at[1], np.stack([d, n - 2 * d - 1], axis=1)), n
        assert np.array_equal(numbers.to_numpy(), np.tile(firsts, 2))
