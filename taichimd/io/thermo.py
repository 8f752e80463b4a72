"""thermo.csv: one row of energies, temperature and pressure per report, at full precision."""

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from ase.cell import Cell

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError
from taichimd.exchange.ledger import COLUMNS as EXCHANGED
from taichimd.io.files import AppendedFile, writing
from taichimd.program.results import Thermo

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
CELL_COLUMNS = (
    "a_A", "b_A", "c_A", "alpha_deg", "beta_deg", "gamma_deg",
    "pxx_GPa", "pyy_GPa", "pzz_GPa", "pyz_GPa", "pxz_GPa", "pxy_GPa",
)  # fmt: skip
"""More, where the cell moves: its lengths and angles, and the pressures that move it."""
CHARGE_COLUMNS = ("charge_iterations",)
"""More, of a force field that equilibrates charges: iterations of the solve of this step."""
DEFORMATION_COLUMNS = (
    "strain_x", "strain_y", "strain_z", "strain_yz", "strain_xz", "strain_xy",
    "true_strain_x", "true_strain_y", "true_strain_z",
    "stress_xx_GPa", "stress_yy_GPa", "stress_zz_GPa", "stress_yz_GPa", "stress_xz_GPa", "stress_xy_GPa",
    "work_deformation_eV",
)  # fmt: skip
"""More, where the cell is deformed: engineering strains L/L0 - 1 and shears, true strains log(L/L0), stresses
with their kinetic part (tension positive), and the work done on the atoms, since the deformation began."""
_TABLES = tuple(
    COLUMNS + charges + cell
    for charges in ((), CHARGE_COLUMNS)
    for cell in ((), CELL_COLUMNS, CELL_COLUMNS + DEFORMATION_COLUMNS)
)
"""The columns that a table can have, besides those on demand."""
_FIXED = frozenset(name for table in _TABLES for name in table)
TERM = r"E_\w+_eV"
"""Names of more columns, on demand: energies of terms (eV), as a regular expression."""
HEAT = r"heat_\w+_eV"
"""Likewise, of baths of groups: the energy that each has given to the atoms since the first step."""
DRIVEN = r"(work|energy|force|impulse|place)_\w+_(eV|eV_per_A|eVfs_per_A|A)"
"""Likewise, of drives: work, energy, force, impulse and place. `EXCHANGED`: of insertions and deletions."""


def term_names(terms: Mapping[str, float]) -> dict[str, float]:
    """Energies of terms (eV) by names of columns, such as E_lone_pair_eV."""
    return {f"E_{re.sub(r'[^0-9A-Za-z]+', '_', name).strip('_')}_eV": value for name, value in terms.items()}


def heat_names(heats: Mapping[str, float]) -> dict[str, float]:
    """Heats (eV) of baths of groups by names of columns, such as heat_hot_eV."""
    return {f"heat_{name}_eV": value for name, value in heats.items()}


class ThermoWriter(AppendedFile):
    """Appends rows to thermo.csv; each row is flushed, so that a killed run loses none that was reported.

    `drop_from`: None starts a new table with these columns; a step keeps the rows before it and the columns:
    a restart drops what came after its checkpoint, so that no row is there twice. `terms` and `heats` are
    names of columns (`term_names`, `heat_names`, drives).
    """

    def __init__(
        self,
        path: Path,
        drop_from: int | None = None,
        moving_cell: bool = False,
        charges: bool = False,
        terms: Sequence[str] = (),
        heats: Sequence[str] = (),
        deformed: bool = False,
    ) -> None:
        self.columns: tuple[str, ...] = (
            *COLUMNS, *CHARGE_COLUMNS * charges, *terms, *heats, *CELL_COLUMNS * (moving_cell or deformed),
            *DEFORMATION_COLUMNS * deformed,
        )  # fmt: skip
        if drop_from is not None and path.exists():
            self.columns = _columns_of(path)
        header = ",".join(self.columns) + "\n"
        super().__init__(path, None if drop_from is None else lambda: offset_of_row(path, drop_from), header)

    @property
    def has_cell(self) -> bool:
        """Whether rows have the CELL_COLUMNS."""
        return CELL_COLUMNS[0] in self.columns

    @property
    def has_terms(self) -> bool:
        """Whether rows have energies of terms."""
        return any(re.fullmatch(TERM, name) for name in self.columns)

    def write(
        self,
        thermo: Thermo,
        time_ps: float,
        cell: Array | None = None,
        pressures: Array | None = None,
        terms: Mapping[str, float] | None = None,
        deformation: tuple[Array, float] | None = None,
    ) -> None:
        """Append one row; what is not defined is an empty field.

        Cell (3, 3) Å and pressures (6,) GPa, xx yy zz yz xz xy, for CELL_COLUMNS; terms, eV, by names of
        columns; gradient (3, 3) and work (eV) of `System.deformation`.
        """
        found: dict[str, float | None] = {
            "time_ps": time_ps,
            "temperature_K": thermo.temperature,
            "potential_eV": thermo.potential,
            "kinetic_eV": thermo.kinetic,
            "total_eV": thermo.potential + thermo.kinetic,
            "conserved_eV": thermo.conserved,
            "pressure_GPa": thermo.pressure,
            "volume_A3": thermo.volume,
            **(terms or {}),
            **heat_names(thermo.heats),
            **thermo.driven,
        }
        if cell is not None:
            more = [None] * 6 if pressures is None else pressures.tolist()
            found |= zip(CELL_COLUMNS, [*Cell(cell).cellpar().tolist(), *more], strict=True)
        if deformation is not None:
            found |= _of_deformation(*deformation, pressures)
        fields = {
            name: repr(value if isinstance(value, int) else float(value))
            for name, value in found.items()
            if value is not None
        }
        fields |= {"step": str(thermo.step), CHARGE_COLUMNS[0]: str(thermo.charge_iterations)}
        self.append(",".join(fields.get(name, "") for name in self.columns) + "\n")


