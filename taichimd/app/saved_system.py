"""A simulated system that checkpoints keep."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ase import Atoms

from taichimd.app.acting import exchanges_of
from taichimd.app.exchanging import split_acting
from taichimd.app.notes import REDRAW_IN_PYTHON, of_start, of_system
from taichimd.app.restart import continue_clock, set_first_velocities
from taichimd.app.saving import NOT_OF_THE_ENGINE, Account, start_from, to_checkpoint
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import TaichimdWarning
from taichimd.ensembles.drives.given import uses_charges
from taichimd.ensembles.registry import Ensemble
from taichimd.exchange.base import Exchange
from taichimd.exchange.ledger import Ledger
from taichimd.io.checkpoint import write_checkpoint
from taichimd.io.structures import remarks
from taichimd.system.groups import of_runs
from taichimd.system.overlaps import notes_on_overlap

if TYPE_CHECKING:
    from typing_extensions import Self

    from taichimd.program.system import System


class SavedSystem(SimulatedSystem):
    """What a `Simulation` has without its runs: it begins, is saved, and continues."""

    _settings: Mapping[str, Any] = MappingProxyType({})
    _account = Account()
    _exchanges: Sequence[Exchange] = ()
    _exchanges_of_batch: Sequence[Exchange] = ()

    def _begin(self, engine: "System", atoms: Atoms, given: Sequence[Any]) -> list[str]:
        """Take a new engine of these atoms, give it velocities, and keep what the engine does not tell."""
        self.engine = engine
        self._settings = settings = dict(zip(NOT_OF_THE_ENGINE, given, strict=True))
        set_first_velocities(engine, atoms, settings["temperature"], settings["seed"])
        self._structure = atoms.copy()
        told = remarks(atoms, uses_charges(engine.acting)) + of_start(atoms, REDRAW_IN_PYTHON)
        told += notes_on_overlap(atoms)
        return told + of_system(atoms, engine.forcefield, engine.ensemble, self.timestep)

    @classmethod
    def load(
        cls,
        path: str | Path,
        forcefield: Any = None,
        *,
        timestep: float | None = None,
        ensemble: Ensemble | None = None,
        backend: str | None = None,
        precision: str | None = None,
        decomposition: str | None = None,
        groups: Mapping[str, Any] | None = None,
        acting: Sequence[Any] | None = None,
        trust: bool = False,
    ) -> "Self":
        """A simulation that continues from a checkpoint of `save` or `taichimd run`.

        An argument that is None keeps its saved value; the continued trajectory is then bitwise identical to
        one without interruption. If other settings reset a thermostat or barostat, a warning says so.

        Args:
            path: the checkpoint, or the folder of a run.
            forcefield: the force field of the saved run. It is needed if that was an object. It is also
                needed if that was Python code ("file.py:name") and `trust` is False.
            timestep: fs.
            ensemble: a new ensemble; `NVE()` for constant energy.
            backend: auto, cuda or cpu.
            precision: float64, mixed or float32.
            decomposition: particle, tuple or auto.
            groups: new groups of atoms, for `acting`.
            acting: new baths of groups, whose states are reset; [] for none. A list of insertions and
                deletions alone keeps the saved baths.
            trust: whether the Python code that the checkpoint names may run, if its files are unchanged. Give
                True only for checkpoints of your own.

        Raises:
            CheckpointError: the file is no checkpoint, is of a different potential, or its potential is
                Python code that is not trusted.
            SettingsError: an invalid value, or no potential.
            StructureError, MissingParameterError, ParameterFileError, BackendError, CapacityError: from
                engine and reader.
        """
        of_engine = {"backend": backend, "precision": precision, "decomposition": decomposition}
        others, exchanges = split_acting(acting)
        if exchanges and not others:
            others = None  # the baths of the checkpoint continue
        given = forcefield, ensemble, {"timestep": timestep, **of_engine}, trust, groups, others
        engine, settings, checkpoint, account = start_from(path, *given)
        self = cls.from_engine(engine, timestep=settings.run.timestep)
        self.groups = {name: of_runs(runs) for name, runs in checkpoint.groups.items()}
        continue_clock(self, checkpoint)
        self._exchanges = exchanges or (exchanges_of(settings) if acting is None else [])
        if checkpoint.exchange:
            self.exchange = Ledger(self._exchanges, checkpoint.exchange)
            if acting is None and not self._exchanges:
                warnings.warn(
                    "insertions and deletions are not in the checkpoint: give them again as acting=[...]",
                    TaichimdWarning,
                    stacklevel=2,
                )
        record = settings.record()
        self._settings, self._account = {key: record[key] for key in NOT_OF_THE_ENGINE}, account
        return self

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, from which `load` and `taichimd run --restart` continue bitwise identically.

        `ase.io.read` reads a file whose name ends in checkpoint.npz. For other names give `ase.io.read` the
        argument `format="taichimd-checkpoint"`.

        Args:
            path: the file; an existing file is replaced, completely or not at all.

        Raises:
            OutputError: it cannot be written, or positions or velocities are not finite numbers.
        """
        write_checkpoint(Path(path), to_checkpoint(self, self._settings, self._account))
