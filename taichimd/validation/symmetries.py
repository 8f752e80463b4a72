"""What must not change the energy, and what forces must add up to."""

from typing import Any

import numpy as np
from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.program.engine import Engine
from taichimd.validation.case import Case
from taichimd.validation.measures import Check, Findings, Found, Measure, NotRun

LIMIT = 1e-9
THIRD_LAW = Measure("third-law", "Do the forces on all atoms add up to zero?", LIMIT)
TORQUE = Measure("torque", "Does an isolated cluster exert no torque on itself?", LIMIT)
MOMENTUM = Measure("momentum", "Does a run keep its total momentum?", LIMIT)
TRANSLATION = Measure(
    "translation", "Do energy and forces not change if all atoms move, out of the cell too?", LIMIT
)
ROTATION = Measure("rotation", "Do energy and forces turn with the structure?", LIMIT)
ORDER = Measure("order", "Do energy and forces not depend on the order of the atoms?", LIMIT)
IMAGES = Measure("images", "Does a repeated cell have the energy and forces of its images?", LIMIT)


def difference(found: Any, energy: float, forces: Array) -> float:
    """The larger of the relative difference of the energy and that of forces, relative to the largest."""
    of_energy = abs(found.energy - energy) / max(abs(energy), 1.0)
    of_forces = float(abs(found.forces - forces).max()) / max(float(abs(forces).max()), 1e-2)
    return max(of_energy, of_forces)


def turned(atoms: Atoms, rotation: Array) -> Atoms:
    """The structure with its cell, turned."""
    found = atoms.copy()
    found.set_cell(atoms.cell.array @ rotation)
    found.positions = atoms.positions @ rotation
    return found


def invariances(case: Case) -> Findings:
    """Energy and forces of the displaced structure after each change that must not matter."""
    atoms, forcefield = case.shaken, case.gradient
    rng = np.random.default_rng(case.seed)
    exact = Engine(atoms, forcefield).evaluate()
    moved = atoms.copy()
    moved.positions += rng.uniform(-3.0, 3.0, 3)
    whole = rng.integers(-2, 3, (len(atoms), 3)) * atoms.pbc
    moved.positions += whole @ atoms.cell.array
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    order = rng.permutation(len(atoms))
    largest = max(float(abs(exact.forces).max()), 1e-2)
    return {
        "third-law": Found(float(abs(exact.forces.sum(axis=0)).max()) / largest),
        "translation": Found(difference(Engine(moved, forcefield).evaluate(), exact.energy, exact.forces)),
        "rotation": Found(
            difference(
                Engine(turned(atoms, rotation), forcefield).evaluate(), exact.energy, exact.forces @ rotation
            )
        ),
        "order": Found(
            difference(Engine(atoms[order], forcefield).evaluate(), exact.energy, exact.forces[order])
        ),
        "images": _images(case, exact),
    }


def _images(case: Case, exact: Any) -> Found | NotRun:
    atoms = case.shaken
    if not atoms.pbc.any():
        return NotRun("the structure is not periodic")
    axis = int(np.flatnonzero(atoms.pbc)[0])
    times = [2 if k == axis else 1 for k in range(3)]
    found = Engine(atoms.repeat(times), case.gradient).evaluate()
    return Found(difference(found, 2.0 * exact.energy, np.vstack([exact.forces] * 2)))


def torque(case: Case) -> Findings:
    """The torque of the forces in an isolated ball of the structure."""
    ball = ball_of(case.shaken, 24, case.seed)
    forces = Engine(ball, case.gradient).evaluate().forces
    x = ball.positions - ball.positions.mean(axis=0)
    largest = max(float((np.linalg.norm(x, axis=1) * np.linalg.norm(forces, axis=1)).max()), 1e-2)
    value = float(abs(np.cross(x, forces).sum(axis=0)).max()) / largest
    return {"torque": Found(value, f"{len(ball)} atoms")}


def ball_of(atoms: Atoms, count: int, seed: int) -> Atoms:
    """About so many atoms of a structure around a random point, as an isolated cluster."""
    lengths = np.maximum(atoms.cell.lengths(), 1e-3)
    times = np.where(atoms.pbc, np.ceil(12.0 / lengths), 1).astype(int)
    large = atoms.repeat(times)
    centre = large.positions.mean(axis=0) + np.random.default_rng(seed).uniform(-0.5, 0.5, 3)
    nearest = np.argsort(np.linalg.norm(large.positions - centre, axis=1))[: min(count, len(large))]
    return Atoms(large.symbols[nearest], large.positions[nearest], masses=large.get_masses()[nearest])


def momentum(case: Case) -> Findings:
    """The change of the total momentum in the reference run, over the sum of the sizes of momenta."""
    masses = case.moving.get_masses()[:, None]
    before, after = masses * case.start[1], masses * case.reference["velocities"]
    change = np.linalg.norm((after - before).sum(axis=0)) / max(np.linalg.norm(after, axis=1).sum(), 1e-12)
    return {"momentum": Found(float(change), f"{case.level.steps} steps")}


CHECKS: tuple[Check, ...] = (
    Check((THIRD_LAW, TRANSLATION, ROTATION, ORDER, IMAGES), invariances, "third law and invariances"),
    Check((TORQUE,), torque, "torque"),
    Check((MOMENTUM,), momentum, "momentum"),
)
