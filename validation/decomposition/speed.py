"""Microseconds per step of particle and tuple decomposition: silica (figures 3 to 5), and other force fields.

Where "auto" takes neither, but pairs by tuple and triplets by particle, that is timed, too. All engines stand
side by side, warm and settled, and are timed in turn, so that what else the machine does hits all.
"""

import argparse
import statistics
from functools import partial
from typing import Any

from validation import common
from validation.benchmarks.stepping import seconds, steps_for, warm_engine
from validation.benchmarks.systems import CASES
from validation.decomposition import states
from validation.decomposition.accuracy import compare
from validation.decomposition.states import DECOMPOSITIONS, SHORT
from validation.systems import System

SIZES = {"cpu": (4, 8), "cuda": (4, 8, 10, 12, 16, 32)}
"""Cells of silica in each direction; on a GPU the paper's."""
OTHERS = {
    "cpu": ("sw-si:1000", "sw-si:8000", "tersoff-si:1000", "tersoff-si:8000", "lj-melt:4000"),
    "cuda": ("sw-si:8000", "sw-si:64000", "tersoff-si:8000", "tersoff-si:64000", "lj-melt:32000"),
}
SETTLE = {"cpu": 300, "cuda": 1_500}
AGREE = 100
"""Steps after which positions and velocities of both are compared."""


def run(options: argparse.Namespace) -> str:
    """Silica in all sizes; the table."""
    path, report = states.open_report("speed", options)
    for cells in options.speed_sizes or SIZES[options.backend]:
        if not states.late(options):
            result = {"cells": cells, **measure(f"vashishta-sio2:{24 * cells**3}", options)}
            states.add_result(path, report, result, "atoms")
    return table("speed", report)


def run_potentials(options: argparse.Namespace) -> str:
    """The other force fields; the table."""
    path, report = states.open_report("potentials", options)
    for case in options.cases or OTHERS[options.backend]:
        if not states.late(options):
            states.add_result(path, report, measure(case, options), "case", "atoms")
    return table("potentials", report)


def measure(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """Agreement after a few steps, then times of a step, of one case of one size (`name:atoms`)."""
    name, atoms = case.split(":")
    print(f"{case} ...", flush=True)
    system = CASES[name].system(int(atoms))
    settle = options.settle or SETTLE[options.backend]
    engines = {d: warm_engine(system, 0, decomposition=d) for d in (*DECOMPOSITIONS, "auto")}
    taken = engines["auto"].decomposition
    if taken in DECOMPOSITIONS:
        del engines["auto"]
    for engine in engines.values():
        engine.advance(min(AGREE, settle), system.timestep)
    ends = [(e.positions(), e.velocities()) for e in engines.values()]
    agreement = compare("PD and TD", *ends[0], *ends[1])
    for engine in engines.values():
        engine.advance(max(settle - AGREE, 1), system.timestep)
    timed = time_in_turn(engines, system, options)
    medians = {d: statistics.median(found["us_each"]) for d, found in timed.items()}
    result: dict[str, Any] = {"case": name, "atoms": int(atoms), "steps_before": settle}
    for decomposition, found in timed.items():
        result[decomposition] = {"us_per_step": medians[decomposition], **found}
    return {
        **result,
        "auto_takes": taken,
        "speedup_of_tuple": medians["particle"] / medians["tuple"],
        "after_steps": min(AGREE, settle),
        "agreement": agreement,
    }


def time_in_turn(
    engines: dict[str, Any], system: System, options: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Microseconds per step of each engine, in turn in each repeat; what its lists did meanwhile."""

    def trial(engine: Any, steps: int) -> float:
        return seconds(partial(engine.advance, steps, system.timestep))

    lengths = {d: steps_for(options.seconds, partial(trial, e), most=5_000) for d, e in engines.items()}
    before = {d: engine.statistics()["rebuilds"] for d, engine in engines.items()}
    each: dict[str, list[float]] = {d: [] for d in engines}
    for _ in range(options.repeats):
        for decomposition, engine in engines.items():
            steps = lengths[decomposition]
            each[decomposition].append(1e6 * trial(engine, steps) / steps)
    found = {}
    for decomposition, engine in engines.items():
        lists, thermo = engine.statistics(), engine.thermo()
        found[decomposition] = {
            "us_each": each[decomposition],
            "timed_steps": lengths[decomposition] * options.repeats,
            "rebuilds": lists["rebuilds"] - before[decomposition],
            **{key: lists[key] for key in ("outer_skin_A", "inner_skin_A", "neighbours_mean")},
            **{k: lists[k] for k in ("pairs", "triplets", "tuple_memory_bytes") if k in lists},
            "total_energy_eV": thermo.potential + thermo.kinetic,
            "temperature_K": thermo.temperature,
        }
    return found


def table(part: str, report: dict[str, Any]) -> str:
    """One line for each case and size."""
    rows = []
    for result in report["results"]:
        agreement = result["agreement"]
        rows.append(
            (
                result["case"],
                result["atoms"],
                *(f"{result[d]['us_per_step']:.4g}" for d in DECOMPOSITIONS),
                f"{result['speedup_of_tuple']:.2f}x",
                f"{result['auto']['us_per_step']:.4g}" if "auto" in result else result.get("auto_takes", "-"),
                *(f"{result[d]['rebuilds']}/{result[d]['timed_steps']}" for d in DECOMPOSITIONS),
                "same bits" if agreement["identical"] else f"dx {agreement['max_dx_A']:.1e} A",
            )
        )
    header = (
        "case", "atoms", *(f"{SHORT[d]}, us/step" for d in DECOMPOSITIONS), "PD/TD", "auto",
        *(f"{SHORT[d]} rebuilds/steps" for d in DECOMPOSITIONS), f"after {AGREE} steps",
    )  # fmt: skip
    about = f"{part}: {report['runtime']['runtime']} on {report['runtime']['device']}"
    return f"{about}\n{common.table(rows, header)}"
