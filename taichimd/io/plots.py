"""thermo.png: temperature, energies, drift and pressure of a run on one picture."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taichimd.io.files import write_atomically
from taichimd.io.thermo import read_thermo
from taichimd.protocols import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _RED, _GREEN, _GREY = "#1f6fb4", "#c8402f", "#3a8f4d", "#555555"


def plot_thermo(table: Path, picture: Path, n_atoms: int, title: str) -> None:
    """Draw thermo.csv.

    Args:
        table: thermo.csv.
        picture: PNG to write.
        n_atoms: energies are shown per atom.
        title: above the panels.

    Raises:
        OutputError: the picture cannot be written.
    """
    # Half a second, so not at the top; and no pyplot, so no display and no global state.
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = read_thermo(table)
    time = columns["time_ps"]
    total = columns["total_eV"]
    figure = Figure(figsize=(9.0, 6.0), dpi=120, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    figure.suptitle(title, fontsize=12)
    axes = figure.subplots(2, 2, sharex=True)
    _line(axes[0, 0], time, columns["temperature_K"], _RED)
    axes[0, 0].set_ylabel("temperature (K)")
    potential = (columns["potential_eV"] - columns["potential_eV"][0]) / n_atoms
    kinetic = (columns["kinetic_eV"] - columns["kinetic_eV"][0]) / n_atoms
    _line(axes[0, 1], time, potential * 1e3, _BLUE, "potential")
    _line(axes[0, 1], time, kinetic * 1e3, _RED, "kinetic")
    _line(axes[0, 1], time, (total - total[0]) / n_atoms * 1e3, _GREY, "total")
    axes[0, 1].set_ylabel("energy since start (meV/atom)")
    axes[0, 1].legend(frameon=False, ncols=3, fontsize=8, loc="upper center")
    axes[0, 1].margins(y=0.2)
    conserved = columns["conserved_eV"]
    _line(axes[1, 0], time, (conserved - conserved[0]) / n_atoms * 1e6, _GREY)
    axes[1, 0].set_ylabel("drift of conserved energy (µeV/atom)")
    pressure = columns["pressure_GPa"]
    if np.isfinite(pressure).any():
        _line(axes[1, 1], time, pressure, _GREEN)
        axes[1, 1].set_ylabel("pressure (GPa)")
    else:
        axes[1, 1].set_axis_off()
        box = axes[1, 1].transAxes
        axes[1, 1].text(
            0.5, 0.5, "no volume, no pressure", ha="center", va="center", color=_GREY, transform=box
        )
        axes[0, 1].tick_params(labelbottom=True)
        axes[0, 1].set_xlabel("time (ps)")
    for axis in axes.flat:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.ticklabel_format(useOffset=False)
    for axis in axes[1]:
        axis.set_xlabel("time (ps)")
    write_atomically(picture, lambda file: figure.savefig(file, format="png"))


def _line(axis: "Axes", time: Array, values: Array, colour: str, label: str = "") -> None:
    marker = "o" if len(time) < 3 else ""
    axis.plot(time, values, color=colour, linewidth=1.2, marker=marker, markersize=3, label=label or None)
