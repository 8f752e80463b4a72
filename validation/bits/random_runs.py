"""Runs drawn at random: does the code for a GPU give the bits of the code for a CPU, whatever is asked of it?

    TAICHIMD_RUNTIME=quadrants python -m validation.bits.random_runs --backend cpu --out cpu.json
    TAICHIMD_RUNTIME=quadrants python -m validation.bits.random_runs --backend cuda --against cpu.json
    TAICHIMD_RUNTIME=quadrants python -m validation.bits.random_runs --backend emulated --against cpu.json

Melts, silica and Stillinger-Weber silicon of 8 to 500 atoms, in a tenth of the runs far too hot; an ensemble,
a skin, open directions, six calls of 1 to 13 steps. SHA-256 of positions, velocities and cell after each
call, and how a run ended that exploded. On a GPU systems so small would use neither long lists nor the search
of large ones: half of the runs are told to. "emulated" compiles for a CPU what only a GPU has
(tests/support/gpu_code.py).

Sums over pairs have the same bits in any order within +-32,768 eV/angstrom (`enumerate.reproducible_sum`).
Runs that differ are listed with the largest force that was seen after a call.
"""

from pathlib import Path
from typing import Any

import numpy as np

from validation import common, systems
from validation.bits.ensemble_bits import settings_of

CALLS, MAX_STEPS = 6, 13


def main() -> None:
    """Parse the command line, run everything, compare, write JSON as it grows, print what differs last."""
    parser = common.parser(__doc__, "out")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda", "emulated"])
    parser.add_argument("--against", type=Path, help="the JSON of another backend")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()

    if options.backend == "emulated":
        common.use_tests_folder()
        import gpu_code  # type: ignore[import-not-found]

        gpu_code.as_on_a_gpu()
    from taichimd.core import runtime

    backend = runtime.start("auto" if options.backend == "emulated" else options.backend)
    theirs = common.hashes_of(options.against)
    out = options.out or common.RESULTS / f"random_runs_{options.backend}.json"
    report: dict[str, Any] = {**common.provenance(), "results": {}}
    for number in range(options.first, options.first + options.runs):
        found = report["results"][str(number)] = run(number, on_gpu=backend == "cuda")
        if str(number) in theirs:
            found["same_bits"] = found["sha256"] == theirs[str(number)]["sha256"]
        report["summary"] = summary(report["results"].values())
        common.write_json(out, report)
    print(common.table(list(report["summary"].items()), (options.backend, "runs")))
    for number, found in report["results"].items():
        if not found.get("same_bits", True):
            print(f"run {number} differs: {found}")


def summary(results: Any) -> dict[str, int]:
    """How many runs exploded, had the same bits, or others, within the range of exact sums and beyond."""
    from taichimd.enumerate.reproducible_sum import RANGE

    other = [found for found in results if not found.get("same_bits", True)]
    beyond = sum(found["largest_force"] > RANGE for found in other)
    return {
        "all": len(results),
        "exploded": sum("exploded" in found for found in results),
        "same bits": sum(found.get("same_bits", False) for found in results),
        "other bits": len(other) - beyond,
        f"other bits, forces beyond {RANGE:.0f} eV/A": beyond,
    }


def run(number: int, on_gpu: bool) -> dict[str, Any]:
    """One run: what was drawn, its hashes, the largest component of a force that was seen (eV/angstrom)."""
    import taichimd
    from taichimd.core.errors import BlowUpError
    from taichimd.neighbours import verlet_list
    from taichimd.program import groups
    from taichimd.program.engine import Engine

    rng = np.random.default_rng(number)
    system = draw_system(rng)
    kinds = (
        taichimd.NVE, taichimd.NVE, taichimd.NVE, taichimd.Langevin, taichimd.Bussi,
        taichimd.NoseHoover, taichimd.BerendsenNPT, taichimd.StochasticCellRescaling,
    )  # fmt: skip
    kind = kinds[rng.integers(len(kinds))]
    known = settings_of(kind)
    if kind is taichimd.BerendsenNPT:
        known["period"] = int(rng.choice([1, 2, 3, 10]))
    atoms = system.atoms
    if kind is taichimd.NVE and rng.random() < 0.4:
        atoms.pbc = rng.random(3) < 0.5
    skin = None if rng.random() < 0.5 else float(rng.choice([0.05, 0.2, 0.8]))
    long_lists, alone = rng.random(2) < 0.5
    if on_gpu:
        groups.NO_NEAR_LIST = 1 if long_lists else 10**9
        verlet_list.ENOUGH = 1 if alone else 10**9
    if rng.random() < 0.1:
        atoms.set_momenta(atoms.get_momenta() * rng.uniform(2.0, 30.0))
    calls = rng.integers(1, MAX_STEPS + 1, CALLS).tolist()
    found: dict[str, Any] = {
        "system": system.name, "atoms": len(atoms), "pbc": atoms.pbc.tolist(), "ensemble": kind.__name__,
        **known, "skin": skin, "calls": calls, "sha256": [], "largest_force": 0.0,
    }  # fmt: skip
    engine = Engine(atoms, system.forcefield(), ensemble=kind(**known), skin=skin)
    for steps in calls:
        try:
            engine.advance(steps, system.timestep)
        except BlowUpError as error:
            found["exploded"] = str(error)
        found["sha256"].append(common.sha(engine.positions(), engine.velocities(), engine.cell)[:16])
        largest = float(np.nan_to_num(np.abs(engine.forces()), nan=np.inf).max())
        found["largest_force"] = max(found["largest_force"], largest)
        if "exploded" in found:
            break
    return found


def draw_system(rng: np.random.Generator) -> systems.System:
    """A melt in half of the cases, silica or silicon."""
    which = rng.choice(4)
    if which < 2:
        return systems.lj_melt(int(rng.integers(2, 6)))
    if which == 2:
        return systems.silica(1)
    return systems.silicon(int(rng.integers(1, 3)), 900.0, potential="Si.sw")


if __name__ == "__main__":
    main()
