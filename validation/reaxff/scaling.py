"""Time of a step of ReaxFF by size, with tables and without, and memory: figures 3 and 4, tables 1, 2 and 6.

    python -m validation.reaxff.scaling --data FOLDER --backend cuda --out reaxff_sizes.json
    TAICHIMD_THREADS=1 ... --backend cpu --out reaxff_sizes_one_core.json

FOLDER as in `validation.reaxff.systems`. NVT at 300 K by the thermostat of Bussi. Medians of some runs,
after steps in which lists have settled. A process for water or silica, with tables or without. Memory:
bytes of the arrays of each structure.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from validation import common
from validation.reaxff.speed import memory_used
from validation.reaxff.systems import SETTINGS, SILICA, WATER, alone, engine_of

FAMILIES = {"water": WATER, "silica": SILICA}
SETTLE, ROUNDS = 60, 5
SECONDS = 0.25
"""Of a timed run, about."""


def main() -> None:
    """Parse the command line; run all, or one family in this process."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(range(len(WATER))), help="from 0")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--pairs", nargs="+", default=["tables", "direct"], choices=["tables", "direct"])
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--at-once", type=int, default=1, help="processes; they measure in turn if told how")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, few steps")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.sizes = [0]
    if options.one:
        measure(*options.one, options)
    else:
        run_all(options)


def run_all(options: argparse.Namespace) -> None:
    """Families side by side; JSON as it grows, a table last."""
    report: dict[str, Any] = {"rows": [], "failed": []}

    def one(job: tuple[str, str]) -> None:
        command = [sys.executable, "-m", "validation.reaxff.scaling", "--data", str(options.data)]
        command += ["--backend", options.backend, "--sizes", *map(str, options.sizes)]
        command += ["--settings", *options.settings, "--one", *job, *(["--quick"] if options.quick else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                if line.startswith("{"):
                    row = json.loads(line)
                    report.update(row.pop("provenance", {}))
                    report["rows"].append(row)
                    if options.out:
                        common.write_json(options.out, report)
                    print(line_of(row), flush=True)
            errors = process.stderr.read().strip().splitlines()[-2:] if process.stderr else []
        if process.returncode:
            report["failed"].append([*job, *errors])

    jobs = [(family, pairs) for family in options.families for pairs in options.pairs]
    with ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(one, jobs))
    report["rows"].sort(key=lambda row: (row["family"], row["settings"], row["pairs"], row["atoms"]))
    if options.out:
        common.write_json(options.out, report)
    for failure in report["failed"]:
        print("failed:", *failure)


def line_of(row: dict[str, Any]) -> str:
    """One row, short."""
    kib = row["memory_bytes"]["all arrays"] / row["atoms"] / 1000
    return (
        f"{row['system']:14} {row['settings']:6} {row['pairs']:7} {row['ms_per_step']:9.3f} ms/step, "
        f"{row['charge_iterations']} iterations, {kib:.1f} kB an atom"
    )


def measure(family: str, pairs: str, options: argparse.Namespace) -> None:
    """All sizes of a family, a line of JSON for each."""
    from taichimd.core import runtime
    from taichimd.ensembles.thermostats.bussi import Bussi
    from taichimd.units import FS

    runtime.start(options.backend)
    on_cpu = options.backend == "cpu" or options.quick
    for settings in options.settings:
        timestep, tolerance = SETTINGS[settings]
        for size in options.sizes:
            name = list(FAMILIES[family])[size]
            bath = Bussi(300.0, coupling_time=100.0, seed=1)
            engine = engine_of(options.data, name, tolerance, options.backend, bath, tables=pairs == "tables")
            engine.warm_up()
            engine.advance(2, timestep * FS)
            engine.synchronize()
            with alone():
                engine.advance(2 if on_cpu else SETTLE, timestep * FS)
                engine.synchronize()
                each, steps = [], 2
                for n in range(2 if on_cpu else ROUNDS + 1):
                    began = time.perf_counter()
                    engine.advance(steps, timestep * FS)
                    engine.synchronize()
                    each.append(1e3 * (time.perf_counter() - began) / steps)
                    if n == 0 and not on_cpu:
                        steps = max(int(1e3 * SECONDS / each.pop()), 20)
            thermo, lists = engine.thermo(), engine.statistics()
            row = {
                "family": family, "system": name, "atoms": engine.n_atoms, "settings": settings,
                "pairs": pairs,
                "timestep_fs": timestep, "charge_tolerance": tolerance,
                "ms_per_step": statistics.median(each), "each_ms": each, "steps_of_each": steps,
                "charge_iterations": thermo.charge_iterations,
                "temperature_K": thermo.temperature, "outer_skin_A": lists["outer_skin_A"],
                "memory_bytes": memory(engine), "device_memory_MiB": memory_used(),
                "provenance": common.provenance(),
            }  # fmt: skip
            print(json.dumps(row), flush=True)
            del engine


def memory(engine: Any) -> dict[str, int]:
    """Bytes of the arrays of each structure, and of all of an engine."""
    from taichimd.core.memory import bytes_of

    (reax,) = engine.device.evaluators
    lists, matrix, bonds = engine.statistics(), reax.charges.matrix, reax._bonded.bonds
    of_matrix = bytes_of(matrix.count, matrix.entries, matrix.values)
    return {
        "Verlet list": lists["verlet_memory_bytes"],
        "near lists of bonds and of pairs": lists["near_memory_bytes"],
        "charge matrix": of_matrix,
        "other arrays of the charges": reax.charges.memory() - of_matrix,
        "bonds": bytes_of(bonds.count, bonds.partner, bonds.twin, bonds.half, bonds.atom, bonds.terms),
        "ends of torsions": bytes_of(bonds.ends),
        "all arrays": bytes_of(*arrays_of(engine)),
    }


def arrays_of(found: Any) -> list[Any]:
    """Every array of the runtime that an object of the package leads to, once."""
    seen: dict[int, Any] = {}
    arrays, waiting = [], [found]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if hasattr(one, "element_shape") and hasattr(one, "dtype"):
            arrays.append(one)
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif type(one).__module__.startswith("taichimd") and hasattr(one, "__dict__"):
            waiting += vars(one).values()
    return arrays


if __name__ == "__main__":
    main()
