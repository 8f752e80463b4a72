"""What a report says of Monte Carlo, relaxations, conductivities, analyses and validations."""

import csv
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.app.averages import mean_text
from taichimd.core.arrays import Array
from taichimd.io.analysis_files import PICTURES
from taichimd.report.citations import OF_PROGRAM
from taichimd.report.commands import command
from taichimd.report.of_run import (
    observed_rows,
    potential_cited,
    potential_words,
    program_of,
    status_of,
    timing_of,
    title_of,
    trajectory_of,
)
from taichimd.report.part import Chart, Part, Series
from taichimd.report.words import atoms_words, cite, column_words

_SWEEPS = {
    "potential_eV": "potential energy (eV/atom)",
    "pressure_GPa": "pressure (GPa)",
    "volume_A3": "volume (Å³)",
    "acceptance": "accepted share of moves",
    "move_A": "largest displacement (Å)",
}
_MOVES = {"moves": "moves of atoms", "volume_moves": "moves of the volume", "exchanges": "exchanges"}


def columns_of(path: Path) -> dict[str, Array]:
    """Numbers of a CSV table by column; empty without a table. An empty field, or half a row, is NaN."""
    if not path.is_file():
        return {}
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        header, *rows = [row for row in csv.reader(file) if row] or [[]]
    whole = [row for row in rows if len(row) == len(header)]
    return {name: np.array([_number(row[k]) for row in whole]) for k, name in enumerate(header)}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def chain_part(name: str, folder: Path, report: Mapping[str, Any]) -> Part:
    """A Markov chain of `taichimd mc`; arguments as of `run_part`."""
    from taichimd.sampling.settings import MCSettings

    settings, columns = report["settings"], columns_of(folder / "thermo.csv")
    status = status_of(folder, report, {"step": columns.get("sweep", [])}, "sweep")
    part = Part(name, "Monte Carlo", title_of(report), status)
    part.settings, part.versions = dict(settings), report.get("versions", {})
    part.notes = [str(note) for note in report.get("notes", [])]
    npt = settings.get("ensemble") == "npt"
    held = (
        f"{settings.get('temperature'):g} K" if isinstance(settings.get("temperature"), int | float) else "-"
    )
    held += f", {settings.get('pressure', 0.0):g} GPa" if npt else ", constant volume"
    part.facts = [
        ("atoms", atoms_words(report)),
        ("potential", potential_words(report.get("potential", {}))),
        ("ensemble", f"{settings.get('ensemble')}: {held}"),
        (
            "sweeps",
            f"{report.get('last_step', 0):,}, {settings.get('equilibration') or 0:,} of them to equilibrate",
        ),
        ("moves", str(settings.get("moves"))),
        ("seed", str(settings.get("seed"))),
    ]
    production, n_atoms = report.get("production"), report["n_atoms"]
    if production:
        part.results.append(
            ("means", f"over sweeps {production.get('first_sweep')} to {production.get('last_sweep')} "
                      f"({production.get('rows')} rows); {production.get('method')}")
        )  # fmt: skip
    for key, label, unit, scale in (
        ("potential_eV", "potential energy", "eV/atom", 1.0 / n_atoms),
        ("pressure_GPa", "pressure", "GPa", 1.0),
        ("volume_A3", "volume", "Å³", 1.0),
    ):
        one = report.get("averages", {}).get(key)
        if one is not None and (npt or key != "volume_A3"):
            error = None if one["error"] is None else scale * one["error"]
            text = mean_text({"mean": scale * one["mean"], "error": error}, ".6g")
            part.results.append((label, f"{text} {unit}" + (f" ({one['note']})" if one["note"] else "")))
    for key, label in _MOVES.items():
        rate = report.get(key) or {}
        if rate.get("tried"):
            part.results.append(
                (label, f"{rate['accepted']:,} of {rate['tried']:,} accepted ({rate['acceptance']:.1%})")
            )
    part.timing = timing_of(report)
    for key, label in _SWEEPS.items():
        if key in columns and (npt or key != "volume_A3") and np.isfinite(columns[key]).any():
            values = columns[key] / (n_atoms if key == "potential_eV" else 1)
            part.charts.append(Chart("sweep", label, [Series("", columns["sweep"], values)]))
    part.trajectory = trajectory_of(folder)
    part.commands = [command("mc", settings, [MCSettings], settings.get("structure"))]
    part.potentials, of_potential = potential_cited(report.get("potential", {}))
    tempered = ["earl2005"] * bool(settings.get("exchange"))
    part.keys = ["metropolis1953", *tempered, "white1997", "chodera2007"]
    exchanges = f"Neighbouring temperatures exchanged configurations{cite(tempered)}. " * bool(tempered)
    part.method = (
        f"Metropolis Monte Carlo{cite(['metropolis1953'])} at {held} was done with {program_of(part)} for "
        f"{atoms_words(report)}. {exchanges}{of_potential} "
        f"The start of production was found by MSER{cite(['white1997'])}, and errors are standard errors "
        f"from the autocorrelation of the series{cite(['chodera2007'])}."
    )
    return part


