"""ReaxFF on a GPU: time of a step, memory, start, and the bits of the CPU.

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.speed --data FOLDER --out reaxff_speed_h100.json

FOLDER has the systems of S. B. Kylasa, H. M. Aktulga, A. Y. Grama, J. Comput. Phys. 272, 343 (2014), which
are no part of the repository: water_300.pdb, water_6540.pdb, ffield.water, silica_6000.pdb and ffield-bio.
Each case is a process of its own: velocities of 300 K, some steps first, then the median of five timed runs.
`--million 3` adds water of at least three million atoms.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from validation import common

SETTLE = 60
"""Steps before the first timed run."""
EXTENDED, ROUNDED = {"charges": "extended-lagrangian"}, {"matrix_precision": "float32"}


@dataclass(frozen=True)
class Case:
    """Structure, copies along each direction, steps of a timed run, tolerance, fs, options of ReaxFF."""

    structure: str
    copies: tuple[int, int, int]
    steps: int
    tolerance: float = 1e-6
    timestep: float = 0.25
    options: dict[str, str] = field(default_factory=dict)


WATER, SILICA = "water_6540.pdb", "silica_6000.pdb"
ONE, TWO, THREE, EIGHT = (1, 1, 1), (2, 2, 2), (3, 3, 3), (8, 8, 8)
PAPER = {"tolerance": 1e-10, "timestep": 0.1}
CASES = {
    "water 6,540": Case(WATER, ONE, 200),
    "water 52,320": Case(WATER, TWO, 60),
    "water 176,580": Case(WATER, THREE, 20),
    "silica 6,000": Case(SILICA, ONE, 200),
    "silica 48,000": Case(SILICA, TWO, 60),
    "silica 162,000": Case(SILICA, THREE, 20),
    "water 6,540, paper": Case(WATER, ONE, 200, **PAPER),
    "water 52,320, paper": Case(WATER, TWO, 60, **PAPER),
    "silica 6,000, paper": Case(SILICA, ONE, 200, **PAPER),
    "silica 48,000, paper": Case(SILICA, TWO, 60, **PAPER),
    "silica 3,072,000": Case(SILICA, EIGHT, 3),
    "water 6,540, extended": Case(WATER, ONE, 200, options=EXTENDED),
    "water 52,320, extended": Case(WATER, TWO, 60, options=EXTENDED),
    "water 6,540, float32": Case(WATER, ONE, 200, options=ROUNDED),
    "water 52,320, float32": Case(WATER, TWO, 60, options=ROUNDED),
    "water 52,320, both": Case(WATER, TWO, 60, options=EXTENDED | ROUNDED),
}
SMALL = "water_300.pdb"
BITS = {
    "water 300": Case(SMALL, ONE, 100),
    "silica 6,000": Case(SILICA, ONE, 20),
    "water 300, extended": Case(SMALL, ONE, 100, options=EXTENDED),
    "water 300, float32": Case(SMALL, ONE, 100, options=ROUNDED),
}
"""After the steps positions, velocities, forces and charges are compared."""


def millions(number: float) -> Case:
    """Water of so many million atoms, or a few more."""
    most, choices = number * 1e6 / 6540, product(range(1, 24), repeat=3)
    copies = min((c for c in choices if prod(c) >= most), key=lambda c: (prod(c), max(c)))
    return Case(WATER, copies, 3)


def main() -> None:
    """Parse the command line; run the cases, or one of them."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--bits", nargs="*", default=list(BITS))
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--million", type=float, help="also measure water of so many million atoms")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.million:
        CASES["water million"] = millions(options.million)
        options.cases.append("water million")
    if options.one:
        print(json.dumps(measure(options)), flush=True)
    else:
        run_all(options)


