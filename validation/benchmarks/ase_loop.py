"""How much faster is our stepping loop than the same force field driven by ASE's VelocityVerlet?

    python -m validation.benchmarks.ase_loop --sizes 100000

Both run Tersoff silicon in this process, in turn: `Engine.advance`, and ASE's integrator with the calculator
`TaichiMD`, whose lists survive from step to step as they do in the engine. What ASE adds is the host: arrays
to and from the device, its comparisons and copies, the integration in NumPy, energies and virials each step.
"""

import argparse
import statistics
from typing import Any

import numpy as np
from ase.md.verlet import VelocityVerlet

from validation import common, systems
from validation.benchmarks.stepping import in_turn, measure_silicon, seconds, silicon_cells, warm_engine


def main() -> None:
    """Compare the loops for each size."""
    about = __doc__.splitlines()[0]
    measure_silicon(about, "ase_loop.json", compare, show, sizes=(8_000, 100_000), settle=200)


def compare(n_atoms: int, options: argparse.Namespace) -> dict[str, Any]:
    """Time both loops on one crystal, from the same positions and velocities."""
    from taichimd.calculator import TaichiMD

    system = systems.silicon(silicon_cells(n_atoms), 300.0, potential=options.potential)
    atoms = system.atoms.copy()
    engine = warm_engine(system, options.settle, precision=options.precision)
    atoms.calc = TaichiMD(options.potential, precision=options.precision)
    dynamics = VelocityVerlet(atoms, timestep=system.timestep)
    dynamics.run(options.settle)
    apart = float(np.abs(atoms.positions - engine.positions()).max())

    loops = {
        "engine": lambda n: seconds(lambda: engine.advance(n, system.timestep)),
        "ase": lambda n: seconds(lambda: dynamics.run(n)),
    }
    each, steps = in_turn(loops, options.seconds, options.repeats)
    ms = {name: statistics.median(found) for name, found in each.items()}
    return {
        "ms_per_step": ms,
        "ratio": ms["ase"] / ms["engine"],
        "ms_each": each,
        "steps_per_repeat": steps,
        "apart_after_settling_A": apart,
        "settling_steps": options.settle,
    }


def show(report: dict[str, Any]) -> None:
    """One line for each size."""
    rows = [
        (
            result["atoms"],
            f"{result['ms_per_step']['engine']:.4g}",
            f"{result['ms_per_step']['ase']:.4g}",
            f"{result['ratio']:.1f}x",
            f"{result['apart_after_settling_A']:.1e}",
        )
        for result in report["results"]
    ]
    print(common.table(rows, ("atoms", "engine ms/step", "ASE ms/step", "ratio", "max |dx| after settling")))


if __name__ == "__main__":
    main()
