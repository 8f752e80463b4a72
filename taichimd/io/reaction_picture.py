"""The picture of a network of reactions: species on a circle, arrows along which atoms go."""

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from taichimd.io.analysis_files import COLOURS, figure_of
from taichimd.io.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_network(path: Path, title: str, edges: Counter[tuple[str, str]]) -> None:
    """Write the picture of the number of events for each (reactant, product)."""
    figure = figure_of(title, [lambda axis: _network(axis, edges)])
    figure.set_size_inches(6.5, 6.0)
    write_atomically(path, lambda file: figure.savefig(file, format=path.suffix[1:]))


def _network(axis: "Axes", edges: Counter[tuple[str, str]]) -> None:
    from matplotlib.patches import FancyArrowPatch

    axis.set_axis_off()
    if not edges:
        axis.text(0.5, 0.5, "no reactions", ha="center", va="center", transform=axis.transAxes)
        return
    weight: Counter[str] = Counter()
    for (before, after), count in edges.items():
        weight[before] += count
        weight[after] += count
    names = sorted(weight, key=lambda name: (-weight[name], name))
    places = {}
    for k, name in enumerate(names):
        angle = math.pi / 2.0 - 2.0 * math.pi * k / len(names)
        places[name] = math.cos(angle), math.sin(angle)
    most = max(edges.values())
    for (before, after), count in sorted(edges.items(), key=lambda item: item[1]):
        share = math.log1p(count) / math.log1p(most)
        # Arrows there and back are bent apart.
        arrow = FancyArrowPatch(
            places[before], places[after], connectionstyle="arc3,rad=0.15", arrowstyle="-|>",
            mutation_scale=9.0 + 6.0 * share, linewidth=0.6 + 2.4 * share, color=COLOURS[0],
            alpha=0.35 + 0.6 * share, shrinkA=16, shrinkB=16,
        )  # fmt: skip
        axis.add_patch(arrow)
        (x0, y0), (x1, y1) = places[before], places[after]
        # The middle of the arc: half of the bend, to the right of the way.
        x, y = 0.5 * (x0 + x1) + 0.075 * (y1 - y0), 0.5 * (y0 + y1) - 0.075 * (x1 - x0)
        axis.text(x, y, f"{count:,}", fontsize=7, ha="center", va="center", color="#555555")
    for name, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": COLOURS[6]}
        axis.text(x, y, name, fontsize=9, ha="center", va="center", bbox=box)
    axis.set_xlim(-1.3, 1.3)
    axis.set_ylim(-1.2, 1.2)
    axis.set_aspect("equal")
