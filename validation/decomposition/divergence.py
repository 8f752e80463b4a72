"""Long runs: do PD and TD part as any two trajectories part, and sample the same?

Section 4.1 of the paper reports that GPU and CPU drift apart beyond 4,000 steps. Here CPU and GPU have the
same bits (under quadrants; hashes), while PD and TD round differently. If that is all, their distance grows
at the rate at which it grows between two runs of PD whose first positions differ by 1e-14 angstrom, and
averages agree.
"""

import argparse
import json
from itertools import pairwise
from typing import Any

import numpy as np
from ase import units

from validation import common
from validation.decomposition import states
from validation.decomposition.growth import growth, paired, paired_curves, same
from validation.decomposition.states import Arrays

CELLS = 4
STEPS = 20_000
HASHED = (1_000, 4_000, 20_000)
EVERY = 50
"""Steps between snapshots"""
FIRST = (1, 2, 5, 10, 20)
"""Snapshots besides."""
BLOCK = 1_000
"""Steps of a block of samples."""
APART = 6_000
"""Step from which on averages are compared: by then the trajectories have nothing in common."""
NUDGE = 1e-14
"""angstrom"""
RUNS = {"PD": ("particle", 0.0), "TD": ("tuple", 0.0), "PD nudged": ("particle", NUDGE)}
PAIRS = {"PD and TD": ("PD", "TD"), "PD and PD nudged": ("PD", "PD nudged")}
R_MAX, BINS = 8.0, 160
SERIES = ("potential_eV", "kinetic_eV", "temperature_K", "pressure_GPa")


def run(options: argparse.Namespace) -> str:
    """The three runs, one after the other, and what they say; the table."""
    path, report = states.open_report("divergence", options)
    del report["results"]
    steps = options.steps or STEPS
    report |= {"cells": CELLS, "steps": steps, "runs": {}, "pairs": {}}
    system, start = states.initial(CELLS, options.against)
    reference = {}
    if options.against and (options.against / "divergence.json").exists():
        reference = json.loads((options.against / "divergence.json").read_text())["runs"]
    found: dict[str, dict[str, Any]] = {}
    for name, (decomposition, nudge) in RUNS.items():
        if states.late(options):
            break
        print(f"divergence {name} ...", flush=True)
        found[name] = follow(states.make_engine(system, nudged(start, nudge), decomposition), system, steps)
        told = {key: found[name][key] for key in ("steps_seen", "sha256", *SERIES)}
        if name in reference:
            theirs = reference[name]["sha256"]
            shared = [step for step in theirs if step in told["sha256"]]
            told["same_bits_as_reference"] = {s: told["sha256"][s] == theirs[s] for s in shared}
        report["runs"][name] = told
        for pair, (one, other) in PAIRS.items():
            if one in found and other in found:
                report["pairs"][pair] = compare(found[one], found[other], system.timestep)
        if all(pair in report["pairs"] for pair in PAIRS):
            report["same_rate"] = same(*(report["pairs"][pair]["growth"] for pair in PAIRS))
        common.write_json(path, report)
    if options.save:
        common.write_json(options.save / "divergence.json", report)
    return table(report)


def nudged(start: Arrays, nudge: float) -> Arrays:
    """The state with each coordinate moved by `nudge`, up or down."""
    signs = np.random.default_rng(14).choice([-1.0, 1.0], start["x0"].shape)
    return {**start, "x0": start["x0"] + nudge * signs} if nudge else start


def follow(engine: Any, system: Any, steps: int) -> dict[str, Any]:
    """A run with its snapshots, totals, hashes, and a histogram of distances for each block."""
    from taichimd.observe.radial import RadialHistogram

    stops = sorted({s for s in FIRST if s <= steps} | set(range(EVERY, steps + 1, EVERY)))
    n_kinds = len(set(engine.symbols))
    histogram = RadialHistogram(engine.n_atoms, n_kinds, R_MAX, BINS)
    seen: dict[str, Any] = {name: [] for name in ("x", "counts", *SERIES)} | {"sha256": {}}
    for before, stop in pairwise([0, *stops]):
        engine.advance(stop - before, system.timestep)
        seen["x"].append(engine.positions())
        thermo = engine.thermo()
        totals = (
            thermo.potential, thermo.kinetic, thermo.temperature, thermo.pressure / units.GPa,
        )  # fmt: skip
        for name, value in zip(SERIES, totals, strict=True):
            seen[name].append(value)
        if stop in HASHED:
            seen["sha256"][str(stop)] = states.sha(engine.positions(), engine.velocities())
        if stop % EVERY == 0:
            engine.observe(
                lambda state, _e, _w: histogram.sample(state.pos, state.kind, state.ident, engine.cell)
            )
        if stop % BLOCK == 0:
            seen["counts"].append(histogram.counts())
    kinds = sorted(set(engine.symbols))
    return {
        **seen, "steps_seen": stops, "volume": engine.volume, "kinds": kinds,
        "numbers": [engine.symbols.count(kind) for kind in kinds],
    }  # fmt: skip


