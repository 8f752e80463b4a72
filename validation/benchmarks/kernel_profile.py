"""What limits the kernels of a step? Hardware counters of NVIDIA's profiler, kernel by kernel.

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.kernel_profile --cases "sw-si 64000" \
        "vashishta-sio2 12288"
    ... --data FOLDER --steps 2 --settle 60 --cases "reaxff-water 6540" "reaxff-water 52320"

FOLDER as in `validation.reaxff.systems`. It needs `ncu` and CuPy. The profiler cannot see kernels in loops on
the device, so the host queues each call of steps here (`TAICHIMD_DEVICE_LOOPS=0`). Kernels are listed in the
order of their launch, the longest launch of each name. `us` is at the clock that the profiler sees, without
other kernels beside. The last step of a call evaluates energies and virials, too: with one step the kernels
of ReaxFF are those of such a step.
"""

import argparse
import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from validation import common

METRICS = {
    "us": ("gpu__time_duration.sum", 1e-3),
    "MB": ("dram__bytes.sum", 1e-6),
    "memory_percent": ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "l2_percent": ("lts__throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "l1_percent": ("l1tex__throughput.avg.pct_of_peak_sustained_active", 1.0),
    "l1_hits_percent": ("l1tex__t_sector_hit_rate.pct", 1.0),
    "fp64_percent": ("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", 1.0),
    "issue_percent": ("sm__inst_issued.avg.pct_of_peak_sustained_active", 1.0),
    "warps_percent": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1.0),
    "registers": ("launch__registers_per_thread", 1.0),
    "threads": ("launch__thread_count", 1.0),
    "wait_memory": ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 1.0),
    "wait_arithmetic": ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", 1.0),
    "wait_shared": ("smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", 1.0),
    "wait_pipe": ("smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", 1.0),
    "lanes_on": ("smsp__thread_inst_executed_per_inst_executed.ratio", 1.0),
}
"""Name here: name of the profiler and factor."""

KERNELS = {
    "hydrogen bonds": "bonded_.*_kernel_14_",
    "van der Waals and Coulomb": "(forces|everything)_.*_kernel_1_",
    "charges: matrix": "cut_c.*_kernel_1_",
    "torsions": "bonded_.*_kernel_11_",
    "charges: factors of the preconditioner": "cut_c.*_kernel_3_",
    "angles": "bonded_.*_kernel_10_",
    "search of bonds": "bonded_.*_kernel_3_",
    "charges: product, one iteration": "iterate_.*_kernel_1_",
    "forces of bond orders": "bonded_.*_kernel_19_",
    "coordination": "bonded_.*_kernel_9_",
    "charges: sums, one iteration": "iterate_.*_kernel_2_",
}
"""The longest kernels of ReaxFF. Of a kernel for forces alone and one for everything, the first is meant."""


def floors(kernels: dict[str, Any]) -> list[list[str]]:
    """Rows of a page: each of `KERNELS` with its time, its floor (us) and the fraction of it that is reached.

    The floor is the longer of two times: that of the kernel's bytes at the full bandwidth of the memory, and
    that of its float64 instructions if the pipe always worked and all 32 threads of a warp took part.
    """
    rows = []
    for name, pattern in KERNELS.items():
        one = next(value for key, value in kernels.items() if re.match(pattern, key))
        arithmetic = one["fp64_percent"] * one["lanes_on"] / 32.0
        percent = max(arithmetic, one["memory_percent"])
        what = "memory" if one["memory_percent"] > arithmetic else "float64"
        numbers = [f"{one['us']:.0f}", f"{one['us'] * percent / 100.0:.0f}", what, f"{percent:.0f}"]
        rest = [f"{one[key]:.0f}" for key in ("registers", "warps_percent", "lanes_on")]
        rows.append([name, *numbers, *rest])
    return rows


def main() -> None:
    """Run the cases under the profiler and write the JSON."""
    parser = common.parser(__doc__, out="kernel_profile")
    parser.add_argument("--cases", nargs="+", default=["sw-si 64000", "vashishta-sio2 12288"])
    parser.add_argument("--settle", type=int, default=300, help="steps before those that are profiled")
    parser.add_argument("--steps", type=int, default=3, help="that are profiled")
    parser.add_argument("--data", type=Path, help="folder of the water of ReaxFF")
    parser.add_argument("--part", action="store_true", help="only run the case, for the profiler")
    options = parser.parse_args()
    if options.part:
        step(options)
        return
    report: dict[str, Any] = {**common.provenance(), "steps": options.steps, "cases": {}}
    for case in options.cases:
        report["cases"][case] = kernels = profile(case, options)
        common.write_json(options.out, report)
        rows = [[name[:40], *(f"{one[key]:.4g}" for key in METRICS)] for name, one in kernels.items()]
        print(case, common.table(rows, ["kernel", *METRICS]), sep="\n", flush=True)


def step(options: argparse.Namespace) -> None:
    """Do the steps of a case that the profiler looks at."""
    from cupy.cuda import profiler

    from taichimd.core import runtime
    from taichimd.core.runtime import ti
    from validation.benchmarks.stepping import warm_engine
    from validation.benchmarks.systems import CASES
    from validation.reaxff.systems import SETTINGS, engine_of

    runtime.start("cuda")
    name, atoms = options.cases[0].split()
    if name == "reaxff-water":
        from ase import units

        timestep, tolerance = SETTINGS["today"][0] * units.fs, SETTINGS["today"][1]
        engine = engine_of(options.data, f"water {int(atoms):,}", tolerance, "cuda")
        engine.warm_up()
        engine.advance(options.settle, timestep)
    else:
        system = CASES[name].system(int(atoms))
        timestep = system.timestep
        engine = warm_engine(system, options.settle, backend="cuda")
    ti.sync()
    profiler.start()
    engine.advance(options.steps, timestep)
    ti.sync()
    profiler.stop()


def profile(case: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Counters of the longest launch of each kernel of a case."""
    names = ",".join(name for name, _ in METRICS.values())
    command = [
        "ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--profile-from-start", "off", "--metrics", names,
        sys.executable, "-m", "validation.benchmarks.kernel_profile", "--part",
        "--settle", str(options.settle), "--steps", str(options.steps), "--cases", case,
        *(["--data", str(options.data)] if options.data else []),
    ]  # fmt: skip
    environment = {**os.environ, "TAICHIMD_DEVICE_LOOPS": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    start = done.stdout.find('"ID"')
    if done.returncode or start < 0:
        raise RuntimeError(f"ncu ended with {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO(done.stdout[start:])):
        if not row["ID"].isdigit():
            continue
        values = {
            key: float((row.get(name) or "nan").replace(",", "")) * factor
            for key, (name, factor) in METRICS.items()
        }
        kept = found.get(row["Kernel Name"])
        launches = (kept["launches"] if kept else 0) + 1
        if kept is None or values["us"] > kept["us"]:
            kept = values
        found[row["Kernel Name"]] = kept | {"launches": launches}
    return found


if __name__ == "__main__":
    main()
