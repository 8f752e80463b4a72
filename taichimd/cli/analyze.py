"""`taichimd analyze`: structure and motion from a trajectory."""

from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.cli.options import Backend, Output, Quiet, with_options
from taichimd.observables.request import Request
from taichimd.settings.declared import settings_of


@with_options(settings_of(Request).values())
def analyze(
    trajectory: Annotated[
        str,
        typer.Argument(
            help="Folder of a run, LAMMPS dump, trajectory that ASE reads, or file of bonds, species or "
            "dipole moments."
        ),
    ],
    output: Output = "taichimd-analysis",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier analysis.")] = False,
    backend: Backend = "auto",
    quiet: Quiet = False,
    **flags: Any,
) -> None:
    """Analyze a trajectory: RDF, bonds, diffusion, vibrations, as CSV and pictures, with errors.

    A file of bonds gives reactions, rate constants and lifetimes of species. A file of dipole moments
    (dipole.csv of --observe dipole) gives the infrared spectrum.

    Without --rdf, --angles, --msd or --vacf: everything that the file allows, except angles.
    """
    from taichimd.app.console import Console
    from taichimd.app.summary import print_analysis
    from taichimd.core.runtime import start
    from taichimd.observables.job import analyze as work

    request = Request(**flags)
    start(backend)
    print_analysis(Console(quiet), work(trajectory, request, Path(output), overwrite))
