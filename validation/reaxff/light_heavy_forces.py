"""Are ReaxFF's forces the gradient of the energy where a light atom has a pi bond to a heavy one?

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.light_heavy_forces

A hot box of Si, O and H. LAMMPS's own energy is differenced at fixed charges, along all coordinates of all
atoms: its terms without charges, and the Coulomb energy by its definition. LAMMPS's forces and ours are
compared with that.
"""

from pathlib import Path
from typing import Any

import numpy as np

from validation import common

SYSTEM = "hot SiOH"
H = 1e-5
"""angstrom"""
STENCIL = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))
WITH_CHARGES = ("Coulomb", "polarisation")


def main() -> None:
    """Parse the command line, compare, write JSON and a plot."""
    parser = common.parser(__doc__, out="reaxff_light_heavy")
    options = parser.parse_args()
    common.use_tests_folder()

    from peers import path_of
    from reaxff_samples import SYSTEMS

    from taichimd.core import runtime
    from taichimd.forcefields.reaxff.forcefield import ReaxFF
    from taichimd.lammps.reaxff import lammps_reaxff
    from taichimd.program.engine import Engine

    runtime.start("cpu")
    make, file = SYSTEMS[SYSTEM]
    atoms, path = make(), path_of(file)
    theirs = lammps_reaxff(atoms, path)
    ours = Engine(atoms, ReaxFF(path, charge_tolerance=1e-12), backend="cpu").evaluate().forces
    gradient = -derivative_of_lammps_energy(atoms, path, theirs.charges)
    report: dict[str, Any] = {
        **common.provenance(),
        "system": SYSTEM,
        "symbols": list(atoms.symbols),
        "largest_force": float(np.linalg.norm(theirs.forces, axis=1).max()),
        "lammps": np.linalg.norm(theirs.forces - gradient, axis=1).tolist(),
        "taichimd": np.linalg.norm(ours - gradient, axis=1).tolist(),
    }
    common.write_json(options.out, report)
    plot(report, options.out.with_suffix(".png"))
    for name in ("lammps", "taichimd"):
        print(f"{name}: largest difference from the gradient {max(report[name]):.1e} eV/angstrom")


def derivative_of_lammps_energy(atoms: Any, path: Path, charges: np.ndarray) -> np.ndarray:
    """(n, 3) eV/angstrom, at these charges."""
    from reaxff_dense import Dense

    from taichimd.forcefields.reaxff.options import CONSTANTS
    from taichimd.lammps.reaxff import lammps_reaxff

    dense, half = Dense(path, atoms), CONSTANTS["lammps"].coulomb / 2
    slopes = np.zeros((len(atoms), 3))
    for i, a in np.ndindex(*slopes.shape):
        for step, weight in STENCIL:
            moved = atoms.copy()
            moved.positions[i, a] += step * H
            terms = lammps_reaxff(moved, path).terms
            energy = sum(value for name, value in terms.items() if name not in WITH_CHARGES)
            coulomb = half * charges @ dense.screening(moved.positions, moved.cell.array) @ charges
            slopes[i, a] += weight * (energy + coulomb) / H
    return slopes


def plot(report: dict[str, Any], path: Path) -> None:
    """Difference from the gradient of each atom, largest first."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.subplots()
    order = np.argsort(report["lammps"])[::-1]
    for name, label, marker in (("lammps", "LAMMPS", "o"), ("taichimd", "taichimd", "s")):
        axes.semilogy(np.array(report[name])[order], marker, ms=4, label=label)
    axes.set_xlabel("atom")
    axes.set_ylabel("|force - gradient| (eV/Å)")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
