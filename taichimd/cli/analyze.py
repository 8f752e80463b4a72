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
        str, typer.Argument(help="Trajectory of a run, or its folder, a LAMMPS dump, or any that ASE reads.")
    ],
    output: Output = "taichimd-analysis",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier analysis.")] = False,
    backend: Backend = "auto",
    quiet: Quiet = False,
    **flags: Any,
) -> None:
    """Radial distributions, bonds, diffusion, vibrations of a trajectory, as CSV and pictures, with errors.

    Without --rdf, --angles, --msd or --vacf: all that the file allows, but for angles.
    """
    from taichimd.app.console import Console
    from taichimd.app.summary import print_analysis
    from taichimd.core.runtime import start
    from taichimd.observables.job import analyze as work

    request = Request(**flags)
    start(backend)
    print_analysis(Console(quiet), work(trajectory, request, Path(output), overwrite))
