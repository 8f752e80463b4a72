"""What a Monte Carlo run says on the terminal before and after."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from taichimd.app.output_folder import OutputFolder
from taichimd.app.progress import duration
from taichimd.app.summary import potential_rows, print_rows
from taichimd.sampling.chain_folder import ChainFolder
from taichimd.sampling.prepare import MCJob


def print_header(console: Console, job: MCJob, chains: Sequence[ChainFolder]) -> None:
    """What is about to run, on what."""
    from taichimd import __version__
    from taichimd.core.runtime import info

    settings, atoms, machine = chains[0].settings, chains[0].own.atoms, info()
    periodic = "".join(axis for axis, flag in zip("xyz", atoms.pbc, strict=True) if flag) or "none"
    formula = atoms.get_chemical_formula(empirical=True)
    temperatures = dict.fromkeys(f"{t:g}" for one in chains for t in one.settings.temperatures)
    held = f"{settings.ensemble}, {', '.join(temperatures)} K"
    if settings.moves_volume:
        held += f", {settings.pressure:g} GPa"
    several = f" of {len(chains)} chains" if len(chains) > 1 else ""
    run = f"{job.steps:,} sweeps{several}, moves: {settings.moves}, {held}, {settings.precision}"
    rows = [
        ("taichimd", f"{__version__} · {machine['runtime']} · {machine['backend']} ({machine['device']})"),
        ("system", f"{len(atoms):,} atoms, {formula}, periodic: {periodic}"),
        *potential_rows(job.forcefield),
        ("run", run),
        ("decomposition", chains[0].chain.decomposition),
    ]
    if job.exchange is not None:
        rows.append(("exchanges", f"every {job.exchange:,} sweeps, of neighbouring temperatures"))
    if (checkpoint := chains[0].own.checkpoint) is not None:
        rows.append(("continues", f"from {job.restart}, sweep {checkpoint.step:,}"))
    print_rows(console, rows)
    for note in job.notes:
        console.print(f"note: {note}", highlight=False, markup=False)


def print_summary(
    console: Console, reports: Sequence[dict[str, Any]], folders: Sequence[OutputFolder]
) -> None:
    """The figures of a chain, or a row of them for each of several."""
    report = reports[0]
    sweeps = report["last_step"] - report["first_step"]
    rows = [("sweeps", f"{sweeps:,} in {duration(report['wall_seconds'])}, to sweep {report['last_step']:,}")]
    if len(reports) == 1:
        rows += _rows(report)
        there = [file for file in folders[0].files() if file.exists()]
        rows.append(("files", " ".join(str(file) for file in there)))
    else:
        rows += [(folder.path.name, _row(one)) for folder, one in zip(folders, reports, strict=True)]
        rows.append(("production", "each chain has its own start; run.json has it"))
        rows.append(("files", f"{folders[0].path.parent}/"))
    checks = [one["energy_check"] for one in reports]
    largest, times = max(one["largest_difference_eV"] for one in checks), checks[0]["comparisons"]
    rows.insert(-1, ("energy check", f"running sum within {largest:.1e} eV of {times} evaluations"))
    console.print()
    print_rows(console, rows)
    for note in dict.fromkeys(note for one in reports for note in _notes(one)):
        console.print(f"note: {note}", highlight=False, markup=False)


def _rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for name, unit in (("moves", " Å"), ("volume_moves", " of ln V")):
        rate = report[name]
        if rate["acceptance"] is not None:
            told = f"{rate['acceptance']:.1%} accepted, up to {rate['size']:.4g}{unit}"
            rows.append((name.replace("_", " "), told))
    rows.append(("production", _production(report)))
    for name in report["averages"]:
        what, _, unit = name.rpartition("_")
        rows.append((what, f"{_mean(report, name)} {unit.replace('A3', 'Å³')}"))
    return rows


def _row(report: dict[str, Any]) -> str:
    first = report["production"]["first_sweep"]
    parts = ["no average"]
    if "potential_eV" in report["averages"]:
        parts = [f"{_mean(report, 'potential_eV')} eV from sweep {first:,}"]
    for name, told in (("moves", "moves"), ("exchanges", "exchanges with the next")):
        if (rate := report[name]["acceptance"]) is not None:
            parts.append(f"{rate:.0%} of {told}")
    return ", ".join(parts)


def _production(report: dict[str, Any]) -> str:
    """Over which sweeps means are, and why."""
    production = report["production"]
    if not production["rows"]:
        return "no row of the table is after the equilibration: no averages"
    sweeps = f"sweeps {production['first_sweep']:,} to {production['last_sweep']:,}"
    return f"{sweeps}, {production['rows']:,} rows; {production['method']}"


def _notes(report: dict[str, Any]) -> list[str]:
    """Why means have no error, or do not mean what they seem to."""
    chain = f"{report['settings']['temperature']:g} K, "
    return [
        f"{chain}{name.rpartition('_')[0]}: {one['note']}"
        for name, one in report["averages"].items()
        if one["note"]
    ]


def _mean(report: dict[str, Any], name: str) -> str:
    mean = report["averages"][name]
    error = f" ± {mean['error']:.2g}" if mean["error"] else ""
    return f"{mean['mean']:.8g}{error}"
