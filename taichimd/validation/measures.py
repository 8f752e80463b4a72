"""A check of the suite: what it asks, its limit, and what it found."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taichimd.validation.case import Case

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True)
class Measure:
    """One number that must not exceed its limit."""

    name: str  # a word for tables, files and `--only`
    question: str  # what the number answers, as a sentence
    limit: float  # the largest value that passes
    unit: str = ""  # of value and limit; "" for a ratio


@dataclass(frozen=True)
class Found:
    """A value of a measure."""

    value: float  # in the unit of the measure; not a number where something failed
    detail: str = ""  # what a reader should know of it, in a sentence or less
    limit: float | None = None  # instead of that of the measure, where it depends on an error bar
    data: Mapping[str, Any] = field(default_factory=dict)  # numbers for plots and readers of validation.json


@dataclass(frozen=True)
class NotRun:
    """A measure that cannot be taken, with the reason."""

    reason: str


Findings = Mapping[str, Found | NotRun]
"""By the names of measures."""


@dataclass(frozen=True)
class Check:
    """A function that finds the values of some measures of one case."""

    measures: tuple[Measure, ...]  # what it finds
    # returns a `Found` or a `NotRun` for each name. What a force field does not have it may raise as
    # SettingsError, PropertyError, BackendError or CapacityError: then its measures are not run.
    run: Callable[["Case"], Any]
    title: str  # of what it does, for the progress line
    quick: bool = True  # whether `--quick` runs it
    late: bool = False  # whether `run` starts a process, and returns a function to call after other checks


@dataclass(frozen=True)
class Outcome:
    """A row of the certificate."""

    name: str  # of the measure
    question: str  # of the measure
    status: str  # passed, failed or not run
    value: float | None  # None where it is not run
    limit: float  # of the measure
    unit: str  # of the measure
    detail: str  # of the value, or why it is not run
    seconds: float  # of wall clock that its check took, with compilation
    data: Mapping[str, Any]  # numbers for plots

    @property
    def number(self) -> str:
        """The value with its unit, for a table."""
        return "" if self.value is None else _text(self.value, self.unit)

    @property
    def allowed(self) -> str:
        """The limit with its unit, for a table."""
        return _text(self.limit, self.unit)


def _text(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "not finite"
    if unit == NUMBERS:
        return f"{value:.0f} differ"
    return f"{value:.1e} {unit}".rstrip() if value else f"0 {unit}".rstrip()


NUMBERS = "numbers that differ"
"""Unit of a comparison of bits."""


def outcome_of(measure: Measure, found: Found | NotRun, seconds: float) -> Outcome:
    """What a value means: passed if it is a number that does not exceed the limit."""
    if isinstance(found, NotRun):
        return Outcome(
            measure.name, measure.question, NOT_RUN, None, measure.limit, measure.unit, found.reason,
            seconds, {},
        )  # fmt: skip
    limit = measure.limit if found.limit is None else found.limit
    value = float(found.value)
    status = PASSED if math.isfinite(value) and value <= limit else FAILED
    return Outcome(
        measure.name, measure.question, status, value, limit, measure.unit, found.detail, seconds, found.data
    )
