"""Is the energy continuous? The work of the force along a path against the change of the energy."""

import numpy as np

from taichimd.program.engine import Engine
from taichimd.validation.case import Case
from taichimd.validation.measures import Check, Findings, Found, Measure

POINTS = 161
"""Along the path, an odd number; an atom moves by 3 thousandths of an angstrom between two."""
LENGTH = 0.5
"""Angstrom."""
LIMIT, CHARGED = 1e-5, 1e-3
"""eV. Bonds of ReaxFF end at thresholds of their orders, where the energy has small jumps."""
WORK = Measure(
    "work", "Is the change of the energy along a path the work of the force, also at cutoffs?", LIMIT, "eV"
)


def work(case: Case) -> Findings:
    """One atom on a straight path through its place: |E - E0 + work of the force|, the largest on the way."""
    atoms = case.shaken
    engine, x = Engine(atoms, case.gradient), atoms.positions
    rng = np.random.default_rng(case.seed + 7)
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    atom = int(rng.integers(len(atoms)))
    way = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, POINTS)
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
    error = abs(np.array(energies)[::2] - energies[0] + done)
    limit = CHARGED if case.forcefield.charged else None
    data = {"path_A": way[::2].tolist(), "error_eV": error.tolist()}
    return {"work": Found(float(error.max()), f"atom {atom}, {LENGTH:g} Å", limit, data)}


CHECKS: tuple[Check, ...] = (Check((WORK,), work, "work along a path"),)
