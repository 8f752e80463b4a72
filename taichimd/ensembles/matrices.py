"""3x3 matrices in float64 on the device, as barostats need them."""

from taichimd.core.runtime import ti

_TERMS = 12
"""Number of terms of the series of exp(x); enough for |x| < 0.1, more than any step may change the cell."""


@ti.func
def read3(bath: ti.template(), at: ti.template()):
    """A 3x3 matrix of the bath, float64."""
    return ti.Matrix([[bath[at + 3 * a + c] for c in ti.static(range(3))] for a in ti.static(range(3))])


@ti.func
def write3(bath: ti.template(), at: ti.template(), m):
    """Put a 3x3 matrix into the bath."""
    for a in ti.static(range(3)):
        for c in ti.static(range(3)):
            bath[at + 3 * a + c] = m[a, c]


@ti.func
def product(a, b):
    """The product of two 3x3 matrices, with the bits of `a @ b`, whose 27 statements compile longer."""
    zero = a[0, 0] * b[0, 0] * 0.0
    return ti.Matrix([
        [zero + a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j] for j in ti.static(range(3))]
        for i in ti.static(range(3))
    ])  # fmt: skip


@ti.func
def series(x, first: ti.template()):
    """The sum of x^k first!/(k + first)!: exp(x) for first = 0, (exp(x) - 1)/x for 1."""
    one = ti.Matrix.identity(ti.f64, 3)
    total = one
    for m in range(_TERMS):
        total = one + product(x, total) / ti.cast(_TERMS - m + first, ti.f64)
    return total


@ti.func
def logarithm(x):
    """log(1 + x) of a small matrix."""
    one = ti.Matrix.identity(ti.f64, 3)
    total = 0.0 * one
    for m in range(_TERMS):
        total = one / ti.cast(_TERMS - m, ti.f64) - product(x, total)
    return product(x, total)


@ti.func
def grown(x):
    """(exp(x) - 1)/x of a number."""
    total = 0.0 * x + 1.0
    for m in range(_TERMS):
        total = 1.0 + x * total / ti.cast(_TERMS - m + 1, ti.f64)
    return total


@ti.func
def contracted(m, other):
    """m:other."""
    total = 0.0 * m[0, 0]
    for a in ti.static(range(3)):
        for c in ti.static(range(3)):
            total += m[a, c] * other[a, c]
    return total


@ti.func
def square(m):
    """Square of the Frobenius norm."""
    return contracted(m, m)
