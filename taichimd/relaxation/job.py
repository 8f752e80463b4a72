"""The job of `taichimd relax`: relaxations with their folders, logs and what the terminal shows."""

import io
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ase.io
from ase import Atoms
from rich.console import Console
from rich.table import Table

from taichimd.app.progress import LineDisplay
from taichimd.app.summary import print_rows
from taichimd.core.errors import OutputError, TaichimdError
from taichimd.core.signals import StopRequest
from taichimd.io.files import AppendedFile, write_atomically, writing
from taichimd.io.lock import locked
from taichimd.io.report import circumstances, write_report
from taichimd.io.structures import read_noted, unused_charges
from taichimd.relaxation.relax import Relaxation, Row, cell_freedom, relax, relax_many
from taichimd.relaxation.settings import RelaxSettings
from taichimd.system.constraints import fixed_atoms

NOT_CONVERGED = 1
"""Exit code of a relaxation that ran out of steps."""
HEAD = f"{'step':>7} {'energy (eV)':>20} {'fmax (eV/Å)':>12} {'P (GPa)':>10} {'V (Å³)':>12}"
"""Head of the lines that are printed."""
COLUMNS = ("step", "energy_eV", "fmax_eV_per_A", "pressure_GPa", "volume_A3")
"""Columns of relax.csv: a row for each look, at full precision; what is not defined is an empty field."""


@dataclass(frozen=True)
class RelaxJob:
    """Settings of `taichimd relax`."""

    structure: str  # as typed
    potential: str | list[str]  # as typed
    atoms: Atoms  # the structure read
    settings: RelaxSettings  # of the relaxation
    folder: Path  # for the results
    overwrite: bool  # whether earlier ones there may be replaced
    notes: Sequence[str] = ()  # remarks on it

    @property
    def files(self) -> dict[str, Path]:
        """The results by kind."""
        names = {"structure": "relaxed.extxyz", "log": "relax.csv", "report": "relax.json"}
        return {kind: self.folder / name for kind, name in names.items()}


def jobs_of(
    structures: Sequence[str],
    potential: str | list[str],
    settings: RelaxSettings,
    folder: Path,
    overwrite: bool,
    read: Mapping[str, Any] | None = None,
) -> list[RelaxJob]:
    """A job for each structure; of several, in a folder named by its number and file."""
    jobs = []
    for number, structure in enumerate(structures):
        atoms, notes = read_noted(structure, **(read or {}))
        own = folder / f"{number:03d}-{Path(structure).stem}" if len(structures) > 1 else folder
        notes += unused_charges(atoms)
        jobs.append(RelaxJob(structure, potential, atoms, settings, own, overwrite, notes))
    return jobs


class Results:
    """The files of a relaxation; earlier ones go with the first row of the log."""

    def __init__(self, job: RelaxJob) -> None:
        self.job, self._started = job, time.time()
        self._log: AppendedFile | None = None
        self._cleared = self._begun = False

    def on_row(self, row: Row) -> None:
        """Write a row of the log."""
        if self._log is None:
            for file in self.job.files.values():
                with writing(file):
                    file.unlink(missing_ok=True)
            self._cleared = True
            self._log = AppendedFile(self.job.files["log"], None, ",".join(COLUMNS) + "\n")
        values = (row.energy, row.fmax, row.pressure, row.volume)
        fields = ["" if value is None else repr(float(value)) for value in values]
        self._log.append(",".join([str(row.step), *fields]) + "\n")
        self._begun = True

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()

    def fail(self, error: Exception) -> None:
        """Write the report of what an error has ended; without room for the first row, leave no log."""
        if self._cleared and not self._begun and isinstance(error, OutputError):
            self.job.files["log"].unlink(missing_ok=True)
            return
        if self._log is not None:
            reason = f"{type(error).__name__}: {error}"
            write_report(self.job.files["report"], _report(self.job, self._started, reason, None))

    def write(self, result: Relaxation, received: int | None) -> dict[str, Any]:
        """Write structure and report; the report. `received`: the signal that has stopped it, or None."""
        text, files = io.StringIO(), self.job.files
        ase.io.write(text, result.atoms, format="extxyz")
        write_atomically(files["structure"], lambda file: file.write(text.getvalue().encode()))
        reason = result.reason
        if received is not None and reason == "stopped":
            reason = f"stopped by {signal.Signals(received).name}"
        report = _report(self.job, self._started, reason, result)
        write_report(files["report"], report)
        return report


