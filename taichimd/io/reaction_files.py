"""Tables of reactions: CSV with units in the names of the columns."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taichimd.estimators.reaction_rates import Lifetime, Rate
from taichimd.estimators.reactions import Event
from taichimd.estimators.smiles import has_smiles
from taichimd.io.analysis_files import COLOURS, figure_of
from taichimd.io.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_events(path: Path, events: Iterable[Event], labels: Sequence[int], symbols: Sequence[str]) -> None:
    """Write reactions.csv: time_ps, reaction, atoms (by `labels`), and with RDKit reaction_smiles."""
    names = ["time_ps", "reaction", "atoms"]
    events = list(events)
    rows = [[event.time, event.reaction, event.atoms_text(labels)] for event in events]
    if has_smiles():
        names.append("reaction_smiles")
        rows = [[*row, event.smiles(symbols)] for row, event in zip(rows, events, strict=True)]
    _write(path, names, rows)


def write_rates(path: Path, found: Iterable[Rate], volume: float | None) -> None:
    """Write rates.csv: a row for each reaction; what is not known is empty.

    Columns: `reaction`, `count` with its range `count_low`, `count_high`, `exposure_ps`, `rate_per_ps` (of
    each combination of reactants) with its range, and with a volume (angstrom^3) `k` with its range and
    `k_unit`.
    """
    names = ["reaction", "count", "count_low", "count_high", "exposure_ps"]
    names += ["rate_per_ps", "rate_low_per_ps", "rate_high_per_ps"]
    names += [] if volume is None else ["k", "k_low", "k_high", "k_unit"]
    rows = []
    for one in found:
        row: list[Any] = [one.reaction, one.count, one.low, one.high, one.exposure, *one.constants()]
        rows.append(row if volume is None else [*row, *one.constants(volume), one.unit])
    _write(path, names, rows)


def write_lifetimes(path: Path, found: Iterable[Lifetime]) -> None:
    """Write lifetimes.csv: a row for each species; without an end only `lifetime_low_ps` is known.

    Columns: `species`, `molecules`, `ended`, `censored` (not ended), `lived_ps` (the sum over all),
    `lifetime_ps`, `lifetime_error_ps` and the range `lifetime_low_ps`, `lifetime_high_ps`.
    """
    times = ("lived_ps", "lifetime_ps", "lifetime_error_ps", "lifetime_low_ps", "lifetime_high_ps")
    rows: list[list[Any]] = []
    for one in found:
        counts = [one.molecules, one.ended, one.molecules - one.ended]
        rows.append([one.formula, *counts, one.lived, one.value, one.error, one.low, one.high])
    _write(path, ("species", "molecules", "ended", "censored", *times), rows)


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_shown(value) for value in row] for row in rows)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))


def _shown(value: Any) -> Any:
    return "" if isinstance(value, float) and not math.isfinite(value) else value


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
