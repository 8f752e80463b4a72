"""What a report says of one folder, before it is HTML; every kind of folder makes one `Part`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taichimd.core.arrays import Array


@dataclass(frozen=True)
class Series:
    """A line of a chart, or points."""

    name: str  # in the legend; "" where the chart has one line alone
    x: Array  # (n,)
    y: Array  # (n,); the line has a gap where y is not finite
    error: Array | None = None  # (n,) standard errors, or None
    points: bool = False  # whether points are drawn, and no line


@dataclass(frozen=True)
class Chart:
    """A chart that can be zoomed."""

    x: str  # label of the axis with its unit
    y: str  # label of the axis with its unit
    series: Sequence[Series]  # the lines
    marks: Sequence[tuple[float, str]] = ()  # where vertical lines stand, with their names


@dataclass
class Part:
    """What a report says of one folder."""

    name: str  # of the folder, as it was given
    kind: str  # of the calculation, in words
    title: str  # atoms and potential
    status: str  # how it ended
    facts: list[tuple[str, Any]] = field(default_factory=list)  # settings in words
    results: list[tuple[str, Any]] = field(default_factory=list)  # means and what else was found
    timing: list[tuple[str, Any]] = field(default_factory=list)  # how long it took, and where
    # rows of name, number with unit, status and note
    observed: list[tuple[str, str, str, str]] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)  # of its table
    pictures: list[Path] = field(default_factory=list)  # files that it drew
    trajectory: Path | None = None  # file of the 3D view, or None
    commands: list[str] = field(default_factory=list)  # that repeat it
    method: str = ""  # sentences for a paper, with keys of `citations` as in LaTeX
    keys: list[str] = field(default_factory=list)  # of these
    # citation and DOI of each term of the potential
    potentials: list[tuple[str, str | None]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)  # as they are recorded
    versions: dict[str, Any] = field(default_factory=dict)  # of programs
    notes: list[str] = field(default_factory=list)  # what the reader should know
    # more tables, each with heading, columns and rows
    tables: list[tuple[str, list[str], list[list[Any]]]] = field(default_factory=list)
