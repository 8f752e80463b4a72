"""Two checkouts of taichimd, timed in turn on one machine: is the newer one as fast, with the same bits?

    git worktree add ../before 5a7c187
    python -m validation.benchmarks.two_commits --before ../before --out two_commits.json

Each round starts one process for each checkout. A process runs every case with the taichimd of its checkout:
it compiles, settles, times `--repeats` runs and hashes the last positions and velocities. Both processes do
the same number of steps, so that equal hashes mean equal trajectories.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

NPT = "npt-berendsen"
CASES = {
    # name: (system, atoms, ensemble, steps of one timed run)
    "tersoff 1,000 nve": ("tersoff-si", 1_000, "nve", 6_000),
    "tersoff 8,000 nve": ("tersoff-si", 8_000, "nve", 6_000),
    "tersoff 64,000 nve": ("tersoff-si", 64_000, "nve", 3_000),
    "tersoff 512,000 nve": ("tersoff-si", 512_000, "nve", 500),
    "hot tersoff 8,000 nve": ("tersoff-si", 8_000, "nve", 3_000),
    "hot tersoff 64,000 nve": ("tersoff-si", 64_000, "nve", 2_000),
    "hot tersoff 512,000 nve": ("tersoff-si", 512_000, "nve", 300),
    "tersoff 8,000 nvt-bussi": ("tersoff-si", 8_000, "nvt-bussi", 3_000),
    "tersoff 8,000 nvt-langevin": ("tersoff-si", 8_000, "nvt-langevin", 3_000),
    "tersoff 8,000 npt-scr": ("tersoff-si", 8_000, "npt-scr", 3_000),
    "tersoff 8,000 npt-mtk": ("tersoff-si", 8_000, "npt-mtk", 3_000),
    "tersoff 64,000 npt-berendsen": ("tersoff-si", 64_000, NPT, 2_000),
    "sw 1,000 nve": ("sw-si", 1_000, "nve", 6_000),
    "sw 8,000 nve": ("sw-si", 8_000, "nve", 6_000),
    "sw 27,000 nve": ("sw-si", 27_000, "nve", 4_000),
    "sw 46,656 nve": ("sw-si", 46_656, "nve", 3_000),
    "sw 64,000 nve": ("sw-si", 64_000, "nve", 3_000),
    "sw 512,000 nve": ("sw-si", 512_000, "nve", 400),
    "silica 12,288 nve": ("vashishta-sio2", 12_288, "nve", 1_000),
    "silica 98,304 nve": ("vashishta-sio2", 98_304, "nve", 300),
    "lj melt 32,000 nve": ("lj-melt", 32_000, "nve", 3_000),
    "lj melt 256,000 nve": ("lj-melt", 256_000, "nve", 600),
    "lj melt 1,048,576 nve": ("lj-melt", 1_048_576, "nve", 200),
    "copper 32,000 nve": ("eam-cu", 32_000, "nve", 3_000),
    "copper 256,000 nve": ("eam-cu", 256_000, "nve", 600),
    "copper 2,048,000 nve": ("eam-cu", 2_048_000, "nve", 100),
    "64 x 1,000 tersoff nve": ("tersoff-si", 1_000, "nve", 1_000),
    "water 6,540 reaxff nve": ("reaxff-water", 6_540, "nve", 100),
    "water 52,320 reaxff nve": ("reaxff-water", 52_320, "nve", 40),
}
COPIES = 64
"""Systems of the batch."""
HEAT = 6.5
"""Times the kinetic energy of the start, in hot cases: a crystal of silicon settles at some 1,000 K."""
SETTLE = 500
"""Steps before the first timed run."""


def main() -> None:
    """Parse the command line; run one checkout's part, or both in turn and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="the earlier checkout")
    parser.add_argument("--after", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument(
        "--cases", nargs="+", default=[""], help="only those with one of these in their names"
    )
    parser.add_argument("--data", type=Path, help="folder of water_6540.pdb and ffield.water, for ReaxFF")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="times the steps of a timed run")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--budget", type=float, default=480.0, help="start no round after so many seconds")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        measure(options)
    elif options.before is None:
        parser.error("--before is needed: the folder of the earlier checkout")
    else:
        compare(options)


def chosen(options: argparse.Namespace) -> list[str]:
    """Names of the cases to run; those of ReaxFF only with data."""
    names = [name for name in CASES if options.data or not CASES[name][0].startswith("reaxff")]
    return [name for name in names if any(part in name for part in options.cases)]


