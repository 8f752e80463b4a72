"""How many iterations does a solve of ReaxFF's charges need, with and without a preconditioner of pairs?

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.iterations

300 atoms of water: the first solve, without a guess, and the mean of 100 steps of 0.25 fs.
"""

from pathlib import Path
from typing import Any

from ase import units

from validation import common
from validation.reaxff.drift import FILE, start_of_runs

STEPS = 100


def main() -> None:
    """Parse the command line, count, write JSON."""
    parser = common.parser(__doc__)
    parser.add_argument("--out", type=Path, default=common.RESULTS / "reaxff_iterations.json")
    options = parser.parse_args()
    common.use_tests_folder()

    from taichimd.core import runtime
    from taichimd.forcefields.reaxff import charges

    runtime.start("cpu")
    atoms = start_of_runs()
    report: dict[str, Any] = {**common.provenance(), "steps": STEPS, "rows": []}
    for radius in (charges.CLOSE, 0.0):
        charges.CLOSE = radius
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10):
            row = {"radius": radius, "charge_tolerance": tolerance, **iterations(atoms, tolerance)}
            report["rows"].append(row)
            print(row, flush=True)
    common.write_json(options.out, report)


def iterations(atoms: Any, tolerance: float) -> dict[str, float]:
    """Of the first solve, and the mean of the steps after ten."""
    from taichimd.forcefields.reaxff.forcefield import ReaxFF
    from taichimd.program.engine import Engine

    engine = Engine(atoms, ReaxFF(FILE, charge_tolerance=tolerance), backend="cpu")
    engine.evaluate()
    solver: Any = engine.device.evaluators[0]
    first, steps = solver.charges.statistics().iterations, []
    for _ in range(10 + STEPS):
        engine.advance(1, 0.25 * units.fs)
        steps.append(solver.charges.statistics().iterations)
    return {"first": first, "of_a_step": sum(steps[10:]) / STEPS}


if __name__ == "__main__":
    main()
