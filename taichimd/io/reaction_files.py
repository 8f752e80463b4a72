"""Tables of reactions: CSV with units in the names of the columns."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from taichimd.estimators.reaction_rates import Lifetime, Rate
from taichimd.estimators.reactions import Event
from taichimd.estimators.smiles import has_smiles
from taichimd.io.files import write_atomically


def write_events(path: Path, events: Iterable[Event], labels: Sequence[int], symbols: Sequence[str]) -> None:
    """Write reactions.csv: time_ps, reaction, atoms (by `labels`), and with RDKit reaction_smiles."""
    names = ["time_ps", "reaction", "atoms"]
    events = list(events)
    rows = [[event.time, event.reaction, event.atoms_text(labels)] for event in events]
    if has_smiles():
        names.append("reaction_smiles")
        rows = [[*row, event.smiles(symbols)] for row, event in zip(rows, events, strict=True)]
    _write(path, names, rows)


def write_rates(path: Path, found: Iterable[Rate], volume: float | None) -> None:
    """Write rates.csv: a row for each reaction; what is not known is empty.

    Columns: `reaction`, `count` with its range `count_low`, `count_high`, `exposure_ps`, `rate_per_ps` (of
    each combination of reactants) with its range, and with a volume (angstrom^3) `k` with its range and
    `k_unit`.
    """
    names = ["reaction", "count", "count_low", "count_high", "exposure_ps"]
    names += ["rate_per_ps", "rate_low_per_ps", "rate_high_per_ps"]
    names += [] if volume is None else ["k", "k_low", "k_high", "k_unit"]
    rows = []
    for one in found:
        row: list[Any] = [one.reaction, one.count, one.low, one.high, one.exposure, *one.constants()]
        rows.append(row if volume is None else [*row, *one.constants(volume), one.unit])
    _write(path, names, rows)


def write_lifetimes(path: Path, found: Iterable[Lifetime]) -> None:
    """Write lifetimes.csv: a row for each species; without an end only `lifetime_low_ps` is known.

    Columns: `species`, `molecules`, `ended`, `censored` (not ended), `lived_ps` (the sum over all),
    `lifetime_ps`, `lifetime_error_ps` and the range `lifetime_low_ps`, `lifetime_high_ps`.
    """
    times = ("lived_ps", "lifetime_ps", "lifetime_error_ps", "lifetime_low_ps", "lifetime_high_ps")
    rows: list[list[Any]] = []
    for one in found:
        counts = [one.molecules, one.ended, one.molecules - one.ended]
        rows.append([one.formula, *counts, one.lived, one.value, one.error, one.low, one.high])
    _write(path, ("species", "molecules", "ended", "censored", *times), rows)


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_shown(value) for value in row] for row in rows)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))


def _shown(value: Any) -> Any:
    return "" if isinstance(value, float) and not math.isfinite(value) else value
