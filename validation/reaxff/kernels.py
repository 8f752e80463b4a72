"""Time of each kernel of a step of ReaxFF: tables 3, 4 and 5 and figure 5 of the paper.

    python -m validation.reaxff.kernels --data FOLDER --backend cuda --out reaxff_kernels.json

FOLDER as in `validation.reaxff.systems`. A process for each case and variant
(`validation.reaxff.variants`). The runtime's profiler sees kernels outside CUDA graphs only, so steps and
solves do not loop on the device here: times of kernels are those of a run, their sum is not the time of a
step. `us` is the mean of launches that had something to do; `us_per_step` that of all launches. Positions
after all steps tell whether variants compute the same.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from validation import common
from validation.reaxff.systems import SETTINGS, alone, engine_of

ROUND = (
    "charges: product",
    "charges: dot products",
    "charges: update",
    "charges: preconditioner",
    "charges: preconditioner",
)
LOOPS = {
    "cut_lists": ("near list: packed positions", "near list: cut") * 2,
    "bonded": (
        "bonds: begin", "bonds: search", "bonds: check", "bond orders", "bond orders: sums of atoms",
        "bond energy, lone pair, coordination", "angles", "torsions", "hydrogen bonds: donors",
        "hydrogen bonds: acceptors", "forces: ends of torsions", "forces: slopes of atoms",
        "forces: slopes of bonds", "forces: sums of slopes", "forces: along bonds",
    ),
    "begin": ("charges: guess",),
    "cut": (
        "charges: matrix", "charges: factors", "charges: factors", "charges: factors", "charges: product",
        "charges: residual", "charges: preconditioner", "charges: preconditioner",
    ),
    "iterate": ROUND * 2,
    "finish": ("charges: dot products", "charges: end"),
    "forces": ("van der Waals and Coulomb",),
}  # fmt: skip
"""Parallel loops of the kernels of a step, in order."""
MORE_LOOPS = {
    "atomics hydrogen bonds": {"bonded": (8, "hydrogen bonds: zeros")},
    "atomics pairs": {"forces": (0, "van der Waals: zeros")},
}
"""One more loop of a variant: its place among those of the kernel, and its name."""
COMPONENTS = {
    "neighbour lists": ("Verlet list", "near list"),
    "bonds, charge matrix": ("bonds:", "charges: matrix", "charges: factors"),
    "bond orders": ("bond orders",),
    "bond energy, lone pair, coordination": ("bond energy",),
    "three-body": ("angles",),
    "four-body": ("torsions", "forces: ends of torsions"),
    "hydrogen bonds": ("hydrogen bonds",),
    "charge equilibration": ("charges:",),
    "Coulomb and van der Waals": ("van der Waals",),
    "forces of bond orders": ("forces:",),
    "steps": ("",),
}
"""Rows of the paper's table 3, and beginnings of names of loops; the first that fits."""
VARIANTS = {
    "usual": {},
    **{f"threads {many}": {"threads": many} for many in (1, 2, 4, 16, 32)},
    **{f"block {threads}": {"block": threads} for threads in (32, 64, 256, 512)},
    **{f"atomics {term}": {"atomics": [term]} for term in ("torsions", "hydrogen bonds", "pairs")},
}
CASES = {
    # system, settings, variants
    "water 6,540": ("water 6,540", "today", list(VARIANTS)),
    "water 6,540, paper": ("water 6,540", "paper", ["usual"]),
    "silica 6,000": ("silica 6,000", "today", ["usual", "atomics torsions", "atomics pairs"]),
    "silica 6,000, paper": ("silica 6,000", "paper", ["usual"]),
    "water 39,240": ("water 39,240", "today", ["usual", *(v for v in VARIANTS if v.startswith("threads"))]),
    "water 300": ("water 300", "today", ["usual", *(v for v in VARIANTS if v.startswith("atomics"))]),
}
SETTLE, STEPS = 40, 60


