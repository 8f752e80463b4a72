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


class Runs:
    """Files of the runs of an identity and a record, if there is a folder."""

    def __init__(self, folder: Path | None, identity: dict[str, Any], record: dict[str, Any]) -> None:
        self._folder, self._of = folder, (identity, record)

    def _file(self, kind: type[RunSamples | RunUnderWay], number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"run-{number + 1:02d}{'' if kind is RunSamples else '.part'}.npz"

    def read(self, kind: type[Run], number: int) -> Run | None:
        """A run, finished or under way; None if there is none."""
        return None if self._folder is None else read_run(kind, self._file(kind, number), *self._of)

    def keep(self, number: int, run: RunSamples | RunUnderWay) -> None:
        """Keep a run; one that is finished is no longer under way."""
        if self._folder is not None:
            make_folder(self._folder)
            write_run(self._file(type(run), number), *self._of, run)
            if isinstance(run, RunSamples):
                self._file(RunUnderWay, number).unlink(missing_ok=True)


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
    """A run of a system, and its files."""

    case: Case
    runs: Runs
    number: int

    def read(self, kind: type[Run]) -> Run | None:
        """The run, finished or under way; None if there is none."""
        return self.runs.read(kind, self.number)

    def keep(self, run: RunSamples | RunUnderWay) -> None:
        """Keep the run."""
        self.runs.keep(self.number, run)
