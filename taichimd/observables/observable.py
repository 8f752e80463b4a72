"""What observables have in common. Each is a class in a file of its own, and is named in `registry`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.markup import facts, figure_picture, paragraph
from taichimd.core.markup import joined as joined_html
from taichimd.io.analysis_files import draw, figure_of, write_table
from taichimd.observables.numbers import OK, Finding, joined
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.plan import Plan
from taichimd.observables.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from taichimd.forcefields.base import ForceField

Rows = list[tuple[str, str]]
"""Names and values for a summary."""
Values = dict[str, Finding]
"""By name."""


@dataclass
class Result:
    """What one observable found, in a run or in a trajectory."""

    tables: list[dict[str, Array]]  # columns of each CSV file
    panels: list[Callable[["Axes"], None]]  # of the picture
    rows: Rows  # for the summary
    values: Values = field(default_factory=dict)  # as numbers, by names that stay
    notes: list[str] = field(default_factory=list)  # what the reader should know
    doubt: str = ""  # in a few words what is wrong with all of it; empty: nothing is

    @property
    def status(self) -> str:
        """Status of the whole observable: "ok", or what is wrong with it or with its numbers."""
        wrong = [self.doubt, *(one.status for one in self.values.values() if one.status != OK)]
        return ", ".join(dict.fromkeys(filter(None, wrong))) or OK

    def summary(self) -> dict[str, str]:
        """Status and note of the whole, for a report."""
        of_values = [f"{name}: {one.note}" for name, one in self.values.items() if one.note]
        return {"status": self.status, "note": joined(*self.notes, *of_values)}

    def _repr_html_(self) -> str:
        """What a notebook shows: the rows of the summary, the picture, and the notes."""
        parts: list[Any] = [facts(self.rows)]
        if self.panels:
            title = "" if self.status == OK else self.status
            parts.append(figure_picture(figure_of(title, self.panels), "curves of the result"))
        return joined_html([*parts, *(paragraph(note) for note in self.notes)])

    def write(self, files: list[Path], title: str) -> None:
        """Write the tables, and the picture, if there is one, into the last file."""
        for file, columns in zip(files[:-1], self.tables, strict=True):
            write_table(file, columns)
        if self.panels:
            shown = title if self.status == OK else f"{title} ({self.status})"
            draw(files[-1], shown, self.panels)


class Observable(ABC):
    """A quantity with tables and a picture.

    Attributes:
        name: word of `--observe`, option of `taichimd analyze`.
        tables: names of its CSV files, without ".csv".
        picture: name of its picture, without suffix.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]
    picture: ClassVar[str]

    @classmethod
    def files(cls, plot_format: str = "png") -> list[str]:
        """Names of the files that are written: tables, and the picture last."""
        return [*(f"{table}.csv" for table in cls.tables), f"{cls.picture}.{plot_format}"]


class RunObservable(Observable):
    """What a run can observe. Made with the run, it enters its sampler in `ObservedRun.samplers`.

    Attributes:
        correlated: whether it has a correlation window.
        needs_volume: whether it is per volume of the cell.
        about_centre: whether velocities count relative to the centre of mass.
        green_kubo: whether it is a transport coefficient, which fixed atoms and baths spoil.
        takes_exchange: whether molecules may be inserted and deleted between samples.
    """

    correlated: ClassVar[bool] = False
    needs_volume: ClassVar[bool] = False
    about_centre: ClassVar[bool] = False
    green_kubo: ClassVar[bool] = False
    takes_exchange: ClassVar[bool] = False

    def __init__(self, run: ObservedRun) -> None:
        self.run = run

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if the force field lacks a property that is needed."""

    @classmethod
    def check_system(
        cls, plan: Plan, symbols: list[str], masses: NDArray[np.float64], cell: NDArray[np.float64]
    ) -> None:
        """Raise a SettingsError or AnalysisError if it cannot be observed, as `planning.check_system`."""

    @classmethod
    def check_window(cls, lags: int, window: float, interval: float) -> None:
        """Raise a SettingsError if a window (fs) of so many samples, `interval` fs apart, is too short."""

    @abstractmethod
    def result(self) -> Result:
        """The result from the samples of a complete run."""


class TrajectoryObservable(Observable):
    """What `taichimd analyze` finds in a trajectory.

    Attributes:
        by_default: whether it is computed where nothing is picked.
    """

    by_default: ClassVar[bool] = True

    @classmethod
    def missing(cls, trajectory: Trajectory) -> str:
        """What a trajectory lacks for this observable; empty if nothing is missing."""
        return ""

    @classmethod
    @abstractmethod
    def of_trajectory(cls, trajectory: Trajectory) -> Result:
        """The result from a trajectory, which takes notes; an AnalysisError if the request does not fit."""
