"""What a run says on the terminal before and after: one screen of 80 columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from taichimd.app.averages import drift_text, mean_text, production_text, without_error
from taichimd.app.outputs import OutputFolder
from taichimd.app.profile import profile_rows
from taichimd.app.progress import duration
from taichimd.ensembles.registry import ENSEMBLES
from taichimd.io.structures import has_velocities
from taichimd.settings.types import DRAW
from taichimd.system.velocities import temperature

if TYPE_CHECKING:
    from taichimd.app.job import Job
    from taichimd.observables.job import Outcome


def print_header(console: Console, job: "Job", forcefield: Any, decomposition: str) -> None:
    """What is about to run, on what, in which decomposition."""
    console.print(_table(header_rows(job, forcefield, decomposition)))
    for note in job.notes:
        console.print(f"note: {note}", highlight=False, markup=False)


def header_rows(job: "Job", forcefield: Any, decomposition: str) -> list[tuple[str, str]]:
    """Rows of `print_header`."""
    from taichimd import __version__
    from taichimd.core.runtime import info

    settings, atoms, machine = job.settings, job.atoms, info()
    periodic = "".join(axis for axis, flag in zip("xyz", atoms.pbc, strict=True) if flag) or "none"
    length = job.steps * settings.run.timestep / 1000.0
    if job.checkpoint is not None and settings.system.velocities != DRAW:
        velocities = f"from {settings.system.restart}, step {job.checkpoint.step:,}"
    elif job.checkpoint is None and has_velocities(atoms):
        velocities = f"from the structure file ({temperature(atoms):.1f} K)"
    else:
        velocities = (
            f"Maxwell-Boltzmann at {settings.ensemble.temperature:g} K, seed {settings.ensemble.seed}"
        )
    held = "" if job.fixed is None else f" ({job.fixed.sum():,} fixed)"
    rows = [
        ("taichimd", f"{__version__} · {machine.get('runtime')} · {machine.get('backend')} "
                     f"({machine.get('device')})"),
        ("system", f"{len(atoms):,} atoms{held}, {_short_formula(atoms)}, periodic: {periodic}"),
        *potential_rows(forcefield),
        ("run", f"{job.steps:,} steps of {settings.run.timestep:g} fs = {length:g} ps, "
                f"{settings.ensemble.name}, {settings.compute.precision}"),
        ("decomposition", decomposition),
        ("velocities", velocities),
    ]  # fmt: skip
    if settings.ensemble.kind.acts_on:
        rows.insert(-1, ("thermostat", settings.ensemble.describe_thermostat()))
    if settings.ensemble.kind.moves_cell:
        rows.insert(-1, ("barostat", settings.ensemble.describe_barostat()))
    return rows


def potential_rows(forcefield: Any) -> list[tuple[str, str]]:
    """The potential, and of a sum each term below it."""
    record = forcefield.describe()
    rows, terms = [("potential", f"{forcefield.name}, {_cutoff(record)}")], record["terms"]
    if len({term["name"] for term in terms}) > 1:
        for term in terms:
            parts = [f"{term['kind']} {term['name']}", term["truncation"], _cutoff(term)]
            rows.append(("", ", ".join(part for part in [*parts, term["source"]] if part)))
    return rows


def _cutoff(record: dict[str, Any]) -> str:
    cutoff = record["cutoff_A"]
    return "no cutoff" if cutoff is None else f"cutoff {cutoff:g} Å"


def print_summary(
    console: Console, report: dict[str, Any], folder: OutputFolder, observed: Sequence[tuple[str, str]] = ()
) -> None:
    """The figures of the run, what it observed, its files, and where its time went if that is wanted."""
    steps, held = report["last_step"] - report["first_step"], report.get("n_fixed", 0)
    rows = [
        ("atoms", f"{report['n_atoms']:,}" + (f" ({held:,} fixed)" if held else "")),
        ("steps", f"{steps:,}, to {report['simulated_ps']:g} ps (step {report['last_step']:,})"),
    ]
    speed = report.get("atom_steps_per_second")
    if speed:
        ns_day = speed / report["n_atoms"] * report["settings"]["timestep"] * 1e-6 * 86400
        rows.append(("speed", f"{speed:.3g} atom-step/s, {ns_day:.3g} ns/day"))
    wall, compiling = duration(report["wall_seconds"]), report["compile_seconds"]
    rows.append(("wall time", f"{wall}, and {compiling:.1f} s of compiling before"))
    if "energy_drift" in report:
        rows.append(("at the end", _last_state(report)))
        rows += means_rows(report)
        rows.append(("energy drift", drift_text(report["energy_drift"])))
    rows += observed
    rows.append(("files", f"{folder.path}/"))
    rows += [
        ("", f"  {file.name} ({_size(file.stat().st_size)})") for file in folder.files() if file.exists()
    ]
    console.print()
    console.print(_table(rows))
    if "profile" in report:
        console.print()
        console.print(_table(profile_rows(report)))


def _last_state(report: dict[str, Any]) -> str:
    """Temperature, and volume where it changes, of the last row."""
    volume = report.get("last_volume_A3")
    shown = f"{report['last_temperature_K']:.1f} K"
    return f"{shown}, {volume:.6g} Å³" if volume is not None and _moves_cell(report) else shown


def _moves_cell(report: dict[str, Any]) -> bool:
    return ENSEMBLES[report["settings"]["ensemble"]].moves_cell


def means_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Means of a run with their errors, what they are over, and why one has no error."""
    means, production = report.get("means", {}), report.get("production")
    if production is None:
        return []
    rows = [("means", production_text(production))]
    for name, key, digits, unit in (
        ("temperature", "temperature_K", ".1f", "K"),
        ("potential", "potential_eV_per_atom", ".5f", "eV/atom"),
        ("pressure", "pressure_GPa", ".3g", "GPa"),
        ("volume", "volume_A3", ".6g", "Å³"),
    ):
        if key in means and (key != "volume_A3" or _moves_cell(report)):
            rows.append((f"  {name}", f"{mean_text(means[key], digits)} {unit}"))
    return rows + [("", note) for note in without_error(means)]


def print_stopped(console: Console, reason: str, step: int, last_step: int, command: str) -> None:
    """How to go on after Ctrl-C; the command on a line of its own, whole, to be copied."""
    console.print(f"{reason} at step {step:,} of {last_step:,}; to go on:", highlight=False)
    console.print(command, highlight=False, markup=False, soft_wrap=True)


def print_analysis(console: Console, outcome: "Outcome") -> None:
    """What an analysis found, and the files it left."""
    rows = [*outcome.rows, ("files", " ".join(str(file) for file in outcome.files))]
    console.print(_table(rows))
    for note in outcome.notes:
        console.print(f"note: {note}", highlight=False, markup=False)


def print_rows(console: Console, rows: list[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    console.print(_table(rows))


def _table(rows: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))  # as text: a path may hold what rich takes for markup
    return table


def _short_formula(atoms: Any) -> str:
    formula = atoms.get_chemical_formula(empirical=True)
    return formula if len(formula) < 30 else f"{len(set(atoms.numbers))} elements"


def _size(n_bytes: int) -> str:
    value = float(n_bytes)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
