"""Velocities without the momentum of a group, by sums that are rounded once."""

from math import fsum

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.matrix3 import inverse
from taichimd.system.constraints import of_free


def without_momentum(
    atoms: NDArray[np.int64],
    masses: Array,
    positions: Array,
    velocities: Array,
    linear: bool,
    angular: bool,
    still: NDArray[np.bool_] | None = None,
) -> tuple[Array, float]:
    """Velocities (n, 3), and how much kinetic energy the change adds, eV.

    `linear`: the velocity of the centre of mass of the group is taken away; `angular`: the rotation about it.
    Held atoms (`still`) keep a velocity of 0.
    """
    m, v = masses[atoms, None], velocities[atoms]
    total = fsum(m[:, 0].tolist())
    centre = _sums(m * v) / total
    place = _sums(m * positions[atoms]) / total
    new = v - centre if linear else v
    if angular:
        r, w = positions[atoms] - place, v - centre
        momentum = _sums(m * np.cross(r, w))
        square = (r * r).sum(axis=1)
        inertia = np.array(
            [
                [fsum((m[:, 0] * (square * (a == b) - r[:, a] * r[:, b])).tolist()) for b in range(3)]
                for a in range(3)
            ]
        )
        # Atoms in a line, or one alone, have no moment about some axis, and nothing turns about it.
        if np.linalg.cond(inertia) < 1e12:
            turn = inverse(inertia)
            omega = np.array([fsum((turn[a] * momentum).tolist()) for a in range(3)])
            new = new - np.cross(np.broadcast_to(omega, r.shape), r)
    new = of_free(new, None if still is None else still[atoms])
    gained = 0.5 * (fsum((m * new * new).ravel().tolist()) - fsum((m * v * v).ravel().tolist()))
    found = velocities.copy()
    found[atoms] = new
    return found, gained


def _sums(values: Array) -> Array:
    return np.array([fsum(column) for column in values.T.tolist()])
