"""Errors over blocks of one run: they cover the truth, or there is none and a sentence says why."""

import numpy as np
import pytest
from processes import ornstein_uhlenbeck

from taichimd.estimators.blocks import block_note, consecutive_mean, pieces_of, with_note
from taichimd.estimators.series import mean_of


@pytest.mark.parametrize(("tau", "least"), [(0.01, 0.93), (1.0, 0.93), (2.5, 0.91)])
@pytest.mark.parametrize("channels", [1, 40])
def test_errors_of_correlated_blocks_cover_the_truth(tau, least, channels):
    rng = np.random.default_rng(3)
    scores, without = [], 0
    for _ in range(300):
        found = consecutive_mean(ornstein_uhlenbeck(rng, (64, channels), tau) + 7.0)
        if np.isnan(found.error).any():
            without += 1
            continue
        scores.append((found.value[0] - 7.0) / found.error[0])
    # Of normal scores 95.4% are below 2. Of many channels the inefficiency is known better than is assumed.
    assert least < np.mean(np.abs(scores) < 2) < (0.985 if channels == 1 else 0.995)
    assert without < 120


def test_long_correlations_have_no_error_but_a_sentence():
    series = ornstein_uhlenbeck(np.random.default_rng(1), (64, 5), 30.0)
    found = consecutive_mean(series)
    np.testing.assert_allclose(found.value, series.mean(axis=0))
    assert np.isnan(found.error).all()
    assert found.note.startswith("no error: the record holds ")
    assert found.note.endswith(" independent samples, fewer than 10")
    trend = consecutive_mean(np.linspace(0.0, 1.0, 64))
    assert np.isnan(trend.error)
    few = consecutive_mean(series[:9])
    assert few.note == "no error: there are 9 blocks, fewer than 10"


@pytest.mark.parametrize("samples", [1, 9, 63, 64, 65, 100, 129, 130, 1000, 12345])
def test_pieces_are_nearly_equal(samples):
    sizes = [len(part) for part in np.array_split(np.arange(samples), pieces_of(samples))]
    assert min(32, samples) <= len(sizes) <= 64
    assert max(sizes) <= min(sizes) + 1
    assert sizes.count(max(sizes)) in (1, len(sizes)) or max(sizes) > 2


def test_a_constant_has_no_scatter():
    found = consecutive_mean(np.full((20, 3), 0.1))
    assert found.error.tolist() == [0.0, 0.0, 0.0]
    assert found.note == ""


def test_a_few_long_blocks_of_a_trend_give_no_error():
    noise = np.random.default_rng(0).normal(size=5)
    assert block_note(noise) == ""
    assert block_note(10.0 * np.arange(5) + noise) == (
        "no error: the 5 blocks follow a trend, so the run was not stationary"
    )
    assert block_note(10.0 * np.arange(5) + noise, consecutive=False) == ""
    assert block_note(noise[:3]) == "the error is from 3 blocks, and itself uncertain by 50%"
    assert block_note(noise[:3], consecutive=False).startswith("the error is from 3 runs, and itself")
    assert block_note(noise[:1]) == "no error: there is one block of samples"
    assert block_note(np.full(5, 3.0)) == ""
    rng = np.random.default_rng(0)
    by_chance = np.mean([block_note(rng.normal(size=5)) != "" for _ in range(2000)])
    assert by_chance == pytest.approx(0.01, abs=0.008)


def test_a_note_takes_the_error_away():
    mean = mean_of(np.array([[1.0, 2.0], [3.0, 5.0]]))
    assert with_note(mean, "the error is from 2 blocks").error.tolist() == mean.error.tolist()
    assert np.isnan(with_note(mean, "no error: why").error).all()
    assert with_note(mean, "no error: why").note == "no error: why"
