"""Where is the time of a step of ReaxFF spent? Time of each parallel loop, by the runtime's profiler.

    export TAICHIMD_RUNTIME=quadrants
    python -m validation.reaxff.kernel_times --data FOLDER --out reaxff_kernels_h100.json

FOLDER as in `validation.reaxff.systems`. The profiler sees loops outside CUDA graphs only, so the host
queues each loop here: times of loops are those of a run, their sum is not the time of a step. `us` is the
mean of the launches that had something to do, and `us_per_step` the time of all launches. `idle_us` is the
time of a launch that has nothing to do: the profiler adds this time to each launch.
"""

import argparse
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from validation import common
from validation.reaxff.systems import SETTINGS, SYSTEMS, engine_of

ROUND = (
    "charges: product", "charges: dot products", "charges: update", "charges: preconditioner",
    "charges: preconditioner",
)  # fmt: skip
LOOPS = {
    "bonded": (
        "bonds: begin", "bonds: search", "bonds: check", "bond orders", "bond orders: sums of atoms",
        "bond energy, lone pair, coordination", "angles", "torsions", "hydrogen bonds",
        "forces: ends of torsions", "forces: slopes of atoms",
        "forces: slopes of bonds", "forces: sums of slopes", "forces: along bonds",
    ),
    "begin": ("charges: guess",),
    "cut": (
        "charges: matrix", "charges: factors", "charges: mirrored factors", "charges: product",
        "charges: preconditioner", "charges: preconditioner",
    ),
    "iterate": ROUND * 2,
    "finish": ("charges: dot products", "charges: end"),
    "forces": ("van der Waals and Coulomb",),
}  # fmt: skip
"""Parallel loops of the kernels of ReaxFF, in order."""
IDLE = "bonds: begin"
SETTLE, STEPS = 40, 60


def main() -> None:
    """Parse the command line; each case in a process of its own, JSON as it grows, a table for each case."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", nargs="+", default=["water 6,540"], choices=SYSTEMS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--one", choices=SYSTEMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        common.write_json(options.out, measure(options.one, options))
        return
    report: dict[str, Any] = {"results": {}}
    for case in options.cases:
        told = ["--data", str(options.data.resolve()), "--backend", options.backend, "--one", case]
        part = options.out.with_suffix(".part.json")
        common.run_child(
            "validation.reaxff.kernel_times", [*told, "--steps", str(options.steps), "--out", str(part)]
        )
        found = common.read_json(part)
        part.unlink()
        head = found.pop("provenance") | {"command": common.command_line()}
        report = head | {"results": {**report["results"], case: found}}
        common.write_json(options.out, report)
        rows = [
            (name, f"{loop['us']:.1f}", loop["works"], f"{loop['us_per_step']:.1f}")
            for name, loop in found["loops"].items()
        ]
        print(f"\n{case}, an idle launch {found['idle_us']:.1f} us")
        print(common.table(rows, ("loop", "us", "works", "us/step")), flush=True)


def measure(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """Loops of one system, with today's settings."""
    os.environ |= {"TAICHIMD_PROFILE": "1", "TAICHIMD_DEVICE_LOOPS": "0"}
    from taichimd.core import arguments, runtime

    # A kernel that is a CUDA graph would hide its loops.
    arguments.NAME = f"{arguments.NAME}, loop by loop"
    runtime.start(options.backend)
    from taichimd.core.units import FS

    timestep, tolerance = SETTINGS["today"]
    engine = engine_of(options.data, case, tolerance, options.backend)
    engine.evaluate()
    engine.advance(SETTLE, timestep * FS)
    engine.synchronize()
    builds = engine.statistics()["rebuilds"]
    runtime.ti.profiler.clear_kernel_profiler_info()
    began = time.perf_counter()
    engine.advance(options.steps, timestep * FS)
    engine.synchronize()
    elapsed = time.perf_counter() - began
    loops = named(launches(), options.steps)
    return {
        "provenance": common.provenance(), "atoms": engine.n_atoms, "timestep_fs": timestep,
        "charge_tolerance": tolerance, "steps": options.steps,
        "builds": engine.statistics()["rebuilds"] - builds,
        "charge_iterations": engine.thermo().charge_iterations,
        "ms_per_step_in_all": 1e3 * elapsed / options.steps,
        "idle_us": loops[IDLE]["us"] if IDLE in loops else None, "loops": loops,
    }  # fmt: skip


def launches() -> dict[str, list[float]]:
    """Times (us) of all launches since the profiler was cleared, by kernel."""
    from taichimd.core.runtime import ti

    # The public side gives means, in which launches that had nothing to do are hidden.
    program = ti.lang.impl.get_runtime().prog
    program.sync_kernel_profiler()
    program.update_kernel_profiler()
    found: dict[str, list[float]] = {}
    for record in program.get_kernel_profiler_records():
        found.setdefault(record.name, []).append(1e3 * record.kernel_time)
    return found


def named(times: dict[str, list[float]], steps: int) -> dict[str, dict[str, float]]:
    """Loops by name, those with most time first; of other kernels the sum of their loops."""
    pieces: dict[str, dict[int, list[float]]] = {}
    loops: dict[str, list[float]] = {}
    for name, each in times.items():
        match = re.match(r"(\w+?)_c\d+_\d+_kernel_(\d+)_(range_for|serial)", name)
        kernel = match[1] if match else name
        if match and match[3] == "serial":
            loops.setdefault("ends of loops", []).extend(each)
        elif match and kernel in LOOPS:
            pieces.setdefault(kernel, {}).setdefault(int(match[2]), []).extend(each)
        else:
            loops.setdefault(f"kernel {kernel}", []).extend(each)
    for kernel, of in pieces.items():
        order, known = sorted(of), LOOPS[kernel]
        if len(order) != len(known):
            known = tuple(f"{kernel} {k}" for k in order)
        for name, number in zip(known, order, strict=True):
            loops.setdefault(name, []).extend(of[number])
    found = {name: reduced(each, steps) for name, each in loops.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]["us_per_step"]))


def reduced(each: list[float], steps: int) -> dict[str, float]:
    """Mean of the launches that had something to do: of more than half of what a long one takes."""
    values = np.array(each)
    works = values[values >= 0.5 * np.quantile(values, 0.9)]
    return {
        "us": round(float(works.mean()), 3),
        "works": len(works),
        "us_per_step": round(float(values.sum()) / steps, 3),
    }


if __name__ == "__main__":
    main()
