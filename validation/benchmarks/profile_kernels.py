"""Where the time goes: registers, occupancy, bandwidth and pipes of each kernel, by Nsight Compute.

    python -m validation.benchmarks.profile_kernels --cases tersoff-si:64000 lj-melt:1048576

Runs every system under `ncu`, which must be on the PATH, without loops on the device: ncu sees no kernels
inside them. Loops of a step have names, see `loop_names`. The profile begins with an outdated list, so
that the loops that make lists have something to do. ncu empties caches between kernels and so finds them
slower than a run does; what it says of a kernel's limits holds.
"""

import argparse
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from validation import common
from validation.benchmarks import loop_names
from validation.benchmarks.kernel_times import without_device_loops
from validation.benchmarks.systems import HEAT

METRICS = {
    "us": "gpu__time_duration.sum",
    "registers": "launch__registers_per_thread",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "float64": "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "issue": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "l1": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "l1_hit": "l1tex__t_sector_hit_rate.pct",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "bytes": "dram__bytes.sum",
}
"""Name in our tables -> ncu's. Percentages of the device's peak, but for us, registers and bytes."""


def main() -> None:
    """Parse the command line, profile, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__)
    parser.add_argument("--cases", nargs="+", default=["tersoff-si:64000", "sw-si:512000", "lj-melt:1048576"])
    parser.add_argument("--settle", type=int, default=200, help="steps before the profile")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--heat", type=float, default=1.0, help=HEAT)
    parser.add_argument("--seconds", type=float, default=120, help="limit of one system")
    parser.add_argument("--decomposition", nargs="+", default=["auto"], choices=["particle", "tuple", "auto"])
    parser.add_argument("--launches", type=int, help="profile no more launches than these")
    parser.add_argument("--out", type=Path, default=common.RESULTS / "kernels_ncu.json")
    parser.add_argument(
        "--child", nargs=3, metavar=("CASE", "DECOMPOSITION", "NAMES"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.child:
        run(*options.child, options)
        return
    report: dict[str, Any] = {"heat": options.heat, "cases": {}}
    for case in options.cases:
        for decomposition in options.decomposition:
            print(f"{case} {decomposition} ...", flush=True)
            name = case if decomposition == "auto" else f"{case}:{decomposition}"
            try:
                report["cases"][name] = profile(case, decomposition, options)
            except subprocess.TimeoutExpired:
                print(f"{name}: not done in {options.seconds:g} s")
            common.write_json(options.out, {**common.provenance(), **report})
    show(report)
    print(f"written: {options.out.name}")


def profile(case: str, decomposition: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every loop of a step, and what else takes a hundredth of the time: the longest of its launches."""
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "names.json"
        child = [sys.executable, "-m", "validation.benchmarks.profile_kernels"]
        child += ["--child", case, decomposition, str(names)]
        child += ["--settle", str(options.settle), "--steps", str(options.steps), "--heat", str(options.heat)]
        ncu = ["ncu", "--clock-control", "none", "--profile-from-start", "off", "--csv"]
        if options.launches:
            ncu += ["--launch-count", str(options.launches)]
        done = subprocess.run(
            [*ncu, "--metrics", ",".join(METRICS.values()), *child],
            capture_output=True, text=True, timeout=options.seconds, check=False,
        )  # fmt: skip
        rows = list(csv.reader(io.StringIO(done.stdout[done.stdout.find('"ID"') :])))
        if len(rows) < 3:
            raise SystemExit(f"ncu has measured nothing:\n{done.stdout[-800:]}{done.stderr[-800:]}")
        return with_names(summary(rows), rows, json.loads(names.read_text()))


def with_names(
    kernels: list[dict[str, Any]], rows: list[list[str]], layout: dict[str, Any]
) -> list[dict[str, Any]]:
    """The kernels with `loop`, what they do, where all loops of a step were seen and so can be told apart."""
    at_name = rows[0].index("Kernel Name")
    seen = {row[at_name] for row in rows[1:] if len(row) == len(rows[0])}
    names = loop_names.named(seen, loop_names.Layout(**layout))
    found = [{**kernel, "loop": names.get(kernel["kernel"])} for kernel in kernels]
    return [kernel for kernel in found if kernel["loop"] or kernel["part_of_time"] >= 0.01]


def launches_of(rows: list[list[str]]) -> dict[str, list[dict[str, float]]]:
    """Launches by the name of their kernel, of ncu's table with one line for each launch and metric."""
    header = rows[0]
    at_id, at_name, at_metric, at_unit, at_value = (
        header.index(name) for name in ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")
    )
    launches: dict[tuple[str, str], dict[str, float]] = {}
    names = {metric: name for name, metric in METRICS.items()}
    scales = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3,
              "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}  # fmt: skip
    for row in rows[1:]:
        if len(row) == len(header) and row[at_metric] in names:
            value = float(row[at_value].replace(",", "") or "nan") * scales.get(row[at_unit], 1.0)
            launches.setdefault((row[at_name], row[at_id]), {})[names[row[at_metric]]] = value
    found: dict[str, list[dict[str, float]]] = {}
    for (name, _), launch in launches.items():
        found.setdefault(name, []).append(launch)
    return found


def summary(rows: list[list[str]]) -> list[dict[str, Any]]:
    """The kernels of ncu's table: the longest launch of each, and its part of the time."""
    launches = launches_of(rows)
    sums = {name: sum(launch["us"] for launch in each) for name, each in launches.items()}
    total = sum(sums.values())
    return [
        {
            "kernel": name, "launches": len(each), "part_of_time": sums[name] / total,
            **max(each, key=lambda launch: launch["us"]),
        }
        for name, each in launches.items()
    ]  # fmt: skip


def run(case: str, decomposition: str, names: str, options: argparse.Namespace) -> None:
    """The child: steps without loops on the device, seen by the profiler after some that are not."""
    import ctypes

    name, atoms = case.split(":")
    os.environ["TAICHIMD_PROFILE"] = ""
    without_device_loops()
    from taichimd.program.engine import Engine
    from validation.benchmarks.systems import CASES, heated

    system = heated(CASES[name].system(int(atoms)), options.heat)
    simulation = Engine(system.atoms, system.forcefield(), backend="cuda", decomposition=decomposition)
    simulation.advance(options.settle, system.timestep)
    simulation.synchronize()
    Path(names).write_text(json.dumps(asdict(loop_names.layout(simulation))))
    simulation.device.lists.outdate()
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuProfilerStart()
    simulation.advance(options.steps, system.timestep)
    simulation.synchronize()
    driver.cuProfilerStop()


def show(report: dict[str, Any]) -> None:
    """One line for each kernel."""
    for case, kernels in report["cases"].items():
        rows = [
            (
                kernel.get("loop") or kernel["kernel"].replace("_range_for", "").replace("_kernel", "")[-36:],
                f"{100 * kernel['part_of_time']:.0f}%",
                f"{kernel['us']:.1f}",
                f"{kernel['registers']:.0f}",
                *(f"{kernel[key]:.0f}" for key in ("occupancy", "float64", "issue", "l1", "l2", "memory")),
                f"{kernel['bytes'] / kernel['us'] * 1e-3:.0f}",
            )
            for kernel in kernels
        ]
        print(case)
        header = ("kernel", "time", "us", "regs", "occ.", "f64", "issue", "L1", "L2", "memory", "GB/s")
        print(common.table(rows, header))


if __name__ == "__main__":
    main()
