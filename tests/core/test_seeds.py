"""Seeds of several runs."""

import hashlib

from taichimd.core.seeds import derived_seed


def test_the_documented_recipe():
    text = '[7,{"run":2,"temperature":300.0}]'
    expected = int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
    assert derived_seed(7, {"temperature": 300.0, "run": 2}) == expected


def test_no_two_runs_share_a_seed():
    seeds = {
        derived_seed(seed, {"temperature": 100.0 * t, "run": run})
        for seed in range(1, 6)
        for t in range(1, 21)
        for run in range(20)
    }
    assert len(seeds) == 5 * 20 * 20
    assert all(0 <= one < 2**48 for one in seeds)
