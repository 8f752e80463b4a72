"""bonds.csv: a row for each atom and sample, with its neighbours, bond orders, lone pairs and charge.

Columns: `step`, `time_ps`, `atom` (from 0), `element`, `neighbours` and `bond_orders` (lists with spaces
between), `total_bond_order` (of all bonds, weak ones too), `lone_pairs`, `charge` (e). Numbers
have six digits.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.io.files import AppendedFile
from taichimd.io.thermo import offset_of_row

COLUMNS = (
    "step", "time_ps", "atom", "element", "neighbours", "bond_orders", "total_bond_order", "lone_pairs",
    "charge",
)  # fmt: skip


class BondWriter(AppendedFile):
    """Appends samples to bonds.csv; `drop_from`: a step, from which on rows that are there are dropped."""

    def __init__(self, path: Path, symbols: Sequence[str], drop_from: int | None = None) -> None:
        self._symbols = list(symbols)
        keep = None if drop_from is None else lambda: offset_of_row(path, drop_from)
        super().__init__(path, keep, ",".join(COLUMNS) + "\n")

    def write(self, step: int, time_ps: float, bonds: Any, charges: Array, least: float) -> None:
        """Append a row for each atom, with its bonds (a `BondTable`) of an order above `least`."""
        last = np.stack([bonds.total, bonds.lone_pairs, charges], axis=1).tolist()
        rows = zip(self._symbols, bonds.of_atoms(least), last, strict=True)
        lines = [
            f"{step},{time_ps!r},{i},{symbol},{' '.join(map(str, near.tolist()))},"
            f"{_six_digits(orders.tolist(), ' ')},{_six_digits(numbers, ',')}\n"
            for i, (symbol, (near, orders), numbers) in enumerate(rows)
        ]
        self.append("".join(lines))


def _six_digits(values: list[float], between: str) -> str:
    return between.join(f"{value:.6g}" for value in values)
