"""What do baths of groups, forces and walls cost beside one bath, or nothing?

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.group_cost --backend cuda \
        --atoms 8000 512000 --out validation/results/group_cost_h200.json

Slabs of Tersoff silicon. First each case compiles in a process of its own, all at a time, and the kernels are
kept. Then all cases of a size are simulations of one process, which take turns: in each round each does a
piece of `--steps` steps, in every second round in the reverse order, until the pieces of a case have taken
`--seconds`. Every piece begins from the same positions and velocities, so that the pieces of a case and of
its reference rebuild the same lists. The cost of a case is the median over rounds of its time over the time
of its reference in the same round; `error` is the standard error of this median. `rebuilds` of lists in a
piece, and skins, should be alike in a case and its reference.
"""

import statistics
import subprocess
import sys
import time
from typing import Any

from validation import common

CASES = {
    "one Langevin bath": ("", 0.0),
    "two Langevin groups": ("one Langevin bath", 0.05),
    "NVE": ("", 0.0),
    "force on a group": ("NVE", 0.03),
    "wall": ("NVE", 0.03),
    "reflecting wall": ("NVE", 0.03),
    "force on all": ("NVE", 0.0),
    "wall of a group": ("NVE", 0.0),
    "two sources": ("NVE", 0.0),
}
"""Reference of each case, and the cost that is aimed at; 0: none, and the case is done if it is named."""
SETTLE = 1000
"""Steps in which lists learn their skins."""
BEGIN = 50
"""Steps of a piece that are not timed: lists are made, and the first forces computed."""


def main() -> None:
    """Measure, write the JSON after each size, print the rows of the page."""
    parser = common.parser(__doc__ or "", out="group_cost_cpu")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--atoms", type=int, nargs="+", default=[8000])
    parser.add_argument("--steps", type=int, default=600, help="of a piece")
    parser.add_argument("--seconds", type=float, default=3.0, help="of all pieces of one case")
    parser.add_argument("--cases", nargs="+", default=list(CASES)[:6], choices=list(CASES))
    parser.add_argument("--compiles", action="store_true", help="only compile, without a result")
    options = parser.parse_args()
    if options.compiles:
        for n in options.atoms:
            measured(n, options)
        return
    compile_all(options)
    report: dict[str, Any] = {**common.provenance(), "potential": "Si.tersoff", "sizes": {}}
    for n in options.atoms:
        report["sizes"][str(n)] = measured(n, options)
        common.write_json(options.out, report)
    print(*("| " + " | ".join(cells) + " |" for cells in table(report)), sep="\n")
    for n, size in report["sizes"].items():
        for name, one in size["cases"].items():
            if one["cost"] is not None:
                rebuilds = one["rebuilds"], size["cases"][one["reference"]]["rebuilds"]
                print(f"{n} {name}: {one['cost']:+.4f} +- {one['error']:.4f}, rebuilds of a piece {rebuilds}")


def table(report: dict[str, Any]) -> list[list[str]]:
    """Rows of the page of groups: atoms, case, time of a step (µs), reference, cost, limit."""
    return [
        [
            f"{size['atoms']:,}",
            name,
            f"{one['us_per_step']:.1f}",
            one["reference"],
            "" if one["cost"] is None else f"{100 * one['cost']:+.1f}%".replace("-", "−"),
            f"{100 * one['aim']:.0f}%" if one["aim"] else "",
        ]
        for size in report["sizes"].values()
        for name, one in size["cases"].items()
    ]


def compile_all(options: Any) -> None:
    """Let a process for each size and case compile its kernels, which the runtime keeps for this one."""
    head = [sys.executable, "-m", "validation.benchmarks.group_cost", "--backend", options.backend]
    head += ["--steps", "20", "--seconds", "0", "--compiles", "--out", str(options.out)]
    begin = time.perf_counter()
    started = [
        subprocess.Popen([*head, "--atoms", str(n), "--cases", case], stdout=subprocess.DEVNULL)
        for n in options.atoms
        for case in options.cases
    ]
    if any([process.wait() for process in started]):
        raise SystemExit("a process that compiles has failed; see above")
    print(f"{len(started)} processes compiled in {time.perf_counter() - begin:.0f} s", flush=True)


