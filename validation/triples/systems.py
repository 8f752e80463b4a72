"""The structures that these drivers share: a cubic lattice, displaced at random, and what acts on it."""

from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd import AxilrodTeller, LennardJones
from taichimd.core.runtime import ti
from taichimd.program.triple_energy import TripleSum

SPACING = 4.0
"""Angstrom between points: N/L^3 = 0.125 with L in units of half of it, as the paper has it."""
SIDES = (7, 10, 15, 20, 25, 30)
"""Atoms in a row: 343 to 27,000, the sizes of figure 5."""
NU = 45.6878


@cache
def positions(side: int) -> NDArray[np.float64]:
    """(side^3, 3), angstrom."""
    points = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return SPACING * points + np.random.default_rng(side).uniform(-0.3, 0.3, points.shape)


def half_box(side: int) -> float:
    """The paper's cutoff, angstrom."""
    return SPACING * side / 2


def triple_sum(side: int, backend: str, **more: Any) -> TripleSum:
    """The sum over all triples of such a lattice of argon."""
    made = TripleSum(np.zeros(side**3, np.int32), np.full((1, 1, 1), NU), backend, **more)
    made.place(positions(side))
    return made


def drop(side: int) -> Atoms:
    """Argon, not periodic, at rest."""
    return Atoms("Ar" * side**3, positions(side))


def argon(cutoff: float | None, enumeration: str = "all-triples") -> Any:
    """Lennard-Jones and Axilrod-Teller."""
    pairs = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5)
    return pairs + AxilrodTeller(NU, cutoff, enumeration=enumeration)


def seconds(run: Any, repeats: int = 3) -> float:
    """Least time of a call that has been compiled."""
    run()
    ti.sync()
    found = []
    for _ in range(repeats):
        begun = perf_counter()
        run()
        ti.sync()
        found.append(perf_counter() - begun)
        if sum(found) > 2.0:
            break
    return min(found)
