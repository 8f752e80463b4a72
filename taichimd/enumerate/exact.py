"""Sums whose bits do not depend on the order of their terms.

A term is rounded to a multiple of 2^-42. In float64, sums of such multiples are exact up to 2^11 = 2048, so
any order, any list and any number of threads gives the same bits; beyond that they are as good as other
sums. What was rounded away goes to a second sum, on the grid of 2^-84, so that the total is better than that
of a plain sum. f and -f round alike: pair forces obey Newton's third law to the last bit. (J. Demmel,
H. D. Nguyen, IEEE Trans. Comput. 64, 2060 (2015), with bins that are fixed beforehand.)

Terms of float32 kernels are rounded and added in float64, too: what 32 bits hold would not be enough.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.runtime import ti

BITS = 42
_SHIFT = 1.5 * 2.0 ** (52 - BITS)
"""Numbers as large as this have 2^-BITS as the unit of their last place."""


@ti.func
def on_grid(x):
    """The multiple of 2^-42 nearest to x, in float64; x is a number, vector or matrix."""
    shift = ti.cast(_SHIFT, ti.f64)
    return (ti.cast(x, ti.f64) + shift) - shift


@ti.func
def in_parts(x):
    """X as a multiple of 2^-42 and the rest as a multiple of 2^-84, each to be summed on its own."""
    shift = ti.cast(_SHIFT * 2.0**-BITS, ti.f64)
    coarse = on_grid(x)
    return coarse, ((ti.cast(x, ti.f64) - coarse) + shift) - shift


@cache
def pair_sums(real: Any) -> Any:
    """Device functions `empty`, `add` and `store` for force, energy and virial of an atom from its pairs.

    `length` is that of the sums of a force alone.
    """

    @ti.func
    def empty(want: ti.template()):
        """Three components of the force, then energy and nine of the virial; behind them their rests."""
        return ti.Vector.zero(ti.f64, 2 * (13 if ti.static(want) else 3))

    @ti.func
    def add(sums: ti.template(), d, u, w, want: ti.template()):
        """A pair at distance vector d with energy u and slope w = u'/r."""
        f = w * d
        terms = ti.static(13 if want else 3)
        for k in ti.static(range(terms)):
            term = 0.5 * u
            if ti.static(k < 3):
                term = f[k]
            elif ti.static(k > 3):
                term = -0.5 * d[(k - 4) // 3] * f[(k - 4) % 3]
            coarse, rest = in_parts(term)
            sums[k] += coarse
            sums[terms + k] += rest

    @ti.func
    def store(i, sums, energy: ti.template(), force: ti.template(), virial: ti.template(), want: ti.template()):  # fmt: skip
        terms = ti.static(13 if want else 3)
        for k in ti.static(range(terms)):
            total = ti.cast(sums[k] + sums[terms + k], real)
            if ti.static(k < 3):
                force[i][k] = total
            elif ti.static(k == 3):
                energy[i] = total
            else:
                virial[9 * i + k - 4] = total

    return SimpleNamespace(empty=empty, add=add, store=store, length=6)
