"""ReaxFF by LAMMPS: its terms, charges, forces and virial, in our units, frame and order."""

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms, units

from taichimd.core.arrays import Array
from taichimd.core.units import KCAL_PER_MOL
from taichimd.lammps.reference import Box, lammps_box, running, setup_commands, unique_elements

COLUMNS = {
    "bond": "eb", "over and undercoordination": "ea", "lone pair": "elp", "angle": "ev", "penalty": "epen",
    "coalition": "ecoa", "hydrogen bond": "ehb", "torsion": "et", "conjugation": "eco", "van der Waals": "ew",
    "Coulomb": "ep", "polarisation": "eqeq",
}  # fmt: skip
"""Our names of terms, and LAMMPS's."""
FIXES = {"qeq": "qeq/reaxff", "qeqr": "qeq/rel/reaxff", "qtpie": "qtpie/reaxff", "acks2": "acks2/reaxff"}
"""LAMMPS's names of charge models."""
TIGHTER = 1e-10
"""Factor of the tolerance of ACKS2: its norm of residuals is larger than that of the other models."""
ORDER = ("eb", "ea", "elp", "emol", "ev", "epen", "ecoa", "ehb", "et", "eco", "ew", "ep", "efi", "eqeq")
ATM_PER_KCAL_A3 = 68568.415
"""LAMMPS real units, `force->nktv2p`: its pressure in atm for one kcal/mol/angstrom^3."""


@dataclass(frozen=True)
class ReaxReference:
    """What LAMMPS found."""

    terms: dict[str, float]  # eV, by our names, with "field" in a field
    charges: Array  # (n) e
    forces: Array  # (n, 3) eV/angstrom
    virial: Array  # (3, 3) eV, -stress * volume


def reaxff_setup(atoms: Atoms, box: Box, elements: list[str], file: str | Path) -> list[str]:
    """LAMMPS commands for an empty box with a ReaxFF potential."""
    commands = setup_commands(atoms, box, elements)
    commands[:2] = ["units real", "atom_style charge"]
    return [
        *commands,
        "pair_style reaxff NULL safezone 3.0 mincap 150 minhbonds 150",
        f"pair_coeff * * {file} {' '.join(elements)}",
        "neigh_modify one 20000 page 400000",
    ]


@dataclass(frozen=True)
class ChargeFix:
    """How LAMMPS finds charges."""

    model: str = "qeq"  # one of `FIXES`
    field: Sequence[float] = ()  # V/angstrom, in the user's frame; empty without one
    # of Gaussians by element, bohr^-2, for "qeqr" and "qtpie"
    exponents: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def commands(self, elements: Sequence[str], box: Box, tolerance: float, folder: str) -> list[str]:
        """LAMMPS commands of the field and of the charges; a file of exponents goes to the folder."""
        found, gauss = [], ""
        if self.field:
            turned = " ".join(repr(float(e)) for e in box.rotation @ np.array(self.field, float))
            found = [f"fix field all efield {turned}", "fix_modify field energy yes virial yes"]
        if self.exponents:
            gauss = f"{folder}/exponents"
            lines = [f"{k + 1} {self.exponents[name]!r}\n" for k, name in enumerate(elements)]
            Path(gauss).write_text("".join(lines))
        if self.model == "acks2":
            tolerance *= TIGHTER
        fix = f"fix charges all {FIXES[self.model]} 1 0.0 10.0 {tolerance} reaxff {gauss} maxiter 5000"
        return [*found, fix]


@contextmanager
def _with_atoms(
    atoms: Atoms, file: str | Path, tolerance: float, charges: ChargeFix = ChargeFix(), threads: int = 1
) -> Iterator[tuple[Any, Box]]:
    """LAMMPS with these atoms at rest, the potential and its charges; and its box."""
    box, elements = lammps_box(atoms, margin=20.0), unique_elements(atoms)
    setup = reaxff_setup(atoms, box, elements, file)
    with (
        running(atoms, np.zeros((len(atoms), 3)), box, setup, threads) as lmp,
        tempfile.TemporaryDirectory() as folder,
    ):
        for command in charges.commands(elements, box, tolerance, folder):
            lmp.command(command)
        yield lmp, box


def lammps_reaxff_nve(
    atoms: Atoms,
    file: str | Path,
    *,
    tolerance: float,
    timestep: float,
    n_steps: int,
    every: int,
    charges: ChargeFix = ChargeFix(),
    threads: int = 1,
    fixes: Sequence[str] = (),
) -> Array:
    """Total energy (eV) at the start and after each `every` of NVE steps of `timestep` fs, by LAMMPS.

    `fixes`: more of its commands, of files that it writes.
    """
    with _with_atoms(atoms, file, tolerance, charges, threads) as (lmp, box):
        speeds = (atoms.get_velocities() * units.fs) @ box.rotation.T
        lmp.scatter_atoms("v", 1, 3, np.ctypeslib.as_ctypes(np.ascontiguousarray(speeds).ravel()))
        for command in (
            "fix move all nve",
            *fixes,
            f"timestep {timestep}",
            "thermo_style custom step pe ke etotal",
            "run 0 post no",
        ):
            lmp.command(command)
        found = [lmp.get_thermo("etotal")]
        for _ in range(n_steps // every):
            lmp.command(f"run {every} pre no post no")
            found.append(lmp.get_thermo("etotal"))
        return np.array(found) * KCAL_PER_MOL


def lammps_reaxff(
    atoms: Atoms,
    file: str | Path,
    tolerance: float = 1e-12,
    bonds: Path | None = None,
    charges: ChargeFix = ChargeFix(),
) -> ReaxReference:
    """Evaluate a structure with LAMMPS's reaxff and its charges; `fix reaxff/bonds` writes to `bonds`.

    LAMMPS takes no image of a hydrogen bond's donor for an acceptor: it compares atoms, not images. In cells
    of 10 angstrom none is within 7.5 angstrom of the hydrogen.
    """
    with _with_atoms(atoms, file, tolerance, charges) as (lmp, box):
        for command in (
            *([] if bonds is None else [f"fix bonds all reaxff/bonds 1 {bonds}"]),
            "compute terms all pair reaxff",
            "compute press all pressure NULL virial",
            "variable bond equal c_terms[1]",
            "thermo_style custom step pe v_bond c_press[1]",
            "run 0 post no",
        ):
            lmp.command(command)
        values = dict(zip(ORDER, lmp.extract_compute("terms", 0, 1)[: len(ORDER)], strict=True))
        xx, yy, zz, xy, xz, yz = np.array(lmp.extract_compute("press", 0, 1)[:6])
        pressure = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / ATM_PER_KCAL_A3
        virial = pressure * np.diag(box.cell).prod() * KCAL_PER_MOL
        forces = np.array(lmp.gather_atoms("f", 1, 3)).reshape(-1, 3) * KCAL_PER_MOL
        terms = {name: values[column] * KCAL_PER_MOL for name, column in COLUMNS.items()}
        if charges.field:
            terms["field"] = lmp.extract_fix("field", 0, 0) * KCAL_PER_MOL
        return ReaxReference(
            terms,
            np.array(lmp.gather_atoms("q", 1, 1)),
            forces @ box.rotation,
            box.rotation.T @ virial @ box.rotation,
        )
