"""Forces on a group: constant or of time, for each atom or in total, accelerations and electric fields.

    F_i = w_i A(t),    work = sum_i (F_i(t) + F_i(t + dt))/2 . (x_i(t + dt) - x_i(t))

The weight w_i is 1, the mass, the charge, or m_i/M of the group. A(t) is constant, A sin(2 pi t/T + phase),
or a table, linear in
between. The work of a constant force is F times the displacement.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.base import Drive, Row, Start, axes_of, is_vector

_KINDS = {"force": "eV/Å", "acceleration": "Å/ps^2", "total": "eV/Å", "field": "V/Å", "array": "eV/Å"}


@dataclass(frozen=True)
class Force(Drive):
    """A force on each atom of a group. Give one of `force`, `acceleration`, `total`, `field` and `array`.

        >>> from ase.build import bulk
        >>> from taichimd import Force, Simulation
        >>> pulled = Simulation(bulk("Si", cubic=True), "Si.sw", acting=[Force((0, 0, 0.05), on=[3])])
        >>> float(pulled.forces()[3, 2].round(6))
        0.05

    Args:
        force: on each atom, eV/Å.
        acceleration: of each atom, Å/ps^2.
        total: on the group, eV/Å, shared as `share` says.
        field: electric field, V/Å, on the fixed charges of the structure (`initial_charges`).
        array: (n, 3) eV/Å, of the atoms of the group or of all atoms; or the name of such an array in the
            structure.
        share: "mass", in proportion to the masses, or "number", the same for each atom.
        period: fs; the force is multiplied by sin(2 pi t/period + phase). t counts from the first step. None:
            constant.
        phase: radians.

    In place of three numbers you can give a table, as the name of a file or as rows: each line has a time
    (fs) and three numbers.

    Raises:
        SettingsError: none or several of the five, or invalid values.
    """

    kind: ClassVar[str] = "force"
    force: Any = None
    acceleration: Any = None
    total: Any = None
    field: Any = None
    array: Any = None
    share: str = "mass"
    period: float | None = None
    phase: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [key for key in _KINDS if getattr(self, key) is not None]
        if len(given) != 1:
            raise SettingsError(
                f"a force needs one of {', '.join(_KINDS)}; got {' and '.join(given) or 'none'}, as in "
                "Force(force=(0, 0, 0.05))"
            )
        value = getattr(self, given[0])
        if given[0] != "array" and not is_vector(value):
            object.__setattr__(self, given[0], read_table(value, given[0], _KINDS[given[0]]))
            if self.period is not None:
                raise SettingsError(f"{given[0]} is a table, which has its own times: leave period out")
        if self.share not in ("mass", "number"):
            raise SettingsError(f"share = {self.share!r}: expected mass or number")
        if self.period is not None:
            self._number("period", "fs", 0.0)
        self._number("phase", "radians")

    @property
    def quantity(self) -> str:
        """Which of the five is given."""
        return next(key for key in _KINDS if getattr(self, key) is not None)

    @property
    def table(self) -> Array | None:
        """The table, (m, 4): times (fs) and three numbers; None without a table."""
        value = getattr(self, self.quantity)
        return None if self.quantity == "array" or is_vector(value) else np.array(value, float)

    @property
    def moves_with_time(self) -> bool:
        """Whether the force has a period or is a table."""
        return self.period is not None or self.table is not None

    def acts_along(self, own: Array | None) -> str:
        """Axes along which the force has a component."""
        if self.quantity == "array":
            return axes_of(own)
        table = self.table
        return axes_of(getattr(self, self.quantity) if table is None else table[:, 1:])

    def last_time(self) -> float | None:
        """The last time of a table, fs."""
        return None if self.table is None else float(self.table[-1, 0])

    def settings(self) -> dict[str, Any]:
        """The arguments of the force, JSON-able; an array is only named "given"."""
        found = super().settings()
        return found | ({"array": "given"} if self.array is not None else {})

    def rows(self, start: Start) -> list[Row]:
        """The drive as one row of the tables of kernels."""
        quantity, table, n = self.quantity, self.table, len(start.atoms)
        row = Row(of.OWN if quantity == "array" else of.LINEAR, start.atoms)
        factor = units.PS**-2 if quantity == "acceleration" else 1.0
        row.values[of.SCALE] = 1.0
        if quantity == "acceleration" or (quantity == "total" and self.share == "mass"):
            row.weight = of.BY_MASS
        if quantity == "total":
            row.values[of.SCALE] = 1.0 / (start.masses[start.atoms].sum() if self.share == "mass" else n)
        if quantity in ("field", "array"):
            row.weight, row.block = of.BY_BLOCK, start.own
        if table is not None:
            row.timing, row.table = of.TABULATED, table * [units.FS, factor, factor, factor]
        elif quantity != "array":
            row.values[of.VECTOR : of.VECTOR + 3] = factor * np.array(getattr(self, quantity))
        if self.period is not None:
            row.timing = of.SINE
            row.values[of.FREQUENCY] = 1.0 / (self.period * units.FS)
            row.values[of.PHASE] = self.phase / (2.0 * np.pi)
        return [row]


def read_table(value: Any, key: str, unit: str) -> tuple[tuple[float, ...], ...]:
    """The rows of a table: a time (fs) that increases and three numbers each.

    The value is rows, or the name of a file, whose numbers stand between commas or blanks, with or without a
    header.
    """
    called = f"{key} = {value}" if isinstance(value, str | Path) else key
    rows = value
    if isinstance(value, str | Path):
        try:
            lines = [
                line.split("#")[0].replace(",", " ").split() for line in Path(value).read_text().splitlines()
            ]
            lines = [line for line in lines if line]
            rows = [[float(word) for word in line] for line in lines[_is_header(lines) :]]
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise SettingsError(f"{called}: expected three numbers ({unit}), or a table; {error}") from None
    try:
        table = np.array(rows, float)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.ndim != 2 or table.shape[1] != 4 or len(table) < 2 or not np.isfinite(table).all():
        raise SettingsError(
            f"{called}: expected three numbers ({unit}), or a table of at least two lines, each a time (fs) "
            "and three numbers"
        )
    if not (np.diff(table[:, 0]) > 0).all() or table[0, 0] > 0:
        raise SettingsError(f"{called}: the times of a table begin at 0 fs or before, and increase")
    return tuple(tuple(row) for row in table.tolist())


def _is_header(lines: list[list[str]]) -> bool:
    try:
        return not all(is_number(float(word)) for word in lines[0]) if lines else False
    except ValueError:
        return True
