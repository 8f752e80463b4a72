"""`taichimd plot`: the picture of a run again, from its files."""

from pathlib import Path
from typing import Annotated

import typer

from taichimd.cli.say import say


def plot(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, with thermo.csv and run.json.")],
    output: Annotated[
        Path | None,
        typer.Option(help="Picture to write, *.png, *.pdf or *.svg; default the picture of the run."),
    ] = None,
) -> None:
    """Draw thermo.png (or .pdf, .svg) again, also of a run that is still going on or was killed."""
    from taichimd.app.output_folder import OutputFolder
    from taichimd.core.errors import OutputError
    from taichimd.io.analysis_files import PICTURES
    from taichimd.io.plots import plot_run
    from taichimd.io.report import plot_format_of, read_report
    from taichimd.io.thermo import read_thermo

    files = OutputFolder(folder)
    report = read_report(files.report)
    if not files.thermo.is_file() or not {"formula", "n_atoms", "potential", "settings"} <= set(report):
        raise OutputError(
            f"{folder} is not the folder of a run: expected {files.thermo.name} and {files.report.name} "
            "in it; give the --output of `taichimd run`"
        )
    picture = OutputFolder(folder, plot_format=plot_format_of(report)).plot if output is None else output
    if picture.suffix[1:] not in PICTURES:
        raise OutputError(f"{picture}: expected the name of a picture, *.png, *.pdf or *.svg")
    if len(read_thermo(files.thermo)["step"]) == 0:
        raise OutputError(f"{files.thermo} has no row yet; wait until the run has begun")
    plot_run(files.thermo, picture, report)
    say(picture)
