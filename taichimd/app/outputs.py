"""Observers that write the files that grow with a run."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from taichimd.app.observer import Observer
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import OutputError, SettingsError
from taichimd.core.scalars import is_whole
from taichimd.io.behind import Behind
from taichimd.io.binary_trajectory import BinaryTrajectoryWriter
from taichimd.io.checkpoint import Checkpoint
from taichimd.io.files import WRITE_OUT_BYTES
from taichimd.io.netcdf_trajectory import NetcdfTrajectoryWriter
from taichimd.io.snapshot import Snapshot
from taichimd.io.thermo import ThermoWriter, heat_names, term_names
from taichimd.io.trajectory import TrajectoryWriter
from taichimd.program.results import Thermo
from taichimd.settings.types import PER_ATOM

_Own = TypeVar("_Own", bound="GrowingFile")
_Writer = TrajectoryWriter | BinaryTrajectoryWriter | NetcdfTrajectoryWriter
_WRITERS: dict[str, type[_Writer]] = {
    ".extxyz": TrajectoryWriter,
    ".xyz": TrajectoryWriter,
    ".traj": BinaryTrajectoryWriter,
    ".nc": NetcdfTrajectoryWriter,
}


class GrowingFile(Observer):
    """What the observers that write a file have in common.

    Args:
        path: the file.
        overwrite: whether one that is there may be replaced.
        drop_from: continues with one that is there: the step from which its content is dropped.
    """

    def __init__(self, path: str | Path, overwrite: bool = False, drop_from: int | None = None) -> None:
        self.path = Path(path)
        self._overwrite, self._drop_from = overwrite, drop_from
        self._writer: Any = None
        self._last: int | None = None

    def open(self, simulation: SimulatedSystem) -> None:
        """Open the file, unless it is open; otherwise the first report opens it.

        Args:
            simulation: the simulation that will be reported.

        Raises:
            OutputError: the file exists and may not be replaced, or cannot be written.
        """
        if self._writer is not None:
            return
        if self._drop_from is None and not self._overwrite and self.path.exists():
            raise OutputError(
                f"{self.path} already exists; give overwrite=True to replace it, or another path"
            )
        self._writer = self._make(simulation)

    def report(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        """Write the row or frame of this step; a second report of the same step writes nothing."""
        self.open(simulation)
        if thermo.step != self._last:
            self._write(simulation, thermo)
            self._last = thermo.step

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        if self._writer is not None:
            self._writer.sync()

    def close(self) -> None:
        """Close the file; a later report continues in it."""
        if self._writer is not None:
            self._writer.close()
            self._writer, self._drop_from = None, 0 if self._last is None else self._last + 1

    def __enter__(self: _Own) -> _Own:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _make(self, simulation: SimulatedSystem) -> Any:
        raise NotImplementedError

    def _write(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        raise NotImplementedError


class ThermoTable(GrowingFile):
    """Writes a row of energies, temperature and pressure per report: thermo.csv of `taichimd run`.

        >>> from ase.build import bulk
        >>> from taichimd import Simulation, ThermoTable
        >>> with ThermoTable("rows.csv", every=10) as table:
        ...     result = Simulation(bulk("Si", cubic=True), "Si.sw").run(20, observers=[table])
        >>> [line.split(",")[0] for line in open("rows.csv")]
        ['step', '0', '10', '20']

    Args:
        path: the table (CSV); `taichimd.io.thermo` describes the columns.
        every: steps between rows; None: the `every` of `Simulation.run`.
        overwrite: whether an existing file may be replaced.
        drop_from: continue an existing table; rows from this step on are dropped.
        moving_cell: whether there are columns for cell and pressures; None: if the ensemble has a barostat.
        terms: whether there are columns for the energies of terms (`Simulation.energy_terms`): E_bond_eV.

    Attributes:
        symbols: chemical symbols of the atoms, once the table has rows.

    Raises:
        SettingsError: an `every` that is not a whole number above 0.
        OutputError: at the first report: the file exists and `overwrite` is False, or cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        every: int | None = None,
        *,
        overwrite: bool = False,
        drop_from: int | None = None,
        moving_cell: bool | None = None,
        terms: bool = False,
    ) -> None:
        super().__init__(path, overwrite, drop_from)
        self.every = checked_every(every)
        self._moving_cell, self._terms = moving_cell, terms
        self.symbols: Sequence[str] = ()
        self._moves = self._deforms = False

    @property
    def totals_only(self) -> bool:  # type: ignore[override]
        """Whether rows need only totals; terms, strains, and pressures in a fixed cell need more."""
        opened = self._writer is not None
        waits = opened and not self._terms and (self._moves or not self._writer.has_cell)
        return waits and not self._deforms

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture of the rows so far."""
        from taichimd.app.notebook import table_html

        return table_html(self)

    def _make(self, simulation: SimulatedSystem) -> ThermoWriter:
        self.symbols = simulation.engine.symbols
        moving, self._moves = self._moving_cell, simulation.engine.ensemble.moves_cell
        if moving is None:
            moving = self._moves
        terms = tuple(term_names(simulation.energy_terms())) if self._terms else ()
        charged = simulation.engine.forcefield.charged
        heats = (*heat_names(simulation.heats()), *simulation.thermo().driven)
        deformed = self._deforms = moving and simulation.engine.ensemble.deforms
        return ThermoWriter(self.path, self._drop_from, moving, charged, terms, heats, deformed)

    def _write(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        engine = simulation.engine
        more = (engine.cell, engine.pressures()) if self._writer.has_cell else (None, None)
        terms = term_names(simulation.energy_terms()) if self._terms and self._writer.has_terms else None
        deformation = engine.deformation() if self._writer.has_cell else None
        self._writer.write(thermo, simulation.time_ps, *more, terms, deformation)


class TrajectoryFile(GrowingFile):
    """Writes a frame per report: the trajectory of `taichimd run`, as text or in a binary format.

    A frame is copied at its report and written by a second thread. `sync` and `close` wait for that thread.

        >>> from ase.build import bulk
        >>> from ase.io import read
        >>> from taichimd import Simulation, TrajectoryFile
        >>> with TrajectoryFile("frames.traj", every=10) as frames:
        ...     result = Simulation(bulk("Si", cubic=True), "Si.sw").run(20, observers=[frames])
        >>> [atoms.info["step"] for atoms in read("frames.traj", ":")]
        [0, 10, 20]

    Args:
        path: the trajectory; its suffix says the format: .extxyz, .xyz (`taichimd.io.trajectory`), .nc
            (`taichimd.io.netcdf_trajectory`) or .traj (`taichimd.io.binary_trajectory`).
        every: steps between frames; None: the `every` of `Simulation.run`.
        per_atom: further values of each atom: "energy" (eV), "virial" (eV).
        terms: whether `info` of frames has energies of terms (`Simulation.energy_terms`), named E_bond_eV.
        overwrite: whether an existing file may be replaced.
        drop_from: continue an existing trajectory; frames from this step on are dropped.

    Raises:
        SettingsError: an unknown suffix, an `every` that is not a whole number above 0, or an unknown
            `per_atom`.
        OutputError: at the first report: the file exists and `overwrite` is False, or cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        every: int | None = None,
        *,
        per_atom: Sequence[str] = (),
        terms: bool = False,
        overwrite: bool = False,
        drop_from: int | None = None,
    ) -> None:
        super().__init__(path, overwrite, drop_from)
        self.every = checked_every(every)
        self._per_atom, self._terms, self._behind = tuple(per_atom), terms, Behind()
        self._in_memory = 0
        if self.path.suffix not in _WRITERS:
            raise SettingsError(f"{self.path}: expected a trajectory named *{' or *'.join(_WRITERS)}")
        if not set(self._per_atom) <= set(PER_ATOM):
            raise SettingsError(f"per_atom = {per_atom!r}: expected some of {', '.join(PER_ATOM)}")

    def _make(self, simulation: SimulatedSystem) -> _Writer:
        self._engine = engine = simulation.engine
        return _WRITERS[self.path.suffix](
            self.path, engine.symbols, engine.pbc, self._drop_from, self._per_atom, engine.masses
        )

    def _write(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        terms = term_names(simulation.energy_terms()) if self._terms else None
        self._put(simulation, thermo, simulation.time_ps, terms)

    def _put(
        self,
        simulation: SimulatedSystem,
        thermo: Any,
        time_ps: float | None,
        terms: Mapping[str, float] | None = None,
    ) -> None:
        """Copy the state from the device now, and have it written while the run continues."""
        if simulation.engine is not self._engine:  # molecules came or went
            self._behind.wait()
            self._engine = simulation.engine
            self._writer.set_atoms(self._engine.symbols, self._engine.masses)
        frame = self._writer.take(simulation.engine, thermo, time_ps, terms)
        self._behind.put(partial(self._append, frame), frame.size)

    def _append(self, frame: Snapshot) -> None:
        """Write a frame, and let the disk begin with it if enough was written since."""
        self._writer.append_frame(frame)
        self._in_memory += frame.size
        if self._in_memory >= WRITE_OUT_BYTES:
            self._writer.write_out()
            self._in_memory = 0

    def ended(self) -> None:
        """Wait until all frames are written."""
        self._behind.wait()

    def sync(self) -> None:
        """Wait until all frames are written, and force them onto the disk."""
        self._behind.wait()
        super().sync()

    def close(self) -> None:
        """Wait until all frames are written, and close the file; a later report continues in it."""
        try:
            self._behind.wait()
        finally:
            super().close()


class RunFiles:
    """The files that grow with a run.

    Args:
        files: its table, frames, bonds; None where it has none.

    Attributes:
        observers: those of them that there are.
    """

    def __init__(self, *files: GrowingFile | None) -> None:
        self.observers: list[GrowingFile] = [file for file in files if file is not None]

    def open(self, simulation: SimulatedSystem) -> None:
        """Open them, and drop what a restart writes itself."""
        for file in self.observers:
            file.open(simulation)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        for file in self.observers:
            file.sync()

    def close(self) -> None:
        """Close all of them, whatever happens to one."""
        with ExitStack() as stack:
            for file in reversed(self.observers):
                stack.callback(file.close)


def dropped_from(checkpoint: Checkpoint | None, rhythm: str, steps: int) -> int | None:
    """First step whose rows, or frames, a restart writes itself; None of a new run.

    A row at the checkpoint's step stays if it belongs to the rhythm ("every", "frames_every"); one that is
    there only because the earlier run ended goes, so that the files are those of a run that was never cut.
    Where no step is left to do, all rows stay.
    """
    if checkpoint is None:
        return None
    step, before = checkpoint.step, checkpoint.settings
    every = before.get(rhythm) or before["every"]
    # Python's checkpoints name no interval, and are of no table.
    return step + 1 if steps == 0 or (every and step % every == 0) else step


def checked_every(every: int | None) -> int | None:
    """Steps between reports, or None; a SettingsError if they are no whole number above 0."""
    if every is not None and not (is_whole(every) and every > 0):
        raise SettingsError(f"every = {every!r}: expected a whole number above 0")
    return every
