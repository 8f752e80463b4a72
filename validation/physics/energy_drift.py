"""Does the total energy stay where it was? NVE for 100,000 steps, slope with its error, and the scatter.

    python -m validation.physics.energy_drift --backend auto --steps 100000

Velocity Verlet with exact forces has no drift but a fluctuation of order dt^2. A truncated (not shifted)
Lennard-Jones force jumps at the cutoff, so its energy diffuses; the force-shifted one is there to compare.
"""

import argparse
import json
import time
from typing import Any

from ase import units

from taichimd.validation.drift import reduce_energies, sample
from validation import common, systems

ARGON_REDUCED_TIMESTEP = 0.00462
"""Of sigma sqrt(m/epsilon): 9.9 fs, the step at which LAMMPS's drift was measured for comparison."""

CASES = {
    "tersoff-si-1000": lambda: systems.silicon(5, 300.0),
    "lj-argon-4000-truncated": lambda: systems.argon_liquid(10, reduced_timestep=ARGON_REDUCED_TIMESTEP),
    "lj-argon-4000-force-shifted": lambda: systems.argon_liquid(
        10, reduced_timestep=ARGON_REDUCED_TIMESTEP, truncation="force-shifted"
    ),
}

LAMMPS_DRIFT = {
    "tersoff-si-1000": {"slope": -4.7e-6, "rms": 1.2e-6, "largest": 5.6e-6, "length_ns": 0.1},
    "lj-argon-4000-truncated": {"slope": 9.3e-7, "rms": 3.9e-6, "largest": 1.7e-5, "length_ns": 1.07},
    "lj-argon-4000-force-shifted": {"slope": 1.7e-9, "rms": 3.1e-7, "largest": 1.3e-6, "length_ns": 1.07},
}
"""LAMMPS on the same systems, measured by us on 2026-11-21 (slope eV/atom/ns, the others eV/atom)."""


def main() -> None:
    """Parse the command line, run the cases, write JSON."""
    parser = common.parser(__doc__, "backend", out="energy_drift")
    parser.add_argument("--precision", default="float64", choices=["float64", "mixed", "float32"])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=100, help="steps between two samples of the energy")
    parser.add_argument("--equilibrate", type=int, default=5_000, help="steps before the first sample")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    options = parser.parse_args()
    if options.steps < 20 * options.every:
        parser.error(f"--steps {options.steps} gives fewer than 20 samples at --every {options.every}")

    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "precision": options.precision, "cases": {}}
    for name in options.cases:
        report["cases"][name] = drift(name, options)
        common.write_json(options.out, report)
    show(report)
    print(f"written: {options.out.name}")


def drift(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one case and reduce its energies."""
    from taichimd.program.engine import Engine

    system = CASES[name]()
    engine = Engine(system.atoms, system.forcefield(), backend=options.backend, precision=options.precision)
    print(f"{name}: {options.steps} steps ...", flush=True)
    compiled = engine.warm_up()
    engine.advance(options.equilibrate, system.timestep)
    started = time.perf_counter()
    times, energies, temperatures = sample(engine, system.timestep, options.steps, options.every)
    wall = time.perf_counter() - started
    return {
        **reduce_energies(times, energies),
        "atoms": engine.n_atoms,
        "timestep_fs": system.timestep / units.fs,
        "steps": options.steps,
        "equilibration_steps": options.equilibrate,
        "temperature_K": float(temperatures.mean()),
        "compile_s": compiled,
        "wall_s": wall,
        "lammps": LAMMPS_DRIFT.get(name),
        "settings": system.notes,
        "statistics": json.loads(json.dumps(engine.statistics(), default=str)),
        "times_ns": times.tolist(),
        "energies_eV_per_atom": energies.tolist(),
    }


def show(report: dict[str, Any]) -> None:
    """One line for each case, LAMMPS's figures beside ours."""
    rows = []
    for name, case in report["cases"].items():
        theirs = case["lammps"] or {"slope": float("nan"), "rms": float("nan")}
        rows.append(
            (
                name,
                f"{case['length_ns']:.3f}",
                f"{1e3 * case['slope_eV_per_atom_ns']:.1e} +- {1e3 * case['slope_error']:.0e}",
                f"{case['rms_eV_per_atom']:.1e}",
                f"{case['largest_eV_per_atom']:.1e}",
                f"{1e3 * theirs['slope']:.1e}, {theirs['rms']:.1e}",
            )
        )
    print(common.table(rows, ("case", "ns", "slope µeV/atom/ps", "rms", "max |E-E0|/N", "LAMMPS slope, rms")))


if __name__ == "__main__":
    main()
