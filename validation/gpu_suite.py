"""Everything that needs a GPU, in one command with a time limit; one short table last.

    TAICHIMD_RUNTIME=quadrants python -m validation.gpu_suite --out results/

Correctness first: if one evaluation differs between CPU and CUDA, speed means nothing, and the suite says so
in its table. Each part is a process with its own limit, so that a part that hangs costs its share and no
more. No network, no LAMMPS.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from validation import common


@dataclass(frozen=True)
class Part:
    """One driver of the suite."""

    name: str  # also of its JSON file
    module: str  # what runs
    arguments: str  # without --out
    seconds: float  # its own limit; less if less is left of the total
    table: Callable[[dict[str, Any]], list[tuple[str, str]]]  # turns its JSON into lines of the last table


def pair_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """One line for each compared pair of runs."""
    lines = []
    for pair in report["pairs"]:
        holds = "holds" if pair["holds"] else "DOES NOT HOLD"
        if "max_dx" in pair:
            beyond = pair["first_snapshot_beyond_bar"] or f"> {report['snapshots'][-1]}"
            detail = (
                f"max dx {max(pair['max_dx']):.1e}, numbers differ {pair['differing_numbers'][-1]}, "
                f"leaves 1e-9 at step {beyond}"
            )
        else:
            detail = f"forces {pair['relative']['forces']:.1e}, numbers differ {pair['differing_numbers']}"
        what = pair.get("system") or pair["structure"]
        lines.append((f"{what}: {pair['a']} / {pair['b']}", f"{detail}; {pair['claim']}: {holds}"))
    lines += [(f"against saved: {what}", str(found)) for what, found in report.get("against", {}).items()]
    return lines


def benchmark_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """One line for each timed system."""
    lines = []
    for result in report["results"]:
        ours = result["ms_per_step"]["taichimd"]
        kokkos = result.get("kokkos_h100_ms")
        reached = result.get("floor")
        floor = (
            f"{100 * reached['fraction_reached']:.0f}% of the {reached['limit']} floor, " if reached else ""
        )
        ratio = f", {kokkos / ours:.2f}x LAMMPS-KOKKOS on an H100" if kokkos else ""
        lines.append(
            (
                f"{result['case']} {result['atoms']} {report['precision']}",
                f"{1e3 * ours:.1f} us/step, {result['atom_steps_per_s']:.3g} atom-step/s{ratio}, "
                f"{floor}compile {result['compile_s']:.1f} s",
            )
        )
    return lines


def drift_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """One line for each energy drift."""
    return [
        (
            name,
            f"{1e3 * case['slope_eV_per_atom_ns']:.1e} +- {1e3 * case['slope_error']:.0e} µeV/atom/ps, "
            f"rms {case['rms_eV_per_atom']:.1e} over {case['length_ns']:.2f} ns",
        )
        for name, case in report["cases"].items()
    ]


def planned(runtime: str, against: Path | None = None) -> list[Part]:
    """The parts in the order in which they matter.

    With hashes of a long CPU run made elsewhere (`cross_backend --long --save`), only CUDA has to run here.
    """
    both = "--backends cpu cuda"
    cross = both + (" --long" if runtime == "quadrants" else "")
    if against:
        cross = f"--backends cuda --long --against {against.resolve()}"
    # The same bits again, and with one thread: short, on a crystal and on a liquid.
    again = (
        "--backends cpu cuda --threads 1 16 --repeat 2 --steps 200 --systems tersoff-si-4096 lj-liquid-4000"
    )
    speed = "--backend cuda --no-lammps --seconds 0.5 --budget 100"
    single = (
        "--backend cuda --no-lammps --seconds 0.3 --budget 40 --precision float32 --cases tersoff-si lj-melt"
    )
    benchmarks = "validation.benchmarks.run"
    return [
        Part("evaluate_backends", "validation.bits.evaluate_backends", both, 100, pair_lines),
        Part("cross_backend", "validation.bits.cross_backend", cross, 180, pair_lines),
        Part("benchmarks", benchmarks, speed, 150, benchmark_lines),
        Part("energy_drift", "validation.physics.energy_drift", "--backend cuda", 90, drift_lines),
        Part("repeat", "validation.bits.cross_backend", again, 80, pair_lines),
        Part("benchmarks_float32", benchmarks, single, 80, benchmark_lines),
    ]


def main() -> None:
    """Run the parts within the total limit and print the table."""
    parser = common.parser(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON files")
    parser.add_argument("--seconds", type=float, default=530.0, help="limit of everything together")
    parser.add_argument("--parts", nargs="+", help="only these")
    parser.add_argument("--against", type=Path, help="saved hashes of a long CPU run (.npz)")
    options = parser.parse_args()
    runtime = common.current_runtime()
    options.out.mkdir(parents=True, exist_ok=True)
    plan = planned(runtime, options.against)
    parts = [part for part in plan if not options.parts or part.name in options.parts]
    if not parts:
        parser.error(f"--parts: expected some of {', '.join(part.name for part in plan)}")
    started = time.monotonic()
    lines: list[tuple[str, str]] = []
    for part in parts:
        left = options.seconds - (time.monotonic() - started)
        limit = min(part.seconds if not options.parts else left, left)
        lines.append((f"== {part.name}", run_part(part, options, limit, runtime)))
        lines += read_lines(part, out_file(part, options.out, runtime))
    print(f"\n{runtime}: everything took {time.monotonic() - started:.0f} s", flush=True)
    print(common.table(lines, ("what", "result")))


def out_file(part: Part, folder: Path, runtime: str) -> Path:
    """The JSON file of a part; the runtime in its name, so that both runtimes may share a folder."""
    return folder / f"{part.name}_{runtime}.json"


def run_part(part: Part, options: argparse.Namespace, limit: float, runtime: str) -> str:
    """Run one part; its output goes to the suite's log. Returns how it ended."""
    if limit < 10:
        return "not run: no time left"
    arguments = [*part.arguments.split(), "--out", str(out_file(part, options.out, runtime).resolve())]
    log = options.out / f"suite_{runtime}.log"
    started = time.monotonic()
    print(f"{part.name} (at most {limit:.0f} s) ...", flush=True)
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    with log.open("a") as output:
        print(f"== {part.name}: {part.module} {' '.join(arguments)}", file=output, flush=True)
        process = subprocess.Popen(
            [sys.executable, "-m", part.module, *arguments],
            cwd=common.ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            # The part's own children too: they hold the GPU.
            os.killpg(process.pid, 9)
            process.wait()
            return f"stopped after {limit:.0f} s"
    took = time.monotonic() - started
    if code:
        tail = log.read_text().strip().splitlines()[-3:]
        return f"ENDED WITH {code} after {took:.0f} s: " + " | ".join(tail)
    return f"{took:.0f} s"


def read_lines(part: Part, file: Path) -> list[tuple[str, str]]:
    """The table lines of whatever a part has written, whole or not."""
    if not file.exists():
        return []
    return part.table(json.loads(file.read_text()))


if __name__ == "__main__":
    main()