def _of_deformation(gradient: Array, work: float, pressures: Array | None) -> dict[str, float | None]:
    """Values of the DEFORMATION_COLUMNS."""
    (xx, _, _), (xy, yy, _), (xz, yz, zz) = gradient.tolist()
    lengths = (xx, yy, zz)
    strains = [*(length - 1.0 for length in lengths), yz, xz, xy, *(math.log(length) for length in lengths)]
    stresses = [None] * 6 if pressures is None else (-pressures).tolist()
    return dict(zip(DEFORMATION_COLUMNS, [*strains, *stresses, work], strict=True))


def lacks(path: Path, name: str) -> bool:
    """Whether a table is there that has no column of a name (a regular expression)."""
    return path.exists() and not any(re.fullmatch(name, column) for column in _columns_of(path))


def _columns_of(path: Path) -> tuple[str, ...]:
    """Columns of an existing table, or an OutputError."""
    with writing(path), open(path, "rb") as file:
        header = file.readline().decode(errors="replace")
    columns = tuple(header.removesuffix("\n").split(","))
    more = re.compile(f"{TERM}|{HEAT}|{DRIVEN}|{EXCHANGED}")
    fixed = tuple(name for name in columns if name in _FIXED or not more.fullmatch(name))
    if header.endswith("\n") and fixed in _TABLES:
        return columns
    raise OutputError(f"{path} is not a thermo table of this version; choose another --output")


def offset_of_row(path: Path, step: int) -> int:
    """Byte offset of the first row at or after `step`, or of a row that a killed run left unfinished."""
    offset = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if offset:
                first = line.split(b",", 1)[0]
                if not line.endswith(b"\n"):
                    break
                if not re.fullmatch(rb"\d{1,18}", first):
                    raise OutputError(
                        f"{path} line {number} begins with {first[:20]!r}, expected a step; repair it, or "
                        "choose another --output"
                    )
                if int(first) >= step:
                    break
            offset += len(line)
    return offset


def read_thermo(path: Path) -> dict[str, Array]:
    """Columns of a thermo.csv by name; an empty field is NaN. A last row without its line end is left out."""
    columns = _columns_of(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a table without rows
            # What follows the last line end is a row whose writer was killed, or writes it just now.
            whole = Path(path).read_bytes().rpartition(b"\n")[0]
            table = _numbers_of(whole, len(columns))
            if table is None:
                table = np.genfromtxt(BytesIO(whole), delimiter=",", skip_header=1, ndmin=2, encoding="utf-8")
        return {name: table[:, i] for i, name in enumerate(columns)}
    except (ValueError, IndexError) as error:
        if not np.any([line.strip() for line in Path(path).read_bytes().splitlines()[1:]]):
            return {name: np.empty(0) for name in columns}
        reason = " ".join(str(error).split())[:100]
        raise OutputError(f"{path} is damaged: {reason}; repair it, or choose another --output") from None


def _numbers_of(text: bytes, columns: int) -> Array | None:
    """The rows below the header, several times faster than by NumPy; None: a row is not as it is written."""
    rows = [line.split(b",") for line in text.split(b"\n")[1:]]
    if not rows:
        return np.empty((0, columns))
    if any(len(row) != columns for row in rows):
        return None
    try:
        return np.array([[float(field) if field else np.nan for field in row] for row in rows])
    except ValueError:
        return None
