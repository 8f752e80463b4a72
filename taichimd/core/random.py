"""Counter-based random numbers on the device: Philox4x32-10 as device functions.

`core.philox` says what key and counter hold and where it comes from; it gives the same numbers on the
host. Integer arithmetic has the same bits everywhere, and so have the functions of `core.math`: under
quadrants the normal variates of CPU and CUDA are equal to the last bit. (Taichi fuses
multiplications and additions on CUDA; there only the words and the uniform numbers are.)

Kernels that compile inside `runtime.literals(ti.f32)` get float32 numbers: uniform ones on 2^23 cells, so
normal variates end at 5.8 (float64: 8.6).
"""

from taichimd.core.math import cos, log, sin, sqrt
from taichimd.core.philox import BLOCK_BITS, MULTIPLIERS, ROUNDS, UNIFORM_BITS, WEYL
from taichimd.core.runtime import literal_type, ti

_TWO_PI = 6.283185307179586


def _single() -> bool:
    return literal_type() == ti.f32


@ti.func
def _high(a, b: ti.template()):
    """High and low word of a 64-bit product."""
    product = ti.cast(a, ti.u64) * ti.u64(b)
    return ti.cast(product >> ti.cast(32, ti.u64), ti.u32), ti.cast(product, ti.u32)


@ti.func
def philox(c0, c1, c2, c3, k0, k1):
    """Four random 32-bit words from a counter of four and a key of two; all ti.u32."""
    for _ in ti.static(range(ROUNDS)):
        high0, low0 = _high(c0, MULTIPLIERS[0])
        high1, low1 = _high(c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0 += ti.u32(WEYL[0])
        k1 += ti.u32(WEYL[1])
    return c0, c1, c2, c3


@ti.func
def block_words(seed, atom, step, stream, block):
    """The four words of one block; seed and step are i64, stream and block i32 below 2^16.

    The atom is the user's number, i32, not a place in spatial order.
    """
    return philox(
        ti.cast(atom, ti.u32),
        ti.cast(step, ti.u32),
        ti.cast(step >> 32, ti.u32),
        ti.cast((stream << BLOCK_BITS) + block, ti.u32),
        ti.cast(seed, ti.u32),
        ti.cast(seed >> 32, ti.u32),
    )


@ti.func
def _uniform(high, low):
    """A number in (0, 1): of 64 bits in float64, of the first 32 in float32."""
    u = 0.0
    if ti.static(_single()):
        u = (ti.cast(ti.cast(high >> ti.cast(9, ti.u32), ti.i32), ti.f32) + 0.5) * 2.0**-23
    else:
        bits = (ti.cast(high, ti.u64) << ti.cast(32, ti.u64)) | ti.cast(low, ti.u64)
        k = ti.cast(bits >> ti.cast(64 - UNIFORM_BITS, ti.u64), ti.i64)
        u = (ti.cast(k, ti.f64) + 0.5) * 2.0**-UNIFORM_BITS
    return u


@ti.func
def _box_muller(u, v):
    radius = sqrt(-2.0 * log(u))
    angle = v * _TWO_PI
    return radius * cos(angle), radius * sin(angle)


@ti.func
def uniform2(seed, atom, step, stream, block):
    """Two uniform numbers in (0, 1); arguments as for `block_words`."""
    w0, w1, w2, w3 = block_words(seed, atom, step, stream, block)
    return _uniform(w0, w1), _uniform(w2, w3)


@ti.func
def normal2(seed, atom, step, stream, block):
    """Two independent normal variates of mean 0 and variance 1; arguments as for `block_words`."""
    u, v = uniform2(seed, atom, step, stream, block)
    return _box_muller(u, v)


@ti.func
def normal3(seed, atom, step, stream):
    """A vector of three normal variates for an atom: blocks 0 and 1 of the stream (float32: block 0)."""
    x, y, z = 0.0, 0.0, 0.0
    if ti.static(_single()):
        w0, w1, w2, w3 = block_words(seed, atom, step, stream, 0)
        x, y = _box_muller(_uniform(w0, w0), _uniform(w1, w1))
        z, _ = _box_muller(_uniform(w2, w2), _uniform(w3, w3))
    else:
        x, y = normal2(seed, atom, step, stream, 0)
        z, _ = normal2(seed, atom, step, stream, 1)
    return ti.Vector([x, y, z])
