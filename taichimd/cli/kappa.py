"""`taichimd kappa`: from a structure to a thermal conductivity with its error."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.cli.given import look_for
from taichimd.cli.options import AtomStyle, InputUnits, Output, PlotFormat, Potential, Quiet, with_options
from taichimd.settings.declared import settings_of
from taichimd.transport.settings import KappaSettings


@with_options(settings_of(KappaSettings).values())
def kappa(
    structure: Annotated[
        str,
        typer.Argument(
            help="Structure file that ASE reads, periodic in three directions, or a sheet with --thickness."
        ),
    ],
    potential: Potential,
    output: Output = "taichimd-kappa",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Repeat finished runs.")] = False,
    input_units: InputUnits = None,
    atom_style: AtomStyle = None,
    plot_format: PlotFormat = "png",
    quiet: Quiet = False,
    **flags: Any,
) -> int:
    """Thermal conductivity by independent runs, with error bars, as JSON, CSV and a picture.

    After Ctrl-C the same command continues the runs, also within an unfinished run. More --runs or another
    --window use the existing runs.
    """
    settings = KappaSettings(**flags)
    look_for([structure], potential)

    from taichimd.app.console import Console
    from taichimd.transport.job import run_kappa

    if quiet:
        warnings.simplefilter("ignore")
    read = {"units": input_units, "atom_style": atom_style}
    console = Console(quiet)
    return run_kappa(structure, potential, settings, Path(output), overwrite, console, plot_format, read)
