"""What the rows of a run say on average: where production begins, means with their errors, energy drift.

One rule for the summary, `run.json`, and the table and picture of several runs. Means are over rows of the
last stretch with the same conditions. In the stretch, production begins where `equilibrate` says; else where
the rows are found to have forgotten their start (`estimators.average.production_start`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.ensembles.registry import ensemble_class
from taichimd.estimators.average import MIN_INDEPENDENT, average_of, production_start
from taichimd.estimators.series import Mean
from taichimd.estimators.slope import slope_of
from taichimd.observables.numbers import plus_minus

GIVEN, DETECTED, RAMP = "equilibrate", "detected", "ramp"
"""How the start of production was found: `method` in run.json."""
DRIFT_UNIT = "µeV/atom/ps"
"""Unit of the energy drift, wherever it is shown or recorded."""
_OF_ALL = ("ensemble", "timestep")
_OF_THERMOSTATS = ("temperature", "final_temperature")
_OF_BAROSTATS = ("pressure", "final_pressure", "cell_control", "cell_axes")
_OF_DEFORMATIONS = ("stretch", "shear", "strain_rate", "remap")
_COLUMNS = ("temperature_K", "potential_eV", "pressure_GPa", "volume_A3")
_ON_RAMP = "no error: the mean is over a ramp"
_WORDS = {
    "temperature_K": "temperature",
    "potential_eV_per_atom": "potential energy",
    "pressure_GPa": "pressure",
    "volume_A3": "volume",
}
"""Names of means in a sentence."""


def conditions(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """What two stretches of a run must have in common for one mean, from settings by the names of options."""
    kind = ensemble_class(settings)
    keys = [*_OF_ALL, *(_OF_THERMOSTATS if kind.acts_on else ()), *(_OF_BAROSTATS if kind.moves_cell else ())]
    keys += _OF_DEFORMATIONS if kind.deforms else ()
    values = (settings.get(key) for key in keys)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def same_conditions(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two settings have the same conditions."""
    return conditions(one) == conditions(other)


def first_of_stretch(segments: Sequence[Mapping[str, Any]]) -> int:
    """First step of the rows that have the conditions of the last segment (`segments` of run.json).

    The row at the step where a segment begins is of the segment before it.
    """
    first = len(segments) - 1
    while (
        first > 0
        and same_conditions(segments[first - 1].get("settings", {}), segments[first].get("settings", {}))
        and segments[first].get("velocities") != "Maxwell-Boltzmann"
    ):
        first -= 1
    return int(segments[first]["first_step"]) + (first > 0) if segments else 0


def averages(report: Mapping[str, Any], rows: Mapping[str, Array]) -> dict[str, Any]:
    """Entries `production` and `means` of run.json, of rows of thermo.csv; empty without a row.

    The report has `settings`, `segments`, `ramp`, `equilibrate_from_step` and `n_atoms`.
    """
    steps = rows["step"]
    if not len(steps):
        return {}
    first, ramp = first_of_stretch(report.get("segments", [])), report.get("ramp")
    on_ramp = ramp is not None and steps[-1] <= ramp[1]
    if ramp is not None:
        # After its end the ramp is over: rows from there on have the same conditions.
        first = max(first, ramp[0] if on_ramp else ramp[1] + 1)
    equilibrate = report["settings"].get("equilibrate")
    method = RAMP if on_ramp else DETECTED
    if equilibrate is not None:
        own = round(equilibrate / report["settings"]["timestep"])
        first, method = max(first, (report.get("equilibrate_from_step") or 0) + own), GIVEN
    series = {name: rows[name][steps >= first] for name in _COLUMNS}
    series = {name: one for name, one in series.items() if len(one) and np.isfinite(one).all()}
    if not series:
        note = f"no means: the table has no row from step {first:,} on"
        return {"production": {"method": method, "start_step": first, "rows": 0, "note": note}, "means": {}}
    start = production_start(list(series.values())) if method == DETECTED else 0
    begin = int(np.searchsorted(steps, first)) + start
    production = {
        "method": method,
        "start_ps": float(rows["time_ps"][begin]),
        "end_ps": float(rows["time_ps"][-1]),
        "start_step": int(steps[begin]),
        "rows": len(steps) - begin,
        "left_out": start,
        "decided_by": list(series) if method == DETECTED else [],
        "note": "",
    }
    means: dict[str, Any] = {}
    for name, one in series.items():
        per_atom = name == "potential_eV"
        values = one / report["n_atoms"] if per_atom else one
        found = average_of(values, start)
        if not np.ptp(values[start:]):
            # Such as the volume of a cell that does not move: exact, however few the rows.
            found = replace(found, value=float(values[start]), error=0.0, note="")
        means[f"{name}_per_atom" if per_atom else name] = {
            "mean": found.value,
            "error": None if on_ramp else found.error,
            "independent_samples": found.independent,
            "inefficiency": found.inefficiency,
            "note": _ON_RAMP if on_ramp else found.note,
        }
    return {"production": production, "means": means}


