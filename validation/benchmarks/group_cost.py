"""What do baths of groups, forces and walls cost beside one bath, or nothing?

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.group_cost --backend cuda \
        --atoms 8000 512000 --out validation/results/group_cost_h100.json

Slabs of Tersoff silicon. All cases of a size are simulations of one process, which take turns: in each of
`--rounds` each does a piece of `--seconds`. The cost of a case is the median over rounds of its time for a
step over the time of its reference in the same round. Forces and walls are timed if this version has them.
"""

import statistics
import time
from typing import Any

from validation import common

CASES = {
    "NVE": ("", 0.0),
    "one Langevin bath": ("", 0.0),
    "two Langevin groups": ("one Langevin bath", 0.05),
    "two sources": ("NVE", 0.0),
    "force on a group": ("NVE", 0.03),
    "wall": ("NVE", 0.03),
}
"""Reference of each case, and the cost that is aimed at; 0: none."""
SETTLE = 1000
"""Steps before the pieces, and of the run that their length is found from."""


def main() -> None:
    """Measure, write the JSON after each size, print a table."""
    parser = common.parser(__doc__ or "", out="group_cost_cpu")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--atoms", type=int, nargs="+", default=[8000])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a piece of one case")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    report: dict[str, Any] = {**common.provenance(), "potential": "Si.tersoff", "sizes": {}}
    rows = []
    for n in options.atoms:
        found = measured(n, options)
        report["sizes"][str(n)] = found
        common.write_json(options.out, report)
        for name, one in found["cases"].items():
            cost = "" if one["cost"] is None else f"{one['cost']:+.1%}"
            rows.append((f"{found['atoms']:,}", name, f"{one['us_per_step']:.1f}", one["reference"], cost))
    print(common.table(rows, ("atoms", "case", "us a step", "beside", "cost")))


def acting_of(name: str) -> dict[str, Any]:
    """Arguments of `Simulation` of a case; empty where this version has no such class."""
    import taichimd

    halves = {"left": "fx < 0.5", "right": "fx >= 0.5"}
    if name == "one Langevin bath":
        return {"ensemble": taichimd.Langevin(300.0, coupling_time=500.0)}
    if name == "two Langevin groups":
        baths = [
            taichimd.Langevin(t, coupling_time=500.0, on=on) for t, on in ((310.0, "left"), (290.0, "right"))
        ]
        return {"groups": halves, "acting": baths}
    if name == "two sources":
        return {
            "groups": halves,
            "acting": [taichimd.Source(0.1, on="left"), taichimd.Source(-0.1, on="right")],
        }
    if name == "force on a group" and hasattr(taichimd, "Force"):
        return {"groups": halves, "acting": [taichimd.Force((0.0, 0.0, 1e-4), on="left")]}
    if name == "wall" and hasattr(taichimd, "Wall"):
        # 2 Å before the surface, near the minimum of the energy: a wall that is closer pushes atoms away, and
        # lists are then rebuilt more often.
        return {"acting": [taichimd.Wall("x > -2", "lj93", epsilon=1e-3, sigma=2.0, cutoff=5.0)]}
    return {}


def measured(n: int, options: Any) -> dict[str, Any]:
    """Time of a step of each case, in turn, and its cost beside its reference."""
    from ase.build import bulk

    from taichimd import Simulation
    from taichimd.core import units

    cells = round((n / 8) ** (1 / 3))
    atoms = bulk("Si", cubic=True, a=5.431).repeat(cells)
    atoms.pbc = [False, True, True]
    simulations = {}
    for name in options.cases:
        given = acting_of(name)
        if given or name == "NVE":
            simulations[name] = Simulation(
                atoms, "Si.tersoff", temperature=300.0, timestep=1.0, backend=options.backend, **given
            )
    dt, steps = 1.0 * units.FS, {}

    def seconds(simulation: Any, number: int) -> float:
        simulation.engine.synchronize()
        begin = time.perf_counter()
        simulation.engine.advance(number, dt)
        simulation.engine.synchronize()
        return time.perf_counter() - begin

    for name, simulation in simulations.items():
        # The first call compiles, and lists learn their skins.
        for number in (200, SETTLE):
            seconds(simulation, number)
        steps[name] = max(20, round(options.seconds / (seconds(simulation, SETTLE) / SETTLE)))
    times: dict[str, list[float]] = {name: [] for name in simulations}
    for _ in range(options.rounds):
        for name, simulation in simulations.items():
            times[name].append(seconds(simulation, steps[name]) / steps[name])
    cases = {}
    for name, own in times.items():
        reference, aim = CASES[name]
        ratios = [a / b for a, b in zip(own, times.get(reference, []), strict=False)]
        cases[name] = {
            "us_per_step": statistics.median(own) * 1e6,
            "reference": reference,
            "cost": statistics.median(ratios) - 1.0 if ratios else None,
            "cost_of_each_round": [ratio - 1.0 for ratio in ratios],
            "aim": aim,
            "steps": steps[name],
        }
    return {"atoms": len(atoms), "cases": cases}


if __name__ == "__main__":
    main()
