"""LAMMPS with its own code for the same potential: energies, forces, virial, a trajectory."""

import os
from typing import Any

import numpy as np
from ase import Atoms, units

from taichimd.core.arrays import Array
from taichimd.core.errors import BackendError
from taichimd.lammps.reference import lammps_energies, lammps_evaluate, lammps_nve, lammps_reason
from taichimd.lammps.styles import Style, reaxff_file, style_of
from taichimd.program.engine import Engine
from taichimd.validation.case import Case
from taichimd.validation.elsewhere import Elsewhere
from taichimd.validation.measures import Check, Findings, Found, Measure, NotRun

CHARGES = 1e-12
"""Tolerance of charges on both sides."""
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
"""Environment of LAMMPS: threads that wait leave the processor to our checks."""
LAMMPS_THREADS = 4
"""At most, of a run of ReaxFF: its loops give each thread 50 atoms at a time."""
LEAST_WIDTH = 10.0
"""Angstrom of a cell. In smaller cells LAMMPS leaves out hydrogen bonds to an image of the donor."""
ENERGY = Measure("lammps-energy", "Does LAMMPS's own code give the same energy?", 1e-9)
FORCES = Measure("lammps-forces", "Does LAMMPS's own code give the same forces?", 1e-7)
VIRIAL = Measure("lammps-virial", "Does LAMMPS's own code give the same virial?", 1e-7)
TRAJECTORY = Measure(
    "lammps-trajectory", "Does LAMMPS have the same positions after 20 steps from the same start?", 1e-10, "Å"
)


def require_lammps() -> None:
    """Raise a BackendError if LAMMPS cannot be used here."""
    if reason := lammps_reason():
        raise BackendError(f"LAMMPS is not there: {reason}")


def differences(found: Any, energy: float, forces: Array, virial: Array) -> tuple[float, float, float]:
    """Relative differences of energy, of forces and of the virial, the last two to the largest component."""
    total = found.virials.sum(axis=0)
    symmetric = 0.5 * (total + total.T)
    return (
        abs(found.energy - energy) / max(abs(energy), 1e-12),
        float(abs(found.forces - forces).max() / max(abs(forces).max(), 1e-12)),
        float(abs(symmetric - virial).max() / max(abs(virial).max(), 1e-12)),
    )


def evaluation(case: Case) -> Findings:
    """Energy, forces and virial of the displaced structure."""
    require_lammps()
    atoms = case.shaken
    if (file := reaxff_file(case.forcefield)) is not None:
        from taichimd.forcefields.reaxff.forcefield import ReaxFF
        from taichimd.lammps.reaxff import lammps_reaxff

        atoms = repeated(atoms)
        # LAMMPS's forces are not the gradient between light and heavy atoms: docs/forcefields/reaxff.md.
        forcefield = ReaxFF(file, charge_tolerance=CHARGES, lammps_forces=True)
        theirs = lammps_reaxff(atoms, file, CHARGES)
        energy, forces, virial = sum(theirs.terms.values()), theirs.forces, theirs.virial
        told = f"ReaxFF of the file, charges to 1e-12, lammps_forces=True, {len(atoms)} atoms"
    else:
        style, forcefield = _style(case), case.forcefield
        reference = lammps_evaluate(atoms, style.pair_style, style.pair_coeff, pair_modify=style.pair_modify)
        energy, forces, virial = reference.energy, reference.forces, reference.virial
        told = f"pair_style {style.pair_style}"
    values = differences(Engine(atoms, forcefield).evaluate(), energy, forces, virial)
    names = ("lammps-energy", "lammps-forces", "lammps-virial")
    found: dict[str, Found | NotRun] = {
        name: Found(value, told) for name, value in zip(names, values, strict=True)
    }
    if not atoms.pbc.all():
        found["lammps-virial"] = NotRun("the structure is not periodic in three directions")
    return found


def repeated(atoms: Atoms) -> Atoms:
    """The structure, repeated until LAMMPS computes all its hydrogen bonds: those to images, too."""
    widths = 1.0 / np.linalg.norm(np.linalg.inv(atoms.cell.complete().array), axis=0)
    return atoms.repeat(np.where(atoms.pbc, np.ceil(LEAST_WIDTH / widths), 1).astype(int))


def trajectory(case: Case) -> Findings:
    """Positions after some steps from the same start."""
    require_lammps()
    if reaxff_file(case.forcefield) is not None:
        return {"lammps-trajectory": NotRun("charges of ReaxFF are converged to a tolerance in each program")}
    style, steps = _style(case), case.level.lammps
    reference = lammps_nve(
        case.moving, style.pair_style, style.pair_coeff, n_steps=steps, timestep=case.timestep,
        pair_modify=style.pair_modify,
    )  # fmt: skip
    engine = case.engine()
    engine.advance(steps, case.timestep)
    value = float(np.abs(engine.positions() - reference.positions).max())
    return {"lammps-trajectory": Found(value, f"{steps} steps")}


def lammps_series(case: Case, begin: Atoms, steps: int, every: int, timestep: float) -> Elsewhere:
    """A run of LAMMPS in another process: total energies (eV); the time step is in ASE's unit."""
    require_lammps()
    given: dict[str, Any] = {"atoms": begin, "n_steps": steps, "every": every}
    if (file := reaxff_file(case.forcefield)) is not None:
        from taichimd.lammps.reaxff import lammps_reaxff_nve

        threads = max(1, min(LAMMPS_THREADS, (os.cpu_count() or 1) // 2 - 1))
        given |= {"file": file, "tolerance": 1e-6, "timestep": timestep / units.fs, "threads": threads}
        return Elsewhere(lammps_reaxff_nve, given, PASSIVE)
    style = _style(case)
    given |= {
        "timestep": timestep, "pair_style": style.pair_style, "pair_coeff": style.pair_coeff,
        "pair_modify": style.pair_modify,
    }  # fmt: skip
    return Elsewhere(lammps_energies, given)


def _style(case: Case) -> Style:
    return style_of(case.forcefield, case.species)


CHECKS: tuple[Check, ...] = (
    Check((ENERGY, FORCES, VIRIAL), evaluation, "LAMMPS's energies and forces"),
    Check((TRAJECTORY,), trajectory, "LAMMPS's trajectory"),
)
