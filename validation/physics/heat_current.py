"""Is the heat current the time derivative of sum r_i E_i? Ours and LAMMPS's, on isolated thermal clusters.

    python -m validation.physics.heat_current

In an isolated cluster J = d/dt sum_i r_i E_i by definition, with E_i the potential energy that the program
itself gives to atom i, plus its kinetic energy. Both programs start from the same positions and velocities;
nine values along a trajectory of 0.04 fs each way give the derivative to about 1e-8. LAMMPS computes J from
six components of a per-atom stress that divides each three-body term evenly among its atoms (`compute
heat/flux` with `compute stress/atom`); its `centroid/stress/atom` refuses these potentials.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from taichimd.lammps.styles import style_of
from taichimd.validation.heat import FIRST, STRIDE, TIMESTEP, identity, warmed
from validation import common

RADIUS = 1.35
"""Of a cluster, in lattice constants."""
CASES = {
    "Ar, Lennard-Jones": ("lj", "Ar", "fcc", 5.3, 60.0),
    "Si, Stillinger-Weber": ("Si.sw", "Si", "diamond", 5.432, 1000.0),
    "GaN, Stillinger-Weber": ("GaN_2006.sw", "GaN", "zincblende", 4.5, 1000.0),
    "Si, Tersoff 1988": ("Si.tersoff", "Si", "diamond", 5.432, 1000.0),
    "C, Tersoff 1988": ("C_1988.tersoff", "C", "diamond", 3.566, 1000.0),
    "SiC, Tersoff 1989": ("SiC_1989.tersoff", "SiC", "zincblende", 4.36, 1000.0),
    "SiC, Vashishta 2007": ("SiC_2007.vashishta", "SiC", "zincblende", 4.36, 1000.0),
    "InP, Vashishta 2009": ("InP_2009.vashishta", "InP", "zincblende", 5.87, 1000.0),
}
"""Potential, crystal, lattice constant (angstrom), temperature of displacements and velocities (K)."""
EPSILON, SIGMA, CUTOFF = 0.0104, 3.40, 8.5


def main() -> None:
    """Parse the command line, run both programs, write JSON and a plot."""
    parser = common.parser(__doc__, "backend", out="heat_current")
    parser.add_argument("--clusters", type=int, default=8, help="random clusters for each potential")
    options = parser.parse_args()

    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "timestep": TIMESTEP, "stride": STRIDE, "cases": {}}
    for name in CASES:
        report["cases"][name] = compare(name, options)
        print(f"{name}: done", flush=True)
    common.write_json(options.out, report)
    plot(report, options.out.with_suffix(".png"))
    rows = [
        (
            name,
            case["atoms"],
            f"{max(case['taichimd']):.1e}",
            *(f"{f(case['lammps']):.1e}" for f in (min, max)),
        )
        for name, case in report["cases"].items()
    ]
    print(
        common.table(rows, ("clusters", "atoms", "taichimd, largest", "LAMMPS, smallest", "LAMMPS, largest"))
    )
    print(f"written: {options.out.name}, {options.out.with_suffix('.png').name}")


def compare(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Relative errors |J - d/dt sum r E| / |d/dt sum r E| of both programs on each cluster."""
    from taichimd.program.engine import Engine

    common.use_tests_folder()
    from lammps_heat import lammps_heat

    potential, formula, *_ = CASES[name]
    if potential == "lj":
        from taichimd.forcefields.lennard_jones import LennardJones

        forcefield: Any = LennardJones(epsilon=EPSILON, sigma=SIGMA, cutoff=CUTOFF)
    else:
        from taichimd.forcefields.load import load_forcefield

        forcefield = load_forcefield(potential)
    style = style_of(forcefield, Atoms(formula).get_chemical_symbols())
    found: dict[str, Any] = {"taichimd": [], "lammps": [], "difference_of_slopes": []}
    for seed in range(options.clusters):
        atoms = cluster(name, seed, forcefield.cutoffs)
        engine = Engine(atoms, forcefield, backend=options.backend)
        slope, current = identity(engine, atoms.get_masses())
        currents, moments = lammps_heat(
            atoms, style.pair_style, style.pair_coeff, timestep=TIMESTEP, stride=STRIDE, samples=len(FIRST)
        )
        their_slope = FIRST @ moments / (STRIDE * TIMESTEP)
        size = np.linalg.norm
        found["taichimd"].append(size(current - slope) / size(slope))
        found["lammps"].append(size(currents[len(FIRST) // 2] - their_slope) / size(their_slope))
        # Not an error: the two programs may divide the energy of a bond in different ways.
        found["difference_of_slopes"].append(size(their_slope - slope) / size(slope))
    return {"potential": potential, "atoms": len(atoms), "temperature_K": CASES[name][-1], **found}


def cluster(name: str, seed: int, cutoffs: Any) -> Atoms:
    """A warm ball of crystal around a random point, no pair about to cross a cutoff."""
    _, formula, lattice, a, temperature = CASES[name]
    rng = np.random.default_rng(seed)
    crystal = bulk(formula, lattice, a=a, cubic=True) * 4
    center = crystal.cell.sum(axis=0) / 2 + rng.uniform(-0.5, 0.5, 3) * a
    near = np.linalg.norm(crystal.positions - center, axis=1) < RADIUS * a
    ball = Atoms(crystal.symbols[near], crystal.positions[near])
    return warmed(ball, 0.02 * a, cutoffs, temperature, seed)


def plot(report: dict[str, Any], path: Path) -> None:
    """Relative errors of both programs, one point for each cluster."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cases = report["cases"]
    figure, panel = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
    styles = {
        "lammps": ("LAMMPS, heat/flux with stress/atom", "o", "C3"),
        "taichimd": ("taichimd", "s", "C0"),
    }
    for program, (label, marker, color) in styles.items():
        for row, case in enumerate(cases.values()):
            errors = case[program]
            spread = row + np.linspace(-0.2, 0.2, len(errors))
            panel.plot(
                errors, spread, marker, color=color, ms=4.5, alpha=0.75, label=label if row == 0 else None
            )
    panel.set_xscale("log")
    panel.set_xlim(1e-11, 3.0)
    panel.set_yticks(range(len(cases)), list(cases))
    panel.invert_yaxis()
    panel.grid(axis="x", alpha=0.3)
    panel.set_xlabel("relative error of the heat current, |J − d/dt Σ r E| / |d/dt Σ r E|")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main()
