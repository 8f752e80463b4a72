"""How a pair potential ends at its cutoff.

truncated:       u(r)                                        energy jumps at r_c, force jumps
energy-shifted:  u(r) - u(r_c)                               energy is continuous
force-shifted:   u(r) - u(r_c) - (r - r_c) u'(r_c)           energy and force are continuous

tapered:         u(r) T(x), T = (1 - x)^3 (1 + 3x + 6x^2), x = (r - r_i)/(r_c - r_i) from r_i on
switched:        u(r) + C, from r_i on also + A/3 (r - r_i)^3 + B/4 (r - r_i)^4

The last two change u between an inner distance r_i and r_c, with continuous second derivatives at both; a
switched energy is shifted by C below r_i, too:

    t = r_c - r_i,  A = (-3 u'_c + t u''_c)/t^2,  B = (2 u'_c - t u''_c)/t^3,  C = -u_c + t u'_c/2 - t^2
    u''_c/12.

(M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids, 2nd ed., 2017, section 5.2.3.)
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.cutoffs import smooth_cutoff
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import literals, start, ti
from taichimd.enumerate.parameters import reader
from taichimd.forcefields.flat import Flat

TRUNCATIONS = ("truncated", "energy-shifted", "force-shifted")
WITH_INNER = ("tapered", "switched")
"""Ends that begin at an inner distance, the column `inner`."""
SHIFTS = ("u_cut", "du_cut")
"""Columns that shifting adds: u and u' at the cutoff."""
SWITCH = ("third", "fourth", "shift")
"""Columns that switching adds: A/3, B/4 and C."""
STEP = 1e-4
"""Angstrom, of the difference that finds u'' at the cutoff."""


def check_truncation(truncation: str, known: tuple[str, ...] = TRUNCATIONS) -> str:
    """The name itself, with "_" read as "-", or a SettingsError if it is not known."""
    name = truncation.replace("_", "-")
    if name not in known:
        raise SettingsError(f"truncation is '{truncation}', expected one of {', '.join(known)}")
    return name


@cache
def truncated(function: Any, truncation: str) -> Any:
    """The pair function (r2, p) -> (u, u'/r) with its end at p.cutoff."""
    if truncation == "truncated":
        return function

    @ti.func
    def tapered(r2, p):
        u, w = function(r2, p)
        r = ti.sqrt(r2)
        f, df = smooth_cutoff(r, p.inner, p.cutoff)
        return u * f, w * f + u * df * (1.0 / r)

    @ti.func
    def switched(r2, p):
        u, w = function(r2, p)
        r = ti.sqrt(r2)
        x = ti.max(r - p.inner, 0.0)
        u += p.shift + x * x * x * (p.third + x * p.fourth)
        w += x * x * (3.0 * p.third + 4.0 * x * p.fourth) * (1.0 / r)
        return u, w

    if truncation in WITH_INNER:
        return tapered if truncation == "tapered" else switched

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


def ended(function: Any, flat: Flat, truncation: str) -> Flat:
    """Rows with the columns that an end adds."""
    if truncation in ("truncated", "tapered"):
        return flat
    u, du = at_cutoff(function, flat)
    if truncation != "switched":
        return flat.with_column(SHIFTS[0], u).with_column(SHIFTS[1], du)
    slopes = [at_cutoff(function, flat, k * STEP)[1] for k in (-2, -1, 1, 2)]
    ddu = (slopes[0] - 8.0 * slopes[1] + 8.0 * slopes[2] - slopes[3]) / (12.0 * STEP)
    columns = [flat.rows[:, flat.columns.index(name)] for name in ("cutoff", "inner")]
    t = columns[0] - columns[1]
    third, fourth = (-3.0 * du + t * ddu) / (3.0 * t**2), (2.0 * du - t * ddu) / (4.0 * t**3)
    for name, values in zip(SWITCH, (third, fourth, -u + t * du / 2.0 - t**2 * ddu / 12.0), strict=True):
        flat = flat.with_column(name, values)
    return flat


def at_cutoff(
    function: Any, flat: Flat, offset: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values u and u' (rows,) at the cutoff of each row, by the compiled function, so that 0 is exact."""
    start()
    rows, given = len(flat.rows), flat.joined()
    values, energy, slope = (ti.ndarray(ti.f64, k) for k in (given.size, rows, rows))
    values.from_numpy(given)
    with literals(ti.f64):
        _ends(function, flat.columns)(rows, values, energy, slope, offset)
    return energy.to_numpy(), slope.to_numpy()


@cache
def _ends(function: Any, columns: tuple[str, ...]) -> Any:
    """The kernel that evaluates a function at the cutoff of each row of parameters."""
    read = reader(columns, ti.f64)
    reals: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def evaluate(n: ti.i32, values: reals, energy: reals, slope: reals, offset: ti.f64):
        for i in range(n):
            p = read(values, i)
            r = p.cutoff + offset
            u, w = function(r * r, p)
            energy[i] = u
            slope[i] = w * r

    return evaluate
