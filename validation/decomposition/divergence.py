"""Long runs: do PD and TD part as any two trajectories part, and sample the same?

Section 4.1 of the paper reports that GPU and CPU drift apart beyond 4,000 steps. Here CPU and GPU have the
same bits (under quadrants; hashes), while PD and TD round differently. If that is all, their distance grows
at the rate at which it grows between runs whose first positions differ by 1e-14 angstrom, and averages over
several runs of each agree. Run k of PD and run k of TD start alike, run 0 from the unchanged positions.
"""

import argparse
import itertools
import json
from typing import Any

import numpy as np
from ase import units

from validation import common
from validation.decomposition import accuracy, states
from validation.decomposition.growth import compare_groups, growth, mean_rate, same
from validation.decomposition.states import DECOMPOSITIONS, SHORT, Arrays

CELLS = 4
STEPS = 20_000
HASHED = (1_000, 4_000, 20_000)
EVERY = 50
"""Steps between snapshots."""
FIRST = (1, 2, 5, 10, 20)
"""Snapshots besides."""
APART = 6_000
"""Step from which on averages are compared: by then the trajectories have nothing in common."""
COPIES = 3
"""Runs of each decomposition."""
CONTINUED = 500
"""Steps that both decompositions do from the end of a run."""
NUDGE = 1e-14
"""angstrom"""
R_MAX, BINS = 8.0, 160
SERIES = ("potential_eV", "kinetic_eV", "temperature_K", "pressure_GPa")


def run(options: argparse.Namespace) -> str:
    """The runs, one after the other, and what they say; the table."""
    path, report = states.open_report("divergence", options)
    del report["results"]
    steps = options.steps or STEPS
    report |= {"cells": CELLS, "steps": steps, "runs": {}}
    system, start = states.initial(CELLS, options.against)
    reference = {}
    if options.against and (options.against / "divergence.json").exists():
        reference = json.loads((options.against / "divergence.json").read_text())["runs"]
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for copy, decomposition in itertools.product(range(options.copies or COPIES), DECOMPOSITIONS):
        if states.late(options):
            break
        name = f"{SHORT[decomposition]} {copy}"
        print(f"divergence {name} ...", flush=True)
        engine = states.make_engine(system, nudged(start, copy), decomposition)
        one = found[SHORT[decomposition], copy] = follow(engine, system, steps)
        told = {key: one[key] for key in ("steps_seen", "sha256", *SERIES) if key != "kinetic_eV"}
        if name in reference:
            theirs = reference[name]["sha256"]
            shared = [step for step in theirs if step in told["sha256"]]
            told["same_bits_as_reference"] = {s: told["sha256"][s] == theirs[s] for s in shared}
        if copy == 0:
            told["continued"] = continued(system, one["end"])
        report["runs"][name] = told
        report |= compare(found, system.timestep)
        common.write_json(path, report)
    if options.save:
        common.write_json(options.save / "divergence.json", report)
    return table(report)


def nudged(start: Arrays, copy: int) -> Arrays:
    """The state with each coordinate moved by `NUDGE`, up or down as drawn for this copy; copy 0 as it is."""
    signs = np.random.default_rng(copy).choice([-1.0, 1.0], start["x0"].shape)
    return {**start, "x0": start["x0"] + NUDGE * signs} if copy else start


def follow(engine: Any, system: Any, steps: int) -> dict[str, Any]:
    """A run with its snapshots, totals, hashes, and after APART a histogram of distances."""
    from taichimd.observables.samplers.radial import RadialHistogram

    stops = sorted({s for s in FIRST if s <= steps} | set(range(EVERY, steps + 1, EVERY)))
    n_kinds = len(set(engine.symbols))
    histogram = RadialHistogram(engine.n_atoms, n_kinds, R_MAX, BINS)
    seen: dict[str, Any] = {name: [] for name in ("x", *SERIES)} | {"sha256": {}}
    for before, stop in itertools.pairwise([0, *stops]):
        engine.advance(stop - before, system.timestep)
        seen["x"].append(engine.positions())
        thermo = engine.thermo()
        totals = (
            thermo.potential, thermo.kinetic, thermo.temperature, thermo.pressure,
        )  # fmt: skip
        for name, value in zip(SERIES, totals, strict=True):
            seen[name].append(value)
        if stop in HASHED:
            seen["sha256"][str(stop)] = common.sha(engine.positions(), engine.velocities())
        if stop > APART and stop % EVERY == 0:
            engine.observe(lambda state, _e, _w: histogram.sample(state, engine.cell))
    kinds = sorted(set(engine.symbols))
    numbers = [engine.symbols.count(kind) for kind in kinds]
    end = {"x0": engine.positions(), "v0": engine.velocities()}
    return {
        **seen, "end": end, "steps_seen": stops, "counts": histogram.counts(), "frames": histogram.frames,
        "volume": engine.volume, "kinds": kinds, "numbers": numbers,
    }  # fmt: skip


def continued(system: Any, end: Arrays) -> dict[str, Any]:
    """Forces of both decompositions at the end of a run, and how far apart they are a few steps later.

    Averages of runs that have nothing in common are a weak test; this one shows that at late times, too, PD
    and TD do the same dynamics but for rounding.
    """
    engines = [states.make_engine(system, end, decomposition) for decomposition in DECOMPOSITIONS]
    forces = [engine.forces() for engine in engines]
    for engine in engines:
        engine.advance(CONTINUED, system.timestep)
    ends = [array for engine in engines for array in (engine.positions(), engine.velocities())]
    return {
        "largest_force_eV_per_A": float(np.abs(forces[0]).max()),
        "largest_difference_of_forces": float(np.abs(forces[0] - forces[1]).max()),
        "steps": CONTINUED,
        **accuracy.compare("PD and TD", *ends),
    }


