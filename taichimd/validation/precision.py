"""What the faster precisions cost: differences of forces and energy from float64."""

from typing import Any

import numpy as np
from ase import Atoms

from taichimd.forcefields.base import ForceField
from taichimd.program.engine import Engine
from taichimd.validation.case import Case
from taichimd.validation.measures import Check, Findings, Found, Measure

FASTER = ("mixed", "float32")
LIMIT = 1e-4
MIXED = Measure(
    "mixed", "Are the forces of the precision mixed nearly equal to the forces of float64?", LIMIT
)
FLOAT32 = Measure(
    "float32", "Are the forces of the precision float32 nearly equal to the forces of float64?", LIMIT
)


def force_errors(atoms: Atoms, forcefield: ForceField, precision: str, exact: Any = None) -> dict[str, float]:
    """Differences from float64 of one structure, in mixed or float32.

    rms and largest difference of forces over the rms force, relative difference of the energy, and the
    largest component of the net force (eV/angstrom).
    """
    exact = exact or Engine(atoms, forcefield).evaluate()
    rms = float(np.sqrt((exact.forces**2).mean()))
    other = Engine(atoms, forcefield, precision=precision).evaluate()
    difference = other.forces - exact.forces
    return {
        "rms": float(np.sqrt((difference**2).mean())) / rms,
        "largest": float(np.abs(difference).max()) / rms,
        "energy": other.energy / exact.energy - 1.0,
        "net_force_eV_per_A": float(np.abs(other.forces.sum(axis=0)).max()),
    }


def _of(precision: str) -> Any:
    def run(case: Case) -> Findings:
        case.forcefield.check_compiled(f"the precision {precision}")
        found = force_errors(case.shaken, case.forcefield, precision)
        told = f"largest {found['largest']:.1e}, energy {abs(found['energy']):.1e}"
        return {precision: Found(found["rms"], told, data=found)}

    return run


CHECKS: tuple[Check, ...] = (
    Check((MIXED,), _of("mixed"), "precision mixed"),
    Check((FLOAT32,), _of("float32"), "precision float32"),
)
