"""Look-up tables of nonbonded pairs: cubic polynomials between equidistant distances.

In an interval of length h = cutoff/intervals, at t = r/h - k from 0 to 1, a function has the polynomial that agrees with it and its
slope at both ends (cubic Hermite interpolation): its error is h^4/384 times the largest fourth derivative. The slope is that of the
polynomial, so forces are the derivative of the energy of the table. A device makes the table with the functions of `pairs`: the same
bits on each.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.matrix import Screening
from taichimd.forcefields.reaxff.pairs import LEAST_R2, Form, Shapes, pair_function

COLUMNS = 8
"""Of an interval: four coefficients of U, lowest power first, then four of K; together one line of a cache."""


class Look(Bundle):
    """The tables of all pairs of kinds."""

    intervals: Any = Number("i32", "of each pair of kinds")
    per_angstrom: Any = Number("f64", "1/h, intervals in an angstrom")
    coefficients: Any = Array(
        "f64", "kinds^2 intervals columns", "U in eV and K in 1/angstrom, by powers of t"
    )


def pairs_of(n_kinds: int) -> int:
    """Pairs of kinds that have a table each."""
    return n_kinds * (n_kinds + 1) // 2


@ti.func
def table_of(a, b):
    """Number of the table of two kinds."""
    high, low = ti.max(a, b), ti.min(a, b)
    return high * (high + 1) // 2 + low


@cache
def fill_kernel(form: Form) -> Any:
    """Kernel that fills the tables for one form of the van der Waals energy."""
    pair = pair_function(form)

    @ti.func
    def at_node(k, a, b, n_kinds, look: ti.template(), shapes: ti.template(), screening: ti.template()):
        """U, h dU/dr, K, h dK/dr at the lower end of an interval."""
        r = k / look.per_angstrom
        r2 = ti.max(r * r, LEAST_R2)
        u, w, c, dc = pair(r2, a, b, n_kinds, shapes, screening)
        step = ti.sqrt(r2) / look.per_angstrom
        return ti.Vector([u, w * step, c, dc * step])

    @kernel(types_of(ti.f64), n_kinds=Number("i32", "species"), look=Look, shapes=Shapes, screening=Screening.only("lower", "inverse_width"))  # fmt: skip
    def fill(n_kinds, look, shapes, screening):
        for place in range(n_kinds * n_kinds * look.intervals):
            row, k = place // look.intervals, place % look.intervals
            a, b = row // n_kinds, row % n_kinds
            if a >= b:
                left = at_node(k, a, b, n_kinds, look, shapes, screening)
                right = at_node(k + 1, a, b, n_kinds, look, shapes, screening)
                for c in ti.static(range(2)):
                    rise = right[2 * c] - left[2 * c]
                    slope, last_slope = left[2 * c + 1], right[2 * c + 1]
                    at = COLUMNS * (table_of(a, b) * look.intervals + k) + 4 * c
                    look.coefficients[at] = left[2 * c]
                    look.coefficients[at + 1] = slope
                    look.coefficients[at + 2] = 3.0 * rise - 2.0 * slope - last_slope
                    look.coefficients[at + 3] = slope + last_slope - 2.0 * rise

    return fill


@ti.func
def look_up(r2, a, b, n_kinds, look: ti.template(), screening: ti.template()):
    """As the function of `pairs.pair_function`: U, U'/r, K, K'/r."""
    r = ti.sqrt(r2)
    x = r * look.per_angstrom
    k = ti.min(ti.cast(x, ti.i32), look.intervals - 1)
    t = x - k
    at = COLUMNS * (table_of(a, b) * look.intervals + k)
    c = [look.coefficients[at + m] for m in ti.static(range(COLUMNS))]
    over_r = look.per_angstrom / r
    u = ((c[3] * t + c[2]) * t + c[1]) * t + c[0]
    w = ((3.0 * c[3] * t + 2.0 * c[2]) * t + c[1]) * over_r
    v = ((c[7] * t + c[6]) * t + c[5]) * t + c[4]
    dv = ((3.0 * c[7] * t + 2.0 * c[6]) * t + c[5]) * over_r
    return u, w, v, dv
