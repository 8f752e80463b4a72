"""Microseconds a step under one runtime, with the start and protocol of `two_commits`.

    TAICHIMD_RUNTIME=taichi python -m validation.benchmarks.runtimes --out runtimes_taichi.json
    TAICHIMD_RUNTIME=quadrants TAICHIMD_DEVICE_LOOPS=0 python -m validation.benchmarks.runtimes --out x.json

Lists are timed as they settle after 500 steps. JSON grows case by case.
"""

import hashlib
import os
import statistics
import time
from pathlib import Path
from typing import Any

from validation import common
from validation.benchmarks.two_commits import CASES, SETTLE

DEFAULT = ("tersoff 8,000", "tersoff 64,000", "sw 64,000", "lj melt 32,000", "lj melt 1,048")


def main() -> None:
    """Parse the command line, time all cases, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__)
    parser.add_argument("--cases", nargs="+", default=DEFAULT)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=0.5, help="times the steps of a timed run")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--out", type=Path, default=common.RESULTS / "runtimes.json")
    options = parser.parse_args()

    from taichimd.core import runtime
    from taichimd.program.engine import Engine
    from validation.benchmarks.systems import CASES as SYSTEMS

    runtime.start(options.backend)
    loops = {
        "device_loops": runtime.DEVICE_LOOPS,
        "TAICHIMD_DEVICE_LOOPS": os.environ.get("TAICHIMD_DEVICE_LOOPS"),
    }
    report: dict[str, Any] = {**common.provenance(), **loops, "results": []}
    rows = []
    for name, (system_name, n_atoms, ensemble, steps) in CASES.items():
        if ensemble != "nve" or not any(part in name for part in options.cases):
            continue
        steps = max(1, int(options.scale * steps))
        system = SYSTEMS[system_name].system(n_atoms)
        engine = Engine(system.atoms, system.forcefield(), backend=options.backend)
        compiled = engine.warm_up()
        engine.advance(SETTLE, system.timestep)
        before = engine.statistics()["rebuilds"]
        each = []
        for _ in range(options.repeats):
            engine.synchronize()
            began = time.perf_counter()
            engine.advance(steps, system.timestep)
            engine.synchronize()
            each.append(1e6 * (time.perf_counter() - began) / steps)
        statistics_of = engine.statistics()
        digest = hashlib.sha256(engine.positions().tobytes() + engine.velocities().tobytes()).hexdigest()
        report["results"].append({
            "case": name, "us": statistics.median(each), "each_us": each, "compile_s": compiled,
            "steps_per_rebuild": steps * options.repeats / max(statistics_of["rebuilds"] - before, 1),
            "steps_per_call": statistics_of["steps_per_call"], "skins_A": [
                statistics_of["inner_skin_A"], statistics_of["outer_skin_A"]
            ], "sha256": digest,
        })  # fmt: skip
        found = report["results"][-1]
        rows.append(
            (name, f"{found['us']:.2f}", f"{compiled:.0f}", f"{found['steps_per_rebuild']:.1f}", digest[:12])
        )
        print(*rows[-1], flush=True)
        common.write_json(options.out, report)
    print(common.table(rows, ("case", "us a step", "compile (s)", "steps a build", "sha256")))


if __name__ == "__main__":
    main()
