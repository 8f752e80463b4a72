"""ReaxFF on a GPU: time of a step, memory, start, and the bits of the CPU.

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.speed --data FOLDER --out reaxff_speed_h100.json

FOLDER has the systems of S. B. Kylasa, H. M. Aktulga, A. Y. Grama, J. Comput. Phys. 272, 343 (2014), which
are no part of the repository: water_300.pdb, water_6540.pdb, ffield.water, silica_6000.pdb and ffield-bio.
Each case is a process of its own: velocities of 300 K, some steps first, then the median of five timed runs.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SETTLE = 60
"""Steps before the first timed run."""
CASES = {
    # name: (structure, copies along each direction, charge tolerance, time step in fs, steps of a timed run)
    "water 6,540": ("water_6540.pdb", 1, 1e-6, 0.25, 200),
    "water 52,320": ("water_6540.pdb", 2, 1e-6, 0.25, 60),
    "water 176,580": ("water_6540.pdb", 3, 1e-6, 0.25, 20),
    "silica 6,000": ("silica_6000.pdb", 1, 1e-6, 0.25, 200),
    "silica 48,000": ("silica_6000.pdb", 2, 1e-6, 0.25, 60),
    "silica 162,000": ("silica_6000.pdb", 3, 1e-6, 0.25, 20),
    "water 6,540, paper": ("water_6540.pdb", 1, 1e-10, 0.1, 200),
    "water 52,320, paper": ("water_6540.pdb", 2, 1e-10, 0.1, 60),
    "silica 6,000, paper": ("silica_6000.pdb", 1, 1e-10, 0.1, 200),
    "silica 48,000, paper": ("silica_6000.pdb", 2, 1e-10, 0.1, 60),
    "silica 3,072,000": ("silica_6000.pdb", 8, 1e-6, 0.25, 3),
}
BITS = {"water 300": ("water_300.pdb", 100), "silica 6,000": ("silica_6000.pdb", 20)}
"""Structure and steps after which positions, forces and charges are compared."""


def main() -> None:
    """Parse the command line; run the cases, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--bits", nargs="*", default=list(BITS))
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options)), flush=True)
    else:
        run_all(options)


def engine_of(data: Path, name: str, copies: int, tolerance: float, backend: str) -> Any:
    """An engine with velocities of 300 K."""
    import numpy as np
    from ase.io import read

    from taichimd import Engine
    from taichimd.core.units import KB
    from taichimd.forcefields.reaxff.forcefield import ReaxFF

    atoms = read(data / name).repeat((copies,) * 3)
    masses = atoms.get_masses()[:, None]
    velocities = np.random.default_rng(1).standard_normal((len(atoms), 3)) * np.sqrt(KB * 300.0 / masses)
    atoms.set_velocities(velocities - (masses * velocities).sum(axis=0) / masses.sum())
    ffield = data / ("ffield.water" if "water" in name else "ffield-bio")
    return Engine(atoms, ReaxFF(ffield, charge_tolerance=tolerance), backend=backend)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One case."""
    from taichimd.core import runtime
    from taichimd.core.units import FS

    runtime.start(options.backend)
    kind, _, name = options.one.partition(":")
    began = time.perf_counter()
    if kind == "bits":
        structure, steps = BITS[name]
        engine = engine_of(options.data, structure, 1, 1e-6, options.backend)
        engine.advance(steps, 0.25 * FS)
        found = engine.evaluate()
        charges = engine.device.evaluators[0].charges.charges()
        data = b"".join(a.tobytes() for a in (engine.positions(), engine.velocities(), found.forces, charges))
        return {"sha256": hashlib.sha256(data).hexdigest(), "steps": steps, "runtime": dict(runtime.info())}
    structure, copies, tolerance, timestep, steps = CASES[name]
    engine = engine_of(options.data, structure, copies, tolerance, options.backend)
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
        "charge_tolerance": tolerance,
        "timestep_fs": timestep,
        "ms_per_step": statistics.median(each),
        "each_ms": each,
        "start_s": start,
        "iterations": engine.device.evaluators[0].charges.statistics().iterations,
        "temperature_K": engine.thermo().temperature,
        "outer_skin_A": statistics_of["outer_skin_A"],
        "neighbours_max": statistics_of["neighbours_max"],
        "device_memory_MiB": memory_used(),
        "runtime": dict(runtime.info()),
    }


def memory_used() -> float | None:
    """Memory of the GPU that is in use, MiB; None without one."""
    try:
        asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        return float(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None


def run_all(options: argparse.Namespace) -> None:
    """Each case in a process of its own; JSON, and a table last."""
    from validation import common

    def one(what: str, backend: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "validation.reaxff.speed", "--data", str(options.data)]
        done = subprocess.run([*command, "--one", what, "--backend", backend], capture_output=True, text=True)
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
