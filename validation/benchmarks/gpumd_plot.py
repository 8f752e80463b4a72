"""The drawing of `gpumd_figures`: three panels for figures 1, 2 and 4 of the paper."""

import json
from pathlib import Path
from typing import Any

from validation import common

HERE = Path(__file__).parent
COLOURS = {"tersoff": "tab:blue", "sw": "tab:orange"}
LINES = {"float64": "-", "float32": "--", "mixed": "-."}
MARKERS = {"nve": "o", "nvt-berendsen": "^", "npt-berendsen": "s"}
NAMES = {"tersoff": "Tersoff", "sw": "SW"}


def draw(report: dict[str, Any], target: Path) -> None:
    """Draw the figures of a report of `gpumd_figures measure`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    paper = json.loads((HERE / "gpumd_paper.json").read_text())
    peers = json.loads((HERE / "anchors.json").read_text())
    figure, (speed, speedup, bars) = plt.subplots(
        1, 3, figsize=(17, 5.6), layout="constrained", gridspec_kw={"width_ratios": [1.25, 1, 0.9]}
    )
    draw_speed(speed, report, paper, peers)
    draw_speedup(speedup, report, paper)
    draw_bars(bars, report, paper)
    device = common.device(report)
    figure.suptitle(
        f"GPUMD's benchmark (silicon, 300 K): taichimd on {device}, {report['runtime'].get('runtime')}; "
        "black: from the text of the paper",
        fontsize=11,
    )
    figure.savefig(target, dpi=110)
    plt.close(figure)


def curves(report: dict[str, Any]) -> dict[tuple[str, str, str], list[tuple[int, float]]]:
    """(atoms, atom-step/s) by potential, precision and ensemble."""
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for result in report["results"]:
        if result["atom_steps_per_s"]:
            key = result["potential"], result["precision"], result["ensemble"]
            found.setdefault(key, []).append((result["atoms"], result["atom_steps_per_s"]))
    return {key: sorted(points) for key, points in found.items()}


def published(axis: Any, paper: dict[str, Any], number: int, unit: dict[str, float]) -> None:
    """Points of the paper's text; a bar spans what a range in the text allows."""
    for point, marker in zip(paper["points"], "v^x", strict=True):
        if number in point["figures"]:
            scale = unit[point["potential"]]
            speed = point["atom_steps_per_s"]
            low, high = point.get("low", speed), point.get("high", speed)
            axis.errorbar(
                [point["atoms"]], [speed / scale], yerr=[[(speed - low) / scale], [(high - speed) / scale]],
                color="black", marker=marker, linestyle="none", capsize=3, label=point["label"],
            )  # fmt: skip


def draw_speed(axis: Any, report: dict[str, Any], paper: dict[str, Any], peers: dict[str, Any]) -> None:
    """Figure 1: speed over the number of atoms."""
    gpus: dict[tuple[str, ...], set[str]] = {}
    for result in report["results"]:
        curve = result["potential"], result["precision"], result["ensemble"]
        gpus.setdefault(curve, set()).add(result["gpu"])
    for (potential, precision, ensemble), points in curves(report).items():
        axis.plot(
            *zip(*points, strict=True), color=COLOURS[potential], linestyle=LINES[precision],
            marker=MARKERS[ensemble], markersize=5,
            label=f"taichimd {NAMES[potential]} {precision} {ensemble.split('-')[0].upper()}, "
            + "/".join(sorted(gpus[potential, precision, ensemble])),
        )  # fmt: skip
    gpumd = {int(n): v for n, v in peers["gpumd_atom_steps_per_second"]["tersoff-si"].items()}
    kokkos = {int(n): 1e3 * int(n) / ms for n, ms in peers["ms_per_step"]["tersoff-si"].items()}
    for name, points_of, colour in (("GPUMD 2026", gpumd, "tab:green"), ("LAMMPS-KOKKOS", kokkos, "tab:red")):
        axis.plot(
            points_of.keys(), points_of.values(), color=colour, marker="d", linewidth=1,
            label=f"{name} Tersoff, H100, NVE",
        )  # fmt: skip
    published(axis, paper, 1, {"tersoff": 1.0, "sw": 1.0})
    axis.set(xscale="log", yscale="log", xlabel="atoms", ylabel="atom × step / s", title="Figure 1: speed")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, handlelength=4, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))


def draw_speedup(axis: Any, report: dict[str, Any], paper: dict[str, Any]) -> None:
    """Figure 2: speed over that of LAMMPS on the paper's one core."""
    core = paper["lammps_core"]["atom_steps_per_s"]
    for (potential, precision, ensemble), points in curves(report).items():
        atoms, speeds = zip(*points, strict=True)
        axis.plot(
            atoms, [speed / core[potential] for speed in speeds], color=COLOURS[potential],
            linestyle=LINES[precision], marker=MARKERS[ensemble], markersize=5,
        )  # fmt: skip
    published(axis, paper, 2, core)
    axis.set(
        xscale="log", yscale="log", xlabel="atoms", title="Figure 2: speedup factor",
        ylabel="speed / LAMMPS on one core of a Xeon X5670 (2010)",
    )  # fmt: skip
    axis.grid(alpha=0.3)


def draw_bars(axis: Any, report: dict[str, Any], paper: dict[str, Any]) -> None:
    """Figure 4: 256,000 atoms, a rebuild every 5 steps; upper bounds are hollow."""
    theirs = paper["figure_4"]["bars"]
    labels, values, colours, notes = [], [], [], []
    for bar in theirs:
        labels.append(bar["label"].replace(", ", "\n"))
        values.append(bar.get("atom_steps_per_s", bar.get("at_most")))
        colours.append("none" if "at_most" in bar else "black")
        notes.append(f"{'< ' if 'at_most' in bar else ''}{values[-1]:.2g}")
    for case in report["figure_4"]:
        labels.append(f"taichimd\n{case['precision']}")
        values.append(case["atom_steps_per_s_rebuilt"])
        colours.append("tab:blue")
        notes.append(f"{values[-1]:.2g}\n(-{100 * case['loss_of_speed']:.0f}%)")
    drawn = axis.bar(range(len(values)), values, color=colours, edgecolor="black")
    axis.bar_label(drawn, notes, fontsize=8)
    axis.set_xticks(range(len(values)), labels, fontsize=7, rotation=60)
    atoms = {case["atoms"] for case in report["figure_4"]} or {paper["figure_4"]["atoms"]}
    ours = ", ".join(f"{n:,}" for n in atoms)
    title = f"Figure 4: Tersoff, {ours} atoms (theirs 256,000),\nrebuilt every 5 steps"
    axis.set(yscale="log", ylabel="atom × step / s", title=title)
    axis.margins(y=0.15)
