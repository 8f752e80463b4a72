"""What a Monte Carlo run writes while it goes: a table of sweeps, and frames without time or momenta."""

from typing import Any

from taichimd.app.outputs import GrowingFile, TrajectoryFile
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.io.files import AppendedFile
from taichimd.io.thermo import offset_of_row

COLUMNS = {
    "sweep": "step", "potential_eV": "potential", "pressure_GPa": "pressure", "volume_A3": "volume",
    "acceptance": "acceptance", "volume_acceptance": "volume_acceptance", "move_A": "move",
}  # fmt: skip
"""Columns of thermo.csv, with the attributes of `Sampled` that they hold."""


class SweepTable(GrowingFile):
    """Writes a row per report: thermo.csv of `taichimd mc`; `drop_from`: a sweep, from which rows go."""

    def _make(self, simulation: SimulatedSystem) -> AppendedFile:
        since = self._drop_from
        keep = None if since is None else lambda: offset_of_row(self.path, since)
        return AppendedFile(self.path, keep, ",".join(COLUMNS) + "\n")

    def _write(self, simulation: SimulatedSystem, thermo: Any) -> None:
        first, *values = (getattr(thermo, name) for name in COLUMNS.values())
        fields = ["" if value is None else repr(float(value)) for value in values]
        self._writer.append(",".join([str(first), *fields]) + "\n")


class SweepFrames(TrajectoryFile):
    """Writes a frame per report, without time or momenta: a Markov chain has none."""

    def _write(self, simulation: SimulatedSystem, thermo: Any) -> None:
        self._put(simulation, thermo, None)
