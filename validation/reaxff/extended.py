"""What do an extended Lagrangian and a float32 matrix change in ReaxFF: drift, charges, forces, iterations?

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.extended
    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.extended --backend cuda --picoseconds 10

NVE of 100 water molecules at 300 K from the start of `reaxff.drift`, with consistent constants and steps of
0.25 fs. Errors are against charges to 1e-12 at the same positions, the largest of those seen through the run.
"""

from typing import Any

import numpy as np
from ase import Atoms, units

from validation import common
from validation.reaxff.drift import EVERY, FILE, reduced, start_of_runs

TIMESTEP, TIGHT, COMPARED = 0.25, 1e-12, 10
"""fs; charge tolerance of the reference; energies between two comparisons with it."""
ROUNDED: dict[str, Any] = {"matrix_precision": "float32"}
EXTENDED: dict[str, Any] = {"charges": "extended-lagrangian"}
CASES: list[dict[str, Any]] = [
    {"charge_tolerance": 1e-10},
    {},
    ROUNDED,
    {"charge_tolerance": 1e-10} | ROUNDED,
    EXTENDED,
    EXTENDED | ROUNDED,
]


def main() -> None:
    """Parse the command line, run all, write JSON after each run."""
    parser = common.parser(__doc__, "out")
    parser.add_argument("--picoseconds", type=float, default=0.5)
    parser.add_argument("--backend", default="cpu", choices=["cuda", "cpu"])
    options = parser.parse_args()
    on = "" if options.backend == "cpu" else f"_{options.backend}"
    out = options.out or common.RESULTS / f"reaxff_extended{on}.json"
    common.use_tests_folder()

    from taichimd.core import runtime

    runtime.start(options.backend)
    atoms = start_of_runs(options.backend)
    report: dict[str, Any] = {
        **common.provenance(),
        "file": FILE,
        "timestep_fs": TIMESTEP,
        "atoms": len(atoms),
    }
    report |= {"picoseconds": options.picoseconds, "runs": []}
    for case in CASES:
        report["runs"].append({"options": case, **run(atoms, case, options.picoseconds, options.backend)})
        common.write_json(out, report)
        print(report["runs"][-1], flush=True)


def run(atoms: Atoms, case: dict[str, Any], picoseconds: float, backend: str) -> dict[str, float]:
    """Drift, fluctuation about it, and errors of one run."""
    from taichimd.forcefields.reaxff.forcefield import ReaxFF
    from taichimd.program.engine import Engine

    def engine_of(**options: Any) -> Engine:
        return Engine(atoms, ReaxFF(FILE, constants="consistent", **options), backend=backend)

    engine, reference = engine_of(**case), engine_of(charge_tolerance=TIGHT)
    every = round(EVERY / TIMESTEP)
    energies, charges, forces = [], [0.0], [0.0]
    for k in range(round(1000 * picoseconds / EVERY) + 1):
        thermo = engine.thermo()
        energies.append(thermo.potential + thermo.kinetic)
        if k % COMPARED == COMPARED - 1:
            reference.set_state(positions=engine.positions())
            ours, tight = engine.evaluate(), reference.evaluate()
            charges.append(float(abs(ours.charges - tight.charges).max()))  # type: ignore[operator]
            forces.append(float(abs(ours.forces - tight.forces).max()))
        engine.advance(every, TIMESTEP * units.fs)
    solver: Any = engine.device.evaluators[0]
    return {
        **reduced(np.array(energies) / len(atoms), every, TIMESTEP),
        "mean_iterations": solver.charges.statistics().mean_iterations,
        "charge_error_e": max(charges),
        "force_error_eV_per_A": max(forces),
    }


if __name__ == "__main__":
    main()
