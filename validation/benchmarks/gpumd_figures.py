"""Figures 1, 2 and 4 of GPUMD's paper, with our points in them.

    python -m validation.benchmarks.gpumd_figures measure --out gpumd_figures_h100.json
    python -m validation.benchmarks.gpumd_figures draw

`measure` does the paper's benchmark: silicon of 1,000 to 2,744,000 atoms at 300 K, 1,000 steps, Berendsen
thermostat and barostat, and NVE beside it, from the state that the barostat has left: a crystal that is
denser or hotter has more atoms with a fifth neighbour, and costs more by itself. For figure 4, 256,000 atoms
with a rebuild every 5 steps. `draw` needs no GPU: what the text of the paper says (`gpumd_paper.json`; its
markers exist as pictures only), the peers on an H100 (`anchors.json`), and ours.
Z. Fan et al., Comput. Phys. Commun. 218, 10 (2017).
"""

import argparse
import json
import statistics
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from validation import common, systems
from validation.benchmarks import gpumd_plot, roofline
from validation.benchmarks.stepping import seconds, silicon_cells, state_of, steps_for, warm_engine

SIZES = (1_000, 8_000, 27_000, 64_000, 216_000, 512_000, 1_000_000, 2_744_000)
FIGURE_4, EVERY, SKIN = 256_000, 5, 0.5
"""Atoms, steps between rebuilds, skin (angstrom): five steps at 300 K need a tenth of it."""
POTENTIALS = {"tersoff": "Si.tersoff", "sw": "Si.sw"}
ENSEMBLES = ("nve", "nvt-berendsen", "npt-berendsen")
TEMPERATURE = 300.0
"""K"""


def main() -> None:
    """Parse the command line; measure or draw."""
    parser = common.parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("measure", help="run the benchmark, write JSON")
    run.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    run.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    run.add_argument("--precisions", nargs="+", default=["float64", "mixed", "float32"])
    run.add_argument("--potentials", nargs="+", default=["tersoff"], choices=POTENTIALS)
    run.add_argument("--ensembles", nargs="+", default=["nve", "npt-berendsen"], choices=ENSEMBLES)
    run.add_argument("--steps", type=int, default=1_000, help="of one timed run, as in the paper")
    run.add_argument("--settle", type=int, default=1_500, help="steps before the first timed one")
    run.add_argument("--repeats", type=int, default=3)
    run.add_argument("--figure-4", type=int, default=FIGURE_4, help="atoms with rebuilds; 0: none")
    run.add_argument("--budget", type=float, default=500.0, help="start nothing after so many seconds")
    run.add_argument("--out", type=Path, default=common.RESULTS / "gpumd_figures.json")
    picture = commands.add_parser("draw", help="draw the figures from that JSON")
    picture.add_argument(
        "results",
        type=Path,
        nargs="*",
        help="the first one is also that of the machine, the first with "
        "figure 4 that of figure 4; of one point the first measurement counts",
        default=[common.RESULTS / "gpumd_figures_h100.json"],
    )
    picture.add_argument("--out", type=Path, default=common.RESULTS / "gpumd_figures.png", help="PNG")
    options = parser.parse_args()
    if options.command == "measure":
        measure(options)
    else:
        first, *others = (json.loads(path.read_text()) for path in options.results)
        first["results"] = together([first, *others])
        first["figure_4"] = next((r["figure_4"] for r in (first, *others) if r["figure_4"]), [])
        gpumd_plot.draw(first, options.out)
        print(f"written: {options.out.name}")


