"""What threads of a warp tell each other under each runtime, emulated on a CPU."""

import numpy as np
import pytest
import warps
from warps import WARP, lane, run

from taichimd.core import runtime
from taichimd.core import warps as core_warps
from taichimd.core.errors import BackendError

pytestmark = pytest.mark.both

both = {name: warps.emulated("core.warps", runtime=name)[0] for name in ("taichi", "quadrants")}
RANDOM = np.random.default_rng(3)
NUMBERS = {
    "float64": RANDOM.normal(size=WARP) * 10.0 ** RANDOM.integers(-200, 200, WARP),
    "int64": RANDOM.integers(-(2**57), 2**57, WARP),
    "int32": RANDOM.integers(-(2**26), 2**26, WARP),
}


@pytest.mark.parametrize("name", both)
@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS)
def test_a_thread_gets_what_another_one_has(name, numbers):
    sources = np.random.default_rng(4).permutation(WARP)
    found = run(lambda: both[name].shuffle(numbers[lane()].item(), sources[lane()]))
    assert found == numbers[sources].tolist()


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("log2", [1, 3, 5])
def test_sums_have_the_same_bits_under_both_runtimes(numbers, log2):
    found, expected = (run(lambda w=w: w.sum_of(numbers[lane()].item(), log2)) for w in both.values())
    first = slice(0, None, 2**log2)
    assert found[first] == expected[first]
    if numbers.dtype == np.int64:
        assert found[first] == numbers.reshape(-1, 2**log2).sum(axis=1).tolist()


@pytest.mark.parametrize("name", both)
def test_a_mask_has_the_bits_of_those_that_say_yes(name):
    assert set(run(lambda: (both[name].sync(), both[name].ballot(lane() % 3 == 0))[1])) == {0x49249249}


@pytest.mark.runtime("taichi")
@pytest.mark.parametrize(("numbers", "dtype"), [(NUMBERS[name], name) for name in NUMBERS], ids=NUMBERS)
def test_taichi_compiles_exchanges_of_each_type(numbers, dtype):
    """On a CPU its exchanges are there and bring 0."""
    runtime.start("cpu")
    ti = runtime.ti
    real = {"float64": ti.f64, "int64": ti.i64, "int32": ti.i32}[dtype]
    array = ti.types.ndarray(real, 1)

    @ti.kernel
    def exchange(values: array, there: array, sums: array):
        for k in range(WARP):
            core_warps.sync()
            there[k] = core_warps.shuffle(values[k], WARP - 1 - k)
            sums[k] = core_warps.sum_of(values[k], 5)

    values, there, sums = (ti.ndarray(real, WARP) for _ in range(3))
    values.from_numpy(numbers.astype(dtype))
    exchange(values, there, sums)
    assert not there.to_numpy().any()
    assert (sums.to_numpy() == numbers).all()


def test_threads_of_a_warp_work_together_unless_told_not_to(monkeypatch):
    monkeypatch.delenv("TAICHIMD_WARPS", raising=False)
    assert runtime._warps()
    for asked in ("0", "1"):
        monkeypatch.setenv("TAICHIMD_WARPS", asked)
        assert runtime._warps() is (asked == "1")
    monkeypatch.setenv("TAICHIMD_WARPS", "yes")
    with pytest.raises(BackendError, match="TAICHIMD_WARPS is 'yes', expected 0 or 1"):
        runtime._warps()
