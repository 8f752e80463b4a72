"""How long a run takes from Enter to the last file: the first time on a machine, again, and without records.

    python -m validation.benchmarks.starting --out validation/results/starting_cpu.json

`--runtimes quadrants taichi` measures both runtimes, `--atoms 8000` is the size for a GPU. `--larger 64000`
runs a crystal of that size twice with the same cache: what compiles again for more atoms? Each case is
`taichimd run` of 100 steps in a process of its own: with an empty cache of kernels (`cold`), then `--repeats`
times with the cache that this has left (`warm`), then with `TAICHIMD_WARM_START=0` (`traced`; left out with
`--no-traced`). CPU seconds are user and system time of the process and its children. `same` says whether
all runs of a case wrote the same table and trajectory. Phases, from run.json: `start_s` until the first
report, of which kernels take `compile_s`, then steps, output, and the end with the picture; `exit_s` is what
the process takes beyond. `commands` compute nothing: seconds of the clock and of processors, fastest of five.
Python keeps the bytecode of modules, as an installer does, and modules are loaded once before the first case.
"""

import filecmp
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from ase import Atoms
from ase.build import bulk
from ase.io import write

from validation import common

CASES = {
    "tersoff": ("Si", "Si.tersoff", ()),
    "sw": ("Si", "Si.sw", ()),
    "lj": ("Ar", "Ar.lj", ()),
    "tersoff npt-scr": (
        "Si",
        "Si.tersoff",
        ("--ensemble", "npt-scr", "--temperature", "300", "--pressure", "0"),
    ),
}
"""Crystal, potential and options."""


def crystal(element: str, atoms: int) -> Atoms:
    """A cube of silicon (diamond) or argon (fcc) of about so many atoms."""
    unit = bulk("Si", a=5.432, cubic=True) if element == "Si" else bulk("Ar", a=5.26, cubic=True)
    return unit.repeat(round((atoms / len(unit)) ** (1 / 3)))


def run(structure: Path, case: str, folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """One `taichimd run`: wall and CPU seconds."""
    _, potential, options = CASES[case]
    command = [sys.executable, "-m", "taichimd", "run", str(structure)]
    command += ["--potential", potential, "--steps", "100", "--output", str(folder), *options]
    command += [] if options else ["--temperature", "300" if potential.startswith("Si") else "80"]
    before, begin = os.times(), time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=folder.parent, capture_output=True, text=True)
    wall, after = time.perf_counter() - begin, os.times()
    if done.returncode:
        raise RuntimeError(f"{case} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    record = json.loads((folder / "run.json").read_text())
    enter, within = record["seconds_since_enter"], record["wall_seconds"]
    steps, output = record["stepping_seconds"], record["output_seconds"]
    return {
        "wall_s": wall, "cpu_s": cpu, "start_s": enter - within, "compile_s": record["compile_seconds"],
        "steps_s": steps, "output_s": output, "end_s": within - steps - output, "exit_s": wall - enter,
    }  # fmt: skip


def load_modules(environment: dict[str, str]) -> None:
    """Load what a run loads, so that the first case finds bytecode and files in memory."""
    code = "import taichimd.app.driver, taichimd.program.engine, taichimd.io.plots, matplotlib.figure, polars"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)


def commands() -> dict[str, dict[str, float]]:
    """Seconds of commands that compute nothing, and of one that is wrong."""
    found = {}
    for line in ("--help", "potentials", "info", "run no-such.xyz --potential Si.sw --steps 5"):
        times = []
        for _ in range(5):
            before, begin = os.times(), time.perf_counter()
            call = [sys.executable, "-m", "taichimd", *line.split()]
            subprocess.run(call, env=common.environment_of_users(), capture_output=True, check=False)
            wall, after = time.perf_counter() - begin, os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            times.append({"wall_s": wall, "cpu_s": cpu})
        found[line] = min(times, key=lambda one: one["wall_s"])
    return found


def measure(
    case: str,
    runtime: str,
    atoms: int,
    repeats: int,
    folder: Path,
    larger: int | None = None,
    trace: bool = True,
) -> dict[str, Any]:
    """The runs of one case with a cache of its own, then two of a larger crystal."""
    structure = folder / "structure.xyz"
    system = crystal(CASES[case][0], atoms)
    write(structure, system, format="extxyz")
    path = os.pathsep.join([str(common.ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    known = {"TAICHIMD_RUNTIME": runtime, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": path}
    environment = common.environment_of_users() | known
    load_modules(environment)
    cold = run(structure, case, folder / "cold", environment)
    warm = [run(structure, case, folder / f"warm{k}", environment) for k in range(repeats)]
    others = [f"warm{k}" for k in range(repeats)]
    traced = None
    if trace:
        traced = run(structure, case, folder / "traced", environment | {"TAICHIMD_WARM_START": "0"})
        others.append("traced")
    same = all(
        filecmp.cmp(folder / "cold" / name, folder / other / name, shallow=False)
        for name in ("thermo.csv", "trajectory.extxyz")
        for other in others
    )
    middle = {key: median(one[key] for one in warm) for key in cold}
    found = {
        "case": case,
        "runtime": runtime,
        "atoms": len(system),
        "cold": cold,
        "warm": middle,
        "traced": traced,
    }
    if larger is not None:
        big = folder / "larger.xyz"
        more = crystal(CASES[case][0], larger)
        write(big, more, format="extxyz")
        runs = [run(big, case, folder / f"larger{k}", environment) for k in range(2)]
        found |= {"larger_atoms": len(more), "larger_first": runs[0], "larger_again": runs[1]}
    return found | {"warm_all": warm, "same": same}


def main() -> None:
    """Measure, write the result after each case, print a table."""
    parser = common.parser(__doc__, "out")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--runtimes", nargs="+", choices=("quadrants", "taichi"), default=["quadrants"])
    parser.add_argument("--atoms", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-traced", action="store_true", help="leave out the run without records")
    parser.add_argument("--larger", type=int, help="atoms of a larger crystal that runs with the same cache")
    asked = parser.parse_args()
    results, rows, of_commands = [], [], commands()
    print({line: f"{one['wall_s']:.2f} s" for line, one in of_commands.items()}, flush=True)
    for runtime in asked.runtimes:
        for case in asked.cases:
            with tempfile.TemporaryDirectory() as folder:
                one = measure(
                    case, runtime, asked.atoms, asked.repeats, Path(folder), asked.larger, not asked.no_traced
                )
            one["load"] = os.getloadavg()[0]
            results.append(one)
            if asked.out:
                report = {"provenance": common.provenance(), "commands": of_commands, "results": results}
                common.write_json(asked.out, report)
            seconds = [
                f"{one[name][key]:.1f}" if one[name] else "-"
                for name in ("cold", "warm", "traced")
                for key in ("wall_s", "cpu_s")
            ]
            rows.append([case, runtime, str(one["atoms"]), *seconds, str(one["same"]), f"{one['load']:.1f}"])
            print(" ".join(rows[-1]), flush=True)
            if asked.larger:
                told = [f"{one[f'larger_{name}']['wall_s']:.1f} s" for name in ("first", "again")]
                print(f"  {one['larger_atoms']} atoms: first {told[0]}, again {told[1]}", flush=True)
    names = [f"{name} {key}" for name in ("cold", "warm", "traced") for key in ("wall s", "CPU s")]
    print(common.table(rows, ["case", "runtime", "atoms", *names, "same bits", "load"]))


if __name__ == "__main__":
    main()
