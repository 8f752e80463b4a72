"""Are forces and virial derivatives of the energy? Finite differences on the structure."""

from collections.abc import Callable, Iterable

import numpy as np
from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.forcefields.base import ForceField
from taichimd.program.check import SHORT_STEP, STEP
from taichimd.program.engine import Engine
from taichimd.validation.case import MARGIN, Case
from taichimd.validation.measures import Check, Findings, Found, Measure, NotRun

LIMIT = 1e-6
ALL_STEP, DIRECTIONS = 4e-5, 3
"""Angstrom by which all atoms move at once, so that distances change by less than `MARGIN`; how often."""
SHORTER = 4
"""Step lengths that are tried, each a fourth of the one before."""
STRAIN = 1e-5
"""Relative: a pair of 10 angstrom changes by less than `MARGIN`."""
FORCES = Measure("forces", "Are forces minus the derivative of the energy?", LIMIT)
VIRIAL = Measure("virial", "Is the virial minus the derivative of the energy with respect to strain?", LIMIT)


def slope(function: Callable[[float], float], h: float, at_zero: float, scale: float) -> float:
    """Derivative at 0 by five-point central differences, with an error of h^4, relative to `scale`.

    The energy of ReaxFF jumps at thresholds of bond orders. A jump among the five points changes their fourth
    difference, which is of order h^4 for a smooth energy. Such points are taken again with a fourth of the
    step. The derivative that is tested does not enter this choice.
    """
    for _ in range(SHORTER):
        values = [function(k * h) for k in (-2, -1, 1, 2)]
        fourth = values[0] - 4.0 * values[1] + 6.0 * at_zero - 4.0 * values[2] + values[3]
        if abs(fourth) < LIMIT * scale * h:
            break
        h *= 0.25
    else:
        h *= 4.0
    return (values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * h)


def force_error(forcefield: ForceField, atoms: Atoms, moved: int, seed: int = 0) -> Found:
    """Largest |F + dE/dx| over the largest force, of `moved` atoms; data has components, (moved, 3)."""
    engine = Engine(atoms, forcefield)
    start = engine.evaluate()
    exact, x = start.forces, atoms.positions
    largest = float(max(abs(exact).max(), 1e-12))
    step = SHORT_STEP if forcefield.charged else STEP
    chosen = _apart(atoms, forcefield, np.random.default_rng(seed).permutation(len(atoms)).tolist())[:moved]
    found = np.zeros((len(chosen), 3))
    for k, atom in enumerate(chosen):
        for axis in range(3):

            def energy(by: float, atom: int = atom, axis: int = axis) -> float:
                moved_to = x.copy()
                moved_to[atom, axis] += by
                engine.set_state(positions=moved_to)
                return engine.evaluate().energy

            found[k, axis] = -slope(energy, step, start.energy, largest)
    error = abs(exact[chosen] - found)
    worst = int(np.argmax(error.max(axis=1)))
    together = max(_along(engine, x, exact, start.energy, seed + k) for k in range(DIRECTIONS))
    return Found(
        max(float(error.max()), together) / largest,
        f"all atoms at once, and {len(chosen)} alone; largest force {largest:.3g} eV/Å; worst atom "
        f"{chosen[worst]}",
        data={"forces": exact[chosen].tolist(), "differences": found.tolist()},
    )


def _along(engine: Engine, x: Array, forces: Array, start: float, seed: int) -> float:
    """|F + dE/dx| along a direction in which every atom moves, so that no atom is left out, eV/angstrom."""
    direction = np.random.default_rng(seed).uniform(-1.0, 1.0, x.shape)

    def energy(by: float) -> float:
        engine.set_state(positions=x + by * direction)
        return engine.evaluate().energy

    largest = float(max(abs(forces).max(), 1e-12))
    return abs(slope(energy, ALL_STEP, start, largest) + float((forces * direction).sum()))


def virial_error(forcefield: ForceField, atoms: Atoms) -> Found:
    """Largest |W + dE/dstrain| over the largest component, of strains along periodic directions."""
    engine = Engine(atoms, forcefield)
    start = engine.evaluate()
    total = start.virials.sum(axis=0)
    symmetric = 0.5 * (total + total.T)
    x, cell = atoms.positions, atoms.cell.array
    scale = float(max(abs(symmetric).max(), 1e-12))
    found = np.zeros((3, 3))
    for a, b in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)):

        def energy(by: float, a: int = a, b: int = b) -> float:
            strain = np.eye(3)
            strain[a, b] += 0.5 * by
            strain[b, a] += 0.5 * by
            engine.set_state(positions=x @ strain, cell=cell @ strain)
            return engine.evaluate().energy

        found[a, b] = found[b, a] = -slope(energy, STRAIN, start.energy, scale)
    largest = float(max(abs(found).max(), abs(symmetric).max(), 1e-12))
    error = float(abs(symmetric - found).max()) / largest
    data = {"virial": symmetric.tolist(), "differences": found.tolist()}
    return Found(error, f"largest component {largest:.3g} eV", data=data)


def _apart(atoms: Atoms, forcefield: ForceField, order: Iterable[int]) -> list[int]:
    """Atoms, those first no pair of which is about to cross a cutoff."""
    from ase.neighborlist import neighbor_list

    finite = [one for one in forcefield.cutoffs if np.isfinite(one) and one < 20.0]
    near: set[int] = set()
    if finite:
        i, r = neighbor_list("id", atoms, max(finite) + 4.0 * MARGIN)
        near = {int(k) for c in finite for k in i[abs(r - c) < 4.0 * MARGIN]}
    return sorted((int(k) for k in order), key=lambda k: k in near)


def _forces(case: Case) -> Findings:
    return {"forces": force_error(case.gradient, case.shaken, case.level.moved, case.seed)}


def _virial(case: Case) -> Findings:
    if not case.forcefield.has_virial:
        return {"virial": NotRun(f"{case.name} gives no virial")}
    if case.shaken.pbc.any() and not case.shaken.pbc.all():
        return {"virial": NotRun("the structure is periodic in one or two directions only")}
    if case.forcefield.external and not case.shaken.pbc.all():
        return {"virial": NotRun("an external potential gives a virial of periodic structures only")}
    return {"virial": virial_error(case.gradient, case.shaken)}


CHECKS: tuple[Check, ...] = (
    Check((FORCES,), _forces, "forces against finite differences"),
    Check((VIRIAL,), _virial, "virial against strain derivatives"),
)
