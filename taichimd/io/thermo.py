"""thermo.csv: one row of energies, temperature and pressure per report, at full precision."""

from pathlib import Path

from taichimd.errors import OutputError
from taichimd.io.files import AppendedFile
from taichimd.protocols import Array, ThermoLike
from taichimd.units import GPA

COLUMNS = (
    "step",
    "time_ps",
    "temperature_K",
    "potential_eV",
    "kinetic_eV",
    "total_eV",
    "conserved_eV",
    "pressure_GPa",
    "volume_A3",
)
_HEADER = ",".join(COLUMNS) + "\n"


class ThermoWriter(AppendedFile):
    """Appends rows to thermo.csv; each row is flushed, so that a killed run loses none that was reported.

    Args:
        path: the table.
        drop_from: None starts a new table. A step keeps the rows before it and drops the others: a restart
            drops what came after its checkpoint, so that no row is there twice.

    Raises:
        OutputError: it cannot be written, or what is there is no such table.
    """

    def __init__(self, path: Path, drop_from: int | None = None) -> None:
        super().__init__(path, None if drop_from is None else lambda: _offset_of(path, drop_from), _HEADER)

    def write(self, thermo: ThermoLike, time_ps: float) -> None:
        """Append one row; a pressure or volume that is not defined is an empty field."""
        pressure = None if thermo.pressure is None else thermo.pressure / GPA
        total = thermo.potential + thermo.kinetic
        values = (
            time_ps,
            thermo.temperature,
            thermo.potential,
            thermo.kinetic,
            total,
            thermo.conserved,
            pressure,
            thermo.volume,
        )
        fields = ["" if value is None else repr(float(value)) for value in values]
        self.append(",".join([str(thermo.step), *fields]) + "\n")


def _offset_of(path: Path, step: int) -> int:
    """Byte offset of the first row at or after `step`, or of a row that a killed run left unfinished."""
    offset = 0
    with open(path, "rb") as file:
        for line in file:
            if offset == 0:
                if line != _HEADER.encode():
                    raise OutputError(
                        f"{path} is not a thermo table of this version; choose another --output"
                    )
            elif not line.endswith(b"\n") or int(line.split(b",", 1)[0]) >= step:
                break
            offset += len(line)
    return offset


def read_thermo(path: Path) -> dict[str, Array]:
    """Columns of a thermo.csv by name; an empty field is NaN."""
    import numpy as np

    table = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
    return {name: table[:, i] for i, name in enumerate(COLUMNS)}
