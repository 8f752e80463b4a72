"""thermo.png: temperature, energies, drift, pressure and a changing volume of a run on one picture."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taichimd.io.files import write_atomically
from taichimd.io.thermo import read_thermo
from taichimd.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _RED, _GREEN, _GREY = "#1f6fb4", "#c8402f", "#3a8f4d", "#555555"


def plot_thermo(table: Path, picture: Path, n_atoms: int, title: str, counted_from: int = 0) -> None:
    """Draw thermo.csv.

    Args:
        table: thermo.csv.
        picture: to write; its suffix says the format: png, pdf or svg.
        n_atoms: energies are shown per atom.
        title: above the panels.
        counted_from: step from which the conserved energy counts: rows before it are of another ensemble.

    Raises:
        OutputError: the picture cannot be written.
    """
    # Half a second, so not at the top; and no pyplot, so no display and no global state.
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = read_thermo(table)
    time = columns["time_ps"]
    panels = _panels(columns, n_atoms, counted_from)
    across = 2 if len(panels) <= 4 else 3
    figure = Figure(
        figsize=(4.5 * across, 6.0), dpi=120, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
    )
    figure.suptitle(title, fontsize=12)
    axes = figure.subplots(2, across, sharex=True)
    for k, axis in enumerate(axes.flat):
        if k >= len(panels):
            _empty(axis, "" if "pressure (GPa)" in panels else "no volume, no pressure")
            above = axes[0, k % across]
            above.tick_params(labelbottom=True)
            above.set_xlabel("time (ps)")
            continue
        label, lines = list(panels.items())[k]
        for name, (values, colour) in lines.items():
            _line(axis, time, values, colour, name)
        axis.set_ylabel(label)
        if len(lines) > 1:
            axis.legend(frameon=False, ncols=3, fontsize=8, loc="upper center")
            axis.margins(y=0.2)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.ticklabel_format(useOffset=False)
        if k >= across:
            axis.set_xlabel("time (ps)")
    write_atomically(picture, lambda file: figure.savefig(file, format=picture.suffix[1:]))


def _panels(
    columns: dict[str, Array], n_atoms: int, counted_from: int
) -> dict[str, dict[str, tuple[Array, str]]]:
    """Lines of each panel, by its label: what the run has, and the volume where it changes."""

    def since_start(name: str, unit: float) -> Array:
        return (columns[name] - columns[name][0]) / n_atoms * unit

    panels = {
        "temperature (K)": {"": (columns["temperature_K"], _RED)},
        "energy since start (meV/atom)": {
            "potential": (since_start("potential_eV", 1e3), _BLUE),
            "kinetic": (since_start("kinetic_eV", 1e3), _RED),
            "total": (since_start("total_eV", 1e3), _GREY),
        },
    }
    conserved = np.where(columns["step"] >= counted_from, columns["conserved_eV"], np.nan)
    known = conserved[np.isfinite(conserved)]
    if known.size:
        drift = (conserved - known[0]) / n_atoms * 1e6
        panels["drift of conserved energy (µeV/atom)"] = {"": (drift, _GREY)}
    if np.isfinite(columns["pressure_GPa"]).any():
        panels["pressure (GPa)"] = {"": (columns["pressure_GPa"], _GREEN)}
    if np.ptp(columns["volume_A3"]) > 0.0:
        panels["volume (Å³)"] = {"": (columns["volume_A3"], _BLUE)}
    return panels


def _empty(axis: "Axes", text: str) -> None:
    axis.set_axis_off()
    axis.text(0.5, 0.5, text, ha="center", va="center", color=_GREY, transform=axis.transAxes)


def _line(axis: "Axes", time: Array, values: Array, colour: str, label: str = "") -> None:
    marker = "o" if len(time) < 3 else ""
    axis.plot(time, values, color=colour, linewidth=1.2, marker=marker, markersize=3, label=label or None)