def together(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results of several reports; of one point the first."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for report in reports:
        for result in report["results"]:
            point = tuple(result[key] for key in ("potential", "precision", "ensemble", "atoms"))
            found.setdefault(point, {**result, "gpu": model(report)})
    return list(found.values())


def model(report: dict[str, Any]) -> str:
    """The model of its GPU, such as "H100"."""
    return common.device(report).split(",")[0].removeprefix("NVIDIA ").split()[0]


def measure(options: argparse.Namespace) -> None:
    """Time everything, small systems first, so that a budget cuts the long ones; JSON grows on the way."""
    from taichimd.core import runtime

    if options.figure_4 and not runtime.DEVICE_LOOPS:
        print("no figure 4: rebuilds are forced in loops on the device (TAICHIMD_RUNTIME=quadrants)")
        options.figure_4 = 0
    runtime.start(options.backend)
    started = time.monotonic()
    machine = roofline.measure_machine()
    report: dict[str, Any] = {
        **common.provenance(),
        "what": f"silicon, first velocities of {2 * TEMPERATURE:g} K, which the lattice halves; 1 fs; "
        "NVE from the state that the barostat has left",
        "steps": options.steps,
        "measured": {"bytes_per_s": machine.bandwidth, "flops_per_s": machine.flops},
        "results": [],
        "figure_4": [],
        "left_out_for_time": [],
    }

    def late(what: str) -> bool:
        over = time.monotonic() - started > options.budget
        if over:
            report["left_out_for_time"].append(what)
        return over

    kinds = [(potential, precision) for potential in options.potentials for precision in options.precisions]
    if options.figure_4:
        for potential, precision in kinds:
            if potential == "tersoff" and not late(f"figure 4 {precision}"):
                report["figure_4"].append(figure_4(options, precision))
                common.write_json(options.out, report)
    for n_atoms in sorted(options.sizes):
        for potential, precision in kinds:
            if late(f"{potential} {precision} {n_atoms}"):
                continue
            print(f"{potential} {precision} {n_atoms} ...", flush=True)
            report["results"] += time_ensembles(n_atoms, potential, precision, options, machine)
            common.write_json(options.out, report)
    common.write_json(options.out, report)
    show(report)
    print(f"written: {options.out.name}")


def make_ensemble(name: str) -> Any:
    """An ensemble by its name, at 300 K and no pressure; bulk modulus of silicon."""
    from taichimd.ensembles.registry import BAROSTATS, NVE, THERMOSTATS

    if name == "nve":
        return NVE()
    if name in BAROSTATS:
        return BAROSTATS[name](TEMPERATURE, bulk_modulus=98.0)
    return THERMOSTATS[name](TEMPERATURE)


def time_ensembles(
    n_atoms: int, potential: str, precision: str, options: argparse.Namespace, machine: roofline.Machine
) -> list[dict[str, Any]]:
    """Speed of one crystal in each ensemble; those after the first start from the state that it has left."""
    system = systems.silicon(silicon_cells(n_atoms), 2.0 * TEMPERATURE, potential=POTENTIALS[potential])
    found = []
    order = sorted(options.ensembles, key=lambda name: not name.startswith("npt"))
    for name in order:
        result: dict[str, Any] = {
            "potential": potential, "precision": precision, "atoms": n_atoms, "ensemble": name,
            "atom_steps_per_s": None,
        }  # fmt: skip
        found.append(result)
        engine = warm_engine(system, options.settle, precision=precision, ensemble=make_ensemble(name))
        before = engine.statistics()["rebuilds"]
        run = partial(engine.advance, options.steps, system.timestep)
        each = [seconds(run) for _ in range(options.repeats)]
        step = statistics.median(each) / options.steps
        thermo = engine.thermo()
        if name == order[0]:
            system = replace(system, atoms=state_of(engine, system.atoms))
        result |= {
            "atom_steps_per_s": n_atoms / step,
            "ms_per_step": 1e3 * step,
            "ms_each": [1e3 * one / options.steps for one in each],
            "rebuilds": engine.statistics()["rebuilds"] - before,
            "timed_steps": options.steps * options.repeats,
            "temperature_K": thermo.temperature,
            "volume_A3_per_atom": thermo.volume / n_atoms if thermo.volume else None,
        }
        if name == "nve" and precision == "float64":
            small = systems.silicon(4, 300.0, potential=POTENTIALS[potential])
            result["fraction_of_roofline"] = roofline.floor(small).seconds(n_atoms, machine) / step
    return found


def figure_4(options: argparse.Namespace, precision: str) -> dict[str, Any]:
    """Speed with a rebuild every 5 steps, and what the rebuilds cost."""
    print(f"figure 4, {precision} {options.figure_4} ...", flush=True)
    system = systems.silicon(silicon_cells(options.figure_4), 2.0 * TEMPERATURE)
    engine = warm_engine(system, options.settle, precision=precision, skin=SKIN)
    length = 0.5 if engine.backend == "cuda" else 1.0
    cost = rebuild_cost(engine, system.timestep, length, options.repeats)
    return {"potential": "tersoff", "precision": precision, "atoms": options.figure_4, **cost}


def rebuild_cost(engine: Any, timestep: float, length: float, repeats: int) -> dict[str, Any]:
    """Milliseconds of a step and of a rebuild, and the loss of speed with a rebuild every `EVERY` steps."""
    lists = engine.device.lists
    names = "outer_skin_A", "inner_skin_A"

    def timed(n: int, forced: bool) -> tuple[float, int, list[float]]:
        """Seconds a step, builds and skins."""
        lists.force_builds(EVERY if forced else None)
        engine.advance(3 * EVERY, timestep)  # the host builds the first list
        before = engine.statistics()["rebuilds"]
        found = seconds(lambda: engine.advance(n, timestep)) / n
        after = engine.statistics()
        return found, after["rebuilds"] - before, [after[name] for name in names]

    n_steps = steps_for(length, lambda n: n * timed(n, False)[0])
    each: dict[bool, list[float]] = {False: [], True: []}
    builds, skins = {False: 0, True: 0}, {}
    for _ in range(repeats):
        for forced in each:
            per_step, found, skins[forced] = timed(n_steps, forced)
            each[forced].append(per_step)
            builds[forced] += found
    lists.force_builds(None)
    plain, often = (statistics.median(found) for found in each.values())
    total = n_steps * repeats
    # Runs that force none do what the motion of the atoms asks for.
    rebuild = max(often - plain, 0.0) * total / (builds[True] - builds[False])
    step = plain - rebuild * builds[False] / total
    rebuilt_step = step + rebuild / EVERY
    return {
        "ms_per_step": 1e3 * step,
        "ms_per_rebuild": 1e3 * rebuild,
        "ms_per_step_rebuilt": 1e3 * rebuilt_step,
        "atom_steps_per_s": engine.n_atoms / step,
        "atom_steps_per_s_rebuilt": engine.n_atoms / rebuilt_step,
        "added_time": rebuild / EVERY / step,
        "loss_of_speed": 1.0 - step / rebuilt_step,
        "rebuilds": builds[False],
        "rebuilds_forced": builds[True],
        "steps": total,
        "ms_each": {"plain": [1e3 * x for x in each[False]], "forced": [1e3 * x for x in each[True]]},
        "skins_A": skins[False],
        "skins_forced_A": skins[True],
    }


def npt_over_nve(results: list[dict[str, Any]], result: dict[str, Any]) -> float | None:
    """Time of a step over that of NVE on the same crystal."""
    same = ("potential", "precision", "atoms")
    nve = next(
        (r for r in results if r["ensemble"] == "nve" and all(r[key] == result[key] for key in same)), None
    )
    if nve is None or not result["atom_steps_per_s"] or not nve["atom_steps_per_s"]:
        return None
    return float(nve["atom_steps_per_s"] / result["atom_steps_per_s"])


def show(report: dict[str, Any]) -> None:
    """One line for each speed."""
    rows = []
    for result in report["results"]:
        speed, ratio = result["atom_steps_per_s"], npt_over_nve(report["results"], result)
        fraction = result.get("fraction_of_roofline")
        rows.append(
            (
                result["potential"],
                result["precision"],
                result["atoms"],
                result["ensemble"],
                f"{speed:.3g}" if speed else "-",
                f"{result['ms_per_step']:.4g}" if speed else "-",
                f"{ratio:.2f}x" if ratio and result["ensemble"] != "nve" else "-",
                f"{100 * fraction:.0f}%" if fraction else "-",
                f"{result['rebuilds']}/{result['timed_steps']}" if speed else "-",
            )
        )
    for case in report["figure_4"]:
        print(
            f"{case['atoms']} atoms, {case['precision']}: {case['atom_steps_per_s']:.3g} atom-step/s, "
            f"rebuilt every 5 steps {case['atom_steps_per_s_rebuilt']:.3g}, "
            f"{100 * case['loss_of_speed']:.1f}% less"
        )
    if report["left_out_for_time"]:
        print(f"left out for time: {', '.join(report['left_out_for_time'])}")
    header = (
        "potential", "precision", "atoms", "ensemble", "atom-step/s", "ms/step", "time over NVE",
        "of roofline", "rebuilds/steps",
    )  # fmt: skip
    print(f"{report['runtime'].get('runtime')} on {report['runtime'].get('device')}")
    print(common.table(rows, header))


if __name__ == "__main__":
    main()
