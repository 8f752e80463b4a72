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
from taichimd.forcefields.flat import Flat

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


def at_cutoff(function: Any, flat: Flat) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values u and u' at the cutoff of each row, two arrays (rows,).

    Evaluated by the compiled function itself, so that the shifted energy ends at exactly zero.
    """
    start()
    rows, given = len(flat.rows), flat.joined()
    values, energy, slope = (ti.ndarray(ti.f64, k) for k in (given.size, rows, rows))
    values.from_numpy(given)
    with literals(ti.f64):
        _ends(function, flat.columns)(rows, values, energy, slope)
    return energy.to_numpy(), slope.to_numpy()


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