def compare(found: dict[tuple[str, int], dict[str, Any]], timestep: float) -> dict[str, Any]:
    """Distances of pairs of runs and their growth; averages after APART, PD beside TD."""
    pairs, rates = {}, {}
    for kind, of_kind in pairs_of(list(found)).items():
        for one, other in of_kind:
            steps = np.array(found[one]["steps_seen"])
            both = zip(found[one]["x"], found[other]["x"], strict=True)
            distance = np.array([np.abs(a - b).max() for a, b in both])
            pairs[f"{one[0]} {one[1]} and {other[0]} {other[1]}"] = {
                "kind": kind,
                "max_dx_A": distance.tolist(),
                "growth": growth(steps * timestep / (1000.0 * units.fs), distance),
            }
        rates[kind] = mean_rate([pair["growth"] for pair in pairs.values() if pair["kind"] == kind])
    report: dict[str, Any] = {"pairs": pairs, "rates": rates, "same_rate": same(*rates.values())}
    groups = [[run for (name, _), run in found.items() if name == SHORT[d]] for d in DECOMPOSITIONS]
    energies = [np.array(run["potential_eV"]) + np.array(run["kinetic_eV"]) for run in found.values()]
    report["largest_deviations_of_total_energy_eV"] = [float(np.abs(e - e[0]).max()) for e in energies]
    if min(map(len, groups)) < 2 or not groups[0][0]["frames"]:
        return report
    report["averages"] = {
        name: compare_groups(*(np.array([late_mean(run, name) for run in group]) for group in groups))
        for name in SERIES
    }
    kinds = groups[0][0]["kinds"]
    curves = {
        f"{kinds[a]}-{kinds[b]}": [np.array([radial(run, a, b) for run in group]) for group in groups]
        for a, b in itertools.combinations_with_replacement(range(len(kinds)), 2)
    }
    report["rdf"] = {name: compare_groups(*groups_of) for name, groups_of in curves.items()}
    report["g"] = {
        name: {SHORT[d]: group.mean(axis=0).round(5) for d, group in zip(DECOMPOSITIONS, two, strict=True)}
        for name, two in curves.items()
    }
    return report


def pairs_of(runs: list[tuple[str, int]]) -> dict[str, list[tuple[tuple[str, int], tuple[str, int]]]]:
    """Runs that differ in rounding alone, and runs that differ by the nudge alone."""
    return {
        "rounding": [(a, b) for a, b in itertools.combinations(runs, 2) if a[1] == b[1]],
        "nudge": [(a, b) for a, b in itertools.combinations(runs, 2) if a[0] == b[0] and a[1] == 0],
    }


def late_mean(run: dict[str, Any], name: str) -> float:
    """Mean of a series after APART."""
    steps = np.array(run["steps_seen"])
    return float(np.array(run[name])[steps > APART].mean())


def radial(run: dict[str, Any], a: int, b: int) -> Any:
    """g(r) of two kinds after APART, (BINS,)."""
    from taichimd.estimators.structure import radial_distribution

    numbers = run["numbers"][a], run["numbers"][b]
    return radial_distribution(run["counts"][a, b], run["frames"], R_MAX, *numbers, run["volume"]).g.value


def table(report: dict[str, Any]) -> str:
    """Growth, averages, hashes."""
    head = f"divergence: {report['steps']} steps, {report['runtime']['runtime']}"
    lines = [f"{head} on {report['runtime']['device']}"]
    rows = []
    for name, pair in report.get("pairs", {}).items():
        rate, fitted = pair["growth"], ("-", "-")
        if rate:
            fitted = (
                f"{rate['rate_per_ps']:.2f} +- {rate['error']:.2f}",
                f"{rate['from_ps']:.2f} to {rate['to_ps']:.2f}",
            )
        rows.append((name, pair["kind"], f"{pair['max_dx_A'][-1]:.1e}", *fitted))
    lines.append(common.table(rows, ("runs", "differ by", "max dx at the end, A", "growth, 1/ps", "ps")))
    if report.get("same_rate"):
        lines.append(f"rates: {report['rates']}; {report['same_rate']}")
    averages = [
        (
            what,
            *(f"{mean:.6g}" for mean in found["means"]),
            f"{found['difference']:.2g} +- {found['error']:.2g}",
        )
        for what, found in report.get("averages", {}).items()
    ]
    for what, found in report.get("rdf", {}).items():
        if found["bins"]:
            beyond = f"{100 * found['beyond_two_errors']:.0f}% of bins beyond two errors"
            difference = f"rms {found['rms_difference']:.2g}, of errors {found['rms_error']:.2g}"
            averages.append((f"g {what}", beyond, f"by chance {100 * found['by_chance']:.0f}%", difference))
    if averages:
        lines.append(common.table(averages, (f"after step {APART}", "PD", "TD", "PD - TD")))
    for name, one in report["runs"].items():
        if "continued" in one:
            more = one["continued"]
            lines.append(
                f"from the end of {name}: forces of PD and TD differ by "
                f"{more['largest_difference_of_forces']:.1e} of {more['largest_force_eV_per_A']:.1f} eV/A, "
                f"positions after {more['steps']} steps by {more['max_dx_A']:.1e} A"
            )
        if "same_bits_as_reference" in one:
            lines.append(f"{name}: same bits as the reference: {one['same_bits_as_reference']}")
    return "\n".join(lines)
