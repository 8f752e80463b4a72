"""Random numbers as the device draws them, and normal variates with the same bits on the host."""

from functools import cache
from math import factorial

import numpy as np

from taichimd.core import philox, random
from taichimd.core.runtime import PRECISIONS, literals, start, ti


@cache
def kernels(real):
    """Kernels that call the device functions for each atom of an array."""
    ints = ti.types.ndarray(dtype=ti.i32, ndim=1)
    longs = ti.types.ndarray(dtype=ti.i64, ndim=1)
    reals = ti.types.ndarray(dtype=real, ndim=2)

    @ti.kernel
    def raw(n: ti.i32, arguments: longs, out: longs):
        for i in range(n):
            c = ti.Vector([ti.cast(arguments[6 * i + k], ti.u32) for k in ti.static(range(6))])
            w = random.philox(c[0], c[1], c[2], c[3], c[4], c[5])
            for k in ti.static(range(4)):
                out[4 * i + k] = ti.cast(w[k], ti.i64)

    @ti.kernel
    def pairs(n: ti.i32, seed: ti.i64, step: ti.i64, stream: ti.i32, block: ti.i32, atoms: ints, out: reals):
        for i in range(n):
            u, v = random.uniform2(seed, atoms[i], step, stream, block)
            x, y = random.normal2(seed, atoms[i], step, stream, block)
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = u, v, x, y

    @ti.kernel
    def vectors(n: ti.i32, seed: ti.i64, step: ti.i64, stream: ti.i32, atoms: ints, out: reals):
        for i in range(n):
            x = random.normal3(seed, atoms[i], step, stream)
            for k in ti.static(range(3)):
                out[i, k] = x[k]

    return raw, pairs, vectors


def draw(kernel, width, atoms, *place, precision="float64"):
    start()
    real, _ = PRECISIONS[precision]
    numbers, out = ti.ndarray(ti.i32, len(atoms)), ti.ndarray(real, (len(atoms), width))
    numbers.from_numpy(np.asarray(atoms, np.int32))
    with literals(real):
        kernels(real)[kernel](len(atoms), *place, numbers, out)
    return out.to_numpy()


def normals(words):
    """Independent variates of mean 0 and variance 1, two for each block: (..., 4) words make (..., 2)."""
    u = philox.uniforms(words)
    radius = np.sqrt(-2.0 * philox.log(u[..., 0]))
    cosine, sine = _cos_sin(u[..., 1] * 6.283185307179586)
    return np.stack([radius * cosine, radius * sine], axis=-1)


# What follows repeats taichimd.core.math operation by operation, for the arguments that occur here.
_PIO2 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_SIN = [(-1.0) ** k / factorial(2 * k + 1) for k in range(1, 9)]
_COS = [(-1.0) ** k / factorial(2 * k) for k in range(2, 10)]


def _four(x, x2, c, first):
    return (c[first] + c[first + 1] * x) + (c[first + 2] + c[first + 3] * x) * x2


def _eight(x, c):
    x2 = x * x
    return _four(x, x2, c, 0) + x2 * x2 * _four(x, x2, c, 4)


def _cos_sin(x):
    """Cosine and sine of numbers of moderate size."""
    k = np.floor(x * 0.6366197723675814 + 0.5)
    r = x - k * _PIO2[0]
    r -= k * _PIO2[1]
    r -= k * _PIO2[2]
    z = r * r
    s = r + r * z * _eight(z, _SIN)
    half = 0.5 * z
    w = 1.0 - half
    c = w + (((1.0 - w) - half) + z * z * _eight(z, _COS))
    quadrant = k.astype(np.int64) & 3
    odd = quadrant % 2 == 1
    cosine, sine = np.where(odd, s, c), np.where(odd, c, s)
    return (
        np.where((quadrant == 1) | (quadrant == 2), -cosine, cosine),
        np.where(quadrant >= 2, -sine, sine),
    )
