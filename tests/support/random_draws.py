"""Random numbers as the device draws them."""

from functools import cache

import numpy as np

from taichimd.core import random
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
