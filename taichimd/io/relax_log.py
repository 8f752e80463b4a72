"""relax.csv: a row for each look at a relaxation, at full precision."""

from pathlib import Path
from typing import Any

from taichimd.io.files import AppendedFile

COLUMNS = ("step", "energy_eV", "fmax_eV_per_A", "pressure_GPa", "volume_A3")


class RelaxLog(AppendedFile):
    """Appends rows to relax.csv; each is flushed.

    Args:
        path: the table; a new one.

    Raises:
        OutputError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, None, ",".join(COLUMNS) + "\n")

    def write(self, row: Any) -> None:
        """Append one row of `taichimd.relaxation`; what is not defined is an empty field."""
        values = (row.energy, row.fmax, row.pressure, row.volume)
        fields = ["" if value is None else repr(float(value)) for value in values]
        self.append(",".join([str(row.step), *fields]) + "\n")
