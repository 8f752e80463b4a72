"""What a Monte Carlo run writes while it goes: a table of sweeps, and frames without time or momenta."""

from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.app.outputs import GrowingFile, TrajectoryFile
from taichimd.io.files import AppendedFile
from taichimd.io.thermo import offset_of_row
from taichimd.observables.estimators.series import Mean, block_means, mean_of

if TYPE_CHECKING:
    from pathlib import Path

    from taichimd.app.simulation import Simulation

COLUMNS = {
    "sweep": "step", "potential_eV": "potential", "pressure_GPa": "pressure", "volume_A3": "volume",
    "acceptance": "acceptance", "volume_acceptance": "volume_acceptance", "move_A": "move",
}  # fmt: skip
"""Of thermo.csv, with the attributes of `Sampled` that they hold."""
AVERAGED = ("potential_eV", "pressure_GPa", "volume_A3")
BLOCKS = 10
"""Whose means' scatter gives errors of averages."""


class SweepTable(GrowingFile):
    """Writes a row per report: thermo.csv of `taichimd mc`.

    Args:
        path: the table.
        drop_from: goes on with a table that is there: the sweep from which its rows are dropped.
    """

    def _make(self, simulation: "Simulation") -> AppendedFile:
        since = self._drop_from
        keep = None if since is None else lambda: offset_of_row(self.path, since)
        return AppendedFile(self.path, keep, ",".join(COLUMNS) + "\n")

    def _write(self, simulation: "Simulation", thermo: Any) -> None:
        first, *values = (getattr(thermo, name) for name in COLUMNS.values())
        fields = ["" if value is None else repr(float(value)) for value in values]
        self._writer.append(",".join([str(first), *fields]) + "\n")


class SweepFrames(TrajectoryFile):
    """Writes a frame per report, without time or momenta: a Markov chain has none."""

    def _write(self, simulation: "Simulation", thermo: Any) -> None:
        self._writer.write(simulation.engine, thermo, None)


def averages(table: "Path", after: int) -> dict[str, Mean]:
    """Means over the rows of a table behind a sweep, with errors by blocks; what has no value is left out."""
    rows = np.atleast_1d(np.genfromtxt(table, delimiter=",", names=True))
    rows = rows[rows["sweep"] > after]
    found = {}
    for name in AVERAGED:
        values = rows[name]
        if len(values) and np.isfinite(values).all():
            found[name] = Mean(float(values.mean()), np.nan, 1)
            if len(values) >= 2 * BLOCKS:
                found[name] = mean_of(block_means(values, BLOCKS))
    return found
