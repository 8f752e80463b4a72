"""Is the heat current the time derivative of sum r_i E_i? In an isolated cluster it is, by definition."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.core.printable import counted
from taichimd.program.engine import Engine
from taichimd.system.velocities import set_temperature
from taichimd.validation.case import Case
from taichimd.validation.measures import Check, Findings, Found, Measure
from taichimd.validation.symmetries import ball_of

FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
"""Weights of nine equidistant values in the first derivative at the middle one."""
TIMESTEP, STRIDE = 2e-5, 50
"""ASE's time unit (2e-4 fs each step); steps between two values."""
GAP = 1e-3
"""Angstrom: no pair is nearer to a cutoff."""
ATOMS = 22
IDENTITY = Measure("heat-current", "Is the heat current the time derivative of Σ r E in a cluster?", 1e-6)


def warmed(ball: Atoms, size: float, cutoffs: Sequence[float], temperature: float, seed: int) -> Atoms:
    """A cluster with displaced atoms (by `size`, angstrom), velocities, and no pair near a cutoff."""
    rng = np.random.default_rng(seed)
    still, ends = ball.positions.copy(), np.array([one for one in cutoffs if np.isfinite(one)])
    found = ball.copy()
    while True:
        found.positions = still + rng.normal(scale=size, size=still.shape)
        gaps = abs(found.get_all_distances()[np.triu_indices(len(found), 1)][:, None] - ends)
        if gaps.min(initial=np.inf) > GAP:
            set_temperature(found, temperature, seed)
            return found


def identity(engine: Any, masses: Array) -> tuple[Array, Array]:
    """d/dt sum r_i E_i at the middle of a short trajectory, and `Engine.heat_current` there, (3,) each."""
    moments = []
    for k in range(len(FIRST)):
        if k:
            engine.advance(STRIDE, TIMESTEP)
        if k == len(FIRST) // 2:
            current = engine.heat_current().total
        v = engine.velocities()
        energies = engine.evaluate().energies + 0.5 * masses * (v * v).sum(axis=1)
        moments.append(energies @ engine.positions())
    return FIRST @ np.array(moments) / (STRIDE * TIMESTEP), current


def heat_current(case: Case) -> Findings:
    """The largest relative error of some clusters."""
    case.forcefield.check_heat_current()
    case.forcefield.check_bounded()
    errors = []
    for seed in range(case.seed, case.seed + case.level.heat):
        ball = warmed(
            ball_of(case.atoms, ATOMS, seed), 0.05, case.forcefield.cutoffs, 2.0 * case.kelvin, seed
        )
        engine = Engine(ball, case.forcefield)
        engine.set_state(velocities=ball.get_velocities())
        slope, current = identity(engine, ball.get_masses())
        errors.append(float(np.linalg.norm(current - slope) / np.linalg.norm(slope)))
    told = f"{counted(len(errors), 'cluster')} of {len(ball)} atoms at {2.0 * case.kelvin:.0f} K"
    return {"heat-current": Found(max(errors), told, data={"errors": errors})}


CHECKS: tuple[Check, ...] = (Check((IDENTITY,), heat_current, "heat current"),)
