"""Which calculation a folder holds, and what a report says of it."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from taichimd.core.errors import OutputError
from taichimd.core.printable import any_of
from taichimd.io.checked import Batch, fault_of
from taichimd.io.files import lies_in
from taichimd.io.report import read_report
from taichimd.report.of_others import (
    analysis_part,
    chain_part,
    conductivity_part,
    relaxation_part,
    rows_of_csv,
)
from taichimd.report.of_run import run_part
from taichimd.report.of_validation import validation_part
from taichimd.report.part import Part
from taichimd.report.words import column_words

RECORDS = ("run.json", "relax.json", "kappa.json", "batch.json", "analysis.json", "validation.json")
_PARTS: dict[str, Callable[[str, Path, Mapping[str, Any]], Part]] = {
    "relax.json": relaxation_part,
    "kappa.json": conductivity_part,
    "analysis.json": analysis_part,
    "validation.json": validation_part,
}
_MAX_RUNS = 200
_SHOWN_COLUMNS = 14


def parts_of(given: Path) -> list[Part]:
    """What a report says of a folder or its record.

    One part, or of several runs one for all and one for each.
    """
    folder = given.parent if given.name in RECORDS and given.is_file() else given
    name = os.fspath(folder)
    if not folder.is_dir():
        raise OutputError(
            f"{given} is not a folder; expected the --output of a command such as taichimd run, with "
            f"{any_of(RECORDS)} in it"
        )
    there = [one for one in RECORDS if (folder / one).is_file()]
    if given.name in there:
        there = [given.name]
    if "batch.json" in there:
        return _sweep(name, folder)
    if there:
        return [_part(name, folder, one) for one in there]
    inside = sorted(one for one in folder.iterdir() if one.is_dir() and not one.is_symlink())
    inside = [one for one in inside if any((one / record).is_file() for record in RECORDS)]
    if not inside:
        raise OutputError(
            f"{folder} has no calculation of taichimd: expected {', '.join(RECORDS[:-1])} or "
            f"{RECORDS[-1]} in it; give the --output of a command such as taichimd run"
        )
    return [part for one in inside[:_MAX_RUNS] for part in parts_of(one)]


def _part(name: str, folder: Path, record: str) -> Part:
    """What a report says of one record."""
    path = folder / record
    try:
        if record == "run.json":
            report = read_report(path)
            _require(report, path, "n_atoms", "settings", "formula")
            if "sweeps" in report["settings"]:
                return chain_part(name, folder, report)
            return run_part(name, folder, report)
        report = _record(path)
        return _PARTS[record](name, folder, report)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        missing = isinstance(error, KeyError)
        reason = f"{error.args[0]} is missing" if missing else "an entry is of another kind than expected"
        raise OutputError(
            f"{path} is damaged or of another program ({reason}); expected a record of taichimd"
        ) from None


def _require(report: Mapping[str, Any], path: Path, *keys: str) -> None:
    missing = [key for key in keys if key not in report]
    if missing:
        raise OutputError(f"{path} is damaged or of another program ({missing[0]} is missing)")


def _record(path: Path) -> dict[str, Any]:
    """A record of JSON, or an OutputError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise OutputError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise OutputError(f"{path} is damaged or of another program; expected an object")
    return content


def _sweep(name: str, folder: Path) -> list[Part]:
    """A part of all runs of a sweep, and one for each that has begun."""
    content = _record(folder / "batch.json")
    if fault := fault_of(Batch, content):
        raise OutputError(f"{folder / 'batch.json'} is damaged or of another program ({fault})")
    members = [one["name"] for one in content["members"]]
    begun = [
        one for one in members if (folder / one / "run.json").is_file() and lies_in(folder / one, folder)
    ]
    header, rows = rows_of_csv(folder / "batch.csv")
    if "exit_reason" in header:
        at = header.index("exit_reason")
        how_far = f"{sum(row[at] == 'finished' for row in rows)} of {len(members)} runs finished"
    else:
        how_far = f"{len(begun)} of {len(members)} runs have begun"
    whole = Part(name, "sweep", f"{len(members)} runs", how_far)
    varied = sorted({key for one in content["members"] for key in one["varied"]})
    whole.facts = [("runs", str(len(members))), ("what differs", ", ".join(varied) or "nothing")]
    shown = [
        k for k, column in enumerate(header) if not column.startswith("note of") and column != "no_error"
    ]
    if header:
        columns = [column_words(header[k]) for k in shown[:_SHOWN_COLUMNS]]
        whole.tables.append(
            ("Runs", columns, [[_short(row[k]) for k in shown[:_SHOWN_COLUMNS]] for row in rows])
        )
    whole.pictures = [file for kind in ("png", "svg") if (file := folder / f"batch.{kind}").is_file()]
    whole.commands = [f"taichimd run --restart {name}"]
    parts = [_part(os.path.join(name, one), folder / one, "run.json") for one in begun[:_MAX_RUNS]]
    if len(begun) > _MAX_RUNS:
        whole.notes.append(f"{_MAX_RUNS} of {len(begun)} runs are shown; give the folders of others")
    return [whole, *parts]


def _short(text: str) -> str:
    """A number of a table in six digits; other text, and whole numbers such as seeds, as they are."""
    if text.isdigit():
        return text
    try:
        return f"{float(text):.6g}"
    except ValueError:
        return text
