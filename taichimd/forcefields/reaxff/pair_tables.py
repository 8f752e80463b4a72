"""Look-up tables of the van der Waals energy: polynomials of fifth order between equidistant distances.

In an interval of length h = cutoff/intervals, at t = r/h - k from 0 to 1, a function has the polynomial that
agrees with it and its slope at t = 0, 1/2 and 1 (Hermite interpolation). The error falls with h^6 in
energies. The slope is that of the polynomial, so forces are the derivative of the energy of the table; their
error falls with h^5. A device makes the table with the functions of `pairs`: the same bits on each. Of water,
1,000 intervals up to 10 angstrom have errors of 1e-14 of the energy and 2e-11 eV/angstrom.

The Coulomb interaction is computed: threads of a GPU that read different intervals wait for each other, and
its formula takes less time than six more numbers of an interval.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.matrix import Screening
from taichimd.forcefields.reaxff.pairs import LEAST_R2, Form, Shapes, pair_function
from taichimd.forcefields.reaxff.taper import coulomb

COLUMNS = 6
"""Numbers of an interval: coefficients of U, lowest power first."""


class Look(Bundle):
    """The tables of all pairs of kinds."""

    intervals: Any = Number("i32", "of each pair of kinds")
    per_angstrom: Any = Number("f64", "1/h, intervals in an angstrom")
    coefficients: Any = ArrayField("f64", "kinds^2 intervals columns", "U in eV, by powers of t")


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
        """U and h dU/dr at the distance of `k` intervals."""
        r = k / look.per_angstrom
        r2 = ti.max(r * r, LEAST_R2)
        u, w, _c, _dc = pair(r2, a, b, n_kinds, shapes, screening)
        return u, w * (ti.sqrt(r2) / look.per_angstrom)

    @kernel(
        types_of(ti.f64), n_kinds=Number("i32", "species"), look=Look, shapes=Shapes,
        screening=Screening.only("lower", "inverse_width")
    )  # fmt: skip
    def fill(n_kinds, look, shapes, screening):
        for place in range(n_kinds * n_kinds * look.intervals):
            row, k = place // look.intervals, place % look.intervals
            a, b = row // n_kinds, row % n_kinds
            if a >= b:
                f, slope = at_node(1.0 * k, a, b, n_kinds, look, shapes, screening)
                middle, g_slope = at_node(k + 0.5, a, b, n_kinds, look, shapes, screening)
                last, e_slope = at_node(k + 1.0, a, b, n_kinds, look, shapes, screening)
                # Relative to the first value, which need not be added up with large factors.
                g, e = middle - f, last - f
                at = COLUMNS * (table_of(a, b) * look.intervals + k)
                look.coefficients[at] = f
                look.coefficients[at + 1] = slope
                look.coefficients[at + 2] = 16.0 * g + 7.0 * e - 6.0 * slope - 8.0 * g_slope - e_slope
                look.coefficients[at + 3] = (
                    -32.0 * g - 34.0 * e + 13.0 * slope + 32.0 * g_slope + 5.0 * e_slope
                )
                look.coefficients[at + 4] = (
                    16.0 * g + 52.0 * e - 12.0 * slope - 40.0 * g_slope - 8.0 * e_slope
                )
                look.coefficients[at + 5] = -24.0 * e + 4.0 * slope + 16.0 * g_slope + 4.0 * e_slope

    return fill


@ti.func
def polynomial(a, b, c, d, e, f, t):
    """Value and slope of a + b t + c t^2 + d t^3 + e t^4 + f t^5."""
    value = ((((f * t + e) * t + d) * t + c) * t + b) * t + a
    slope = (((5.0 * f * t + 4.0 * e) * t + 3.0 * d) * t + 2.0 * c) * t + b
    return value, slope


@ti.func
def look_up(r2, a, b, n_kinds, look: ti.template(), screening: ti.template()):
    """As the function of `pairs.pair_function`: U, U'/r, K, K'/r."""
    r = ti.sqrt(r2)
    x = r * look.per_angstrom
    k = ti.min(ti.cast(x, ti.i32), look.intervals - 1)
    t = x - k
    at = COLUMNS * (table_of(a, b) * look.intervals + k)
    c = [look.coefficients[at + m] for m in ti.static(range(COLUMNS))]
    inverse = 1.0 / r
    u, w = polynomial(c[0], c[1], c[2], c[3], c[4], c[5], t)
    v, dv = coulomb(r2, r, inverse, screening.inverse_gamma3[a * n_kinds + b], screening)
    return u, w * look.per_angstrom * inverse, v, dv
