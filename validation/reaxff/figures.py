"""Figures 3 to 6 of Kylasa et al. 2014 with our points, for `validation.reaxff.tables`."""

from pathlib import Path
from typing import Any

import numpy as np

from validation.reaxff.kernels import COMPONENTS


def draw(found: Any, folder: Path) -> list[Path]:
    """Draw what there are numbers of.

    Args:
        found: `tables.Found`.
        folder: where the pictures go.

    Returns:
        The files that were written.
    """
    made = []
    for name, picture in (("sizes", sizes), ("blocks", blocks), ("energies", energies)):
        figure = picture(found)
        if figure is not None:
            made.append(folder / f"reaxff_{name}.png")
            figure.savefig(made[-1], dpi=110)
    return made


def sizes(found: Any) -> Any:
    """Time of a step by size, water and silica (figures 3 and 4)."""
    import matplotlib.pyplot as plt

    if not found.rows("sizes"):
        return None
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    parts = {"sizes": "GPU", "sizes, eight cores": "eight cores", "sizes, one core": "one core"}
    for axes, family in zip(panels, ("water", "silica"), strict=True):
        for part, label in parts.items():
            for settings, marker in (("paper", "o"), ("today", "s")):
                for pairs, style in (("tables", "-"), ("direct", ":")):
                    rows = found.rows(part, family=family, settings=settings, pairs=pairs)
                    if rows:
                        atoms, ms = zip(*((row["atoms"], row["ms_per_step"]) for row in rows), strict=True)
                        axes.loglog(
                            atoms, ms, style, marker=marker, ms=4, label=f"{label}, {settings}, {pairs}"
                        )
        axes.set(title=family, xlabel="atoms", ylabel="ms/step" if family == "water" else "")
        sizes = (6000, 12000, 24000, 48000)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
    lines = {line.get_label(): line for axes in panels for line in axes.get_lines()}
    figure.legend(lines.values(), lines, fontsize=6, frameon=False, ncols=4, loc="outside lower center")
    return figure


def blocks(found: Any) -> Any:
    """Time of components by threads of a block (figure 5)."""
    import matplotlib.pyplot as plt

    variants = found.kernels.get("water 6,540", {})
    of = {n: variants.get("usual" if n == 128 else f"block {n}") for n in (32, 64, 128, 256, 512)}
    of = {n: one for n, one in of.items() if one}
    if len(of) < 2:
        return None
    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    for part in COMPONENTS:
        axes.loglog(
            list(of), [one["components_us"][part] for one in of.values()], marker="o", ms=4, label=part
        )
    axes.set(
        xlabel="threads of a block",
        ylabel="µs/step, water of 6,540 atoms",
        xticks=list(of),
        xticklabels=list(of),
    )
    axes.minorticks_off()
    axes.legend(fontsize=6, frameon=False)
    return figure


def energies(found: Any) -> Any:
    """Energies of terms through time, from their means, and the conserved quantity (figure 6)."""
    import matplotlib.pyplot as plt

    runs = {**found.runs("cpu")["cases"], **found.runs("cuda")["cases"]}
    runs = {
        name: case
        for name, case in runs.items()
        if case["steps"] >= 10_000 and len(case["samples"]["step"]) > 10
    }
    if not runs:
        return None
    figure, rows = plt.subplots(
        len(runs), 2, figsize=(9, 2.4 * len(runs)), squeeze=False, layout="constrained"
    )
    for (name, case), (left, right) in zip(sorted(runs.items()), rows, strict=True):
        samples = case["samples"]
        time = np.array(samples["step"]) * case["timestep_fs"] / 1000
        for k, (term, values) in enumerate(samples["terms_eV"].items()):
            if np.ptp(values):
                from_mean = 1000 * (np.array(values) - np.mean(values)) / case["atoms"]
                left.plot(time, from_mean, color=plt.get_cmap("tab20")(k), lw=0.7, label=term)
        for key, label in (("total_eV", "total"), ("conserved_eV", "conserved")):
            values = np.array(samples[key])
            right.plot(time, 1000 * (values - values[0]) / case["atoms"], lw=0.8, label=label)
        left.set(title=f"{name}: terms from their means", ylabel="meV/atom")
        right.set(title="from the start", ylabel="meV/atom")
        right.legend(fontsize=6, frameon=False)
        left.legend(fontsize=5, frameon=False, ncols=3)
    for axes in rows[-1]:
        axes.set(xlabel="ps")
    return figure