def relaxation_part(name: str, folder: Path, report: Mapping[str, Any]) -> Part:
    """A relaxation of `taichimd relax`; arguments as of `run_part`, with relax.json."""
    from taichimd.relaxation.settings import RelaxSettings

    settings, potential = report["settings"], report.get("potential", "")
    shown = potential if isinstance(potential, str) else " + ".join(potential)
    part = Part(name, "relaxation", f"{atoms_words(report)}, {shown}", str(report.get("exit_reason", "")))
    part.settings, part.versions = dict(settings), report.get("versions", {})
    part.notes = [str(note) for note in report.get("notes", [])]
    cell = settings.get("cell", "none")
    held = "the cell is kept" if cell == "none" else f"cell {cell}, to {settings.get('pressure', 0.0):g} GPa"
    part.facts = [
        ("atoms", atoms_words(report)),
        ("potential", shown),
        ("method", "FIRE"),
        ("cell", held),
        ("ends", f"when the largest force is below {settings.get('fmax')} eV/Å"),
    ]
    for key, label, digits, unit in (
        ("steps", "steps", ",", ""),
        ("energy_eV", "energy", ".10g", "eV"),
        ("fmax_eV_per_A", "largest force", ".3g", "eV/Å"),
        ("pressure_GPa", "pressure", ".5g", "GPa"),
        ("volume_A3", "volume", ".8g", "Å³"),
    ):
        if report.get(key) is not None:
            part.results.append((label, f"{report[key]:{digits}} {unit}".strip()))
    if report.get("energy_eV") is not None:
        part.results.insert(2, ("energy", f"{report['energy_eV'] / report['n_atoms']:.8f} eV/atom"))
    part.timing = timing_of({**report, "wall_seconds": report.get("wall_seconds")})
    columns = columns_of(folder / "relax.csv")
    if len(columns.get("step", ())):
        energy = (columns["energy_eV"] - columns["energy_eV"][-1]) / report["n_atoms"] * 1000.0
        for label, values in (
            ("energy above the end (meV/atom)", energy),
            ("log10 of the largest force (eV/Å)", np.log10(np.maximum(columns["fmax_eV_per_A"], 1e-300))),
            ("pressure (GPa)", columns["pressure_GPa"]),
            ("volume (Å³)", columns["volume_A3"]),
        ):
            if np.isfinite(values).any():
                part.charts.append(Chart("step", label, [Series("", columns["step"], values)]))
    relaxed = folder / "relaxed.extxyz"
    part.trajectory = relaxed if relaxed.is_file() else None
    given = {**settings, "potential": potential, "output": name}
    words = [potential] if isinstance(potential, str) else list(potential)
    options = command("relax", given, [RelaxSettings], report.get("structure"))
    part.commands = [options + _potential_options(words)]
    part.keys = ["guenole2020"]
    part.potentials, _ = _shipped(words)
    part.method = (
        f"The structure ({atoms_words(report)}) was relaxed with FIRE{cite(['guenole2020'])} in "
        f"{program_of(part)} with the potential {shown}"
        f"{cite(list(_keys(part)))} until the largest force was below {settings.get('fmax')} eV/Å ({held})."
    )
    return part


def _keys(part: Part) -> Any:
    from taichimd.report.citations import of_potentials

    return of_potentials(part.potentials)


