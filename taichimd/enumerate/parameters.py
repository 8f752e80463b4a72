"""Parameter tables on the device: `p.sigma` in a tuple function is one column of a table of species.

A parameter may be a curve given by its values at equally spaced points: `p.density(r)` is then its value and
its slope. The points follow the rows in the same array, and four columns say where.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import DeviceFunction, ti

START, NODES, FIRST, INVERSE = "__start", "__nodes", "__first", "__inverse"
ENDS = (START, NODES, FIRST, INVERSE)
"""Columns of a curve: where its points begin in the array, their number, the first argument, 1/spacing."""


def columns_of(curve: str, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the columns of a curve.

    Of columns `names` a curve on the grid of the last curve that has one shares the columns of this grid.
    """
    grid = curve
    if names and curve + NODES not in names:
        before = names[: names.index(curve + START)]
        grid = next(name for name in reversed(before) if name.endswith(NODES)).removesuffix(NODES)
    return curve + START, *(grid + end for end in ENDS[1:])


@ti.func
def spline(table: ti.template(), start, nodes, first, inverse, x):
    """Value and slope at x of cubic pieces between points, whose coefficients (per interval) the array has.

    Before the first point the first piece continues. The last point has a straight piece, which continues.
    All coefficients of one power stand side by side: threads of a GPU then read fewer lines of its cache.
    """
    z = (x - first) * inverse
    last = nodes - 1.0
    # A choice is half of the instructions of `ti.min`, which looks after NaN.
    within = ti.select(z < last, z, last)
    k = ti.cast(ti.select(within > 0.0, within, 0.0), ti.i32)
    t = z - k
    at, many = ti.cast(start, ti.i32) + k, ti.cast(nodes, ti.i32)
    y, s, c2, c3 = table[at], table[at + many], table[at + 2 * many], table[at + 3 * many]
    return y + t * (s + t * (c2 + t * c3)), (s + t * (2.0 * c2 + 3.0 * t * c3)) * inverse


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
            return spline(table, *(getattr(p, column) for column in columns_of(name, names)), x)

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
