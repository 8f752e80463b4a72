"""Parameter tables on the device: `p.sigma` in a tuple function is one column of a table of species."""

from functools import cache
from typing import Any

from taichimd.core.runtime import ti


@cache
def reader(names: tuple[str, ...], real: Any) -> Any:
    """A function (table, row) -> p with one attribute per name; the table is flat, row by row."""
    width = len(names)
    Parameters = ti.types.struct(**dict.fromkeys(names, real))

    @ti.func
    def read(table: ti.template(), row):
        p = Parameters()
        for k in ti.static(range(width)):
            p[names[k]] = table[row * width + k]
        return p

    return read