def acting_of(name: str) -> dict[str, Any]:
    """Arguments of `Simulation` of a case."""
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
    if name in ("force on a group", "force on all"):
        on = "left" if name == "force on a group" else None
        return {"groups": halves, "acting": [taichimd.Force((0.0, 0.0, 1e-4), on=on)]}
    if name == "reflecting wall":
        return {"acting": [taichimd.Wall("x > -1")]}
    if name in ("wall", "wall of a group"):
        # 2 Å before the surface, near the minimum of the energy: a wall that is closer pushes atoms away, and
        # lists are then rebuilt more often.
        on = None if name == "wall" else "left"
        wall = taichimd.Wall("x > -2", "lj93", epsilon=1e-3, sigma=2.0, cutoff=5.0, on=on)
        return {"groups": halves, "acting": [wall]}
    return {}


def measured(n: int, options: Any) -> dict[str, Any]:
    """Time of a step of each case, in turn, and its cost beside its reference."""
    from ase.build import bulk

    from taichimd import Simulation
    from taichimd.core import units

    cells = round((n / 8) ** (1 / 3))
    atoms = bulk("Si", cubic=True, a=5.431).repeat(cells)
    atoms.pbc = [False, True, True]
    simulations = {
        name: Simulation(
            atoms, "Si.tersoff", temperature=300.0, timestep=1.0, backend=options.backend, **acting_of(name)
        )
        for name in options.cases
    }
    dt = 1.0 * units.FS

    def seconds(simulation: Any, number: int) -> float:
        simulation.engine.synchronize()
        begin = time.perf_counter()
        simulation.engine.advance(number, dt)
        simulation.engine.synchronize()
        return time.perf_counter() - begin

    for simulation in simulations.values():
        # The first call compiles.
        for number in (200, SETTLE):
            seconds(simulation, number)
    first = next(iter(simulations.values())).engine
    start = {"positions": first.positions(), "velocities": first.velocities()}
    times: dict[str, list[float]] = {name: [] for name in simulations}
    rebuilds: dict[str, list[int]] = {name: [] for name in simulations}
    order = list(simulations)
    while len(times[order[0]]) < 3 or sum(times[order[0]]) * options.steps < options.seconds:
        for name in order:
            engine = simulations[name].engine
            engine.set_state(**start)
            seconds(simulations[name], BEGIN)
            before = engine.statistics()["rebuilds"]
            times[name].append(seconds(simulations[name], options.steps) / options.steps)
            rebuilds[name].append(engine.statistics()["rebuilds"] - before)
        order.reverse()
    cases = {}
    for name, own in times.items():
        reference, aim = CASES[name]
        costs = [a / b - 1.0 for a, b in zip(own, times.get(reference, []), strict=False)]
        lists = simulations[name].engine.statistics()
        cases[name] = {
            "us_per_step": statistics.median(own) * 1e6,
            "reference": reference,
            "cost": statistics.median(costs) if costs else None,
            "error": error_of_median(costs) if costs else None,
            "cost_of_each_round": costs,
            "aim": aim,
            "steps": options.steps,
            "rebuilds": statistics.median(rebuilds[name]),
            **{skin: lists[skin] for skin in ("outer_skin_A", "inner_skin_A")},
        }
    return {"atoms": len(atoms), "cases": cases}


def error_of_median(values: list[float]) -> float:
    """Standard error of a median, from the median deviation of normally distributed values."""
    middle = statistics.median(values)
    spread = 1.4826 * statistics.median(abs(value - middle) for value in values)
    return float(1.2533 * spread / len(values) ** 0.5)


if __name__ == "__main__":
    main()
