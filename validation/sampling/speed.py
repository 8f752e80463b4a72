"""How long is a sweep of single moves, and a move of all atoms, beside a full evaluation?

    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.speed

Times are medians over pieces of a chain of argon, after compilation. The full evaluation gives energies,
forces and virials, with lists that are fit.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from validation import common
from validation.sampling import systems

PIECES = 5
TIMES = ("single_sweep_seconds", "all_sweep_seconds", "full_energy_seconds")


def cases(largest: int, backend: str) -> dict[str, tuple[Any, Any]]:
    """Structure and force field by name; all triples of 3,375 atoms would take a CPU minutes."""
    found = {}
    for cells in (6, 10, 20, 30):
        atoms = systems.crystal(cells)
        if len(atoms) <= largest:
            found[f"pairs, {len(atoms)}"] = (atoms, systems.pairs())
            found[f"triples within 8.5 A, {len(atoms)}"] = (atoms, systems.triples(8.5))
    for points in (7, 15) if backend == "cuda" else (7,):
        if points**3 <= largest:
            found[f"all triples, {points**3}"] = (systems.droplet(points), systems.triples(None))
    return found


def median(work: Callable[[], Any], seconds: float) -> float:
    """Seconds that some work takes, over pieces that fill so many in all."""
    begin = time.perf_counter()
    work()
    once = time.perf_counter() - begin
    times = max(1, int(seconds / PIECES / once))
    found = []
    for _ in range(PIECES):
        begin = time.perf_counter()
        for _ in range(times):
            work()
        found.append((time.perf_counter() - begin) / times)
        if once > seconds:
            break
    return statistics.median(found)


def measure(atoms: Any, forcefield: Any, seconds: float) -> dict[str, Any]:
    """Seconds of a sweep of each kind and of a full evaluation."""
    from taichimd.core.runtime import ti
    from taichimd.sampling.chain import MonteCarlo

    found: dict[str, Any] = {"atoms": len(atoms)}
    for kind, move in (("single", 0.3), ("all", 0.3 / len(atoms) ** 0.5)):
        chain = MonteCarlo(atoms, forcefield, temperature=90.0, kind=kind, move=move)
        if kind == "single" and chain._incremental() is None:
            continue
        begin = time.perf_counter()
        chain.advance(1)
        found[f"{kind}_first_seconds"] = time.perf_counter() - begin
        chain.advance(2)
        found[f"{kind}_sweep_seconds"] = median(lambda chain=chain: chain.advance(1), seconds)
        found[f"{kind}_acceptance"] = chain.moves.acceptance

        def evaluate(chain: Any = chain) -> None:
            chain.device.evaluated = False
            chain.device.evaluate()
            ti.sync()

        chain.compare()
        if kind == "all" or "full_energy_seconds" not in found:
            found["full_energy_seconds"] = median(evaluate, seconds)
    if "single_sweep_seconds" in found:
        found["single_sweep_in_full_energies"] = found["single_sweep_seconds"] / found["full_energy_seconds"]
    return found


def main() -> None:
    """Parse the command line, measure, write JSON, print a table last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--largest", type=int, default=200_000, help="atoms")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each time")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "results": {}}
    rows = []
    for name, case in cases(options.largest, backend).items():
        found = report["results"][name] = measure(*case, options.seconds)
        ms = [f"{1e3 * found[key]:.3f}" if key in found else "-" for key in TIMES]
        rows.append((name, *ms, f"{found.get('single_sweep_in_full_energies', float('nan')):.1f}"))
        common.write_json(options.out or common.RESULTS / f"mc_speed_{backend}.json", report)
    print(
        common.table(
            rows,
            ("system", "sweep of single moves, ms", "move of all, ms", "full energy, ms", "sweep / full"),
        )
    )


if __name__ == "__main__":
    main()
