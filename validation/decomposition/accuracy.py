"""Section 4.1: positions and velocities after 1,000 steps, PD and TD, on one backend and another."""

import argparse
from functools import partial
from typing import Any

import numpy as np

from taichimd.validation.bits import differing_bits
from validation import common
from validation.benchmarks.stepping import seconds
from validation.decomposition import states
from validation.decomposition.states import DECOMPOSITIONS, SHORT, Arrays

SIZES = (4, 8, 10, 12, 16)
"""Cells in each direction, the paper's."""
STEPS = 1_000
BAR = 1e-9
"""The paper's tolerance; here of angstrom, and of angstrom per sqrt(amu angstrom^2/eV)."""


def run(options: argparse.Namespace) -> str:
    """All sizes, one after the other; the table."""
    path, report = states.open_report("accuracy", options)
    report |= {"bar": BAR, "steps": options.steps or STEPS}
    if options.against:
        report["against"] = options.against.name
    for cells in options.sizes or SIZES:
        if states.late(options):
            break
        print(f"accuracy {cells}^3 cells ...", flush=True)
        states.add_result(path, report, measure(cells, options), "cells")
    return table(report)


def measure(cells: int, options: argparse.Namespace) -> dict[str, Any]:
    """One crystal, both decompositions: what lies between them, and between them and the reference."""
    system, start = states.initial(cells, options.against)
    ends: Arrays = {}
    result: dict[str, Any] = {"cells": cells, "atoms": len(system.atoms), "comparisons": []}
    steps = options.steps or STEPS
    for decomposition in DECOMPOSITIONS:
        engine = states.make_engine(system, start, decomposition)
        engine.warm_up()
        elapsed = seconds(partial(engine.advance, steps, system.timestep))
        x, v = f"x_{decomposition}", f"v_{decomposition}"
        ends[x], ends[v] = engine.positions(), engine.velocities()
        thermo = engine.thermo()
        result[decomposition] = {
            "seconds_with_first_lists": elapsed,
            "sha256": common.sha(ends[x], ends[v]),
            "potential_eV": thermo.potential,
            "temperature_K": thermo.temperature,
            "rebuilds": engine.statistics()["rebuilds"],
        }
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            kept = {"x0": start["x0"], "v0": start["v0"], **ends}
            np.savez_compressed(states.reference_file(options.save, cells), **kept)
        if x in start:
            what = f"{SHORT[decomposition]}, {options.backend} and reference"
            result["comparisons"].append(compare(what, ends[x], ends[v], start[x], start[v]))
    result["comparisons"].append(
        compare(f"PD and TD, {options.backend}", *(ends[f"{a}_{d}"] for d in DECOMPOSITIONS for a in "xv"))
    )
    return result


def compare(what: str, x: Any, v: Any, other_x: Any, other_v: Any) -> dict[str, Any]:
    """Largest differences of positions and velocities, how many numbers differ, and whether 1e-9 holds."""
    dx, dv = float(np.abs(x - other_x).max()), float(np.abs(v - other_v).max())
    numbers, _ = differing_bits(np.stack([x, v]), np.stack([other_x, other_v]))
    largest = max(dx, dv)
    return {
        "what": what,
        "max_dx_A": dx,
        "max_dv": dv,
        "differing_numbers": numbers,
        "of": 2 * x.size,
        "identical": numbers == 0,
        "within_1e-9": largest < BAR,
        "below_by": BAR / largest if largest > 0.0 else None,
    }


def table(report: dict[str, Any]) -> str:
    """One line for each comparison."""
    rows = [
        (
            f"{result['cells']}^3",
            result["atoms"],
            found["what"],
            f"{found['max_dx_A']:.1e}",
            f"{found['max_dv']:.1e}",
            f"{found['differing_numbers']}/{found['of']}",
            "identical" if found["identical"] else ("holds" if found["within_1e-9"] else "DOES NOT HOLD"),
            f"{found['below_by']:.0f}x" if found["below_by"] else "-",
        )
        for result in report["results"]
        for found in result["comparisons"]
    ]
    header = ("cells", "atoms", "runs", "max dx, A", "max dv", "numbers differ", "1e-9", "below by")
    about = f"accuracy: {report['steps']} steps, {report['runtime']['runtime']}"
    return f"{about} on {report['runtime']['device']}\n{common.table(rows, header)}"
