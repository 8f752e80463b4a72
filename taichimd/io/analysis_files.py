"""Tables and pictures of an analysis: CSV with units in the names of the columns, PNG, PDF or SVG."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError, SettingsError
from taichimd.io.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#1f6fb4", "#c8402f", "#3a8f4d", "#8a5fb0", "#c98a1b", "#4aa3a8", "#555555")
_STYLES = ("-", "--", "-.", ":")
PICTURES = ("png", "pdf", "svg")
"""Formats of pictures, which are the suffixes of their names."""


def check_free(files: Sequence[Path], overwrite: bool) -> None:
    """Raise an OutputError if an analysis would replace files of one folder, unless it may."""
    if not overwrite and (there := [file.name for file in files if file.exists()]):
        raise OutputError(
            f"{files[0].parent} has {', '.join(there)} already; choose another --output, or give "
            "--overwrite to replace them"
        )


def write_table(path: Path, columns: dict[str, Array]) -> None:
    """Write a CSV, each number so that it reads back exactly; what is not a number is an empty field."""
    rows = zip(*(np.asarray(column, float).tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns)]
    lines += [",".join("" if np.isnan(value) else repr(value) for value in row) for row in rows]
    write_atomically(path, lambda file: file.write(("\n".join(lines) + "\n").encode()))


def read_table(path: Path) -> dict[str, Array]:
    """Columns of such a CSV by name."""
    names = path.read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    table = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
    return {name: table[:, k] for k, name in enumerate(names)}


def check_picture(plot_format: str) -> None:
    """Raise a SettingsError unless pictures have that format."""
    if plot_format not in PICTURES:
        raise SettingsError(f"plot_format = {plot_format!r}: expected png, pdf or svg")


def draw(path: Path, title: str, panels: list[Callable[["Axes"], Any]]) -> None:
    """Write a picture of panels side by side, in the format that its suffix says."""
    figure = figure_of(title, panels)
    write_atomically(path, lambda file: figure.savefig(file, format=path.suffix[1:]))


def figure_of(title: str, panels: list[Callable[["Axes"], Any]]) -> "Figure":
    """The picture of `draw`."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    engine = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
    figure = Figure(figsize=(5.5 * len(panels), 4.0), dpi=120, layout=engine)
    figure.suptitle(title, fontsize=11)
    for axis, panel in zip(np.ravel(figure.subplots(1, len(panels))), panels, strict=True):
        panel(axis)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def curves(
    axis: "Axes",
    x: Array,
    lines: dict[str, tuple[Array, Array]],
    x_label: str,
    y_label: str,
    x_end: float | None = None,
) -> None:
    """Lines with bands of one standard error, and a legend if there are several."""
    for k, (label, (y, error)) in enumerate(lines.items()):
        colour = COLOURS[k % len(COLOURS)]
        # Broken, thinner lines let equal curves show through each other.
        axis.plot(
            x,
            y,
            color=colour,
            linewidth=1.2 + 0.5 * min(len(lines) - 1 - k, 3),
            linestyle=_STYLES[k % len(_STYLES)],
            label=label,
            marker="o" if len(x) < 3 else "",
            markersize=3,
        )
        axis.fill_between(x, y - error, y + error, color=colour, alpha=0.2, linewidth=0)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.margins(x=0.01)
    if x_end is not None:
        axis.set_xlim(-0.01 * x_end, x_end)
    if len(lines) > 1:
        axis.legend(frameon=False, fontsize=8)
