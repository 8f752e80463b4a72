"""Pictures of a certificate: how far each number is below its limit, and the energy of the long run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.validation.measures import NOT_RUN, PASSED, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GOOD, _BAD, _OURS, _THEIRS = "#1a7f37", "#c8402f", "#1f6fb4", "#d08a2e"
SMALLEST = 1e-12
"""Share of a limit at which smaller ones are drawn."""


def limits_figure(outcomes: Sequence[Outcome]) -> "Figure | None":
    """Value over limit of each measure whose limit is not 0, on a logarithmic axis; None without any."""
    from matplotlib.figure import Figure

    shown = [one for one in outcomes if one.status != NOT_RUN and one.limit > 0.0]
    if not shown:
        return None
    shares = [_share(one) for one in shown]
    figure = Figure(figsize=(7.5, 0.24 * len(shown) + 1.0), layout="constrained")
    panel = figure.subplots()
    colors = [_GOOD if one.status == PASSED else _BAD for one in shown]
    panel.scatter(shares, range(len(shown)), c=colors, s=28, zorder=3)
    panel.hlines(range(len(shown)), SMALLEST, shares, colors=colors, linewidth=1.0, alpha=0.5)
    panel.axvline(1.0, color="black", linewidth=1.0)
    panel.set_xscale("log")
    panel.set_xlim(SMALLEST / 2.0, max(10.0, 3.0 * max(shares)))
    panel.set_yticks(range(len(shown)), [one.name for one in shown])
    panel.invert_yaxis()
    panel.grid(axis="x", alpha=0.3)
    panel.set_xlabel("value / limit")
    return figure


def _share(one: Outcome) -> float:
    value = one.value if one.value is not None and np.isfinite(one.value) else 1e3 * one.limit
    return float(np.clip(value / one.limit, SMALLEST, 1e6))


def drift_figure(data: Any) -> "Figure | None":
    """Total energy of NVE against time, and that of LAMMPS from the same start; None without a run."""
    from matplotlib.figure import Figure

    if not data.get("times_ns"):
        return None
    times, ours = 1e3 * np.array(data["times_ns"]), np.array(data["energies_eV_per_atom"])
    figure = Figure(figsize=(7.5, 2.8), layout="constrained")
    panel = figure.subplots()
    if theirs := data.get("lammps"):
        energies = np.array(theirs["energies_eV_per_atom"])
        panel.plot(times, 1e6 * (energies - energies[0]), color=_THEIRS, linewidth=2.2, label="LAMMPS")
    panel.plot(times, 1e6 * (ours - ours[0]), color=_OURS, linewidth=0.8, label="taichimd")
    panel.legend(frameon=False, fontsize=9)
    panel.set_xlabel("time (ps)")
    panel.set_ylabel("E − E0 (µeV/atom)")
    return figure
