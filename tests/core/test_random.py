"""Philox4x32-10: published answers, equal bits of host and device and of both runtimes, distribution."""

import numpy as np
import pytest
from random_draws import draw, kernels, normals
from scipy import stats

from taichimd.core import philox
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import start, ti

# Philox4x32, 10 rounds, of the file kat_vectors of Random123 1.09: counter, key, answer.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
SEED, STEP = 0x1234_5678_9ABC_DEF1, 0x7_FFFF_FFF9
ATOMS = np.array([0, 1, 2, 77, 1_000_000, 2**31 - 1, -1], np.int32)


def words(text):
    return np.array([int(word, 16) for word in text.split()], np.uint64)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers_on_the_host(counter, key, answer):
    np.testing.assert_array_equal(philox.philox(words(counter), words(key)), words(answer))


@pytest.mark.both
def test_known_answers_on_the_device():
    start()
    arguments = np.concatenate([words(f"{counter} {key}") for counter, key, _ in KNOWN]).astype(np.int64)
    given, out = ti.ndarray(ti.i64, len(arguments)), ti.ndarray(ti.i64, 4 * len(KNOWN))
    given.from_numpy(arguments)
    kernels(ti.f64)[0](len(KNOWN), given, out)
    expected = np.concatenate([words(answer) for _, _, answer in KNOWN])
    np.testing.assert_array_equal(out.to_numpy().astype(np.uint64), expected)


@pytest.mark.both
@pytest.mark.parametrize("seed", [1, SEED, -5])
@pytest.mark.parametrize("step", [0, 3, STEP])
def test_host_and_device_have_the_same_bits(seed, step):
    found = draw(1, 4, ATOMS, seed, step, 0xABCD, 0xFFFF)
    numbers = philox.blocks(seed, ATOMS, step, 0xABCD, 0xFFFF, 1)[:, 0]
    np.testing.assert_array_equal(found[:, :2], philox.uniforms(numbers))
    np.testing.assert_array_equal(found[:, 2:], normals(numbers))


@pytest.mark.both
def test_a_million_normals_have_the_same_bits_on_host_and_device():
    atoms = np.arange(1_000_000)
    found = draw(1, 4, atoms, 7, 11, 0, 0)
    np.testing.assert_array_equal(found[:, 2:], normals(philox.blocks(7, atoms, 11, 0, 0, 1)[:, 0]))


def test_vector_of_an_atom_takes_two_blocks():
    numbers = normals(philox.blocks(SEED, ATOMS, STEP, 3, 0, 2)).reshape(len(ATOMS), 4)
    np.testing.assert_array_equal(draw(2, 3, ATOMS, SEED, STEP, 3), numbers[:, :3])


def test_numbers_do_not_depend_on_the_order_of_the_atoms():
    order = np.random.default_rng(0).permutation(1000)
    np.testing.assert_array_equal(draw(2, 3, order, 1, 5, 0), draw(2, 3, np.arange(1000), 1, 5, 0)[order])


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_normals_are_normal(precision):
    n = 400_000
    x = draw(2, 3, np.arange(n), 3, 1_000_000_007, 1, precision=precision)
    assert x.dtype == precision
    flat = x.astype(float).ravel()
    # Standard errors of the first four moments of 3n normal variates.
    for power, expected, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        z = ((flat**power).mean() - expected) / np.sqrt(variance / flat.size)
        assert abs(z) < 4, f"moment {power} is {z:.1f} standard errors off"
    assert stats.kstest(flat, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(x.astype(float).T)[np.triu_indices(3, 1)]).max() < 4 / np.sqrt(n)
    assert 4.5 < abs(flat).max() < 8.6


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_uniforms_are_uniform_and_never_zero_or_one(precision):
    u = draw(1, 4, np.arange(300_000), 9, 2, 0, 0, precision=precision)[:, :2].astype(float).ravel()
    assert 0.0 < u.min() < 1e-4
    assert 1 - 1e-4 < u.max() < 1.0
    counts, _ = np.histogram(u, 1000, (0, 1))
    assert stats.chisquare(counts).pvalue > 1e-3
    # Extreme words: still inside the open interval, in float32, too.
    extreme = philox.uniforms(np.array([[0, 0, 2**32 - 1, 2**32 - 1]], np.uint64))[0]
    assert 0.0 < extreme[0] < extreme[1] < 1.0


@pytest.mark.parametrize("which", ["atom", "step", "stream", "seed", "block"])
def test_neighbouring_counters_are_independent(which):
    """Correlation, also of squares, between numbers whose counters differ by one in one word."""
    n, place = 100_000, {"seed": 5, "atom": np.arange(100_000), "step": 10, "stream": 2, "block": 0}

    def numbers(**changed):
        p = {**place, **changed}
        words = philox.blocks(p["seed"], p["atom"], p["step"], p["stream"], p["block"], 1)
        return normals(words)[:, 0, 0]

    x, y = numbers(), numbers(**{which: place[which] + 1})
    for a, b in ((x, y), (x**2 - 1, y**2 - 1), (x, y**2 - 1)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(n)
    assert stats.chisquare(np.histogram2d(stats.norm.cdf(x), stats.norm.cdf(y), 16)[0].ravel()).pvalue > 1e-3


@pytest.mark.both
def test_float32_numbers_come_from_the_same_words():
    double = draw(1, 4, ATOMS, SEED, STEP, 1, 0)
    single = draw(1, 4, ATOMS, SEED, STEP, 1, 0, precision="float32")
    np.testing.assert_allclose(single[:, :2], double[:, :2], atol=2.0**-23)


def test_stream_on_the_host_goes_on_and_repeats():
    a, b = philox.Stream(1, 2, 3), philox.Stream(1, 2, 3)
    first = np.concatenate([a.uniform(4), a.uniform(2)])
    np.testing.assert_array_equal(first, b.uniform(6))
    assert len(set(np.concatenate([first, a.uniform(3), philox.Stream(1, 3, 3).uniform(4)]))) == 13
    atoms = philox.uniforms(philox.blocks(1, -1, 2, 3, 0, 3)).ravel()
    np.testing.assert_array_equal(first, atoms)


def test_what_does_not_fit_the_counter_is_refused():
    with pytest.raises(SettingsError, match="random stream 65536: expected 0 to 65535"):
        philox.blocks(1, 0, 0, 65536, 0, 1)
    stream = philox.Stream(1, 12, 3)
    stream.uniform(2**17)
    with pytest.raises(SettingsError, match="random stream 3 of step 12: block 65537 was asked for"):
        stream.uniform()
