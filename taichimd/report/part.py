"""What a report says of one folder, before it is HTML; every kind of folder makes one `Part`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taichimd.core.arrays import Array


@dataclass(frozen=True)
class Series:
    """A line of a chart, or points.

    Attributes:
        name: in the legend; "" where the chart has one line alone.
        x, y: (n,) where y is not finite the line has a gap.
        error: (n,) standard errors, or None.
        points: whether points are drawn, and no line.
    """

    name: str
    x: Array
    y: Array
    error: Array | None = None
    points: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart that can be zoomed.

    Attributes:
        x, y: labels of the axes with their units.
        series: the lines.
        marks: where vertical lines stand, with their names.
    """

    x: str
    y: str
    series: Sequence[Series]
    marks: Sequence[tuple[float, str]] = ()


@dataclass
class Part:
    """What a report says of one folder.

    Attributes:
        name: of the folder, as it was given. kind: of the calculation, in words.
        title: atoms and potential. status: how it ended.
        facts: settings in words. results: means and what else was found. timing: how long it took, and where.
        observed: rows of name, number with unit, status and note.
        charts: of its table. pictures: files that it drew. trajectory: file of the 3D view, or None.
        commands: that repeat it.
        method: sentences for a paper, with keys of `citations` as in LaTeX. keys: of these.
        potentials: citation and DOI of each term of the potential.
        settings: as they are recorded. versions: of programs.
        notes: what the reader should know. tables: more tables, each with heading, columns and rows.
    """

    name: str
    kind: str
    title: str
    status: str
    facts: list[tuple[str, Any]] = field(default_factory=list)
    results: list[tuple[str, Any]] = field(default_factory=list)
    timing: list[tuple[str, Any]] = field(default_factory=list)
    observed: list[tuple[str, str, str, str]] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    trajectory: Path | None = None
    commands: list[str] = field(default_factory=list)
    method: str = ""
    keys: list[str] = field(default_factory=list)
    potentials: list[tuple[str, str | None]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    tables: list[tuple[str, list[str], list[list[Any]]]] = field(default_factory=list)
