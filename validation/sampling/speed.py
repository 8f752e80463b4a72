"""How long is a sweep of single moves, and a move of all atoms, beside the energy and a full evaluation?

    TAICHIMD_RUNTIME=quadrants python -m validation.sampling.speed

Times are the least ones of pieces of a chain of argon, or of copper, after compilation. The energy is what a
move of all atoms needs; a full evaluation gives energies, forces, virials. Lists are fit in both. The paper
(Yaseen, Ji, Li 2015) moves 3,375 atoms together, without a cutoff and with half a box. Its seconds are of a
step, on a Tesla C2070. Here 1,000 steps are extrapolated from `STEPS`.
"""

import time
from collections.abc import Callable
from typing import Any

from validation import common
from validation.sampling import systems

PIECES = 5
STEPS = 20
PAPER = {"no cutoff": {"direct": 10.94, "balanced": 3.68}, "half box": {"direct": 1.62, "balanced": 0.89}}
"""Seconds of a step of 3,375 atoms."""
TIMES = (
    "single_sweep_seconds",
    "all_sweep_seconds",
    "energy_seconds",
    "evaluation_seconds",
    "seconds_per_1000_steps",
)


def cases(largest: int, backend: str) -> dict[str, Callable[[float], dict[str, Any]]]:
    """What measures each case, by name; all triples of 3,375 atoms would take a CPU minutes."""
    found: dict[str, Callable[[float], dict[str, Any]]] = {}
    for side in (7, 15) if backend == "cuda" else (7,):
        if side**3 <= largest:
            droplet = systems.droplet(side)
            found[f"all triples, {side**3}"] = lambda s, a=droplet: measure(a, systems.triples(None), s)
            for name in PAPER:
                found[f"the paper's, {name}, {side**3}"] = lambda s, a=side, b=name: steps_of_all(a, b)
    for cells in (6, 10, 20, 30):
        atoms = systems.crystal(cells)
        if len(atoms) <= largest:
            found[f"pairs, {len(atoms)}"] = lambda s, a=atoms: measure(a, systems.pairs(), s)
            found[f"triples within 8.5 A, {len(atoms)}"] = lambda s, a=atoms: measure(
                a, systems.triples(8.5), s
            )
    for cells in (6, 10, 20):
        if 4 * cells**3 <= largest:
            found[f"embedded atoms, {4 * cells**3}"] = lambda s, a=cells: measure(
                systems.copper(a), systems.embedded(), s, temperature=900.0, move=0.2
            )
    return found


def least(work: Callable[[], Any], seconds: float) -> float:
    """Seconds that some work takes, in pieces that fill so many in all."""
    once = duration(work)
    times = max(1, int(seconds / PIECES / once))
    found = []
    for _ in range(PIECES):
        found.append(duration(lambda: [work() for _ in range(times)]) / times)
        if once > seconds:
            break
    return min(found)


def duration(work: Callable[[], Any]) -> float:
    """Seconds from the start to what the device has done."""
    from taichimd.core.runtime import ti

    begin = time.perf_counter()
    work()
    ti.sync()
    return time.perf_counter() - begin


def evaluate(chain: Any) -> None:
    """Energies, forces and virials."""
    chain.device.evaluated = False
    chain.device.need_outputs()


def measure(
    atoms: Any, forcefield: Any, seconds: float, temperature: float = 90.0, move: float = 0.3
) -> dict[str, Any]:
    """Seconds of a sweep of each kind, of the energy and of a full evaluation."""
    from taichimd.sampling.chain import MonteCarlo

    found: dict[str, Any] = {"atoms": len(atoms)}
    for kind, most in (("single", move), ("all", move / len(atoms) ** 0.5)):
        chain = MonteCarlo(atoms, forcefield, temperature=temperature, kind=kind, move=most)
        found[f"{kind}_first_seconds"] = duration(lambda chain=chain: chain.advance(1))
        chain.advance(2)
        found[f"{kind}_sweep_seconds"] = least(lambda chain=chain: chain.advance(1), seconds)
        found[f"{kind}_acceptance"] = chain.moves.acceptance
    chain.compare()
    found["energy_seconds"] = least(
        lambda: chain.find_energy() if any_energy_costs_less(chain) else evaluate(chain), seconds
    )
    found["evaluation_seconds"] = least(lambda: evaluate(chain), seconds)
    for name in ("energy", "evaluation"):
        found[f"single_sweep_in_{name}"] = found["single_sweep_seconds"] / found[f"{name}_seconds"]
    return found


def any_energy_costs_less(chain: Any) -> bool:
    """Whether the energy costs less than an evaluation."""
    return any(one.energy_costs_less for one in chain.device.evaluators)


def steps_of_all(side: int, cutoff: str) -> dict[str, Any]:
    """The paper's chain: moves of all atoms together."""
    from taichimd.sampling.chain import MonteCarlo
    from validation.triples.systems import argon, drop, half_box

    forcefield = argon(half_box(side) if cutoff == "half box" else None)
    chain = MonteCarlo(drop(side), forcefield, temperature=90.0, kind="all", move=0.3 / side**1.5)
    found = {"atoms": side**3, "all_first_seconds": duration(lambda: chain.advance(3)), "steps": STEPS}
    took = duration(lambda: chain.advance(STEPS))
    found |= {"seconds_per_1000_steps": 1000 * took / STEPS, "all_acceptance": chain.moves.acceptance}
    if side == 15:
        found["paper_seconds_per_1000_steps"] = {name: 1000 * each for name, each in PAPER[cutoff].items()}
    return found


def main() -> None:
    """Parse the command line, measure, write JSON, print a table last."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--largest", type=int, default=200_000, help="atoms")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each time")
    parser.add_argument("--limit", type=float, default=50.0, help="seconds, behind which no case begins")
    parser.add_argument("--cases", default="", help="what the names of cases begin with")
    options = parser.parse_args()

    from taichimd.core import runtime

    begin, backend = time.perf_counter(), runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "results": {}}
    rows = []
    for name, case in cases(options.largest, backend).items():
        if not name.startswith(options.cases) or time.perf_counter() - begin > options.limit:
            continue
        found = report["results"][name] = case(options.seconds)
        ms = [f"{1e3 * found[key]:.3f}" if key in found else "-" for key in TIMES]
        ratios = [found.get(f"single_sweep_in_{one}", float("nan")) for one in ("energy", "evaluation")]
        rows.append((name, *ms, *(f"{one:.1f}" for one in ratios)))
        common.write_json(options.out or common.RESULTS / f"mc_speed_{backend}.json", report)
    heads = (
        "single moves",
        "all",
        "energy",
        "evaluation",
        "1,000 steps",
        "single/energy",
        "single/evaluation",
    )
    print(common.table(rows, ("times in ms", *heads)))


if __name__ == "__main__":
    main()
