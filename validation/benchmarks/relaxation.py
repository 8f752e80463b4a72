"""How many force evaluations, and how long: our FIRE beside ASE's FIRE and BFGS on the same calculator.

    OPENBLAS_NUM_THREADS=1 python -m validation.benchmarks.relaxation

Every optimiser starts from the same rattled structure and ends at the same bound of the largest force. ASE's
optimisers ask our calculator, so that evaluations cost the same; what differs is who takes the steps. With
the cell, ASE relaxes through UnitCellFilter, whose bound of the virial per atom is the same number in eV;
ours is set to it, as a stress. BFGS holds a dense Hessian and is left out beyond `--bfgs-atoms`; on so
small a matrix more than one thread makes it slower.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.filters import UnitCellFilter
from ase.optimize import BFGS, FIRE

from validation import common


def rattled(atoms: Atoms, width: float, seed: int = 1) -> Atoms:
    """Every coordinate displaced by a normal deviate of this width (angstrom)."""
    atoms.positions += width * np.random.default_rng(seed).standard_normal((len(atoms), 3))
    return atoms


def strained(atoms: Atoms) -> Atoms:
    """A cell stretched and sheared by up to two per cent."""
    strain = np.array([[1.02, 0.01, 0.0], [0.01, 0.99, -0.015], [0.0, -0.015, 1.01]])
    atoms.set_cell(atoms.cell.array @ strain, scale_atoms=True)
    return atoms


def vacancy(cells: int) -> Atoms:
    """Silicon without one of its atoms: the neighbours have a way to go."""
    atoms = bulk("Si", a=5.432, cubic=True).repeat(cells)
    del atoms[0]
    return rattled(atoms, 0.05)


def argon_potential() -> Any:
    """Lennard-Jones argon, force-shifted: a minimiser needs a continuous force."""
    from taichimd import LennardJones

    return LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5, truncation="force-shifted")


CASES: dict[str, tuple[Callable[[], Atoms], Callable[[], Any], str]] = {
    "argon 500": (lambda: rattled(bulk("Ar", a=5.35, cubic=True).repeat(5), 0.2), argon_potential, "none"),
    "Si.sw vacancy 215": (lambda: vacancy(3), lambda: "Si.sw", "none"),
    "Si.tersoff vacancy 511": (lambda: vacancy(4), lambda: "Si.tersoff", "none"),
    "SiC_1989.tersoff 64": (
        lambda: rattled(bulk("SiC", "zincblende", a=4.36, cubic=True).repeat(2), 0.1),
        lambda: "SiC_1989.tersoff",
        "none",
    ),
    "Si.sw 4096": (lambda: rattled(bulk("Si", a=5.432, cubic=True).repeat(8), 0.1), lambda: "Si.sw", "none"),
    "argon 108, cell": (
        lambda: strained(rattled(bulk("Ar", a=5.35, cubic=True).repeat(3), 0.1)),
        argon_potential,
        "full",
    ),
    "Si.sw 64, cell": (
        lambda: strained(rattled(bulk("Si", a=5.5, cubic=True).repeat(2), 0.1)),
        lambda: "Si.sw",
        "full",
    ),
    "Si.sw 512, cell": (
        lambda: strained(rattled(bulk("Si", a=5.5, cubic=True).repeat(4), 0.1)),
        lambda: "Si.sw",
        "full",
    ),
}


def main() -> None:
    """Parse the command line, run the cases, write JSON, print the table."""
    parser = common.parser(__doc__, "backend", out="relaxation")
    parser.add_argument("--fmax", type=float, default=1e-3, help="eV/angstrom")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--bfgs-atoms", type=int, default=110, help="largest system for BFGS")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    options = parser.parse_args()

    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "fmax_eV_per_A": options.fmax, "cases": {}}
    for name in options.cases:
        report["cases"][name] = compare(name, options)
        common.write_json(options.out, report)
    print(table(report))


def compare(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One structure with all optimisers; each runs twice, and the second time counts: nothing compiles."""
    build, potential, cell = CASES[name]
    atoms, found = build(), {}
    print(f"{name} ...", flush=True)
    for _ in range(2):
        found["taichimd"] = ours(atoms, potential(), cell, options)
    for kind in (FIRE, BFGS):
        if kind is FIRE or len(atoms) <= options.bfgs_atoms:
            found[kind.__name__] = ases(kind, atoms, potential(), cell, options)
    return {"atoms": len(atoms), "cell": cell, "optimisers": found}


def ours(atoms: Atoms, potential: Any, cell: str, options: argparse.Namespace) -> dict[str, Any]:
    """`taichimd.relax`; the time is that of the steps."""
    from taichimd import relax
    from taichimd.core.units import GPA

    smax = options.fmax * len(atoms) / atoms.get_volume() / GPA
    run = relax(atoms, potential, fmax=options.fmax, steps=options.steps, cell=cell, smax=smax)
    return {
        "converged": run.converged,
        "evaluations": run.steps + 1,
        "seconds": run.seconds - run.first_seconds,
        "energy_eV_per_atom": run.energy / len(atoms),
    }


def ases(kind: Any, atoms: Atoms, potential: Any, cell: str, options: argparse.Namespace) -> dict[str, Any]:
    """An optimiser of ASE's on our calculator."""
    from taichimd import TaichiMD

    atoms = atoms.copy()
    atoms.calc = TaichiMD(potential)
    atoms.get_potential_energy()  # the engine and its lists are there when the clock starts
    optimiser = kind(atoms if cell == "none" else UnitCellFilter(atoms), logfile=None)
    started = time.perf_counter()
    converged = optimiser.run(fmax=options.fmax, steps=options.steps)
    return {
        "converged": bool(converged),
        "evaluations": optimiser.nsteps + 1,
        "seconds": time.perf_counter() - started,
        "energy_eV_per_atom": atoms.get_potential_energy() / len(atoms),
    }


def table(report: dict[str, Any]) -> str:
    """Evaluations and milliseconds of each optimiser; how far the minima are apart."""
    rows = []
    for name, case in report["cases"].items():
        runs = case["optimisers"]
        least = min(run["energy_eV_per_atom"] for run in runs.values())
        for optimiser, run in runs.items():
            ms = 1000 * run["seconds"]
            above = 1e6 * (run["energy_eV_per_atom"] - least)
            done = run["evaluations"] if run["converged"] else f"{run['evaluations']}, not converged"
            rows.append(
                (name, optimiser, done, f"{ms:.0f}", f"{ms / run['evaluations']:.2f}", f"{above:.3f}")
            )
    return common.table(
        rows, ("case", "optimiser", "evaluations", "ms", "ms each", "µeV/atom above the least")
    )


if __name__ == "__main__":
    main()
