"""The observer that writes the bonds of a reactive run."""

from pathlib import Path

from taichimd.app.outputs import GrowingFile, checked_every
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.io.bond_rows import BondWriter
from taichimd.program.results import Thermo


class BondFile(GrowingFile):
    """Writes the bonds of each atom per report: bonds.csv of `taichimd run --observe bonds`.

        >>> from ase.build import molecule
        >>> from taichimd import BondFile, Simulation
        >>> with BondFile("bonds.csv", every=10) as bonds:
        ...     result = Simulation(molecule("H2O"), "H2O.ffield").run(10, observers=[bonds])
        >>> [line.split(",")[3:5] for line in open("bonds.csv")][1:4]
        [['O', '1 2'], ['H', '0'], ['H', '0']]

    Args:
        path: the table (CSV); `taichimd.io.bond_rows` describes the columns.
        every: steps between samples; None: the `every` of `Simulation.run`.
        bond_order: bonds with a bond order above this value are listed.
        overwrite: whether an existing file may be replaced.
        drop_from: continue an existing table; rows from this step on are dropped.

    Raises:
        SettingsError: an `every` that is not a whole number above 0.
        PropertyError: at the first report: a force field without bonds.
        OutputError: at the first report: the file exists and `overwrite` is False, or cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        every: int | None = None,
        *,
        bond_order: float = 0.3,
        overwrite: bool = False,
        drop_from: int | None = None,
    ) -> None:
        super().__init__(path, overwrite, drop_from)
        self.every, self._least = checked_every(every), bond_order

    def _make(self, simulation: SimulatedSystem) -> BondWriter:
        simulation.engine.forcefield.check_bonds()
        return BondWriter(self.path, simulation.engine.symbols, self._drop_from)

    def _write(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        engine = simulation.engine
        charges = engine.atom_values()["charges"]
        self._writer.write(thermo.step, simulation.time_ps, engine.bonds(), charges, self._least)
