"""How long is a step of ReaxFF, and what memory does it take, on a GPU or on CPU cores?

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.speed --data FOLDER --out reaxff_speed_h100.json
    ... --of sizes --out reaxff_sizes_h100.json
    TAICHIMD_THREADS=8 ... --of sizes --backend cpu --out reaxff_sizes_eight_cores.json

FOLDER as in `validation.reaxff.systems`. `speed`: NVE from velocities of 300 K, charges to 1e-6, 0.25 fs, and
the settings of Kylasa et al. 2014. `features`: other ways to solve for the charges, and millions of atoms.
`sizes`: figures 3 and 4 and tables 1, 2 and 6 of the paper, NVT at 300 K by the thermostat of Bussi, with
look-up tables of pairs and without. Each case is a process of its own; medians of five timed runs, after
steps in which lists have settled.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from validation import common
from validation.reaxff.systems import LARGE, SETTINGS, SILICA, WATER, engine_of

SETTLE, ROUNDS, SECONDS = 60, 5, 0.25
"""Steps before the first timed run; timed runs; the length of one, about."""
SETTLE_LARGE, LARGE_ATOMS = 3, 1_000_000
EXTENDED, ROUNDED = {"charges": "extended-lagrangian"}, {"matrix_precision": "float32"}


@dataclass(frozen=True)
class Case:
    """A system of `systems`, its settings there, whether it has a thermostat, and options of ReaxFF."""

    system: str
    settings: str = "today"
    thermostat: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def some(*names: str) -> dict[str, Case]:
    """Cases of systems in NVE, with today's settings and with the paper's."""
    return {name: Case(name) for name in names} | {f"{name}, paper": Case(name, "paper") for name in names}


GROUPS = {
    "speed": some("water 6,540", "water 52,320", "silica 6,000", "silica 48,000"),
    "features": {
        "water 52,320, extended": Case("water 52,320", options=EXTENDED),
        "water 52,320, float32": Case("water 52,320", options=ROUNDED),
        **{name: Case(name) for name in LARGE},
    },
    "sizes": {
        f"{name}, {pairs}": Case(name, "paper", thermostat=True, options={"tables": pairs == "tables"})
        for name in (*WATER, *SILICA)
        for pairs in ("tables", "direct")
    },
}
CASES = {name: case for group in GROUPS.values() for name, case in group.items()}


def main() -> None:
    """Parse the command line; run cases in processes of their own, or one of them."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--of", nargs="+", default=["speed", "features"], choices=GROUPS)
    parser.add_argument("--cases", nargs="+", choices=CASES, help="these alone")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--one", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        common.write_json(options.out, measure(CASES[options.one], options.data, options.backend))
    else:
        run_all(options)


def measure(case: Case, data: Path, backend: str) -> dict[str, Any]:
    """Time of a step (ms) and bytes of arrays of one case."""
    from taichimd.core import runtime
    from taichimd.ensembles.thermostats.bussi import Bussi
    from taichimd.units import FS

    runtime.start(backend)
    began = time.perf_counter()
    timestep, tolerance = SETTINGS[case.settings]
    bath = Bussi(300.0, coupling_time=100.0, seed=1) if case.thermostat else None
    engine = engine_of(data, case.system, tolerance, backend, bath, **case.options)
    engine.evaluate()
    engine.synchronize()
    start = time.perf_counter() - began

    def ms(steps: int) -> float:
        began = time.perf_counter()
        engine.advance(steps, timestep * FS)
        engine.synchronize()
        return 1e3 * (time.perf_counter() - began) / steps

    ms(2 if backend == "cpu" else SETTLE_LARGE if engine.n_atoms > LARGE_ATOMS else SETTLE)
    steps = max(2, min(200, round(1e3 * SECONDS / ms(2))))
    each = [ms(steps) for _ in range(ROUNDS)]
    thermo, lists = engine.thermo(), engine.statistics()
    return {
        "provenance": common.provenance(), "atoms": engine.n_atoms, "charge_tolerance": tolerance,
        "timestep_fs": timestep, "ensemble": "nvt" if case.thermostat else "nve", "options": case.options,
        "ms_per_step": statistics.median(each), "each_ms": each, "steps_of_each": steps, "start_s": start,
        "iterations": thermo.charge_iterations, "temperature_K": thermo.temperature,
        "outer_skin_A": lists["outer_skin_A"], "inner_skin_A": lists["inner_skin_A"],
        "memory_bytes": memory(engine), "device_memory_MiB": memory_used(),
    }  # fmt: skip


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


def memory_used() -> float | None:
    """Memory of the GPU that is in use, MiB; None without one."""
    try:
        asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        asked += ["--id=" + os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]]
        return float(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None


def run_all(options: argparse.Namespace) -> None:
    """Each case in a process of its own; JSON as it grows, and a table last."""
    names = options.cases or [name for group in options.of for name in GROUPS[group]]
    report: dict[str, Any] = {"results": {}}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "one.json"
        told = ["--data", str(options.data.resolve()), "--backend", options.backend, "--out", str(out)]
        for name in names:
            try:
                common.run_child("validation.reaxff.speed", [*told, "--one", name])
            except RuntimeError as error:
                print(name, error, flush=True)
                continue
            found = common.read_json(out)
            head = found.pop("provenance") | {"command": common.command_line()}
            report = head | {"results": {**report["results"], name: found}}
            common.write_json(options.out, report)
            print(f"{name}: {found['ms_per_step']:.3f} ms/step", flush=True)
    columns = ("atoms", "ms_per_step", "iterations", "start_s", "device_memory_MiB")
    rows = [(name, *(found[c] for c in columns)) for name, found in report["results"].items()]
    print(common.table(rows, ("case", *columns)))


if __name__ == "__main__":
    main()