def _shipped(names: list[str]) -> tuple[list[tuple[str, str | None]], str]:
    """Citations of shipped parameter files by their names; a record of a relaxation has no others."""
    from taichimd.forcefields.library import shipped

    known = {one.name: one.header for one in shipped()}
    found = [known[Path(name).name] for name in names if Path(name).name in known]
    return [(str(one.citation), one.doi) for one in found if one.citation], ""


def conductivity_part(name: str, folder: Path, report: Mapping[str, Any]) -> Part:
    """A conductivity of `taichimd kappa`; arguments as of `run_part`, with kappa.json."""
    from taichimd.transport.settings import KappaSettings

    settings = report["settings"]
    across = settings.get("method") == "interface"
    kappa = report["conductance_MW_per_m2K" if across else "kappa_W_per_mK"]
    what, unit = ("conductance of an interface", "MW/(m² K)") if across else (
        "thermal conductivity", "W/(m K)"
    )  # fmt: skip
    potential, n_atoms = report.get("potential", {}), report["n_atoms"]
    method = {"hnemd": "HNEMD", "nemd": "NEMD"}.get(str(settings.get("method")), "Green-Kubo")
    at = f"{n_atoms:,} atoms at {settings['temperature']:g} K"
    status = f"{report['runs']} of {settings['runs']} runs finished"
    part = Part(name, what, f"{at}, {potential.get('name', '')}", status)
    part.settings, part.versions = dict(settings), report.get("versions", {})
    part.notes = [str(note) for note in report.get("notes", [])]
    equilibrated, sampled = (f"{settings[key] / 1000:g} ps" for key in ("equilibrate", "time"))
    part.facts = [
        ("atoms", f"{n_atoms:,}"),
        ("potential", potential_words(potential)),
        ("method", method),
        ("runs", f"{report['runs']} of {equilibrated} of equilibration and {sampled}"),
        ("time step", f"{settings['timestep']:g} fs"),
    ]
    part.observed = observed_rows({what: {**kappa, "unit": unit}})
    directions = report.get("directions", {})
    along = zip("xyz", directions.get("value") or [], directions.get("error") or [], strict=False)
    for axis, value, error in along:
        text = mean_text({"mean": value, "error": error}, ".4g")
        part.observed.append((f"along {axis}", f"{text} W/(m K)", "", ""))
    temperature = report["temperature_K"]
    mean = mean_text({"mean": temperature["value"], "error": temperature.get("error")}, ".1f")
    part.results = [
        (what, part.observed[0][1]),
        ("error", str(report.get("error_is", "-"))),
        ("temperature", f"{mean} K"),
        *([] if across else [("volume", f"{report['volume_A3']:.8g} Å³")]),
    ]
    if plateau := report.get("plateau_ps"):
        part.results.append(("read off", f"from {plateau[0]:g} to {plateau[1]:g} ps"))
    part.timing = timing_of(report)
    part.charts = _curves(columns_of(folder / "kappa.csv"))
    part.pictures = [file for kind in PICTURES if (file := folder / f"kappa.{kind}").is_file()]
    given = {**settings, "output": name}
    structure = report.get("structure") or "STRUCTURE"
    part.commands = [
        command("kappa", given, [KappaSettings], structure)
        + _potential_options(report.get("potential_given") or potential.get("name", "POTENTIAL"))
    ]
    part.potentials, of_potential = potential_cited(potential)
    keys = {"Green-Kubo": ["fan2017"], "HNEMD": ["fan2017", "fan2019"], "NEMD": []}[method]
    part.keys = ["swope1982", "leimkuhler2013", *keys]
    how = {
        "Green-Kubo": "at constant energy",
        "HNEMD": f"under a driving force of {settings.get('driving_force') or 0.0:g} 1/Å",
        "NEMD": f"with a hot and a cold bath along {settings.get('along')} ({settings.get('bath')})",
    }[method]
    current = f", with the heat current of many-body potentials{cite(keys)}" if keys else ""
    part.method = (
        f"The {what} {f'in a system of {at}' if across else f'of {at}'} was computed with {program_of(part)} "
        f"by the {method} method{current}. {of_potential} {_runs_were(report['runs'])} equilibrated for "
        f"{equilibrated} with Langevin dynamics{cite(['leimkuhler2013'])} and sampled for {sampled} {how}, "
        f"with velocity Verlet{cite(['swope1982'])} and a time step of {settings['timestep']:g} fs. "
        f"{_error_sentence(kappa, str(report.get('error_is', 'standard error')))}"
    )
    return part