def run_relax_jobs(jobs: Sequence[RelaxJob], console: Console) -> tuple[int, list[dict[str, Any]]]:
    """Relax all structures together, write the files of each, show how it goes.

    Exit code: 0 if all have converged, 1 if not, 130, 143 or 129 when stopped by a signal; and the contents
    of the files relax.json. Of several, an error names the folder of a structure that is at fault.
    """
    if len(jobs) == 1:
        # Before anything is shown or made; of several, each is named.
        fixed_atoms(jobs[0].atoms, "relax")
        cell_freedom(jobs[0].atoms, jobs[0].settings)
    names, first, settings = [job.folder.name for job in jobs], jobs[0], asdict(jobs[0].settings)
    results = [Results(job) for job in jobs]
    latest: dict[int, Row] = {}

    def on_row(row: Row) -> None:
        results[row.system].on_row(row)
        latest[row.system] = row
        _show(display, list(latest.values()))

    with ExitStack() as stack:
        for job in jobs:
            stack.enter_context(locked(job.folder))
            check_folder(job)
        _print_notes(console, jobs)
        try:
            with StopRequest() as stop, LineDisplay(console, HEAD) as display:
                if len(jobs) == 1:
                    found = [relax(first.atoms, first.potential, **settings, on_row=on_row, should_stop=stop)]
                else:
                    compute = {key: settings[key] for key in ("backend", "precision", "decomposition")}
                    found = relax_many(
                        [job.atoms for job in jobs], first.potential, first.settings, on_row, stop, names,
                        **compute,
                    )  # fmt: skip
        except TaichimdError as error:
            for one in results:
                one.fail(error)
            raise
        finally:
            for one in results:
                one.close()
        reports = [one.write(result, stop.received) for one, result in zip(results, found, strict=True)]
    if len(jobs) == 1:
        _print_summary(console, first, reports[0])
    else:
        _print_table(console, names, reports)
    if all(report["converged"] for report in reports):
        return 0, reports
    return (NOT_CONVERGED if stop.received is None else 128 + stop.received), reports


def _show(display: LineDisplay, rows: Sequence[Row]) -> None:
    """Show the latest rows, if it is time."""
    if not display.due:
        return
    row = rows[0] if len(rows) == 1 else _of_all(rows)
    pressure = "" if row.pressure is None else f" · {row.pressure:.4g} GPa"
    renewed = f"step {row.step:,} · {row.energy:.8g} eV · fmax {row.fmax:.3g} eV/Å{pressure}"
    pressure = "-" if row.pressure is None else f"{row.pressure:.4f}"
    volume = "-" if row.volume is None else f"{row.volume:.3f}"
    plain = f"{row.step:>7} {row.energy:>20.8f} {row.fmax:>12.3e} {pressure:>10} {volume:>12}"
    display.show(renewed, plain)


def _print_notes(console: Console, jobs: Sequence[RelaxJob]) -> None:
    for note in dict.fromkeys(note for job in jobs for note in job.notes):
        console.print(f"note: {note}", highlight=False, markup=False)


def check_folder(job: RelaxJob) -> None:
    """Raise an OutputError if an earlier relaxation is there that may not be replaced."""
    there = [file.name for file in job.files.values() if file.exists()]
    if there and not job.overwrite:
        raise OutputError(
            f"{job.folder} holds an earlier relaxation ({', '.join(there)}); give --overwrite to replace it, "
            "or another --output"
        )


def _report(job: RelaxJob, started: float, reason: str, result: Relaxation | None) -> dict[str, Any]:
    report: dict[str, Any] = {
        "exit_reason": reason,
        "converged": result is not None and result.converged,
        "structure": job.structure,
        "potential": job.potential,
        "settings": asdict(job.settings),
        "n_atoms": len(job.atoms),
        "formula": job.atoms.get_chemical_formula(),
        "n_fixed": int(fixed_atoms(job.atoms).sum()),
        "notes": list(job.notes),
    }
    if result is not None:
        report |= {
            "steps": result.steps,
            "energy_eV": result.energy,
            "fmax_eV_per_A": result.fmax,
            "pressure_GPa": result.pressure,
            "volume_A3": result.volume,
            "cell_A": result.atoms.cell.array.tolist(),
            "wall_seconds": result.seconds,
            "first_step_seconds": result.first_seconds,
            "statistics": result.statistics,
        }
    return report | circumstances(started)


def _print_summary(console: Console, job: RelaxJob, report: dict[str, Any]) -> None:
    ended = report["exit_reason"] if report["converged"] else f"NOT CONVERGED: {report['exit_reason']}"
    per_atom = report["energy_eV"] / report["n_atoms"]
    rows = [
        ("relaxation", f"{ended} after {report['steps']:,} steps, {report['wall_seconds']:.1f} s"),
        ("decomposition", report["statistics"]["decomposition"]),
        ("energy", f"{report['energy_eV']:.8f} eV, {per_atom:.8f} eV/atom"),
        ("largest force", f"{report['fmax_eV_per_A']:.3g} eV/Å"),
    ]
    if report["pressure_GPa"] is not None:
        rows.append(("pressure", f"{report['pressure_GPa']:.5g} GPa at {report['volume_A3']:.8g} Å³"))
    rows.append(("files", " ".join(str(file) for file in job.files.values())))
    console.print()
    print_rows(console, rows)


def _of_all(rows: Sequence[Row]) -> Row:
    """What is shown of all: the most steps, the sum of the energies, the largest force."""
    return Row(
        max(row.step for row in rows),
        sum(row.energy for row in rows),
        max(row.fmax for row in rows),
        None,
        None,
    )


def _print_table(console: Console, names: Sequence[str], reports: Sequence[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("structure", "atoms", "steps", "energy (eV)", "fmax (eV/Å)", "P (GPa)", "end"):
        table.add_column(name, justify="left" if name in ("structure", "end") else "right", overflow="fold")
    for name, report in zip(names, reports, strict=True):
        pressure = report["pressure_GPa"]
        table.add_row(
            name, f"{report['n_atoms']:,}", f"{report['steps']:,}", f"{report['energy_eV']:.6f}",
            f"{report['fmax_eV_per_A']:.2e}", "-" if pressure is None else f"{pressure:.4g}",
            report["exit_reason"],
        )  # fmt: skip
    console.print()
    console.print(table)