def production_text(production: Mapping[str, Any]) -> str:
    """Where means come from, in words."""
    if not production["rows"]:
        return str(production["note"])
    over = f"over {production['start_ps']:g} to {production['end_ps']:g} ps ({production['rows']:,} rows)"
    if production["method"] == GIVEN:
        return f"{over}; production begins where --equilibrate says"
    if production["method"] == RAMP:
        return f"{over}, a ramp"
    if production["left_out"]:
        return f"{over}; equilibration found: the first {production['left_out']:,} rows are left out"
    return f"{over}; no equilibration found"


def mean_text(mean: Mapping[str, Any], digits: str) -> str:
    """An entry of `means` with its error; without an error, the mean alone in a format."""
    if mean["error"] is None:
        return format(mean["mean"], digits)
    return plus_minus(Mean(mean["mean"], mean["error"], 0))


def without_error(means: Mapping[str, Any]) -> list[str]:
    """Why means have no error, in one sentence, or none if all have one."""
    lacking = {name: one for name, one in means.items() if one["error"] is None}
    if any(one["note"] == _ON_RAMP for one in lacking.values()):
        return [_ON_RAMP]
    if not lacking:
        return []
    which = ", ".join(f"{_WORDS[name]} ({one['independent_samples']:.1f})" for name, one in lacking.items())
    return [f"no error, fewer than {MIN_INDEPENDENT} independent samples: {which}; make the run longer"]


def observed_equilibration(report: Mapping[str, Any]) -> list[str]:
    """That what a run has observed contains its equilibration, if that is so; which option leaves it out."""
    production, observed = report.get("production", {}), report.get("observed", {})
    if production.get("method") != DETECTED or not production.get("left_out") or "results" not in observed:
        return []
    begin, timestep = observed["plan"]["first_step"], report["settings"]["timestep"]
    if production["start_step"] <= begin:
        return []
    since = (production["start_step"] - report["first_step"]) * timestep / 1000.0
    return [
        f"equilibration was found until step {production['start_step']:,}, but the observables begin at step "
        f"{begin:,} and contain it; give --equilibrate {_rounded_up(since):g}ps to leave it out"
    ]


def _rounded_up(time: float) -> float:
    """The next number of two digits."""
    unit = 10.0 ** (math.floor(math.log10(time)) - 1) if time > 0 else 1.0
    return math.ceil(round(time / unit, 6)) * unit


def energy_drift(time_ps: Array, total: Array, n_atoms: int) -> dict[str, Any] | None:
    """How well the conserved energy (eV) was kept: the least-squares slope, with its error.

    `slope` and `error` (µeV/atom/ps; None where there is none, and `note` says why), `fluctuation`, the
    standard deviation about the line (µeV/atom). None where nothing is conserved, and without a row.
    """
    if not (len(total) and np.isfinite(total).all()):
        return None
    found = slope_of(time_ps, (total - total[0]) / n_atoms * 1e6)
    if found is None:
        return {"slope": None, "error": None, "fluctuation": None, "note": "no slope: fewer than three rows"}
    return {"slope": found.value, "error": found.error, "fluctuation": found.scatter, "note": found.note}


def drift_text(drift: Mapping[str, Any] | None) -> str:
    """The energy drift in words, from the entry of run.json."""
    if drift is None:
        return "energy is not conserved in this ensemble"
    slope, error = drift["slope"], drift["error"]
    if slope is None:
        return str(drift["note"])
    if error is None:
        return f"{slope:+.2g} {DRIFT_UNIT} ({drift['note']})"
    both = f"{_signed(slope, error)} {DRIFT_UNIT}"
    return both if abs(slope) >= 2.0 * error else f"none measurable: {both}"


def short_drift(slope: float, error: float) -> str:
    """A slope with its error, in a few characters; "none" below two errors."""
    shown = f"{float(f'{error:.1g}'):g}"
    return f"none ± {shown}" if abs(slope) < 2.0 * error else f"{float(f'{slope:.2g}'):+g} ± {shown}"


def _signed(slope: float, error: float) -> str:
    text = plus_minus(Mean(slope, error, 0))
    return text if slope < 0 or text.startswith("(") else f"+{text}"
