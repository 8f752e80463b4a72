"""Runs of a thermal conductivity: of which system each is, and the files that it has."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ase import Atoms

from taichimd.io.files import make_folder
from taichimd.transport.layout import Halves, Layout
from taichimd.transport.runs import Run, RunSamples, RunUnderWay, read_run, write_run
from taichimd.transport.settings import KappaSettings

HALF_FORCE = "half-force"
"""Folder of the runs with half of a driving force."""


@dataclass(frozen=True)
class Case:
    """A system that is run: of nemd one of several lengths, of hnemd with F or with F/2."""

    system: Atoms
    layout: Layout | Halves | None
    settings: KappaSettings
    number: int

    @property
    def folder(self) -> str:
        """Folder of the runs, in the folder of the results."""
        if self.settings.lengths is None:
            return HALF_FORCE if self.number else "."
        return f"length-{self.settings.lengths[self.number]:g}A"


@dataclass(frozen=True)
class Task:
    """A run of a system, and its files, if there is a folder."""

    case: Case
    folder: Path | None
    of: tuple[dict[str, Any], dict[str, Any]]  # identity of the run, record of its potential
    number: int

    def _file(self, kind: type[RunSamples | RunUnderWay]) -> Path:
        assert self.folder is not None
        return self.folder / f"run-{self.number + 1:02d}{'' if kind is RunSamples else '.part'}.npz"

    def read(self, kind: type[Run]) -> Run | None:
        """The run, finished or under way; None if there is none."""
        return None if self.folder is None else read_run(kind, self._file(kind), *self.of)

    def keep(self, run: RunSamples | RunUnderWay) -> None:
        """Keep the run; one that is finished is no longer under way."""
        if self.folder is not None:
            make_folder(self.folder)
            write_run(self._file(type(run)), *self.of, run)
            if isinstance(run, RunSamples):
                self._file(RunUnderWay).unlink(missing_ok=True)