def measure(options: argparse.Namespace) -> None:
    """Run every case with the taichimd of the current folder; print one JSON line for each."""
    import taichimd

    try:
        from taichimd.core import runtime
        from taichimd.program.engine import Engine
    except ImportError:  # an earlier checkout has these modules at its top
        from taichimd.engine import Engine

        from taichimd import runtime
    from validation.benchmarks.systems import CASES as SYSTEMS
    from validation.benchmarks.systems import heated

    runtime.start(options.backend)
    print(json.dumps({"runtime": dict(runtime.info())}), flush=True)
    kinds: dict[str, Any] = {
        "nve": None,
        "nvt-bussi": taichimd.Bussi(300.0, seed=3),
        "nvt-langevin": taichimd.Langevin(300.0, seed=3),
        NPT: taichimd.BerendsenNPT(300.0, pressure=0.0, bulk_modulus=98.0, seed=3),
        "npt-scr": taichimd.StochasticCellRescaling(300.0, pressure=0.0, bulk_modulus=98.0, seed=3),
        "npt-mtk": taichimd.MartynaTobiasKlein(300.0, pressure=0.0, seed=3),
    }
    for name in chosen(options):
        system_name, n_atoms, ensemble, steps = CASES[name]
        steps = max(1, int(options.scale * steps))
        if system_name == "reaxff-water":
            from ase import units

            from validation.reaxff.systems import WATER, start

            atoms, ffield = start(options.data, *WATER[f"water {n_atoms:,}"])
            forcefield, timestep = taichimd.ReaxFF(ffield), 0.25 * units.fs
        else:
            system = SYSTEMS[system_name].system(n_atoms)
            if name.startswith("hot"):
                system = heated(system, HEAT)
            atoms, forcefield, timestep = system.atoms, system.forcefield(), system.timestep
        if name.startswith(f"{COPIES} x"):
            engine = taichimd.Batch([atoms] * COPIES, forcefield, backend=options.backend)
            systems = engine.members
        else:
            engine = Engine(atoms, forcefield, ensemble=kinds[ensemble], backend=options.backend)
            systems = [engine]
        compiled = engine.warm_up()
        engine.advance(min(SETTLE, 2 * steps), timestep)
        each = []
        for _ in range(options.repeats):
            engine.synchronize()
            began = time.perf_counter()
            engine.advance(steps, timestep)
            engine.synchronize()
            each.append(1e6 * (time.perf_counter() - began) / steps)
        states = [array for one in systems for array in (one.positions(), one.velocities())]
        digest = hashlib.sha256(b"".join(array.tobytes() for array in states)).hexdigest()
        found = {"case": name, "us": each, "compile_s": compiled, "sha256": digest}
        print(json.dumps(found), flush=True)


def run_part(folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What `measure` prints in a process that imports taichimd from a folder, as it is printed."""
    command = [
        sys.executable, str(Path(__file__).resolve()), "--part", "--backend", options.backend,
        "--repeats", str(options.repeats), "--scale", str(options.scale), "--cases", *options.cases,
        *(["--data", str(options.data.resolve())] if options.data else []),
    ]  # fmt: skip
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Of the script's own folder nothing is to be imported.
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            yield json.loads(line)
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, command)


def compare(options: argparse.Namespace) -> None:
    """Both checkouts in turn; the JSON after each case that both have, and a table last."""
    from validation import common

    found: dict[str, dict[str, dict[str, Any]]] = {"before": {}, "after": {}}
    runtimes: list[Any] = []
    report: dict[str, Any] = {"results": []}
    began = time.monotonic()
    rounds = 0
    for _ in range(options.rounds):
        if rounds and time.monotonic() - began > options.budget:
            break
        rounds += 1
        for side in found:
            for line in run_part(getattr(options, side).resolve(), options):
                if "runtime" in line:
                    runtimes.append(line["runtime"])
                    continue
                kept = found[side].setdefault(line["case"], {"us": [], "compile_s": [], "sha256": set()})
                kept["us"].append(line["us"])
                kept["compile_s"].append(line["compile_s"])
                kept["sha256"].add(line["sha256"])
                both = [name for name in chosen(options) if all(name in of for of in found.values())]
                results = [compared(name, found["before"][name], found["after"][name]) for name in both]
                report = {**common.provenance(runtimes[0]), "rounds": rounds, "results": results}
                if options.out and results:
                    common.write_json(options.out, report)
            print(f"round {rounds}: {side} done after {time.monotonic() - began:.0f} s", flush=True)
    rows = [
        (r["case"], f"{r['before_us']:.2f}", f"{r['after_us']:.2f}", f"{r['ratio']:.3f}", r["same_bits"])
        for r in report["results"]
    ]
    print(common.table(rows, ("case", "before (us)", "after (us)", "after/before", "same bits")))


def compared(name: str, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Medians, their ratio, and whether all hashes of a case are equal."""
    medians = [statistics.median(chain.from_iterable(side["us"])) for side in (before, after)]
    return {
        "case": name,
        "before_us": medians[0],
        "after_us": medians[1],
        "ratio": medians[1] / medians[0],
        "same_bits": len(before["sha256"] | after["sha256"]) == 1,
        "compile_s": [list(side["compile_s"]) for side in (before, after)],
        "each_us": [list(side["us"]) for side in (before, after)],
        "sha256": sorted(after["sha256"]),
    }


if __name__ == "__main__":
    main()