def compare(one: dict[str, Any], other: dict[str, Any], timestep: float) -> dict[str, Any]:
    """Distance and its growth; differences of averages over the time in which the runs are apart."""
    steps = np.array(one["steps_seen"])
    distance = np.array([np.abs(a - b).max() for a, b in zip(one["x"], other["x"], strict=True)])
    times = steps * timestep / (1000.0 * units.fs)
    found = {"max_dx_A": distance.tolist(), "growth": growth(times, distance), "averages": {}, "rdf": {}}
    late = (steps > APART) & (steps % EVERY == 0)
    blocks = (int(steps[-1]) - APART) // BLOCK
    if blocks < 2:
        return found
    for name in SERIES:
        found["averages"][name] = paired(*(np.array(run[name])[late] for run in (one, other)), blocks)
    totals = [np.array(run["potential_eV"]) + np.array(run["kinetic_eV"]) for run in (one, other)]
    found["largest_deviation_of_total_energy_eV"] = [float(np.abs(e - e[0]).max()) for e in totals]
    for a, first in enumerate(one["kinds"]):
        for b, second in enumerate(one["kinds"][a:], a):
            curves = [radial(run, a, b) for run in (one, other)]
            found["rdf"][f"{first}-{second}"] = paired_curves(*curves)
    return found


def radial(run: dict[str, Any], a: int, b: int) -> Any:
    """g(r) of two kinds in each block after APART, (blocks, BINS)."""
    from taichimd.analysis.structure import radial_distribution

    counts = np.diff(np.array(run["counts"])[:, a, b], axis=0)[APART // BLOCK - 1 :]
    return np.array(
        [
            radial_distribution(
                one, BLOCK // EVERY, R_MAX, run["numbers"][a], run["numbers"][b], run["volume"]
            ).g.value
            for one in counts
        ]
    )


def table(report: dict[str, Any]) -> str:
    """Growth, averages, hashes."""
    head = f"divergence: {report['steps']} steps, {report['runtime']['runtime']}"
    lines = [f"{head} on {report['runtime']['device']}"]
    rows, averages = [], []
    for name, pair in report["pairs"].items():
        rate = pair["growth"]
        fitted = ("-", "-")
        if rate:
            fitted = (
                f"{rate['rate_per_ps']:.2f} +- {rate['error']:.2f}",
                f"{rate['from_ps']:.2f} to {rate['to_ps']:.2f}",
            )
        rows.append((name, f"{pair['max_dx_A'][-1]:.1e}", *fitted))
        for what, found in pair["averages"].items():
            difference = f"{found['difference']:.2g} +- {found['error']:.2g}"
            averages.append((name, what, f"{found['means'][0]:.6g}", difference))
        for what, found in pair["rdf"].items():
            if found["bins"]:
                beyond, chance = (
                    f"{100 * found[key]:.0f}%" for key in ("fraction_beyond_two_errors", "expected_by_chance")
                )
                averages.append((name, f"g {what}", "", f"{beyond} of bins > 2 errors; by chance {chance}"))
    lines.append(common.table(rows, ("runs", "max dx at the end, A", "growth, 1/ps", "fitted, ps")))
    if averages:
        lines.append(common.table(averages, ("runs", f"after step {APART}", "first run", "difference")))
    if report.get("same_rate"):
        lines.append(f"same rate: {report['same_rate']}")
    for name, one in report["runs"].items():
        if "same_bits_as_reference" in one:
            lines.append(f"{name}: same bits as the reference: {one['same_bits_as_reference']}")
    return "\n".join(lines)
