"""Parameter tables on the device: `p.sigma` in a tuple function is one column of a table of species.

A parameter may be a curve given by its values at equally spaced points: `p.density(r)` is then its value and
its slope. The points follow the rows in the same array, and four columns say where.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import DeviceFunction, ti

START, NODES, FIRST, INVERSE = "__start", "__nodes", "__first", "__inverse"
ENDS = (START, NODES, FIRST, INVERSE)
"""Columns of a curve: where its points begin in the array, their number, the first argument, 1/spacing."""


def columns_of(curve: str) -> tuple[str, ...]:
    """Names of the columns of a curve."""
    return tuple(curve + end for end in ENDS)


@ti.func
def spline(table: ti.template(), start, nodes, first, inverse, x):
    """Value and slope (per interval) at x of cubic pieces between points of given values and slopes.

    Before the first point the first piece continues. Beyond the last point the curve is a straight line.
    """
    z = (x - first) * inverse
    last = nodes - 1.0
    k = ti.cast(ti.max(ti.min(z, last - 1.0), 0.0), ti.i32)
    t = ti.min(z - k, 1.0)
    at = ti.cast(start, ti.i32) + 2 * k
    y0, s0, y1, s1 = table[at], table[at + 1], table[at + 2], table[at + 3]
    rise = y1 - y0
    c2 = 3.0 * rise - 2.0 * s0 - s1
    c3 = s0 + s1 - 2.0 * rise
    beyond = ti.max(z - last, 0.0)
    y = y0 + t * (s0 + t * (c2 + t * c3)) + beyond * s1
    slope = (s0 + t * (2.0 * c2 + 3.0 * t * c3)) * inverse
    return y, slope


@cache
def reader(names: tuple[str, ...], real: Any) -> DeviceFunction:
    """A function (table, row) -> p with one attribute per name; the table is flat, row by row."""
    width = len(names)
    Parameters = ti.types.struct(**dict.fromkeys(names, real))
    curves = tuple(name.removesuffix(START) for name in names if name.endswith(START))

    @ti.func
    def read(table: ti.template(), row):
        p = Parameters()
        for k in ti.static(range(width)):
            p[names[k]] = table[row * width + k]
        return p

    if not curves:
        return read

    def curve(name: str, table: Any) -> Any:
        @device_helper
        def value_and_slope(p: Any, x: Any) -> Any:
            return spline(table, *(getattr(p, column) for column in columns_of(name)), x)

        return value_and_slope

    @device_helper
    def with_curves(p: Any, table: Any) -> Any:
        """The same with a method for each curve."""
        own = {name: getattr(p, name) for name in names}
        return ti.Struct({**own, "__struct_methods": {name: curve(name, table) for name in curves}})

    @ti.func
    def read_with_curves(table: ti.template(), row):
        return with_curves(read(table, row), table)

    return read_with_curves
