"""The paper's figures 3 to 5 with our points, and the growth curves of `divergence`, from JSON files."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from validation import common
from validation.decomposition.states import DECOMPOSITIONS, SHORT

HERE = Path(__file__).parent
ANCHORS = HERE.parent / "benchmarks" / "anchors.json"
COLOURS = {"particle": "tab:blue", "tuple": "tab:orange"}
LINES = {"cuda": "-", "cpu": "--"}
STEMS = ("speed_cpu", "speed_cuda", "divergence_cpu", "divergence_cuda")


def run(options: argparse.Namespace) -> str:
    """Draw what there are results of, beside them; the names of the files."""
    found = read(options.out)
    drawn = []
    if any(name.startswith("speed") for name in found):
        drawn.append(draw_figures(found, options.out / "tuple_decomposition_figures.png"))
    for name in ("divergence_cpu", "divergence_cuda"):
        if name in found:
            drawn.append(draw_growth(found[name], options.out / f"tuple_decomposition_{name}.png"))
    return "drawn: " + (", ".join(path.name for path in drawn) or "nothing, no results there")


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """The results in a folder, by the middle of their names."""
    files = {stem: folder / f"tuple_decomposition_{stem}.json" for stem in STEMS}
    return {stem: json.loads(file.read_text()) for stem, file in files.items() if file.exists()}


def draw_figures(found: dict[str, dict[str, Any]], target: Path) -> Path:
    """Figures 3 to 5: what is missing leaves its panel empty."""
    from matplotlib.figure import Figure

    paper = json.loads((HERE / "paper.json").read_text())
    figure = Figure(figsize=(17.0, 5.4), dpi=100, layout="constrained")
    times, speedups, improvement = figure.subplots(1, 3)
    draw_times(times, found)
    draw_speedups(speedups, found, paper)
    draw_improvement(improvement, found, paper)
    devices = {common.device(report) for report in found.values()}
    figure.suptitle(
        "Vashishta SiO2, particle (PD) and tuple (TD) decomposition: taichimd on "
        f"{'; '.join(sorted(devices))}. Black: from the text of Small et al. (2018)",
        fontsize=11,
    )
    figure.savefig(target)
    return target


def curve(report: dict[str, Any], decomposition: str) -> tuple[list[int], list[float]]:
    """Numbers of atoms and ms per step."""
    results = sorted(report["results"], key=lambda result: result["atoms"])
    return [r["atoms"] for r in results], [1e-3 * r[decomposition]["us_per_step"] for r in results]


def draw_times(axis: Any, found: dict[str, dict[str, Any]]) -> None:
    """Figures 3 and 5: time of a step."""
    for backend, line in LINES.items():
        if f"speed_{backend}" in found:
            for decomposition in DECOMPOSITIONS:
                axis.plot(
                    *curve(found[f"speed_{backend}"], decomposition), line, marker="o", markersize=5,
                    color=COLOURS[decomposition], label=f"{SHORT[decomposition]}, {backend.upper()}",
                )  # fmt: skip
    kokkos = json.loads(ANCHORS.read_text())["ms_per_step"]["vashishta-sio2"]
    axis.plot(
        [int(n) for n in kokkos], list(kokkos.values()), color="tab:red", marker="d", linewidth=1,
        label="LAMMPS-KOKKOS, H100",
    )  # fmt: skip
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="atoms",
        ylabel="ms per step",
        title="Figures 3 and 5: time of a step",
    )
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def draw_speedups(axis: Any, found: dict[str, dict[str, Any]], paper: dict[str, Any]) -> None:
    """Figure 4: GPU over CPU at the sizes that both have."""
    if "speed_cpu" in found and "speed_cuda" in found:
        for decomposition in DECOMPOSITIONS:
            cpu, gpu = (
                dict(zip(*curve(found[f"speed_{b}"], decomposition), strict=True)) for b in ("cpu", "cuda")
            )
            both = sorted(cpu.keys() & gpu.keys())
            axis.plot(
                both, [cpu[n] / gpu[n] for n in both], marker="o", color=COLOURS[decomposition],
                label=SHORT[decomposition],
            )  # fmt: skip
        threads = found["speed_cpu"]["runtime"]["threads"]
        axis.set(xscale="log", ylabel=f"CPU time ({threads} threads) / GPU time")
    most = paper["figure_4"]["most_over_xeon"]
    axis.axhline(most, color="black", linestyle=":", label=f"theirs over a Xeon: up to {most:g}")
    axis.set(yscale="log", ylim=(1, None), xlabel="atoms", title="Figure 4: speed-up of the GPU")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def draw_improvement(axis: Any, found: dict[str, dict[str, Any]], paper: dict[str, Any]) -> None:
    """Figure 5: PD's time over TD's."""
    for backend, line in LINES.items():
        if f"speed_{backend}" in found:
            results = sorted(found[f"speed_{backend}"]["results"], key=lambda result: result["atoms"])
            axis.plot(
                [r["atoms"] for r in results], [r["speedup_of_tuple"] for r in results], line, marker="o",
                color="tab:green", label=f"ours, {backend.upper()}",
            )  # fmt: skip
    theirs = paper["figure_5"]["speedup_of_tuple"]
    axis.axhline(
        theirs, color="black", linestyle=":", label=f"theirs on a K20m, large systems: about {theirs:g}"
    )
    axis.axhline(1.0, color="grey", linewidth=0.8)
    axis.set(
        xscale="log", xlabel="atoms", ylabel="PD time / TD time", title="Figure 5: speed-up of TD over PD"
    )
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def draw_growth(report: dict[str, Any], target: Path) -> Path:
    """Distance of the pairs of runs over time, with the fitted rates."""
    from matplotlib.figure import Figure

    from validation.decomposition.growth import HIGH, LOW

    figure = Figure(figsize=(8.0, 5.0), dpi=110, layout="constrained")
    axis = figure.subplots()
    times = 1e-3 * np.array(report["runs"]["PD 0"]["steps_seen"])
    names = {"rounding": "PD and TD from one start", "nudge": "two of one kind, 1e-14 Å apart"}
    for (kind, name), colour in zip(names.items(), ("tab:orange", "tab:blue"), strict=True):
        rate = report["rates"][kind]
        label = name + (f": {rate['rate_per_ps']:.1f} ± {rate['error']:.1f} per ps" if rate else "")
        for pair in report["pairs"].values():
            distance = np.array(pair["max_dx_A"])
            seen = distance > 0.0
            if pair["kind"] == kind:
                axis.semilogy(times[seen], distance[seen], color=colour, linewidth=1, label=label)
                label = None
    for bound in (LOW, HIGH):
        axis.axhline(bound, color="grey", linewidth=0.7, linestyle="--")
    axis.axhline(1e-9, color="black", linewidth=0.8, linestyle=":", label="the paper's tolerance at 1 ps")
    axis.set(
        ylim=(1e-16, 10.0), xlabel="ps (1,000 steps)", ylabel="largest distance of a coordinate, Å",
        title=f"How runs part: {24 * report['cells'] ** 3:,} atoms of silica, {common.device(report)}",
    )  # fmt: skip
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(target)
    return target
