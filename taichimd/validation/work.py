"""Is the energy continuous? The work of the force along a path against the change of the energy."""

import numpy as np

from taichimd.core.arrays import Array
from taichimd.program.engine import Engine
from taichimd.validation.case import Case
from taichimd.validation.measures import Check, Findings, Found, Measure

POINTS = 161
"""Along the path, an odd number; an atom moves by 3 thousandths of an angstrom between two."""
FINER = 8
"""Times as many intervals where the first path fails."""
LENGTH = 0.5
"""Angstrom."""
LIMIT, CHARGED = 1e-5, 1e-3
"""eV. Bonds of ReaxFF end at thresholds of their orders, where the energy has small jumps."""
WORK = Measure(
    "work", "Is the change of the energy along a path the work of the force, also at cutoffs?", LIMIT, "eV"
)


def work(case: Case) -> Findings:
    """One atom on a straight path through its place: |E - E0 + work of the force|, the largest on the way.

    Where the slope of the force jumps, as at the cutoff of Tersoff, the error of Simpson's rule falls with
    the square of the interval, and a jump of the energy stays. So a path that fails is repeated with more
    points.
    """
    atoms = case.shaken
    engine = Engine(atoms, case.gradient)
    rng = np.random.default_rng(case.seed + 7)
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    atom = int(rng.integers(len(atoms)))
    limit = CHARGED if case.forcefield.charged else None
    way, error = errors_along(engine, atoms.positions, atom, direction, POINTS)
    if error.max() > (limit or LIMIT):
        way, error = errors_along(engine, atoms.positions, atom, direction, FINER * (POINTS - 1) + 1)
    data = {"path_A": way.tolist(), "error_eV": error.tolist()}
    detail = f"atom {atom}, {LENGTH:g} Å, {2 * len(way) - 1} points"
    return {"work": Found(float(error.max()), detail, limit, data)}


def errors_along(engine: Engine, x: Array, atom: int, direction: Array, points: int) -> tuple[Array, Array]:
    """Places on the path of an atom (angstrom) and |E - E0 + work of the force| there (eV).

    The path goes through (n, 3) positions along a unit vector; every other one of an odd number of points is
    a place.
    """
    way = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, points)
    energies, along = [], []
    for by in way:
        moved = x.copy()
        moved[atom] += by * direction
        engine.set_state(positions=moved)
        found = engine.evaluate()
        energies.append(found.energy)
        along.append(float(found.forces[atom] @ direction))
    f = np.array(along)
    # Simpson's rule, two intervals at a time.
    done = np.concatenate(
        [[0.0], np.cumsum((f[:-2:2] + 4.0 * f[1:-1:2] + f[2::2]) * (way[1] - way[0]) / 3.0)]
    )
    return way[::2], abs(np.array(energies)[::2] - energies[0] + done)


CHECKS: tuple[Check, ...] = (Check((WORK,), work, "work along a path"),)
