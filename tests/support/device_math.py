"""Runs the device functions of taichimd.core.math on arrays."""

from functools import cache

import numpy as np

from taichimd.core import math as portable
from taichimd.core.runtime import PRECISIONS, literals, start, ti


@cache
def _kernel(name, real, arguments):
    function = getattr(portable, name)
    reals = ti.types.ndarray(dtype=real, ndim=1)

    @ti.kernel
    def one(n: ti.i32, x: reals, out: reals):
        for i in range(n):
            out[i] = function(x[i])

    @ti.kernel
    def two(n: ti.i32, x: reals, y: reals, out: reals):
        for i in range(n):
            out[i] = function(x[i], y[i])

    return (one, two)[arguments - 1]


def evaluate(name, *arguments, precision="float64"):
    """`name` of taichimd.core.math at every element of the argument arrays, as the device finds it."""
    start()
    real, dtype = PRECISIONS[precision]
    arrays = []
    for values in (*arguments, np.zeros(len(arguments[0]))):
        array = ti.ndarray(real, len(values))
        array.from_numpy(np.ascontiguousarray(values, dtype))
        arrays.append(array)
    with literals(real):
        _kernel(name, real, len(arguments))(len(arguments[0]), *arrays)
    return arrays[-1].to_numpy()
