"""Copies by address, and those of the runtimes, have the same numbers."""

import numpy as np
import pytest

from taichimd.core import host_copies
from taichimd.core.host_copies import to_device, to_host
from taichimd.core.runtime import NAME, start, ti

pytestmark = pytest.mark.both


@pytest.mark.parametrize("by_address", [True, False])
def test_copies_are_exact(monkeypatch, by_address):
    start()
    assert host_copies._by_address() == (NAME == "quadrants")
    if not by_address:
        monkeypatch.setattr(host_copies, "_by_address", lambda: False)
    sent = np.random.default_rng(1).normal(size=(1001, 3))
    array, back = ti.ndarray(ti.types.vector(3, ti.f64), 1001), np.zeros((1001, 3))
    to_device(array, sent)
    np.testing.assert_array_equal(array.to_numpy(), sent)
    to_host(array, back)
    np.testing.assert_array_equal(back, sent)
    wide = np.zeros((1001, 6))
    to_host(array, wide[:, ::2])  # not in C order
    np.testing.assert_array_equal(wide[:, ::2], sent)
