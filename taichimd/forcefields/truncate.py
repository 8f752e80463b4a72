"""How a pair potential ends at its cutoff.

truncated:       u(r)                                        energy jumps at r_c, force jumps
energy-shifted:  u(r) - u(r_c)                               energy is continuous
force-shifted:   u(r) - u(r_c) - (r - r_c) u'(r_c)           energy and force are continuous

(M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids, 2nd ed., 2017, section 5.2.3.)
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.core.runtime import literals, start, ti
from taichimd.enumerate.parameters import reader

TRUNCATIONS = ("truncated", "energy-shifted", "force-shifted")
EXTRA = ("u_cut", "du_cut")
"""Columns that shifting adds: u and u' at the cutoff."""


def check_truncation(truncation: str) -> str:
    """The name itself, with "_" read as "-".

    Raises:
        SettingsError: unknown truncation.
    """
    name = truncation.replace("_", "-")
    if name not in TRUNCATIONS:
        raise SettingsError(f"truncation is '{truncation}', expected one of {', '.join(TRUNCATIONS)}")
    return name


@cache
def truncated(function: Any, truncation: str) -> Any:
    """The pair function (r2, p) -> (u, u'/r) with its end at p.cutoff."""
    if truncation == "truncated":
        return function

    @ti.func
    def shifted(r2, p):
        u, w = function(r2, p)
        u -= p.u_cut
        if ti.static(truncation == "force-shifted"):
            r = ti.sqrt(r2)
            u -= (r - p.cutoff) * p.du_cut
            # The inverse is one that most functions have, too: compilers share it.
            w -= p.du_cut * (1.0 / r)
        return u, w

    return shifted


def at_cutoff(function: Any, columns: tuple[str, ...], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """`table` (rows, columns) with u and u' at each row's cutoff behind, (rows, columns + 2).

    Evaluated by the compiled function itself, so that the shifted energy ends at exactly zero.
    """
    start()
    rows = len(table)
    values, energy, slope = (ti.ndarray(ti.f64, k) for k in (table.size, rows, rows))
    values.from_numpy(np.ascontiguousarray(table).ravel())
    with literals(ti.f64):
        _ends(function, columns)(rows, values, energy, slope)
    return np.hstack([table, energy.to_numpy()[:, None], slope.to_numpy()[:, None]])


@cache
def _ends(function: Any, columns: tuple[str, ...]) -> Any:
    """The kernel that evaluates a function at the cutoff of each row of parameters."""
    read = reader(columns, ti.f64)
    reals: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def evaluate(n: ti.i32, values: reals, energy: reals, slope: reals):
        for i in range(n):
            p = read(values, i)
            u, w = function(p.cutoff * p.cutoff, p)
            energy[i] = u
            slope[i] = w * p.cutoff

    return evaluate
