"""What the 32 threads of a warp tell each other, the same under both runtimes. All 32 must call.

Taichi exchanges numbers of 32 bits only: those of 64 go as two halves.
"""

from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import NAME, ti, type_of

ALL = 0xFFFFFFFF
"""Mask of all threads of a warp."""


@device_helper
def sync() -> Any:
    """Wait for all threads of the warp, and see what they have written."""
    return ti.simt.subgroup.sync() if NAME == "quadrants" else _sync()


@device_helper
def ballot(condition: Any) -> Any:
    """Mask, an int32, of the threads for which a condition holds."""
    return ti.simt.warp.ballot(ti.cast(condition, ti.i32))


@device_helper
def shuffle(value: Any, lane: Any) -> Any:
    """What thread `lane` of the warp has: an int32, int64, float32 or float64."""
    if NAME == "quadrants":
        return ti.simt.subgroup.shuffle(value, ti.cast(lane, ti.u32))
    return _shuffle(value, ti.cast(lane, ti.i32))


@device_helper
def sum_of(value: Any, log2: int) -> Any:
    """The sum of what 2^log2 threads side by side have, int32, int64 or float64, in the first of them."""
    return ti.simt.subgroup.reduce_add_tiled(value, log2) if NAME == "quadrants" else _sum_of(value, log2)


@device_helper
def _is_wide(value: Any) -> bool:
    return type_of(value) in (ti.i64, ti.f64)


@device_helper
def _bits_of(value: Any) -> Any:
    whole = {ti.f64: ti.i64, ti.f32: ti.i32}.get(type_of(value))
    return value if whole is None else ti.bit_cast(value, whole)


@device_helper
def _of_type(like: Any, bits: Any) -> Any:
    return ti.bit_cast(bits, type_of(like)) if type_of(like) in (ti.f64, ti.f32) else bits


@ti.func
def _sync():
    ti.simt.warp.sync(ti.u32(ALL))


@ti.func
def _halves(value):
    bits = _bits_of(value)
    return ti.cast(bits, ti.i32), ti.cast(bits >> 32, ti.i32)


@ti.func
def _joined(low, high, like):
    """The number of two halves, of the type of another one."""
    bits = (ti.cast(high, ti.i64) << 32) | (ti.cast(low, ti.i64) & ti.i64(ALL))
    return _of_type(like, bits)


@ti.func
def _shuffle(value, lane):
    found = value
    if ti.static(_is_wide(value)):
        low, high = _halves(value)
        there_low = ti.simt.warp.shfl_sync_i32(ti.u32(ALL), low, lane)
        there_high = ti.simt.warp.shfl_sync_i32(ti.u32(ALL), high, lane)
        found = _joined(there_low, there_high, value)
    else:
        found = _of_type(value, ti.simt.warp.shfl_sync_i32(ti.u32(ALL), _bits_of(value), lane))
    return found


@ti.func
def _from_above(value, distance: ti.template()):
    """What the thread so many farther has; beyond the last one, the own value."""
    found = value
    if ti.static(_is_wide(value)):
        low, high = _halves(value)
        there_low = ti.simt.warp.shfl_down_i32(ti.u32(ALL), low, distance)
        there_high = ti.simt.warp.shfl_down_i32(ti.u32(ALL), high, distance)
        found = _joined(there_low, there_high, value)
    else:
        found = ti.simt.warp.shfl_down_i32(ti.u32(ALL), value, distance)
    return found


@ti.func
def _sum_of(value, log2: ti.template()):
    total = value
    for k in ti.static(range(log2)):
        total += _from_above(total, ti.static(2 ** (log2 - 1 - k)))
    return total
