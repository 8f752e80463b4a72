"""Positions for tests of distance: three coordinates in one 64-bit number, differences in whole numbers.

Cuts of lists read several times as many entries as they keep, and the threads of a warp get the coordinates
of their neighbours from many lines of memory: one read costs a third of three. A coordinate has 19 bits,
modulo their range, and two more for carries, so that three numbers can be added as they are. Neighbours are
closer than half of the range: differences are true in cells of any size, for atoms anywhere. Of a difference
the upper 14 bits and the sign are squared, in 32-bit arithmetic; the lowest of these is the unit.

A distance has the same square from both ends. Rounding makes it wrong by less than two units; `reach2` is
longer by that: tests with it let too much through, never too little.
"""

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import ti
from taichimd.neighbours.entries import neighbour

BITS, STRIDE, DROPPED = 19, 21, 4
"""Bits of a coordinate; from one to the next; lowest ones that are not squared."""
LARGEST = 2 ** (BITS - DROPPED - 1)
"""Units up to which a difference is true."""


def units(farthest: float) -> float:
    """Units per angstrom, if neighbours are up to `farthest` (angstrom) away."""
    return LARGEST / farthest


def reach2(distance: NDArray[np.float64], per_angstrom: float) -> NDArray[np.float64]:
    """Limit of `squared` for distances below a given one (angstrom), which is positive."""
    return np.where(distance > 0, np.ceil((distance * per_angstrom + 2.0) ** 2), -1.0)


@ti.func
def packed(x, per_angstrom):  # type: ignore[valid-type]
    """The vector x (angstrom) as one number; -x gives its `opposite`."""
    number = ti.cast(0, ti.i64)
    for a in ti.static(range(3)):
        y = ti.cast(x[a], ti.f64) * (per_angstrom * 2.0**DROPPED)
        whole = ti.cast(ti.floor(ti.abs(y) + 0.5), ti.i64)
        number |= (ti.select(y < 0.0, -whole, whole) & (2**BITS - 1)) << (STRIDE * a)
    return number


@ti.func
def opposite(number):
    """The number of the opposite vector."""
    ones = ti.cast(0, ti.i64)
    for a in ti.static(range(3)):
        ones |= ti.cast(1, ti.i64) << (STRIDE * a)
    mask = ones * (2**BITS - 1)
    return ((number ^ mask) + ones) & mask


@ti.func
def squared(d):
    """Square of the length of a sum of up to three such numbers, in units."""
    s = 0
    for a in ti.static(range(3)):
        # The highest bit of a coordinate becomes that of a 32-bit number, which is its sign; below it are
        # zeros.
        c = ti.cast(d, ti.i32) << (32 - BITS)
        if ti.static(a > 0):
            c = ti.cast(d >> (STRIDE * a - (32 - BITS)), ti.i32) & -(1 << (32 - BITS))
        size = ti.abs(c) >> (32 - BITS + DROPPED)
        s += size * size
    return s


@ti.func
def to_neighbour(opposite_here, entry, n, shift_bits, places: ti.template()):  # type: ignore[valid-type]
    """The number of the vector to the neighbour in a list's entry, from the atom whose opposite is given.

    `places` holds the numbers of n atoms, followed by the numbers of the images.
    """
    return (
        places[neighbour(entry, shift_bits)] + places[n + (entry & ((1 << shift_bits) - 1))] + opposite_here
    )
