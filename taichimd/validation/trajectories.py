"""Trajectories of two programs, runtimes, backends or processes from one state: how far apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.validation.bits import differing_bits

BAR = 1e-9
"""Angstrom: what is claimed where identical bits are not."""


def snapshots(engine: Any, steps: Sequence[int], timestep: float) -> tuple[Array, Array]:
    """Positions and velocities, (len(steps), n, 3) each, after so many steps from the present state."""
    taken, positions, velocities = 0, [], []
    for step in steps:
        engine.advance(step - taken, timestep)
        taken = step
        positions.append(engine.positions())
        velocities.append(engine.velocities())
    return np.array(positions), np.array(velocities)


def separation(a: tuple[Array, Array], b: tuple[Array, Array]) -> dict[str, list[Any]]:
    """How far two trajectories (positions, velocities) are apart at each snapshot.

    `max_dx` (angstrom) and `max_dv` (ASE's unit), `differing_numbers` that are not identical, and
    `differing_bits` in these.
    """
    numbers, bits = zip(
        *(differing_bits(np.stack([p, q]), np.stack([r, s])) for p, q, r, s in zip(*a, *b, strict=True)),
        strict=True,
    )
    return {
        "max_dx": np.abs(a[0] - b[0]).max(axis=(1, 2)).tolist(),
        "max_dv": np.abs(a[1] - b[1]).max(axis=(1, 2)).tolist(),
        "differing_numbers": list(numbers),
        "differing_bits": list(bits),
    }
