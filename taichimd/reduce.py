"""Totals over atoms in one defined order: the user's numbers, whatever the spatial sort or the thread count."""

from functools import cache
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.runtime import literals, ti
from taichimd.state import State

PIECE = 256
"""Atoms that one thread adds up, one after the other."""
COLUMNS = 11
"""Potential energy, kinetic energy, nine components of the virial."""
HEAT_COLUMNS = 6
"""Potential and kinetic part of the heat current, three components each."""


@cache
def _kernel(real: Any) -> Any:
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    doubles: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def add_up(n: ti.i32, sorted_of: ints, vel: vecs, inverse_mass: reals, energy: reals, virial: reals, sums: doubles):  # fmt: skip
        for b in range((n + PIECE - 1) // PIECE):
            total = ti.Vector.zero(ti.f64, COLUMNS)
            for k in range(b * PIECE, ti.min(n, b * PIECE + PIECE)):
                i = sorted_of[k]
                v = ti.cast(vel[i], ti.f64)
                total[0] += energy[i]
                total[1] += v.dot(v) / (2 * ti.cast(inverse_mass[i], ti.f64))
                for c in ti.static(range(9)):
                    total[2 + c] += virial[9 * i + c]
            for c in ti.static(range(COLUMNS)):
                sums[b * COLUMNS + c] = total[c]

    return add_up


def totals(state: State, energy: Any, virial: Any) -> tuple[float, float, NDArray[np.float64]]:
    """Potential and kinetic energy (eV) and the virial (3, 3) (eV) of all atoms, added up in float64."""
    pieces = -(-state.n // PIECE)
    sums = ti.ndarray(ti.f64, pieces * COLUMNS)
    with literals(state.real):
        _kernel(state.real)(state.n, state.sorted_of, state.vel, state.inverse_mass, energy, virial, sums)
    columns = sums.to_numpy().reshape(pieces, COLUMNS)
    total = [fsum(columns[:, c]) for c in range(COLUMNS)]
    return total[0], total[1], np.array(total[2:]).reshape(3, 3)


@cache
def _heat_kernel(real: Any) -> Any:
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    doubles: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def add_up(n: ti.i32, sorted_of: ints, vel: vecs, inverse_mass: reals, energy: reals, virial: reals, sums: doubles):  # fmt: skip
        for b in range((n + PIECE - 1) // PIECE):
            total = ti.Vector.zero(ti.f64, HEAT_COLUMNS)
            for k in range(b * PIECE, ti.min(n, b * PIECE + PIECE)):
                i = sorted_of[k]
                v = ti.cast(vel[i], ti.f64)
                e = v.dot(v) / (2 * ti.cast(inverse_mass[i], ti.f64)) + energy[i]
                for a in ti.static(range(3)):
                    for c in ti.static(range(3)):
                        total[a] += virial[9 * i + 3 * a + c] * v[c]
                    total[3 + a] += e * v[a]
            for c in ti.static(range(HEAT_COLUMNS)):
                sums[b * HEAT_COLUMNS + c] = total[c]

    return add_up


def heat_flows(state: State, energy: Any, virial: Any) -> NDArray[np.float64]:
    """The heat current of `taichimd.heat`, (2, 3): its potential and its kinetic part, added up in float64.

    Per-atom arrays stay on the device; what comes to the host is six numbers for each `PIECE` atoms.
    """
    pieces = -(-state.n // PIECE)
    sums = ti.ndarray(ti.f64, pieces * HEAT_COLUMNS)
    with literals(state.real):
        _heat_kernel(state.real)(
            state.n, state.sorted_of, state.vel, state.inverse_mass, energy, virial, sums
        )
    columns = sums.to_numpy().reshape(pieces, HEAT_COLUMNS)
    return np.array([fsum(columns[:, c]) for c in range(HEAT_COLUMNS)]).reshape(2, 3)
