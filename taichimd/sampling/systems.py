"""The systems of chains, on one device."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from taichimd.core.arrays import Array
from taichimd.program.device import Device, Energy
from taichimd.program.engine import Engine


class Systems(Protocol):
    """What sweeps need of systems: a `Batch`, or `OneSystem`."""

    @property
    def device(self) -> Device:
        """Where they are."""

    @property
    def members(self) -> Sequence[Any]:
        """The systems."""

    def energies(self, known: Sequence[float | None] | None = None) -> list[Energy]:
        """As `Device.energies`."""

    def sums(self, what: str) -> Array:
        """(systems, columns) of `program.totals`."""

    def set_cells(self, cells: dict[int, Array]) -> None:
        """Other cells of some systems, (3, 3) angstrom each."""

    def system_of(self, atom: int) -> int:
        """The system of an atom."""

    def forget(self) -> None:
        """Kernels have moved atoms."""


class OneSystem:
    """The system of an engine, as `Systems`; for energies that no `Batch` has, too."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.members = engine, [engine]

    @property
    def device(self) -> Device:
        """As `Systems`."""
        return self.engine.device

    def energies(self, known: Sequence[float | None] | None = None) -> list[Energy]:
        """As `Systems`."""
        return self.device.energies(known)

    def sums(self, what: str) -> Array:
        """As `Systems`, of "totals"."""
        potential, kinetic, virial = self.device.evaluate()
        return np.array([[potential, kinetic, *virial.ravel()]])

    def set_cells(self, cells: dict[int, Array]) -> None:
        """As `Systems`."""
        self.engine.set_state(cell=cells[0])

    def system_of(self, atom: int) -> int:
        """As `Systems`."""
        return 0

    def forget(self) -> None:
        """As `Systems`: nothing is kept."""
