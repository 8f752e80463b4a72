"""The output folder of a run and the observers that fill it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichimd.errors import OutputError
from taichimd.io.checkpoint import Checkpoint, write_checkpoint
from taichimd.io.files import make_folder, writing
from taichimd.io.thermo import ThermoWriter
from taichimd.io.trajectory import TrajectoryWriter
from taichimd.protocols import Array, ThermoLike
from taichimd.simulation import Observer

if TYPE_CHECKING:
    from taichimd.simulation import Simulation


@dataclass(frozen=True)
class OutputFolder:
    """Names of the files of a run.

    Attributes:
        path: the folder.
        observed: names of the files of what the run observes.
    """

    path: Path
    observed: tuple[str, ...] = ()

    @property
    def trajectory(self) -> Path:
        """Frames."""
        return self.path / "trajectory.extxyz"

    @property
    def thermo(self) -> Path:
        """Rows of energies and temperature."""
        return self.path / "thermo.csv"

    @property
    def checkpoint(self) -> Path:
        """Where to go on from."""
        return self.path / "checkpoint.npz"

    @property
    def report(self) -> Path:
        """Settings, versions and figures."""
        return self.path / "run.json"

    @property
    def plot(self) -> Path:
        """Picture of the thermo rows."""
        return self.path / "thermo.png"

    def files(self) -> list[Path]:
        """All of them, in the order in which a summary lists them."""
        own = [self.trajectory, self.thermo, self.plot, self.checkpoint, self.report]
        return [*own, *(self.path / name for name in self.observed)]

    def check(self, *, overwrite: bool) -> None:
        """Make the folder, and look whether it can be written and holds no earlier run.

        Raises:
            OutputError: it cannot be written, or an earlier run's files are there and `overwrite` is False.
        """
        there = [file.name for file in self.files() if file.exists()]
        if there and not overwrite:
            raise OutputError(
                f"{self.path} holds an earlier run ({', '.join(there)}); give --overwrite to replace it, "
                f"--restart {self.checkpoint} to continue it, or another --output"
            )
        with writing(self.path):
            make_folder(self.path)
            probe = self.path / ".taichimd-probe"
            probe.write_bytes(b"")
            probe.unlink()

    def clear(self) -> None:
        """Remove an earlier run's files: late, when the new run is known to start."""
        for file in self.files():
            with writing(file):
                file.unlink(missing_ok=True)


class FileObserver(Observer):
    """Writes a thermo row and a trajectory frame per report.

    Args:
        folder: where.
        symbols: one per atom.
        pbc: (3,).
        drop_from: None starts new files; a step keeps what came before it (restart into the same folder).
        per_atom: what else frames have of each atom (`TrajectoryWriter`).
        moving_cell: whether a new table has cell and pressures (`ThermoWriter`).
        masses: (n,) amu (`TrajectoryWriter`).
    """

    def __init__(
        self,
        folder: OutputFolder,
        symbols: list[str],
        pbc: NDArray[np.bool_],
        drop_from: int | None = None,
        per_atom: tuple[str, ...] = (),
        moving_cell: bool = False,
        masses: Array | None = None,
    ) -> None:
        self._thermo = ThermoWriter(folder.thermo, drop_from, moving_cell)
        self._trajectory = TrajectoryWriter(folder.trajectory, symbols, pbc, drop_from, per_atom, masses)

    def report(self, simulation: "Simulation", thermo: ThermoLike) -> None:
        """Write one row and one frame."""
        engine = simulation.engine
        more = (engine.cell, engine.pressures()) if self._thermo.has_cell else ()
        self._thermo.write(thermo, simulation.time_ps, *more)
        self._trajectory.write(simulation.engine, thermo, simulation.time_ps)

    def sync(self) -> None:
        """Force everything onto the disk."""
        self._thermo.sync()
        self._trajectory.sync()

    def close(self) -> None:
        """Close both files, whatever happens to the first."""
        try:
            self._thermo.close()
        finally:
            self._trajectory.close()


class CheckpointKeeper(Observer):
    """Writes a checkpoint at the first report, then whenever the interval has passed.

    Args:
        path: the checkpoint file.
        make: builds the checkpoint of a simulation's present state.
        before: called first: rows and frames must be on the disk before a checkpoint that counts on them.
        interval: seconds.
        saved_step: step of a checkpoint that is already there, or None.
    """

    def __init__(
        self,
        path: Path,
        make: Callable[["Simulation"], Checkpoint],
        before: Callable[[], None],
        interval: float,
        saved_step: int | None,
    ) -> None:
        self.path = path
        self.saved_step = saved_step
        self._make, self._before, self._interval = make, before, interval
        self._saved_at = time.monotonic()

    def report(self, simulation: "Simulation", thermo: ThermoLike) -> None:
        """The first report of a new run is saved, so that there is a checkpoint whatever happens next."""
        if self.saved_step is None:
            self.save(simulation)

    def tick(self, simulation: "Simulation") -> None:
        """Save when it is time."""
        if time.monotonic() - self._saved_at >= self._interval:
            self.save(simulation)

    def save(self, simulation: "Simulation") -> None:
        """Save now; a state that is not finite never replaces a good checkpoint."""
        checkpoint = self._make(simulation)
        if not (np.isfinite(checkpoint.positions).all() and np.isfinite(checkpoint.velocities).all()):
            return
        self._before()
        write_checkpoint(self.path, checkpoint)
        self.saved_step = checkpoint.step
        self._saved_at = time.monotonic()

    def note(self) -> str:
        """Where the last good checkpoint is, for messages."""
        if self.saved_step is None:
            return "no checkpoint had been written"
        return f"the last good checkpoint is {self.path} (step {self.saved_step})"
