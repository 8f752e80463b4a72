"""Running sums on the device."""

import numpy as np
import pytest

from taichimd.core.runtime import start, ti
from taichimd.neighbours.scan import BLOCK, scan, scan_ends, scan_size

pytestmark = pytest.mark.both

start("cpu")
ints = ti.types.ndarray(dtype=ti.i32, ndim=1)


@ti.kernel
def run(n: ti.i32, begin: ti.i32, values: ints, starts: ints, sums: ints, room: ti.i32):
    scan(n, scan_ends(n), values, starts, begin, sums, room)


@pytest.mark.parametrize("begin", [0, 5])
@pytest.mark.parametrize("n", [0, 1, BLOCK, BLOCK + 1, BLOCK**2, BLOCK**2 + 1, 70_001])
def test_running_sums_are_those_of_numpy(n, begin):
    numbers = np.random.default_rng(n).integers(0, 50, begin + n).astype(np.int32)
    expected = np.concatenate([[0], np.cumsum(numbers[begin:])])
    values, starts = (ti.ndarray(ti.i32, begin + n + 2) for _ in range(2))
    sums = ti.ndarray(ti.i32, 3 + scan_size(n))
    before = np.concatenate([numbers, [-7, -8]]).astype(np.int32)
    values.from_numpy(before)
    starts.fill(-7)
    run(n, begin, values, starts, sums, 3)
    if n:
        assert (starts.to_numpy()[begin : begin + n + 1] == expected).all()
    assert (starts.to_numpy()[:begin] == -7).all()
    assert starts.to_numpy()[-1] == -7
    assert (values.to_numpy() == before).all()
    # In place.
    run(n, begin, values, values, sums, 3)
    if n:
        assert (values.to_numpy()[begin : begin + n + 1] == expected).all()
    assert values.to_numpy()[-1] == -8
