"""What do rows and frames cost beside the steps, by the format of the frames?

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.output
    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.output --backend cuda --cells 20 \
        --steps 20000 --out validation/results/output_h200.json

Runs of Stillinger-Weber silicon through the command line, each in a process of its own, with kernels in the
cache: default settings, frames every 100 steps as text and in binary, no frames. `start` is the time before
the first report, `end` that of the picture and the reports after the last step.
Each run begins when the disk has nothing left to write, and of each kind the run of median time is kept.
`--runs` takes some of the runs; `none` must be among them. `x none` compares all but the start with the run
without frames, `x steps` with the steps alone. Then the text of one frame and rows of the
table, in this process: `output` is what the run waits for, `in all` the difference to the same run
without rows, divided by the number of rows. Kept in validation/results/: output_h200
and output_cpu.
`--formats` measures the frames of each format alone. Kept in validation/results/: output_formats_cpu.
"""

import json
import os
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
TIMES = ("enter", "start", "steps", "output", "end")
ROWS_EVERY = 20


def main() -> None:
    """Run all, print a table, write the JSON."""
    parser = common.parser(__doc__ or "", out="output_cpu")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--cells", type=int, default=10, help="cubic cells of 8 atoms along each side")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of each kind, in turn; the median is kept"
    )
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--formats", action="store_true")
    options = parser.parse_args()
    if options.formats:
        found = frames(options)
        print(common.table([list(one.values()) for one in found], list(found[0])))
        common.write_json(options.out, {**common.provenance(), "frames": found})
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = measured_runs(Path(folder), options)
    report = {
        **common.provenance(), "potential": "Si.sw", "atoms": 8 * options.cells**3, "steps": options.steps,
        "runs": runs,
    }  # fmt: skip
    common.write_json(options.out, report)
    report |= {
        "frame_of_64000_atoms": text_of_a_frame(),
        "rows": [rows(cells, options) for cells in sorted({options.cells, options.cells // 2})],
    }  # fmt: skip
    table = [
        [name, *(f"{one[key]:.2f}" for key in TIMES), f"{one['bytes'] / 1e6:.1f}",
         f"{one['of_none']:.2f}", f"{one['of_steps']:.2f}"]
        for name, one in runs.items()
    ]  # fmt: skip
    print(common.table(table, ["run", *(f"{name} s" for name in TIMES), "MB", "x none", "x steps"]))
    for one in report["rows"]:
        print(
            f"row of {one['atoms']} atoms: output {one['output_ms']:.3f} ms, in all {one['in_all_ms']:.3f} ms"
        )
    print("frame of 64,000 atoms as text:", report["frame_of_64000_atoms"])
    common.write_json(options.out, report)


def measured_runs(folder: Path, options: Any) -> dict[str, dict[str, float]]:
    """Times of each kind of run and the size of its trajectory."""

    def call(*arguments: str) -> None:
        command = [sys.executable, "-m", "taichimd", *arguments]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)

    environment = common.environment_of_users()
    call("build", "silicon", "--cells", str(options.cells), "--out", "crystal.extxyz")
    common_part = ["run", "crystal.extxyz", "--potential", "Si.sw", "--backend", options.backend, "--quiet"]
    call(*common_part, "--steps", "200", "--output", "warm")

    def timed(name: str) -> dict[str, float]:
        os.sync()  # a run must not wait for what the one before it has left to the disk
        call(*common_part, "--steps", str(options.steps), "--output", "run", "--overwrite", *RUNS[name])
        record = json.loads((folder / "run" / "run.json").read_text())
        size = sum(file.stat().st_size for file in (folder / "run").glob("trajectory.*"))
        enter, wall = record["seconds_since_enter"], record["wall_seconds"]
        steps, output = record["stepping_seconds"], record["output_seconds"]
        times = enter, enter - wall, steps, output, wall - steps - output
        return dict(zip(TIMES, times, strict=True)) | {"bytes": size}

    rounds = [{name: timed(name) for name in options.runs} for _ in range(options.repeats)]
    found = {
        name: sorted((one[name] for one in rounds), key=lambda run: run["enter"] - run["start"])[
            options.repeats // 2
        ]
        for name in options.runs
    }
    for one in found.values():
        after_start, of_none = (run["enter"] - run["start"] for run in (one, found["none"]))
        one |= {"of_none": after_start / of_none, "of_steps": after_start / one["steps"]}
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


def frames(options: Any) -> list[dict[str, Any]]:
    """Bytes of an atom, milliseconds in which a frame is copied and written, and read by ASE: fastest of 11.

    ASE needs another package to read NetCDF: there taichimd's reader is timed.
    """
    from ase.build import bulk
    from ase.io import read

    from taichimd import Simulation
    from taichimd.app.outputs import TrajectoryFile
    from taichimd.io.netcdf_trajectory import netcdf_frames

    simulation = Simulation(
        bulk("Si", cubic=True, a=5.431) * options.cells, "Si.sw", temperature=300.0, backend=options.backend
    )
    simulation.run(10)
    found: list[dict[str, Any]] = []
    number, n_atoms = 11, len(simulation.engine.symbols)
    with tempfile.TemporaryDirectory() as folder:
        for per_atom in ((), ("energy",), ("energy", "virial")):
            for suffix in ("extxyz", "traj", "nc"):
                path, sizes, wrote, took = Path(folder) / f"{len(found)}.{suffix}", [], [], []
                file = TrajectoryFile(path, per_atom=per_atom)
                file.open(simulation)
                for _ in range(number):
                    begin = time.perf_counter()
                    file._writer.write(simulation.engine, simulation.thermo(), simulation.time_ps)
                    wrote.append(time.perf_counter() - begin)
                    sizes.append(path.stat().st_size)
                file.close()
                for _ in range(number):
                    begin = time.perf_counter()
                    next(netcdf_frames(path, 0)) if suffix == "nc" else read(path, 0)
                    took.append(time.perf_counter() - begin)
                found.append({
                    "format": suffix, "per_atom": ",".join(per_atom), "atoms": n_atoms,
                    "bytes_per_atom": (sizes[-1] - sizes[0]) / (number - 1) / n_atoms,
                    "write_ms": min(wrote) * 1e3, "read_ms": min(took) * 1e3,
                })  # fmt: skip
    return found


def rows(cells: int, options: Any) -> dict[str, float]:
    """Milliseconds that a row costs beside the steps, from runs with rows and without, in turn."""
    from ase.build import bulk

    from taichimd import Simulation, ThermoTable

    atoms = bulk("Si", cubic=True, a=5.431) * cells
    steps = min(options.steps, 200 * ROWS_EVERY) // ROWS_EVERY * ROWS_EVERY
    waited, in_all = [], []
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(atoms, "Si.sw", temperature=300.0, backend=options.backend)
        simulation.run(200, every=10)
        for k in range(5):
            begin = time.perf_counter()
            simulation.run(steps, every=steps)
            without = time.perf_counter() - begin
            with ThermoTable(Path(folder) / f"{k}.csv") as table:
                begin = time.perf_counter()
                found = simulation.run(steps, every=ROWS_EVERY, observers=[table])
                seconds = time.perf_counter() - begin
            number = steps / ROWS_EVERY
            waited.append(found.output_seconds / number * 1e3)
            in_all.append((seconds - without) / number * 1e3)
    return {
        "atoms": len(atoms), "every": ROWS_EVERY, "output_ms": statistics.median(waited),
        "in_all_ms": statistics.median(in_all),
    }  # fmt: skip


if __name__ == "__main__":
    main()
