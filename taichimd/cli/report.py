"""`taichimd report` and `taichimd view`: pages of calculations and of trajectories."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from taichimd.cli.say import say

_Page = Annotated[Path | None, typer.Option("--output", help="Page to write, *.html.")]
_Open = Annotated[bool, typer.Option("--open", help="Also open the page in the browser.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that taichimd did not write.")]


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of run, relax, kappa, mc, sweep, analyze or validate; several are compared."
        ),
    ],
    output: _Page = None,
    open_page: _Open = False,
    overwrite: _Overwrite = False,
) -> None:
    """Write a self-contained HTML page: settings, charts, results with errors, 3D view, commands, citations.

    The page is FOLDER/report.html. For several folders it is report.html in the current folder.
    """
    from taichimd.core.errors import SettingsError
    from taichimd.report.compose import report_page
    from taichimd.report.folders import parts_of

    places = [folder.resolve() for folder in folders]
    for k, folder in enumerate(folders):
        if places[k] in places[:k]:
            raise SettingsError(f"{folder} is given twice; give each folder once")
    parts = [part for folder in folders for part in parts_of(folder)]
    single = folders[0] if folders[0].is_dir() else folders[0].parent
    page = output or (single if len(folders) == 1 else Path()) / "report.html"
    _write(page, lambda: report_page(parts), open_page, overwrite)


def view(
    file: Annotated[
        Path,
        typer.Argument(
            help="Trajectory or structure in any format that taichimd reads, or a folder of a run."
        ),
    ],
    output: _Page = None,
    open_page: _Open = False,
    overwrite: _Overwrite = False,
    input_units: Annotated[str | None, typer.Option(help="Units of a LAMMPS dump.")] = None,
    elements: Annotated[
        str | None,
        typer.Option(metavar="<Si,O>", help="Elements of the atom types 1, 2, ... of a LAMMPS dump."),
    ] = None,
) -> None:
    """Write an HTML page with a 3D view of a trajectory, which plays in any browser.

    The page is in the current folder and has the name of the file, with .html.
    """
    from taichimd.core.errors import StructureError
    from taichimd.report.compose import view_page
    from taichimd.report.frames import shown_frames
    from taichimd.report.of_run import trajectory_of

    shown = file
    if file.is_dir():
        found = trajectory_of(file)
        if found is None:
            raise StructureError(f"folder {file} has no trajectory and no checkpoint; give a file")
        shown = found
    page = output or Path(f"{(file.resolve() if file.is_dir() else file).stem}.html")
    kinds = None if elements is None else [one.strip() for one in elements.split(",")]

    def make() -> str:
        atoms = shown_frames(shown, input_units, kinds)
        for note in atoms.notes:
            say(f"note: {note}", err=True)
        return view_page(shown.name, atoms)

    _write(page, make, open_page, overwrite)


def _write(page: Path, make: Callable[[], str], open_page: bool, overwrite: bool) -> None:
    from taichimd.core.errors import OutputError
    from taichimd.report.page import is_page, write_page

    if page.suffix not in (".html", ".htm"):
        raise OutputError(f"{page}: expected the name of a page, *.html")
    if page.exists() and not overwrite and not is_page(page):
        raise OutputError(
            f"{page} already exists and is not a page of taichimd; give --overwrite to replace it, "
            "or another --output"
        )
    write_page(page, make())
    say(page)
    if open_page:
        typer.launch(str(page.resolve()))