def engine_of(data: Path, case: Case, backend: str) -> Any:
    """An engine with velocities of 300 K."""
    import numpy as np
    from ase.io import read

    from taichimd import Engine
    from taichimd.core.units import KB
    from taichimd.forcefields.reaxff.forcefield import ReaxFF

    atoms = read(data / case.structure).repeat(case.copies)
    masses = atoms.get_masses()[:, None]
    velocities = np.random.default_rng(1).standard_normal((len(atoms), 3)) * np.sqrt(KB * 300.0 / masses)
    atoms.set_velocities(velocities - (masses * velocities).sum(axis=0) / masses.sum())
    ffield = data / ("ffield-bio" if case.structure == SILICA else "ffield.water")
    return Engine(atoms, ReaxFF(ffield, charge_tolerance=case.tolerance, **case.options), backend=backend)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One case."""
    from taichimd.core import runtime
    from taichimd.core.units import FS

    runtime.start(options.backend)
    kind, _, name = options.one.partition(":")
    began = time.perf_counter()
    if kind == "bits":
        case = BITS[name]
        engine = engine_of(options.data, case, options.backend)
        engine.advance(case.steps, case.timestep * FS)
        found = engine.evaluate()
        charges = engine.device.evaluators[0].charges.charges()
        data = b"".join(a.tobytes() for a in (engine.positions(), engine.velocities(), found.forces, charges))
        return {
            "sha256": hashlib.sha256(data).hexdigest(),
            "steps": case.steps,
            "runtime": dict(runtime.info()),
        }
    case = CASES[name]
    steps, timestep = case.steps, case.timestep
    engine = engine_of(options.data, case, options.backend)
    engine.evaluate()
    engine.synchronize()
    start = time.perf_counter() - began
    engine.advance(SETTLE if steps > 10 else steps, timestep * FS)
    each = []
    for _ in range(5 if steps > 10 else 3):
        engine.synchronize()
        began = time.perf_counter()
        engine.advance(steps, timestep * FS)
        engine.synchronize()
        each.append(1e3 * (time.perf_counter() - began) / steps)
    statistics_of = engine.statistics()
    return {
        "atoms": engine.n_atoms,
        "charge_tolerance": case.tolerance,
        "options": case.options,
        "timestep_fs": timestep,
        "ms_per_step": statistics.median(each),
        "each_ms": each,
        "start_s": start,
        "iterations": engine.device.evaluators[0].charges.statistics().iterations,
        "temperature_K": engine.thermo().temperature,
        "outer_skin_A": statistics_of["outer_skin_A"],
        "inner_skin_A": statistics_of["inner_skin_A"],
        "neighbours_max": statistics_of["neighbours_max"],
        "bytes_per_atom": {
            name: round(size / engine.n_atoms)
            for name, size in statistics_of.items()
            if name.endswith("_bytes")
        },
        "device_memory_MiB": memory_used(),
        "runtime": dict(runtime.info()),
    }


def memory_used() -> float | None:
    """Memory of the GPU that is in use, MiB; None without one."""
    try:
        asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        asked += ["--id=" + os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]]
        return float(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None


def run_all(options: argparse.Namespace) -> None:
    """Each case in a process of its own; JSON, and a table last."""

    def one(what: str, backend: str) -> dict[str, Any]:
        more = ["--million", str(options.million)] if options.million else []
        command = [sys.executable, "-m", "validation.reaxff.speed", "--data", str(options.data)]
        command += ["--one", what, "--backend", backend, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        line = next((text for text in reversed(done.stdout.splitlines()) if text.startswith("{")), None)
        if line is None:
            return {"failed": done.stderr.strip().splitlines()[-1:]}
        found: dict[str, Any] = json.loads(line)
        return found

    bits, results, info = {}, {}, None
    for name in options.bits:
        sides = [one(f"bits:{name}", backend) for backend in dict.fromkeys(("cpu", options.backend))]
        hashes = [side.get("sha256") for side in sides]
        bits[name] = {"sha256": hashes, "same": None not in hashes and len(set(hashes)) == 1}
        print(name, bits[name], flush=True)
    for name in options.cases:
        results[name] = one(f"speed:{name}", options.backend)
        info = results[name].pop("runtime", info)
        print(name, json.dumps(results[name]), flush=True)
        if options.out:
            report = {**common.provenance(info or {}), "same_bits": bits, "results": results}
            common.write_json(options.out, report)
    columns = ("atoms", "ms_per_step", "iterations", "start_s", "device_memory_MiB")
    rows = [(name, *(f"{found.get(c, '-')}" for c in columns)) for name, found in results.items()]
    print(common.table(rows, ("case", *columns)))


if __name__ == "__main__":
    main()
