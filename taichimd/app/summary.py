"""What a run says on the terminal before and after: one screen of 80 columns."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ase.formula import Formula
from rich.console import Console
from rich.table import Table
from rich.text import Text

from taichimd.app.averages import drift_text, mean_text, production_text, without_error
from taichimd.app.output_folder import OutputFolder
from taichimd.app.profile import profile_rows
from taichimd.app.progress import duration
from taichimd.ensembles.registry import ensemble_class
from taichimd.io.structures import formula_of, has_velocities
from taichimd.settings.output import OutputSettings
from taichimd.settings.run import RunSettings
from taichimd.settings.types import DRAW, NONE
from taichimd.system.velocities import temperature

if TYPE_CHECKING:
    from taichimd.app.job import Job
    from taichimd.observables.outcome import Outcome


def print_header(console: Console, jobs: Mapping[str, "Job"], decomposition: str) -> None:
    """What is about to run: what all systems have, where they differ, and the notes of each."""
    each = list(jobs.values())
    changed = {}
    if len(each) > 1:
        sizes = sorted(len(job.atoms) for job in each)
        between = f"{sizes[0]:,}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,}"
        changed = {
            "system": f"{len(each)} of {between} atoms, {sum(sizes):,} in all, in one launch",
            "thermostat": _span([job.settings.ensemble.describe_thermostat() for job in each]),
            "velocities": _span([_velocities(job) for job in each]),
        }
    rows = _header_rows(each[0], decomposition)
    print_rows(console, [(name, changed.get(name, value)) for name, value in rows])
    for note in dict.fromkeys(note for job in each for note in job.notes):
        whose = [name for name, job in jobs.items() if note in job.notes]
        of = "" if len(whose) == len(jobs) else f"{whose[0]}{', ...' * (len(whose) > 1)}: "
        console.print(f"note: {of}{note}", highlight=False, markup=False)


def _span(texts: Sequence[str]) -> str:
    """One text for several: the first, and the last where it differs."""
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} ... {texts[-1]}"


def _spectrum_rows(job: "Job") -> list[tuple[str, str]]:
    """Memory and work of a spectrum of a run, before it starts."""
    if job.plan is None or "spectrum" not in job.plan.kinds:
        return []
    from taichimd.observables.samplers.spectrum import cost

    groups = {} if job.acting is None else job.acting.groups
    words = job.plan.spectrum_of.replace(">", ",").split(",")
    entries = sum(len(groups.get(word.strip(), job.atoms)) for word in words)
    return [("spectrum", cost(entries, job.plan.spectrum_lags).removeprefix("spectrum: "))]


def _header_rows(job: "Job", decomposition: str) -> list[tuple[str, str]]:
    from taichimd import __version__
    from taichimd.core.runtime import info

    settings, atoms, machine = job.settings, job.atoms, info()
    periodic = "".join(axis for axis, flag in zip("xyz", atoms.pbc, strict=True) if flag) or "none"
    length = job.steps * settings.run.timestep / 1000.0
    held = "" if job.fixed is None else f" ({job.fixed.sum():,} fixed)"
    rows = [
        ("taichimd", f"{__version__} · {machine.get('runtime')} · {machine.get('backend')} "
                     f"({machine.get('device')})"),
        ("system", f"{len(atoms):,} atoms{held}, {_short_formula(atoms)}, periodic: {periodic}"),
        *potential_rows(job.forcefield),
        ("run", f"{job.steps:,} steps of {settings.run.timestep:g} fs = {length:g} ps, "
                f"{settings.ensemble.name}, {settings.compute.precision}"),
        ("decomposition", decomposition),
        ("output", output_text(settings.output, 0, job.steps)),
        ("velocities", _velocities(job)),
    ]  # fmt: skip
    if settings.ensemble.kind.acts_on:
        rows.insert(-1, ("thermostat", settings.ensemble.describe_thermostat()))
    if settings.ensemble.has_barostat:
        rows.insert(-1, ("barostat", settings.ensemble.describe_barostat()))
    if settings.ensemble.kind.deforms:
        rows.insert(-1, ("deformation", settings.ensemble.describe_deformation()))
    if job.acting is not None:
        rows[-1:-1] = job.acting.rows()
    return rows + _spectrum_rows(job)


def output_text(output: OutputSettings, first: int, last: int) -> str:
    """How many rows and frames there are from one step to another one, and how far apart."""

    def counted(what: str, every: int) -> str:
        number = 1 + last // every - first // every + (last % every > 0 and last > first)
        return f"{number:,} {what}, one every {every:,} step{'s' * (every > 1)}"

    parts = [counted("rows", output.steps_between_rows)]
    if output.frames != NONE:
        parts.append(counted("frames", output.steps_between_frames))
    return "; ".join(parts)


def _velocities(job: "Job") -> str:
    """Where the first velocities come from."""
    ensemble, system = job.settings.ensemble, job.settings.system
    if job.checkpoint is not None and system.velocities != DRAW:
        return f"from {system.restart}, step {job.checkpoint.step:,}"
    if job.checkpoint is None and has_velocities(job.atoms):
        return f"from the structure file ({temperature(job.atoms):.1f} K)"
    return f"Maxwell-Boltzmann at {ensemble.temperature:g} K, seed {ensemble.seed}"


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
        waited = report["seconds_since_enter"]
        rows.append(
            (
                "since enter",
                f"{report['atom_steps_per_second_since_enter']:.3g} atom-step/s, {waited:.1f} s in all",
            )
        )
    written = RunSettings.of(report["settings"]).output
    rows.append(("output", output_text(written, report["first_step"], report["last_step"])))
    wall, compiling = duration(report["wall_seconds"]), report["compile_seconds"]
    rows.append(("wall time", f"{wall}, after {compiling:.1f} s of compilation"))
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
    return ensemble_class(report["settings"]).moves_cell


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
    """How to continue after Ctrl-C; the command on a line of its own, whole, to be copied."""
    console.print(f"{reason} at step {step:,} of {last_step:,}; to continue:", highlight=False)
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
    formula = Formula(formula_of(atoms)).reduce()[0].format("hill")
    return formula if len(formula) < 30 else f"{len(set(atoms.numbers))} elements"


def _size(n_bytes: int) -> str:
    value = float(n_bytes)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
