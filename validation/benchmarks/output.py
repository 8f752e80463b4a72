"""What do rows and frames cost beside the steps, by the format of the frames?

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.output
    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.output --backend cuda --cells 20 \
        --steps 20000 --out validation/results/output_h100.json

Runs of Stillinger-Weber silicon through the command line, each in a process of its own, with kernels in the
cache: default settings, frames every 100 steps as text and in binary, no frames. Then the text of one frame
and one row, in this process. Kept in validation/results/: output_cpu.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from validation import common

RUNS = {
    "default": (),
    "extxyz every 100": ("--frames-every", "100"),
    "traj every 100": ("--frames", "traj", "--frames-every", "100"),
    "netcdf every 100": ("--frames", "netcdf", "--frames-every", "100"),
    "none": ("--frames", "none"),
}
TIMES = ("seconds_since_enter", "compile_seconds", "stepping_seconds", "output_seconds")


def main() -> None:
    """Run all, print a table, write the JSON."""
    parser = common.parser(__doc__ or "")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--cells", type=int, default=10, help="cubic cells of 8 atoms along each side")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=common.RESULTS / "output_cpu.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = measured_runs(Path(folder), options)
    report = {
        **common.provenance(), "potential": "Si.sw", "atoms": 8 * options.cells**3, "steps": options.steps,
        "runs": runs, "frame_of_64000_atoms": text_of_a_frame(), "row": row(options),
    }  # fmt: skip
    for name, found in runs.items():
        print(
            f"{name:18s}", *(f"{key} {found[key]:8.2f}" for key in TIMES), f"{found['bytes'] / 1e6:8.1f} MB"
        )
    print("frame:", report["frame_of_64000_atoms"], "row:", report["row"])
    common.write_json(options.out, report)


def measured_runs(folder: Path, options: Any) -> dict[str, dict[str, float]]:
    """Times of each kind of run and the size of its trajectory."""
    call = [sys.executable, "-m", "taichimd"]
    build = ["build", "silicon", "--cells", str(options.cells), "--out", "crystal.extxyz"]
    subprocess.run([*call, *build], cwd=folder, check=True, capture_output=True)
    common_part = ["run", "crystal.extxyz", "--potential", "Si.sw", "--backend", options.backend, "--quiet"]
    subprocess.run(
        [*call, *common_part, "--steps", "200", "--output", "warm"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    found = {}
    for number, (name, more) in enumerate(RUNS.items()):
        own = ["--steps", str(options.steps), "--output", f"run{number}", *more]
        subprocess.run([*call, *common_part, *own], cwd=folder, check=True, capture_output=True)
        record = json.loads((folder / f"run{number}" / "run.json").read_text())
        size = sum(file.stat().st_size for file in (folder / f"run{number}").glob("trajectory.*"))
        found[name] = {key: record[key] for key in TIMES} | {"bytes": size}
    return found


def text_of_a_frame() -> dict[str, float]:
    """Seconds of clock and of processors to format a frame of 64,000 atoms as text, median of seven."""
    import polars

    from taichimd.io.trajectory import rows_of_atoms

    random = np.random.default_rng(1)
    names = polars.Series("name", ["Si"] * 64_000, dtype=polars.String)
    columns = [random.normal(size=(64_000, 3)) for _ in range(3)]
    clock, processors, size = [], [], 0
    for _ in range(7):
        begin, used = time.perf_counter(), time.process_time()
        size = sum(len(text) for text in rows_of_atoms(names, columns))
        clock.append(time.perf_counter() - begin)
        processors.append(time.process_time() - used)
    seconds = statistics.median(clock)
    return {
        "bytes": size, "seconds": seconds, "processor_seconds": statistics.median(processors),
        "MB_per_s": size / seconds / 1e6,
    }  # fmt: skip


def row(options: Any) -> dict[str, float]:
    """Milliseconds that a row of `thermo.csv` costs beside the steps: runs with many and with few rows."""
    from ase.build import bulk

    from taichimd import Simulation, ThermoTable

    atoms = bulk("Si", cubic=True, a=5.431) * 4
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(atoms, "Si.sw", temperature=300.0, backend=options.backend)
        simulation.run(200, every=10)
        costs = []
        for k in range(5):
            with ThermoTable(Path(folder) / f"{k}.csv") as table:
                found = simulation.run(1000, every=2, observers=[table])
            costs.append(found.output_seconds / 500 * 1e3)
    return {"atoms": len(atoms), "ms": statistics.median(costs)}


if __name__ == "__main__":
    main()
