"""Means as text, as findings with their status, and as bands of a picture."""

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.estimators.series import Mean
from taichimd.io.files import write_atomically


def plus_minus(mean: Mean) -> str:
    """Value and standard error, two digits of the error: 78 ± 39, (2.450 ± 0.031)e-05."""
    value, error = float(mean.value), float(mean.error)
    if not error > 0.0 or not np.isfinite([value, error]).all():
        return f"{value:.3g}" + ("" if np.isnan(error) else f" ± {error:.2g}")
    largest = math.floor(math.log10(max(abs(value), error)))
    shift = 0 if -4 < largest < 6 else largest
    places = max(0, 1 - math.floor(math.log10(error)) + shift)
    both = f"{value * 10.0**-shift:.{places}f} ± {error * 10.0**-shift:.{places}f}"
    return f"({both})e{shift:+03d}" if shift else both


OK, ZERO, NO_VALUE = "ok", "zero within error", "no value"
"""Statuses of every quantity; an observable has more, such as "not diffusive"."""
SIGNIFICANT = 2.0
"""Standard errors by which a quantity must differ from zero."""


@dataclass(frozen=True)
class Finding:
    """One number with all that its reader must know: terminal, record and picture have it from here."""

    value: float | None  # None where a number would mean nothing
    error: float | None  # standard error; None if there is none
    unit: str  # of both
    status: str = OK  # "ok", or in a few words what is wrong
    note: str = ""  # sentences: what was seen, or why there is no error; "" if there is nothing to say

    @property
    def number(self) -> str:
        """Value, error and unit: "2.97e-05 ± ... cm²/s"."""
        if self.value is None:
            return "no value"
        error = float("nan") if self.error is None else self.error
        return f"{plus_minus(Mean(self.value, error, 0))} {self.unit}".removesuffix(" 1")

    @property
    def label(self) -> str:
        """For a legend: the number, and the status if it is not "ok"."""
        return self.number + ("" if self.status == OK else f" ({self.status})")

    @property
    def doubt(self) -> str:
        """For a summary: " (NOT DIFFUSIVE: why)", or the note; empty if there is nothing to say."""
        if self.status != OK:
            return f" ({self.status.upper()}{': ' if self.note else ''}{self.note})"
        return f" ({self.note})" if self.note else ""

    def entry(self) -> dict[str, Any]:
        """For a report."""
        return {
            "value": self.value, "error": self.error, "unit": self.unit, "status": self.status,
            "note": self.note,
        }  # fmt: skip


def finding(value: Any, error: Any, unit: str, status: str = OK, note: str = "") -> Finding:
    """A finding from numbers of NumPy: NaN is no value; an error of None or NaN is none."""
    # JSON knows no NaN, which the error of a single sample is.
    known = math.isfinite(float(value))
    sure = known and error is not None and math.isfinite(float(error))
    if not known and status == OK:
        status = NO_VALUE
    return Finding(float(value) if known else None, float(error) if sure else None, unit, status, note)


def never_negative(one: Finding) -> Finding:
    """A quantity that nature has above zero: no value where it is below by more than errors."""
    if one.value is None or (one.error is None and one.value > 0.0):
        return one
    if one.error is not None and abs(one.value) <= SIGNIFICANT * one.error:
        note = f"{one.number} does not differ from zero by more than {SIGNIFICANT:g} standard errors"
        return replace(one, status=one.status if one.status != OK else ZERO, note=joined(one.note, note))
    if one.value > 0.0:
        return one
    note = f"{one.number} was found, and it cannot be negative"
    return replace(
        one, value=None, error=None, status=one.status if one.status != OK else NO_VALUE,
        note=joined(one.note, note),
    )  # fmt: skip


def write_findings(path: Path, found: Mapping[str, Finding]) -> None:
    """Write findings as a CSV: name, value, error, unit, status, note; what is not there is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "value", "error", "unit", "status", "note"])
    for name, one in found.items():
        writer.writerow([name, *one.entry().values()])
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))


def joined(*sentences: str) -> str:
    """Those that are not empty, with semicolons between."""
    return "; ".join(sentence for sentence in sentences if sentence)


def band(mean: Mean) -> tuple[Array, Array]:
    """A line and the half width of its band."""
    return mean.value, np.nan_to_num(mean.error)
