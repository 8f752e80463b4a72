"""The account of molecules that came and went: how many, with what energy and momentum."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.units import FS
from taichimd.exchange.base import Exchange

MOMENTUM = 1000.0 * FS
"""amu Å/ps in the unit of masses (amu) times internal velocities."""
COLUMNS = r"n_atoms|(insert|delete)_\w+_(molecules|energy_eV|momentum_[xyz]_amuA_per_ps)"
"""Names of columns of tables, as a regular expression."""
N_ATOMS = "n_atoms"


class Ledger:
    """What insertions and deletions have done since the first step.

    Args:
        items: with different names (`taichimd.exchange.base.named`).
        saved: what `save` returned, or empty; items that it does not know begin at zero.

    Attributes:
        of: by the name of each item: molecules, energy (eV, potential and kinetic) and momentum (three
            components, amu Å/ps) that the system has received, looks at the system, and formulas of the last
            one.
        received: eV, sum of all changes of the conserved energy.
    """

    def __init__(self, items: Sequence[Exchange], saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.received = float(saved.get("received", 0.0))
        self.of: dict[str, dict[str, Any]] = {}
        for item in items:
            empty = {"molecules": 0, "energy": 0.0, "momentum": [0.0, 0.0, 0.0], "looks": 0, "seen": {}}
            self.of[item.called] = {**empty, **saved.get("items", {}).get(item.called, {})}

    def save(self) -> dict[str, Any]:
        """All of this, JSON-able and exact."""
        return {"received": self.received, "items": {name: dict(one) for name, one in self.of.items()}}

    def book(
        self, item: Exchange, molecules: int, energy: float, momentum: NDArray[np.float64], received: float
    ) -> None:
        """Book one exchange: molecules that came or went, and what the system gained.

        Energy and `received` (the conserved energy) in eV; momentum (3,), amu times the internal unit of
        velocities.
        """
        own = self.of[item.called]
        own["molecules"] += molecules
        own["energy"] += energy
        own["momentum"] = [a + b * MOMENTUM for a, b in zip(own["momentum"], momentum.tolist(), strict=True)]
        self.received += received

    def columns(self, n_atoms: int) -> dict[str, float]:
        """Values by names of columns of thermo.csv."""
        found: dict[str, float] = {N_ATOMS: n_atoms}
        for name, own in self.of.items():
            found |= {f"{name}_molecules": own["molecules"], f"{name}_energy_eV": own["energy"]}
            momenta = zip("xyz", own["momentum"], strict=True)
            found |= {f"{name}_momentum_{axis}_amuA_per_ps": value for axis, value in momenta}
        return found

    def booked(self, thermo: Any, n_atoms: int) -> Any:
        """Totals (`program.results.Thermo`) with these columns, and `conserved` without what was received."""
        conserved = None if thermo.conserved is None else thermo.conserved - self.received
        return replace(thermo, conserved=conserved, driven={**thermo.driven, **self.columns(n_atoms)})

    def notes(self) -> list[str]:
        """What the user of a complete run should know: deletions that never found a molecule."""
        told = []
        for name, own in self.of.items():
            if own["molecules"] or not name.startswith("delete_") or not own["looks"]:
                continue
            seen = ", ".join(f"{count:,} {formula}" for formula, count in own["seen"].items())
            told.append(
                f"{name}: none of its {own['looks']:,} looks at the region found such a molecule; the whole "
                f"system had at the last look: {seen}"
            )
        return told
