"""What a report says of a run of molecular dynamics, finished or still going on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from taichimd.app.averages import (
    averages,
    drift_text,
    energy_drift,
    mean_text,
    production_text,
    without_error,
)
from taichimd.app.progress import duration
from taichimd.estimators.average import METHOD
from taichimd.io.lock import NAME
from taichimd.io.plots import marks_of, panels_of
from taichimd.io.report import plot_format_of
from taichimd.io.thermo import CELL_COLUMNS, CHARGE_COLUMNS, read_thermo
from taichimd.report.citations import OF_PROGRAM
from taichimd.report.commands import command
from taichimd.report.groups import baths_of, drives_of
from taichimd.report.part import Chart, Part, Series
from taichimd.report.words import (
    atoms_words,
    baths_method,
    cite,
    drives_method,
    dynamics_method,
    ensemble_words,
    length_words,
)
from taichimd.settings.run import TOPICS

_MEANS = (
    ("temperature", "temperature_K", ".1f", "K"),
    ("potential energy", "potential_eV_per_atom", ".5f", "eV/atom"),
    ("pressure", "pressure_GPa", ".3g", "GPa"),
    ("volume", "volume_A3", ".6g", "Å³"),
)
_TIME = "time (ps)"
_DRAWN = "Maxwell-Boltzmann"
"""What records call velocities that were drawn."""


def run_part(name: str, folder: Path, report: Mapping[str, Any]) -> Part:
    """A run of `taichimd run`, from its run.json."""
    settings, segments = report["settings"], report.get("segments") or [report]
    rows = rows_of(folder / "thermo.csv")
    potential = report.get("potential", {})
    part = Part(name, "molecular dynamics", title_of(report), status_of(folder, report, rows))
    part.settings, part.versions, part.notes = (
        dict(settings),
        report.get("versions", {}),
        list(report.get("notes", [])),
    )
    part.facts = [
        ("atoms", atoms_words(report)),
        ("potential", potential_words(potential)),
        *_stages(segments),
        ("velocities", _velocities(report)),
        ("seed", str(report.get("seed", settings.get("seed")))),
        ("precision", str(settings.get("precision", "float64"))),
    ]
    part.results = _results(report, rows)
    part.timing = timing_of(report)
    observed = report.get("observed") or {}
    part.observed = observed_rows(observed.get("values", {}))
    part.notes += [str(note) for note in observed.get("notes", [])]
    part.charts = _charts(report, rows)
    part.pictures = _pictures(folder, report)
    part.trajectory = trajectory_of(folder)
    part.commands = _commands(segments)
    sentences, keys = dynamics_method(report, segments)
    of_groups, cited = baths_method(baths_of(folder))
    of_drives = drives_method(drives_of(folder))
    keys += cited
    part.potentials, of_potential = potential_cited(potential)
    part.keys = keys + ["white1997", "chodera2007"] * bool(part.results) + _observed_keys(settings)
    part.method = (
        f"Molecular dynamics was done with {program_of(part)} for {atoms_words(report)}. {of_potential} "
        f"{' '.join(filter(None, [sentences, of_groups, of_drives, averages_method(part.results)]))}"
    ).strip()
    return part


def program_of(part: Part) -> str:
    """Name and version of the program, with what to cite."""
    return f"taichimd {part.versions.get('taichimd', '')}{cite(OF_PROGRAM)}"


def rows_of(table: Path) -> dict[str, Any]:
    """Columns of a thermo table; empty if there is none yet."""
    return read_thermo(table) if table.is_file() else {}


def title_of(report: Mapping[str, Any]) -> str:
    """Atoms and potential."""
    return f"{atoms_words(report)}, {report.get('potential', {}).get('name') or 'potential not named'}"


def status_of(folder: Path, report: Mapping[str, Any], rows: Mapping[str, Any], unit: str = "step") -> str:
    """How a run has ended, or how far it is."""
    reason = str(report.get("exit_reason", ""))
    if reason != "running":
        return reason
    steps = rows.get("step")
    at = f"{int(steps[-1]):,}" if steps is not None and len(steps) else "0"
    end = f"of {report.get('planned_last_step', 0):,}"
    if (folder / NAME).exists():
        return f"still running: {unit} {at} {end} when this page was made"
    word = "run" if unit == "step" else "mc"
    return f"killed at {unit} {at} {end} or later; taichimd {word} --restart {folder} continues it"


def potential_words(potential: Mapping[str, Any]) -> str:
    """Name, cutoff and terms of a potential."""
    text = str(potential.get("name", "-"))
    cutoff = potential.get("cutoff_A")
    text += f", cutoff {cutoff:g} Å" if isinstance(cutoff, int | float) else ""
    terms = [f"{one.get('kind')} {one.get('name')}" for one in potential.get("terms", [])]
    return text + (f" ({'; '.join(dict.fromkeys(terms))})" if len(set(terms)) > 1 else "")


def potential_cited(potential: Mapping[str, Any]) -> tuple[list[tuple[str, str | None]], str]:
    """Citation and DOI of the terms of a potential, and a sentence that names it."""
    from taichimd.report.citations import of_potentials

    found = [
        (str(one["citation"]), one.get("doi")) for one in potential.get("terms", []) if one.get("citation")
    ]
    found = list(dict.fromkeys(found))
    kinds = list(dict.fromkeys(str(one.get("kind")) for one in potential.get("terms", [])))
    name = potential.get("name", "")
    keys = list(of_potentials(found))
    return found, f"Forces were computed with the potential {name} ({', '.join(kinds)}){cite(keys)}."


def _velocities(report: Mapping[str, Any]) -> str:
    """Where the first velocities came from, with the temperature at which they were drawn."""
    first = (report.get("segments") or [report])[0]
    kind = str(first.get("velocities", report.get("velocities", "-")))
    kelvin = first["settings"].get("temperature")
    return f"{kind} at {kelvin:g} K" if kind == _DRAWN and isinstance(kelvin, int | float) else kind


def _stages(segments: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What was held constant, and for how long, of each segment."""
    found = []
    for number, one in enumerate(segments, 1):
        steps = one.get("last_step", 0) - one.get("first_step", 0)
        head = "ensemble" if len(segments) == 1 else f"stage {number}"
        text = f"{ensemble_words(one['settings'])}; {length_words(one['settings'], steps)}"
        found.append((head, text))
    return found


