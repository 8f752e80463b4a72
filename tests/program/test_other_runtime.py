"""One thread of the other runtime gives the same bits."""

import bits
import pytest


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in bits.LONG else pytest.mark.exhaustive)
        for name in bits.SYSTEMS
    ],
)
def test_one_thread_of_the_other_runtime_gives_the_same_bits(name):
    assert bits.elsewhere(name) == bits.here(name)
