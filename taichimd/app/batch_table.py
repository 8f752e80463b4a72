"""What several runs have found: a table of one row for each, on the terminal and as CSV, and a picture."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from taichimd.app.averages import DRIFT_UNIT, averages, mean_text, short_drift, without_error
from taichimd.app.output_folder import OutputFolder
from taichimd.app.run_set import RunSet
from taichimd.estimators.series import mean_of
from taichimd.io.analysis_files import COLOURS, draw
from taichimd.io.files import write_atomically
from taichimd.io.lock import locked
from taichimd.io.report import read_report
from taichimd.io.thermo import read_thermo

TABLE, PICTURE = "batch.csv", "batch"
OWN_NOISE, COMMON_NOISE = "own", "common"
_MEANS = {
    "mean_temperature_K": "temperature (K)",
    "mean_potential_eV_per_atom": "potential energy (eV/atom)",
    "mean_pressure_GPa": "pressure (GPa)",
    "mean_volume_A3": "volume (Å³)",
}
"""Columns of means (`averages`), with what a picture says of them."""
_DRIFT = "drift_ueV_per_atom_per_ps"
_SHOWN = 60
"""Rows on a terminal."""

Row = dict[str, Any]


def teller(console: Console) -> Callable[[str], None]:
    """What prints a line as it is."""
    return partial(console.print, highlight=False, markup=False)


def show_table(console: Console, all_of: RunSet) -> None:
    """Write the table and the picture of all runs that have begun, and print the rows."""
    with locked(all_of.folder, tell=teller(console)):
        rows = write_table(all_of)
        plot_table(all_of, rows)
    print_table(console, all_of, rows)


def write_table(all_of: RunSet) -> list[Row]:
    """Write the CSV of all runs that have begun; its rows.

    Columns: the run, the settings that differ, `seed` (of the run: a run alone with it has the same bits),
    `noise` (`common` if another run has the same seed, else `own`), `n_atoms`, `steps`, `ps`, `exit_reason`,
    `production_from_ps`, means over the rows of production with `error of mean_...`,
    `drift_ueV_per_atom_per_ps` (empty where nothing is conserved) with its error, what was observed with its
    error, and `no_error`: why means have none.
    """
    rows = [_row(OutputFolder(all_of.folder / one.name), one.name, one.varied) for one in all_of.runs]
    rows = [row for row in rows if row]
    seeds = Counter(row["seed"] for row in rows)
    for row in rows:
        row["noise"] = OWN_NOISE if seeds[row["seed"]] == 1 else COMMON_NOISE
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    table = csv.DictWriter(text, names, restval="", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(all_of.folder / TABLE, lambda file: file.write(text.getvalue().encode()))
    return rows


def _row(folder: OutputFolder, name: str, varied: Mapping[str, Any]) -> Row:
    """What run.json and thermo.csv of a run say; empty if it has not begun."""
    report = read_report(folder.report)
    if not {"n_atoms", "last_step", "simulated_ps", "exit_reason"} <= report.keys():
        return {}
    row: Row = {
        "run": name,
        **{key: value if isinstance(value, int | float) else str(value) for key, value in varied.items()},
        "seed": report.get("seed"),
        "noise": OWN_NOISE,
    }
    row |= {"n_atoms": report["n_atoms"], "steps": report["last_step"], "ps": report["simulated_ps"]}
    row["exit_reason"] = report["exit_reason"]
    # A report of an earlier version has no means, nor has one of a run that was killed.
    found: Mapping[str, Any] = report
    if "means" not in report:
        found = averages(report, read_thermo(folder.thermo)) if folder.thermo.exists() else {}
    row["production_from_ps"] = found.get("production", {}).get("start_ps")
    for name, mean in found.get("means", {}).items():
        row[f"mean_{name}"] = mean["mean"]
        row[f"error of mean_{name}"] = mean["error"]
    drift = report.get("energy_drift")
    if drift:
        row[_DRIFT], row[f"error of {_DRIFT}"] = drift["slope"], drift["error"]
    for quantity, one in report.get("observed", {}).get("values", {}).items():
        if isinstance(one, Mapping) and isinstance(one.get("value"), int | float):
            unit = f" ({one['unit']})" if one.get("unit") else ""
            row[f"{quantity}{unit}"] = one["value"]
            row[f"error of {quantity}{unit}"] = one.get("error")
            if one.get("note"):
                row[f"note of {quantity}"] = one["note"]
        elif isinstance(one, Mapping) and one.get("status"):
            row[f"note of {quantity}"] = f"{one['status']}: {one.get('note', '')}"
    row["no_error"] = "; ".join(without_error(found.get("means", {})))
    return row


def print_table(console: Console, all_of: RunSet, rows: Sequence[Row]) -> None:
    """The rows, and where all is."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("run", "atoms", "steps", "T mean (K)", "P mean (GPa)", f"drift ({DRIFT_UNIT})", "end"):
        table.add_column(name, justify="left" if name in ("run", "end") else "right", overflow="fold")
    for row in rows[:_SHOWN]:
        numbers = [
            _shown(row, key, digits)
            for key, digits in (("mean_temperature_K", ".1f"), ("mean_pressure_GPa", ".3g"), (_DRIFT, ""))
        ]
        table.add_row(
            row["run"], f"{row['n_atoms']:,}", f"{row['steps']:,}", *numbers, row["exit_reason"].split(":")[0]
        )
    console.print()
    console.print(table)
    if len(rows) > _SHOWN:
        console.print(f"... and {len(rows) - _SHOWN} more", highlight=False)
    starts = [row["production_from_ps"] for row in rows if row["production_from_ps"] is not None]
    if starts:
        between = f"{min(starts):g}" + (f" to {max(starts):g}" if max(starts) > min(starts) else "")
        console.print(f"means over production, which begins at {between} ps", highlight=False)
    for why in dict.fromkeys(row["no_error"] for row in rows if row["no_error"]):
        whose = [row["run"] for row in rows if row["no_error"] == why]
        more = f" and {len(whose) - 1} more" if len(whose) > 1 else ""
        console.print(f"note: {whose[0]}{more}: {why}", highlight=False, markup=False)
    if any(row["noise"] == COMMON_NOISE for row in rows):
        console.print(
            "note: runs with the same seed have the same noise: errors of differences between them are "
            "smaller, and the points of a curve are not independent",
            highlight=False,
        )
    console.print(
        f"{len(rows)} of {len(all_of.runs)} runs in {all_of.folder}/, table {all_of.folder / TABLE}",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip


def _shown(row: Row, key: str, digits: str) -> str:
    """A number with its error, if it has one; a drift without one, or below two errors, is none."""
    value, error = row.get(key), row.get(f"error of {key}")
    if value is None:
        return "-"
    if key != _DRIFT:
        return mean_text({"mean": value, "error": error}, digits)
    return "-" if error is None else short_drift(value, error)


def plot_table(all_of: RunSet, rows: Sequence[Row]) -> Path | None:
    """Draw means of the runs over the first number that differs, other than the seed; the picture, or None.

    Each run is a point with its error bar, a hollow one without an error. Where several runs have the same
    settings, their mean is a mark with the standard error over the runs.
    """
    axes = [key for one in all_of.runs for key, value in one.varied.items() if isinstance(value, int | float)]
    key = next((one for one in axes if one != "seed"), "seed" if "seed" in axes else "")
    good = [row for row in rows if isinstance(row.get(key), int | float)]
    several = {name: {row[name] for row in good if name in row} for name in _MEANS}
    columns = {name: label for name, label in _MEANS.items() if len(several[name]) > 1}
    others = {
        name: name for row in good for name in row
        if f"error of {name}" in row and name not in (*_MEANS, _DRIFT) and len(columns) < 4
    }  # fmt: skip
    panels = [_panel(good, key, name, label) for name, label in {**columns, **others}.items()]
    if not panels:
        return None
    path = all_of.folder / f"{PICTURE}.{all_of.runs[0].flags.get('plot_format', 'png')}"
    draw(path, f"{len(good)} runs", panels)
    return path


def _panel(rows: Sequence[Row], key: str, name: str, label: str) -> Any:
    points = np.array(
        [[row[key], row[name], row.get(f"error of {name}")] for row in rows if row.get(name) is not None],
        float,
    ).reshape(-1, 3)

    def paint(axis: Any) -> None:
        x, y, errors = points.T
        known = np.isfinite(errors)
        for some, fill in ((known, COLOURS[0]), (~known, "none")):
            axis.errorbar(
                x[some], y[some], np.nan_to_num(errors[some]), fmt="o", color=COLOURS[0], alpha=0.5,
                markersize=4, markerfacecolor=fill, capsize=2,
            )  # fmt: skip
        for at in np.unique(x):
            values = y[x == at]
            if len(values) > 1:
                mean = mean_of(values)
                axis.errorbar([at], [mean.value], [mean.error], color=COLOURS[1], marker="_", capsize=3)
        axis.set_xlabel(key)
        axis.set_ylabel(label)
        axis.ticklabel_format(useOffset=False)

    return paint
