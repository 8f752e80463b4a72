"""How long is a step under LAMMPS, with what share of copies between host and device, beside our own loop?

One GPU a process: `--np 1 2 --backend cuda`. `--cells` are cells along each edge, of each case: an even
number. With `--weak` each process has so many: the box is longer along the first edge.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from validation import common
from validation.under_lammps.cases import CASES, FEW_CELLS
from validation.under_lammps.launching import run_workers

CPU_CELLS = {"lj-argon": 12, "tersoff-si": 12, "vashishta-sic": 10}
CUDA_CELLS = {"lj-argon": 50, "tersoff-si": 40, "vashishta-sio2": 28}
"""Half a million atoms each."""
PARTS = {
    "local": "atoms of a process, mean",
    "ghosts": "ghosts of a process, mean",
    "ms_per_step": "median of the repeats",
    "callback": "ms a step within the callback: what is not in it is LAMMPS's",
    "exchange": "ms a step for taking other atoms after an exchange",
    "exchanges": "a step",
    "positions": "ms to copy the positions of all atoms to the device, apart",
    "forces_back": "ms to copy the forces of local atoms to the host, apart",
    "evaluate": "ms of forces alone with these copies, lists kept, apart",
    "lammps_alone": "ms a step of LAMMPS without forces, shortest of the repeats",
    "evaluate_all": "ms of forces, energy and virial with these copies, lists kept, apart",
}

OWN_SETTLE, OWN_STEPS = 500, 200
"""Of our own loop, whose skins are learnt in the first steps."""


def own_loop(case: str, cells: int, repeats: int, backend: str) -> dict[str, Any]:
    """Time of a step of `Engine.advance` on the same system, in a process of its own, and its provenance."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "own.json"
        arguments = [case, str(cells), str(repeats), backend, str(out)]
        command = [sys.executable, "-m", "validation.under_lammps.speed", "--own", *arguments]
        child = subprocess.run(command, cwd=common.ROOT, capture_output=True, text=True)
        if child.returncode:
            raise RuntimeError(child.stderr[-2000:])
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def _own(case: str, cells: str, repeats: str, backend: str, out: str) -> None:
    from taichimd import Engine

    system = CASES[case](int(cells))
    engine = Engine(system.atoms, system.forcefield(), backend=backend)
    engine.advance(OWN_SETTLE, system.timestep)
    times = []
    for _ in range(int(repeats)):
        engine.synchronize()
        begin = time.perf_counter()
        engine.advance(OWN_STEPS, system.timestep)
        engine.synchronize()
        times.append((time.perf_counter() - begin) / OWN_STEPS * 1e3)
    found = {"ms_per_step": sorted(times)[len(times) // 2], "runs_ms_per_step": times}
    common.write_json(out, {**found, "provenance": common.provenance()})


def main() -> None:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES))
    parser.add_argument("--cells", nargs="+", type=int, help="one for each case")
    parser.add_argument("--np", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--settle", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--skin", type=float, default=1.0, help="of LAMMPS, angstrom")
    parser.add_argument("--weak", action="store_true", help="so many cells for each process")
    parser.add_argument("--out", help="default: under_lammps_BACKEND.json")
    parser.add_argument("--own", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own:
        _own(*options.own)
        return
    sizes = CPU_CELLS if options.backend == "cpu" else CUDA_CELLS
    cases = options.cases or list(sizes)
    cells = options.cells or [sizes[case] for case in cases]
    rows, head = [], None
    units = {**PARTS, "copies_share": "positions and forces_back, of ms_per_step", "reach": "angstrom"}
    out = options.out or str(common.RESULTS / f"under_lammps_{options.backend}.json")
    for case, cells_of in zip(cases, cells, strict=True):
        alone = own_loop(case, cells_of, options.repeats, options.backend)
        head = head or alone["provenance"]
        for count in options.np:
            along = cells_of // FEW_CELLS
            repeat = f"{along * (count if options.weak else 1)} {along} {along}"
            found = run_workers(
                count, what="speed", case=case, repeat=repeat, pbc=[True] * 3, steps=options.steps,
                settle=options.settle, repeats=options.repeats, skin=options.skin, backend=options.backend,
            )  # fmt: skip
            row = {
                "case": case,
                "processes": count,
                "weak": options.weak,
                "own_loop_ms_per_step": alone["ms_per_step"],
            }
            row |= {name: value.tolist() for name, value in found.items()}
            row["copies_share"] = (row["positions"] + row["forces_back"]) / row["ms_per_step"]
            rows.append(row)
            print(row, flush=True)
            common.write_json(
                out,
                {
                    "provenance": head,
                    "skin_A": options.skin,
                    "units": units,
                    "settle": options.settle,
                    "runs": rows,
                },
            )
    names = ("local", "ghosts", "own_loop_ms_per_step", "ms_per_step", "callback", "exchange", "copies_share")
    print(
        common.table(
            [[r["case"], r["processes"], *(f"{r[n]:.4g}" for n in names)] for r in rows],
            ["case", "np", *names],
        )
    )


if __name__ == "__main__":
    main()