def _runs_were(runs: int) -> str:
    return "One run was" if runs == 1 else f"{runs} independent runs were"


def _error_sentence(kappa: Mapping[str, Any], source: str) -> str:
    """Where the error comes from, or that there is none."""
    if kappa.get("error") is None:
        return "No standard error could be determined."
    return f"The error is the {source}."


def _potential_options(given: Any) -> str:
    """Options of a command that takes these potentials."""
    words = [given] if isinstance(given, str) else given
    return "".join(f" --potential {shlex.quote(str(one))}" for one in words)


def _curves(columns: Mapping[str, Array]) -> list[Chart]:
    """Columns of a table of correlations against the first one; none for a table of one row."""
    names = [name for name in columns if "error" not in name]
    if len(names) < 2 or len(columns[names[0]]) < 2:
        return []
    x = columns[names[0]]
    return [
        Chart(column_words(names[0]), column_words(name), [Series("", x, columns[name])])
        for name in names[1:]
        if np.isfinite(columns[name]).any()
    ]


def analysis_part(name: str, folder: Path, report: Mapping[str, Any]) -> Part:
    """Results of `taichimd analyze`; arguments as of `run_part`, with analysis.json."""
    from taichimd.observables.request import Request

    file = str(report.get("trajectory", "-"))
    title = f"{file}: {report['frames']:,} frames" if "frames" in report else file
    part = Part(name, "analysis of a trajectory", title, "finished")
    settings, source = report.get("settings", {}), Path(file)
    part.settings, part.versions = dict(settings), report.get("versions", {})
    part.notes, part.keys = [str(note) for note in report.get("notes", [])], list(OF_PROGRAM)
    part.observed = observed_rows(report.get("values", {}))
    part.pictures = sorted(folder.glob(f"*.{settings.get('plot_format', 'png')}"))
    part.commands = [command("analyze", {**settings, "output": name}, [Request], file)]
    if rule := report.get("bond_rule"):
        part.kind, part.facts = "analysis of bonds", [("file", file)]
        part.tables = [table for one in _TABLES_OF_BONDS if (table := _table_of(folder / one)) is not None]
        part.method = (
            f"Reactions were found with {program_of(part)}: a bond forms above a bond order of "
            f"{rule['formed']:g} and breaks at or below {rule['broken']:g}, and changes that last less than "
            f"{1000 * rule['lifetime_ps']:g} fs are left out."
        )
        return part
    left_out, interval = report.get("production", {}).get("left_out") or 0, report.get("interval_ps") or 0
    part.facts = [
        ("trajectory", file),
        ("atoms", f"{report.get('n_atoms', 0):,}"),
        ("frames", f"{report.get('frames', 0):,}, {interval:g} ps apart"),
        ("left out", f"{left_out:,} frames at the start"),
    ]
    part.trajectory = source if source.is_file() else (trajectory_of(source) if source.is_dir() else None)
    part.method = (
        f"Averages are over {report.get('frames', 0) - left_out:,} frames, {interval:g} ps apart, and were "
        f"computed with {program_of(part)}. Errors are standard errors."
    )
    return part


_TABLES_OF_BONDS = ("rates.csv", "lifetimes.csv")
_MAX_ROWS = 40
"""Rows of a table of a file that a page shows."""


def _table_of(path: Path) -> tuple[str, list[str], list[list[str]]] | None:
    """The first rows of a table, or None if the file is not there."""
    header, rows = rows_of_csv(path)
    title = path.stem.capitalize() + (
        f" (the first {_MAX_ROWS} of {len(rows)})" if len(rows) > _MAX_ROWS else ""
    )
    return (title, header, rows[:_MAX_ROWS]) if header else None


def rows_of_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and whole rows of a table; empty if the file is not there."""
    if not path.is_file():
        return [], []
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    return header, [row for row in rows if len(row) == len(header)]
