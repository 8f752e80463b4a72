"""thermo.png: temperature, energies, conserved energy, pressure and volume of a run on one picture."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from ase.formula import Formula

from taichimd.core.arrays import Array
from taichimd.io import forked_panels
from taichimd.io.files import write_atomically
from taichimd.io.png import png_of
from taichimd.io.stress_strain import STRESS_STRAIN, is_deformed, plot_stress_strain, rates_of_record
from taichimd.io.thermo import read_thermo

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _GREY = "#1f6fb4", "#c8402f", "#3a8f4d", "#555555"


Mark = tuple[float, str]
"""Time (ps) at which a segment of a run begins, and its name."""


def title_of(formula: str, n_atoms: int) -> str:
    """Formula in its shortest form, and number of atoms."""
    return f"{Formula(formula).reduce()[0].format('hill')}, {n_atoms:,} atoms"


def marks_of(segments: Sequence[Mapping[str, Any]]) -> list[Mark]:
    """Where the segments of run.json begin, each named by ensemble and temperature where these change."""
    marks, before = [], ""
    for one in segments:
        settings = one.get("settings", {})
        name = settings.get("ensemble", "")
        if name not in ("", "nve"):
            final = settings.get("final_temperature")
            name += f" {settings['temperature']:g}" + ("" if final is None else f" to {final:g}") + " K"
        marks.append((one.get("first_ps", 0.0), "" if name == before else name))
        before = name
    return marks if len(marks) > 1 else []


def plot_run(table: Path, picture: Path, report: Mapping[str, Any]) -> None:
    """Draw the thermo.csv of a run with what its run.json says, and of a deformed cell the stress."""
    title = title_of(report["formula"], report["n_atoms"])
    title += f", {report['potential'].get('name', '')}, {report['settings'].get('ensemble', '')}"
    marks = marks_of(report.get("segments", []))
    plot_thermo(table, picture, report["n_atoms"], title, report.get("conserved_from_step", 0), marks)
    rates = rates_of_record(report["settings"])
    columns = read_thermo(table) if rates else {}
    if rates and is_deformed(columns) and len(columns["step"]):
        plot_stress_strain(columns, rates, picture.with_name(f"{STRESS_STRAIN}{picture.suffix}"), title)


def plot_thermo(
    table: Path, picture: Path, n_atoms: int, title: str, counted_from: int = 0, marks: Sequence[Mark] = ()
) -> None:
    """Draw thermo.csv, energies per atom; `marks`: where vertical lines are, with their names.

    The conserved energy begins at the step `counted_from`: rows before it are of another ensemble.
    """
    figure = thermo_figure(read_thermo(table), n_atoms, title, counted_from, marks)
    write_atomically(picture, lambda file: _save(figure, file, picture.suffix[1:]))


_TICKS = 12
"""Ticks of an axis that are made beforehand: to make one takes longer than to draw it."""
_blank: dict[int, tuple["Figure", Any]] = {}
"""Figures that are made beforehand, and their empty panels, by the number of panels side by side."""


def _blank_figure(across: int) -> tuple["Figure", Any]:
    """A figure of two rows of empty panels."""
    # Half a second, so not at the top; and no pyplot, so no display and no global state.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * across, 6.0), dpi=120)
    return figure, figure.subplots(2, across)


def rehearse() -> None:
    """Do beforehand what the next picture needs, so that it takes less time.

    A picture of two rows is drawn, which loads fonts, and empty panels are made.
    """
    two = np.arange(2.0)
    names = "step", "time_ps", "temperature_K", "potential_eV", "kinetic_eV", "total_eV", "conserved_eV"
    figure = thermo_figure({name: two for name in (*names, "pressure_GPa", "volume_A3")}, 1, "1")
    _save(figure, BytesIO(), "png")
    for across in (2, 3):
        _blank[across] = _blank_figure(across)
        for axis in _blank[across][0].axes:
            axis.xaxis.get_major_ticks(_TICKS)
            axis.yaxis.get_major_ticks(_TICKS)


def _save(figure: "Figure", file: IO[bytes], form: str) -> None:
    """Write a picture; a PNG is drawn once, where Matplotlib's canvas draws twice."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    class Once(FigureCanvasAgg):
        def print_figure(self, filename: Any, *_given: Any, **_options: Any) -> None:
            filename.write(png_of(forked_panels.draw(self), self.figure.dpi))

    if form == "png":
        Once(figure)
    figure.savefig(file, format=form)


def thermo_figure(
    columns: dict[str, Array], n_atoms: int, title: str, counted_from: int = 0, marks: Sequence[Mark] = ()
) -> "Figure":
    """The picture of `plot_thermo`, of columns of a thermo table."""
    time = columns["time_ps"]
    panels = panels_of(columns, n_atoms, counted_from)
    across = 2 if len(panels) <= 4 else 3
    figure, axes = _blank.pop(across) if across in _blank else _blank_figure(across)
    figure.suptitle(title, fontsize=12)
    for k, axis in enumerate(axes.flat):
        if k >= len(panels):
            _empty(axis, "" if "pressure (GPa)" in panels else "no volume, no pressure")
            continue
        label, lines = list(panels.items())[k]
        shown = columns["step"] >= (counted_from if label.startswith("conserved") else 0)
        for name, (values, colour) in lines.items():
            _line(axis, time[shown], values[shown], colour, name)
        axis.set_ylabel(label)
        if len(lines) > 1:
            axis.legend(frameon=False, ncols=3, fontsize=8, loc="upper center")
            axis.margins(y=0.2)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.ticklabel_format(useOffset=False)
        axis.set_xlabel("time (ps)")
        first, last = axis.get_xlim()
        for at, name in marks:
            if first <= at <= last:
                axis.axvline(at, color=_GREY, linewidth=0.8, linestyle=":")
                if k == 0:
                    axis.text(
                        at,
                        1.0,
                        name,
                        rotation=20,
                        fontsize=7,
                        va="bottom",
                        transform=axis.get_xaxis_transform(),
                    )
    _lay_out(figure, across, bool(marks))
    return figure


_DIGIT, _LABEL, _GAP = 0.09, 0.4, 0.2
"""Inches: width of a digit, height of a label with its pads, and distance between panels."""


def _lay_out(figure: "Figure", across: int, marked: bool) -> None:
    """Leave room for numbers and labels: layout engines of Matplotlib draw all texts to know how much."""
    formats = [(axis.yaxis.get_major_formatter(), axis.yaxis.get_majorticklocs()) for axis in figure.axes]
    left = _LABEL + _DIGIT * max(len(text) for form, at in formats for text in form.format_ticks(at.tolist()))
    below, above = _LABEL + _GAP, _LABEL + (0.45 if marked else 0.05)
    width, height = figure.get_size_inches()
    wide, high = width / across - left - _GAP, (height - 2 * below - _GAP - above) / 2
    figure.subplots_adjust(
        left=left / width, right=1.0 - _GAP / width, wspace=(left + _GAP) / wide,
        bottom=below / height, top=1.0 - above / height, hspace=(below + _GAP) / high,
    )  # fmt: skip
    for axis in figure.axes:
        axis.xaxis.set_label_coords(0.5, -0.8 * _LABEL / high)
        axis.yaxis.set_label_coords(-(left - _GAP) / wide, 0.5)


def panels_of(
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
        panels["conserved energy since start (µeV/atom)"] = {"": (drift, _GREY)}
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