def main() -> None:
    """Parse the command line; run all, or one in this process."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--cases", nargs="+", default=[c for c in CASES if c != "water 300"], choices=CASES)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS)
    parser.add_argument("--at-once", type=int, default=1, help="processes; they measure in turn if told how")
    parser.add_argument("--quick", action="store_true", help="the smallest system alone")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options)), flush=True)
    else:
        run_all(options)


def run_all(options: argparse.Namespace) -> None:
    """Each case and variant in a process of its own; JSON as it grows, a table last."""
    if options.quick:
        options.cases = ["water 300"]
    jobs = [
        (case, variant)
        for case in options.cases
        for variant in CASES[case][2]
        if not options.variants or variant in options.variants
    ]

    def one(job: tuple[str, str]) -> dict[str, Any]:
        command = [sys.executable, "-m", "validation.reaxff.kernels", "--data", str(options.data)]
        command += ["--backend", options.backend, "--one", *job]
        done = subprocess.run(command, capture_output=True, text=True)
        line = next((text for text in reversed(done.stdout.splitlines()) if text.startswith("{")), None)
        return json.loads(line) if line else {"failed": done.stderr.strip().splitlines()[-3:]}

    report: dict[str, Any] = {}
    with ThreadPoolExecutor(options.at_once) as pool:
        for (case, variant), found in zip(jobs, pool.map(one, jobs), strict=True):
            head = found.pop("provenance", None)
            report = {**(head or {}), **report, "results": report.get("results", {})}
            report["results"].setdefault(case, {})[variant] = found
            if options.out:
                common.write_json(options.out, report)
            print(
                case, variant, found.get("failed") or f"{found['us_per_step_of_kernels']:.0f} us", flush=True
            )
    for case, of in report["results"].items():
        if "positions_A" in of.get("usual", {}):
            usual = np.array(of["usual"]["positions_A"])
            for found in of.values():
                if "positions_A" in found and found is not of["usual"]:
                    found["max_dx_A"] = float(abs(np.array(found.pop("positions_A")) - usual).max())
            del of["usual"]["positions_A"]
        print(f"\n{case}, us/step")
        rows = [
            (
                part,
                *(
                    f"{found['components_us'].get(part, 0.0):.0f}"
                    for found in of.values()
                    if "loops" in found
                ),
            )
            for part in COMPONENTS
        ]
        print(common.table(rows, ("component", *(v for v, found in of.items() if "loops" in found))))
    if options.out:
        common.write_json(options.out, report)


def measure(case: str, variant: str, options: argparse.Namespace) -> dict[str, Any]:
    """One case in one variant."""
    os.environ["TAICHIMD_PROFILE"] = "1"
    from validation.benchmarks.kernel_times import launches, without_device_loops

    without_device_loops()
    from taichimd.core import arguments, runtime

    # A kernel that is a CUDA graph would hide its loops.
    arguments.NAME = f"{arguments.NAME}, loop by loop"
    runtime.start(options.backend)
    vary(VARIANTS[variant])
    from taichimd.core.runtime import ti
    from taichimd.units import FS

    system, settings, _ = CASES[case]
    timestep, tolerance = SETTINGS[settings]
    engine = engine_of(options.data, system, tolerance, options.backend)
    engine.evaluate()
    engine.advance(2, timestep * FS)
    with alone():
        engine.advance(SETTLE, timestep * FS)
        engine.synchronize()
        builds = engine.statistics()["rebuilds"]
        ti.profiler.clear_kernel_profiler_info()
        began = time.perf_counter()
        engine.advance(STEPS, timestep * FS)
        engine.synchronize()
        elapsed = time.perf_counter() - began
        times = launches()
    loops = named(times, MORE_LOOPS.get(variant, {}))
    lists = engine.statistics()
    found = {
        "atoms": engine.n_atoms, "timestep_fs": timestep, "charge_tolerance": tolerance, "steps": STEPS,
        "builds": lists["rebuilds"] - builds, "charge_iterations": engine.thermo().charge_iterations,
        "outer_skin_A": lists["outer_skin_A"], "ms_per_step_in_all": 1e3 * elapsed / STEPS,
        "us_per_step_of_kernels": sum(loop["us_per_step"] for loop in loops.values()),
        "loops": loops, "components_us": components(loops), "provenance": common.provenance(),
    }  # fmt: skip
    if engine.n_atoms < 7_000:
        found["positions_A"] = engine.positions().round(14).tolist()
    return found


def vary(variant: dict[str, Any]) -> None:
    """Set what a variant changes."""
    from validation.reaxff import variants

    if "threads" in variant:
        variants.set_threads_of_row(variant["threads"])
    if "block" in variant:
        variants.set_threads_of_block(variant["block"])
    if "atomics" in variant:
        variants.set_atomics(variant["atomics"])


def named(times: dict[str, list[float]], more: dict[str, tuple[int, str]]) -> dict[str, dict[str, float]]:
    """Launches of loops by name: `us`, launches that worked, `us_per_step`.

    Args:
        times: us of all launches, by the profiler's names.
        more: see `MORE_LOOPS`.
    """
    pieces: dict[str, dict[int, list[float]]] = {}
    loops: dict[str, list[float]] = {}
    for name, each in times.items():
        match = re.match(r"(\w+?)_c\d+_\d+_kernel_(\d+)_(range_for|serial)", name)
        if match and match[1] in LOOPS:
            if match[3] == "range_for":
                pieces.setdefault(match[1], {}).setdefault(int(match[2]), []).extend(each)
        else:
            kernel = match[1] if match else name
            # What comes with each step has a name; the rest makes lists, or ends a run.
            is_step = kernel in (
                "steps",
                "_hold",
                "open_step",
                "evaluate",
                "everything",
                "last_kick",
                "_sum_terms",
                "ndarray_to_ext_arr",
            )
            loops.setdefault(kernel if is_step else f"Verlet list: {kernel}", []).extend(each)
    for kernel, of in pieces.items():
        order, known = sorted(of), list(LOOPS[kernel])
        if kernel in more:
            known.insert(*more[kernel])
        if len(order) != len(known):
            known = [f"{kernel} {k}" for k in order]
        for name, number in zip(known, order, strict=True):
            loops.setdefault(name, []).extend(of[number])
    return {name: reduced(each) for name, each in loops.items()}


def reduced(each: list[float]) -> dict[str, float]:
    """Mean of the launches that had something to do: of more than half of what a long one takes."""
    values = np.array(each)
    works = values[values >= 0.5 * np.quantile(values, 0.9)]
    return {
        "us": round(float(works.mean()), 3),
        "works": len(works),
        "us_per_step": round(float(values.sum()) / STEPS, 3),
    }


def components(loops: dict[str, dict[str, float]]) -> dict[str, float]:
    """Of the rows of the paper's table, us a step."""
    found = dict.fromkeys(COMPONENTS, 0.0)
    for name, loop in loops.items():
        part = next(part for part, begins in COMPONENTS.items() if name.startswith(begins))
        found[part] += loop["us_per_step"]
    return {part: round(us, 3) for part, us in found.items()}


if __name__ == "__main__":
    main()
