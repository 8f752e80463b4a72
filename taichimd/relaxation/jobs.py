"""The job behind `taichimd relax` of several structures: a folder for each, and a table of all."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from taichimd.core.errors import TaichimdError
from taichimd.core.signals import StopRequest
from taichimd.io.lock import locked
from taichimd.io.structures import read_structure
from taichimd.relaxation.job import NOT_CONVERGED, Display, RelaxJob, Results, check_folder
from taichimd.relaxation.relax import Row, relax_many
from taichimd.relaxation.settings import RelaxSettings


def jobs_of(
    structures: Sequence[str],
    potential: str | list[str],
    settings: RelaxSettings,
    folder: Path,
    overwrite: bool,
) -> list[RelaxJob]:
    """A job for each structure, in a folder named by its number and file.

    Args:
        structures: files.
        potential: of all, as typed.
        settings: of all.
        folder: of the folders.
        overwrite: whether earlier results may be replaced.
    """
    return [
        RelaxJob(
            structure, potential, read_structure(structure), settings,
            folder / f"{number:03d}-{Path(structure).stem}", overwrite,
        )
        for number, structure in enumerate(structures)
    ]  # fmt: skip


def run_relax_jobs(jobs: Sequence[RelaxJob], console: Console) -> tuple[int, list[dict[str, Any]]]:
    """Relax all structures together, write the files of each, show a table.

    Args:
        jobs: of `jobs_of`.
        console: where to show it.

    Returns:
        Exit code: 0 if all have converged, 1 if not, 130, 143 or 129 when stopped by a signal; and the
        contents of the files relax.json.

    Raises:
        TaichimdError: anything that stops all of them; the message names the folder of a structure that is
            at fault.
    """
    names, settings = [job.folder.name for job in jobs], asdict(jobs[0].settings)
    compute = {key: settings[key] for key in ("backend", "precision", "decomposition")}
    results = [Results(job) for job in jobs]
    latest: dict[int, Row] = {}

    def on_row(row: Row) -> None:
        results[row.system].on_row(row)
        latest[row.system] = row
        display.show(_of_all(list(latest.values())))

    with ExitStack() as stack:
        for job in jobs:
            stack.enter_context(locked(job.folder))
            check_folder(job)
        try:
            with StopRequest() as stop, Display(console) as display:
                found = relax_many(
                    [job.atoms for job in jobs], jobs[0].potential, jobs[0].settings, on_row, stop, names,
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
    _print(console, names, reports)
    if all(report["converged"] for report in reports):
        return 0, reports
    return (NOT_CONVERGED if stop.received is None else 128 + stop.received), reports


def _of_all(rows: Sequence[Row]) -> Row:
    """What is shown of all: the most steps, the sum of the energies, the largest force."""
    return Row(
        max(row.step for row in rows),
        sum(row.energy for row in rows),
        max(row.fmax for row in rows),
        None,
        None,
    )


def _print(console: Console, names: Sequence[str], reports: Sequence[dict[str, Any]]) -> None:
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
