"""The crystal at rest: it relaxes to a minimum of its energy, where nothing pulls at the cell."""

import warnings
from dataclasses import dataclass
from typing import Any

from ase import Atoms

from taichimd.core.errors import TaichimdError, TaichimdWarning
from taichimd.forcefields.base import ForceField
from taichimd.relaxation.relax import relax
from taichimd.validation.case import Case
from taichimd.validation.measures import Check, Findings, Found, Measure, NotRun

FMAX = 1e-3
"""eV/angstrom."""
STEPS = 2000
RELAXATION = Measure("relaxation", "Does the structure relax to a minimum: no force is left?", FMAX, "eV/Å")


@dataclass(frozen=True)
class Rested:
    """A structure at rest."""

    atoms: Atoms  # relaxed, or as they were if that failed
    # energy per atom (eV), cell lengths (angstrom), pressure (GPa), whether it converged
    facts: dict[str, Any]


def rested(atoms: Atoms, forcefield: ForceField) -> Rested:
    """The crystal that the suite builds at the lattice constant of its force field.

    Where nothing bounds the energy, or where the relaxation fails, it stays as built.
    """
    try:
        forcefield.check_bounded()
        cell = "isotropic" if atoms.pbc.all() and forcefield.has_virial else "none"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TaichimdWarning)
            found = relax(atoms, forcefield, fmax=FMAX, steps=STEPS, cell=cell, smax=FMAX)  # type: ignore[arg-type]
    except TaichimdError as error:
        return Rested(atoms, {"reason": str(error)})
    facts = {
        "converged": found.converged, "reason": found.reason, "steps": found.steps,
        "fmax_eV_per_A": found.fmax,
        "energy_eV_per_atom": found.energy / len(atoms), "pressure_GPa": found.pressure,
        "cell_A": found.atoms.cell.lengths().tolist(),
    }  # fmt: skip
    if not found.converged:
        return Rested(atoms, facts)
    still = atoms.copy()
    still.set_cell(found.atoms.cell.array)
    still.positions = found.atoms.positions
    return Rested(still, facts)


def relaxation(case: Case) -> Findings:
    """What the relaxation of the crystal has found; a given structure is relaxed here."""
    case.forcefield.check_bounded()
    facts = case.facts or rested(case.atoms, case.forcefield).facts
    if "fmax_eV_per_A" not in facts:
        return {"relaxation": Found(float("nan"), str(facts["reason"]))}
    told = f"{facts['steps']} steps, {facts['energy_eV_per_atom']:.6f} eV per atom"
    if case.built:
        told += f", cell {', '.join(f'{one:.4f}' for one in facts['cell_A'])} Å"
    if facts["reason"] == "out of steps":
        return {"relaxation": NotRun(f"not at rest after {facts['steps']} steps")}
    return {"relaxation": Found(facts["fmax_eV_per_A"], told, data=facts)}


CHECKS: tuple[Check, ...] = (Check((RELAXATION,), relaxation, "relaxation"),)
