"""`taichimd analyze`: structure and motion from a trajectory."""

from pathlib import Path
from typing import Annotated

import typer

from taichimd.cli.options import Backend, Output, PlotFormat, Quiet


def analyze(
    trajectory: Annotated[
        str, typer.Argument(help="Trajectory of a run, or its folder, or any that ASE reads.")
    ],
    rdf: Annotated[bool, typer.Option("--rdf", help="Radial distribution functions.")] = False,
    angles: Annotated[
        float | None, typer.Option(help="Bond angles and coordination; bonds are shorter than this, Å.")
    ] = None,
    msd: Annotated[bool, typer.Option("--msd", help="Mean square displacement and diffusion.")] = False,
    vacf: Annotated[
        bool, typer.Option("--vacf", help="Velocity autocorrelation, density of states.")
    ] = False,
    r_max: Annotated[float, typer.Option(help="Largest distance of the RDF, Å.")] = 8.0,
    bins: Annotated[int, typer.Option(help="Bins of the RDF.")] = 200,
    window: Annotated[
        str | None, typer.Option(help='Longest time difference: "5ps"; default half of a block.')
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            help='Line through the MSD: "1ps,5ps"; default 0.2 to 1 times the window, without free flight.'
        ),
    ] = None,
    interval: Annotated[
        str | None, typer.Option(help='Time between frames, for files that do not say: "10fs".')
    ] = None,
    skip: Annotated[int, typer.Option(help="Frames at the start to leave out.")] = 0,
    blocks: Annotated[int | None, typer.Option(help="Pieces of the run, for errors; default 5.")] = None,
    output: Output = "taichimd-analysis",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier analysis.")] = False,
    backend: Backend = "auto",
    plot_format: PlotFormat = "png",
    quiet: Quiet = False,
) -> None:
    """Radial distributions, bonds, diffusion, vibrations of a trajectory, as CSV and pictures, with errors.

    Without --rdf, --angles, --msd or --vacf: all that the file allows, but for angles.
    """
    from taichimd.app.console import Console
    from taichimd.app.setting_types import parse_time
    from taichimd.app.summary import print_analysis
    from taichimd.core.runtime import start
    from taichimd.observables.job import analyze as work
    from taichimd.observables.trajectory import Request, parse_fit

    times = [None if text is None else parse_time(text) / 1000.0 for text in (window, interval)]
    picked = {"rdf": rdf, "angles": angles is not None, "msd": msd, "vacf": vacf}
    kinds = tuple(name for name, wanted in picked.items() if wanted)
    request = Request(kinds, r_max, bins, angles, times[0], parse_fit(fit), times[1], blocks, plot_format)
    start(backend)
    print_analysis(Console(quiet), work(trajectory, request, Path(output), overwrite, skip))
