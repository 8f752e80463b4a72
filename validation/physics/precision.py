"""What do float64, mixed and float32 cost and give: force errors, energy drift and speed of each.

    python -m validation.physics.precision --steps 100000

Errors are those against float64 of the same configuration, taken from a warm run. Drift is NVE from there on;
speed is measured on the benchmark systems, the three in turn.
"""

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from ase import Atoms, units

from taichimd.validation.drift import reduce_energies, sample
from taichimd.validation.precision import force_errors as precision_errors
from validation import common, systems
from validation.benchmarks.stepping import in_turn, seconds, state_of, warm_engine
from validation.benchmarks.systems import CASES as BENCHMARKS
from validation.physics import energy_drift

PRECISIONS = ("float64", "mixed", "float32")
FAR = 100
"""Cells between the origin and the atoms of the second evaluation."""
CASES: dict[str, Callable[[], systems.System]] = {
    "tersoff-si": lambda: systems.silicon(5, 600.0),
    "sw-si": lambda: systems.silicon(5, 600.0, potential="Si.sw"),
    "lj-argon": lambda: systems.argon_liquid(
        10, reduced_timestep=energy_drift.ARGON_REDUCED_TIMESTEP, truncation="force-shifted"
    ),
}


def main() -> None:
    """Parse the command line, run the cases, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__, "backend", out="precision")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--steps", type=int, default=100_000, help="of the drift")
    parser.add_argument("--every", type=int, default=50, help="steps between two samples of the energy")
    parser.add_argument("--equilibrate", type=int, default=5_000, help="steps before everything")
    parser.add_argument("--speed-atoms", nargs="+", type=int, help="sizes to time (default: by backend)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of one timed run, about")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.steps < 20 * options.every:
        parser.error(f"--steps {options.steps} gives fewer than 20 samples at --every {options.every}")

    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "cases": {}}
    for name in options.cases:
        print(f"{name} ...", flush=True)
        system = CASES[name]()
        atoms = warm(system, options.equilibrate)
        report["cases"][name] = {
            "atoms": len(atoms),
            "steps": options.steps,
            "timestep_fs": system.timestep / units.fs,
            "settings": system.notes,
            "errors": force_errors(atoms, system),
            "drift": {p: drift(atoms, system, p, options) for p in PRECISIONS},
            "speed": [speeds(name, n_atoms, options) for n_atoms in sizes(name, options)],
        }
        common.write_json(options.out, report)
    show(report)
    print(f"written: {options.out.name}")


def warm(system: systems.System, steps: int) -> Atoms:
    """The system after so many steps in float64, with velocities."""
    return state_of(warm_engine(system, steps), system.atoms)


def force_errors(atoms: Atoms, system: systems.System) -> dict[str, Any]:
    """Differences from float64, over the rms force; at the configuration, and far from the origin."""
    from taichimd.program.engine import Engine

    found: dict[str, Any] = {}
    for where, cells in (("here", 0), ("far", FAR)):
        moved = atoms.copy()
        moved.positions += cells * atoms.cell.array.sum(axis=0)
        forcefield = system.forcefield()
        exact = Engine(moved, forcefield).evaluate()
        rms = float(np.sqrt((exact.forces**2).mean()))
        found[where] = {"rms_force_eV_per_A": rms}
        for precision in PRECISIONS[1:]:
            found[where][precision] = precision_errors(moved, forcefield, precision, exact)
    return found


def drift(
    atoms: Atoms, system: systems.System, precision: str, options: argparse.Namespace
) -> dict[str, Any]:
    """Slope and scatter of the total energy, see `reduce_energies`."""
    from taichimd.program.engine import Engine

    engine = Engine(atoms, system.forcefield(), precision=precision)
    times, energies, _ = sample(engine, system.timestep, options.steps, options.every)
    return reduce_energies(times, energies)


def sizes(name: str, options: argparse.Namespace) -> list[int]:
    """Numbers of atoms of a benchmark that are timed."""
    from taichimd.core import runtime

    case = BENCHMARKS[name]
    if options.speed_atoms:
        fits = (
            round((n / case.atoms_per_cell) ** (1 / 3)) ** 3 * case.atoms_per_cell
            for n in options.speed_atoms
        )
        return [n for n, cube in zip(options.speed_atoms, fits, strict=True) if n == cube]
    return [case.cuda_sizes[0], case.cuda_sizes[-1]] if runtime.backend() == "cuda" else [case.cpu_sizes[0]]


def speeds(name: str, n_atoms: int, options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds per step in each precision, medians of runs in turn."""
    system = BENCHMARKS[name].system(n_atoms)
    engines = {p: warm_engine(system, 200, precision=p) for p in PRECISIONS}

    def run(precision: str, n: int) -> float:
        return seconds(lambda: engines[precision].advance(n, system.timestep))

    each, steps = in_turn({p: partial(run, p) for p in PRECISIONS}, options.seconds, options.repeats)
    ms = {p: statistics.median(found) for p, found in each.items()}
    return {
        "atoms": n_atoms,
        "ms_per_step": ms,
        "faster_than_float64": {p: ms["float64"] / ms[p] for p in PRECISIONS},
        "ms_each": each,
        "steps_per_repeat": steps,
    }


def show(report: dict[str, Any]) -> None:
    """One line for each case and precision."""
    rows = []
    for name, case in report["cases"].items():
        for precision in PRECISIONS:
            here, far = (case["errors"][where].get(precision) for where in ("here", "far"))
            drifted = case["drift"][precision]
            timed = [
                f"{s['ms_per_step'][precision]:.3g} ({s['faster_than_float64'][precision]:.2f}x)"
                for s in case["speed"]
            ]
            rows.append(
                (
                    name,
                    precision,
                    f"{here['rms']:.1e}, {here['largest']:.1e}" if here else "-",
                    f"{far['rms']:.1e}, {far['largest']:.1e}" if far else "-",
                    f"{1e3 * drifted['slope_eV_per_atom_ns']:.1e} +- {1e3 * drifted['slope_error']:.0e}",
                    f"{drifted['rms_eV_per_atom']:.1e}",
                    ", ".join(timed),
                )
            )
    sized = {name: [s["atoms"] for s in case["speed"]] for name, case in report["cases"].items()}
    print(f"{report['runtime'].get('runtime')} on {report['runtime'].get('device')}; timed: {sized}")
    header = (
        "case", "precision", "force error rms, max", "far away", "slope µeV/atom/ps", "rms eV/atom",
        "ms/step",
    )  # fmt: skip
    print(common.table(rows, header))


if __name__ == "__main__":
    main()