def _results(report: Mapping[str, Any], rows: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Means with their errors, and the energy drift; of a run still going on from its rows."""
    found: Mapping[str, Any] = report
    drift = report.get("energy_drift")
    if "means" not in report and len(rows.get("step", ())) > 1:
        found = averages(report, rows)
        kept = rows["step"] >= report.get("conserved_from_step", 0)
        drift = energy_drift(rows["time_ps"][kept], rows["conserved_eV"][kept], report["n_atoms"])
    elif "means" not in report:
        return []
    means = found.get("means", {})
    results: list[tuple[str, Any]] = []
    if found.get("production"):
        results.append(("means", production_text(found["production"])))
    for label, key, digits, unit in _MEANS:
        if key in means and (key != "volume_A3" or _moves_cell(report)):
            results.append((label, f"{mean_text(means[key], digits)} {unit}"))
    results += [("", note) for note in without_error(means)]
    results.append(("energy drift", drift_text(drift)))
    return results


def _moves_cell(report: Mapping[str, Any]) -> bool:
    """Whether the last ensemble moves the cell; a volume that is fixed has no error to show."""
    settings = report["settings"]
    return str(settings.get("ensemble", "")).startswith("npt") or bool(settings.get("stretch"))


def averages_method(results: Sequence[tuple[str, Any]]) -> str:
    """The sentence on averages, if there are some."""
    if not any(name == "means" for name, _ in results):
        return ""
    return (
        f"The start of production was found by {METHOD.split()[0]}{cite(['white1997'])} where no "
        "equilibration time was given, and errors are standard errors from the autocorrelation of the "
        f"series{cite(['chodera2007'])}."
    )


def timing_of(report: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Where it ran, and how long it took."""
    machine, host = report.get("runtime", {}), report.get("host", {})
    found: list[tuple[str, Any]] = [("started", str(report.get("started", "-")))]
    if report.get("wall_seconds") is not None:
        compiling = report.get("compile_seconds")
        before = "" if compiling is None else f", after {compiling:.1f} s of compilation"
        found.append(("wall time", f"{duration(report['wall_seconds'])}{before}"))
    speed = report.get("atom_steps_per_second")
    if speed:
        ns_day = speed / report["n_atoms"] * report["settings"]["timestep"] * 1e-6 * 86400
        found.append(("speed", f"{speed:.3g} atom-step/s, {ns_day:.3g} ns/day"))
    if report.get("seconds_per_sweep"):
        found.append(("speed", f"{report['seconds_per_sweep']:.3g} s per sweep"))
    device = f"{machine.get('device', host.get('cpu', '-'))} ({machine.get('backend', '-')})"
    if machine:
        found += [("device", device), ("runtime", str(machine.get("runtime", "-")))]
    if host:
        found.append(("system", f"{host.get('system')}, {host.get('cpu_count')} cores"))
    return found


def observed_rows(values: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, number with error and unit, status and note of findings (`Finding.entry`)."""
    from taichimd.observables.numbers import Finding

    rows = []
    for name, one in values.items():
        if isinstance(one, Mapping) and "value" in one:
            words = [str(one.get(key) or "") for key in ("unit", "status", "note")]
            found = Finding(one["value"], one.get("error"), *words)
            rows.append((name, found.number, found.status, found.note))
    return rows


def _charts(report: Mapping[str, Any], rows: Mapping[str, Any]) -> list[Chart]:
    """Temperature, energies, conserved energy, pressure, volume, and what else the table has."""
    if not len(rows.get("step", ())):
        return []
    counted, n_atoms = report.get("conserved_from_step", 0), report["n_atoms"]
    marks = marks_of(report.get("segments", []))
    charts = []
    for label, lines in panels_of(dict(rows), n_atoms, counted).items():
        shown = rows["step"] >= (counted if label.startswith("conserved") else 0)
        series = [Series(name, rows["time_ps"][shown], values[shown]) for name, (values, _) in lines.items()]
        charts.append(Chart(_TIME, label, series, marks))

    def chart(label: str, names: Mapping[str, str], scale: float = 1.0) -> None:
        series = [
            Series(name, rows["time_ps"], scale * rows[column])
            for column, name in names.items()
            if column in rows
        ]
        if series:
            charts.append(Chart(_TIME, label, series, marks))

    chart("cell lengths (Å)", {column: column[0] for column in CELL_COLUMNS[:3]})
    chart("pressure along the axes (GPa)", {f"p{one}{one}_GPa": one for one in "xyz"})
    terms = {column: column[2:-3].replace("_", " ") for column in rows if column.startswith("E_")}
    chart("energies of terms (eV/atom)", terms, 1.0 / n_atoms)
    chart("iterations of the charges", {CHARGE_COLUMNS[0]: ""})
    return charts


def _pictures(folder: Path, report: Mapping[str, Any]) -> list[Path]:
    """Pictures of what was observed; the table of the run has charts."""
    kind = plot_format_of(report)
    return [file for file in sorted(folder.glob(f"*.{kind}")) if file.stem != "thermo"]


def trajectory_of(folder: Path) -> Path | None:
    """Frames of a run, or at least its last state."""
    names = ("trajectory.extxyz", "trajectory.nc", "trajectory.traj", "checkpoint.npz")
    there = [folder / name for name in names if (folder / name).is_file() and (folder / name).stat().st_size]
    return there[0] if there else None


def _commands(segments: Sequence[Mapping[str, Any]]) -> list[str]:
    """A command for each segment."""
    found, before = [], None
    for one in segments:
        settings = dict(one["settings"])
        if settings.get("steps") is None and settings.get("time") is None:
            settings["steps"] = one.get("last_step", 0) - one.get("first_step", 0)
        structure = settings.get("structure") if before is None else None
        found.append(command("run", settings, TOPICS.values(), structure, before))
        before = settings
    return found


def _observed_keys(settings: Mapping[str, Any]) -> list[str]:
    return ["fan2017"] if "heat" in (settings.get("observe") or []) else []
