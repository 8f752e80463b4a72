"""`taichimd kappa`: from a structure to a thermal conductivity with its error."""

import warnings
from pathlib import Path
from typing import Annotated

import typer


def kappa(
    structure: Annotated[
        str,
        typer.Argument(
            help="Structure file that ASE reads, periodic all around, or a sheet with --thickness."
        ),
    ],
    potential: Annotated[
        list[str],
        typer.Option(help="Parameter file, shipped name or file.py:name; several are added up."),
    ],
    temperature: Annotated[float, typer.Option(help="Kelvin.")],
    method: Annotated[str, typer.Option(help="green-kubo, or hnemd (of solids).")] = "green-kubo",
    supercell: Annotated[
        tuple[int, int, int], typer.Option(help="Repetitions of the structure, such as 4 4 4.")
    ] = (1, 1, 1),
    runs: Annotated[int, typer.Option(help="Independent runs, whose scatter is the error.")] = 5,
    equilibrate: Annotated[str, typer.Option(help="Of each run, with a thermostat.")] = "20ps",
    time: Annotated[str, typer.Option(help="Of each run, after that.")] = "500ps",
    window: Annotated[
        str | None,
        typer.Option(
            help="Longest correlation time; of hnemd what is left out at first. Default: a tenth of --time."
        ),
    ] = None,
    plateau: Annotated[
        str | None, typer.Option(help='Where the integral is read off: "40ps,60ps"; default its second half.')
    ] = None,
    every: Annotated[int, typer.Option(help="Steps between samples of the heat current.")] = 10,
    timestep: Annotated[str, typer.Option(help='Femtoseconds, or with a unit as "1fs".')] = "1.0",
    driving_force: Annotated[float | None, typer.Option(help="1/Å, of hnemd; default 1e-4.")] = None,
    direction: Annotated[
        str | None, typer.Option(help="Of the driving force of hnemd: x, y or z; default x.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the first run; the others count up.")] = 1,
    backend: Annotated[str, typer.Option(help="auto, cuda or cpu.")] = "auto",
    precision: Annotated[str, typer.Option(help="float64, mixed or float32.")] = "float64",
    decomposition: Annotated[str, typer.Option(help="particle, tuple or auto.")] = "auto",
    thickness: Annotated[
        float | None,
        typer.Option(help="Å, of a sheet in the plane of x and y."),
    ] = None,
    output: Annotated[str, typer.Option(help="Folder for runs and results.")] = "taichimd-kappa",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Repeat finished runs.")] = False,
    plot_format: Annotated[str, typer.Option(help="Of pictures: png, pdf or svg.")] = "png",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Thermal conductivity by independent runs, with error bars, as JSON, CSV and a picture.

    Ctrl-C keeps the runs that are finished and the one under way; the same command goes on with it, and more
    --runs or another --window use what is there.
    """
    from taichimd.app.config import make_settings
    from taichimd.app.console import Console
    from taichimd.app.setting_types import parse_time, time_or_number
    from taichimd.observables.trajectory import parse_fit
    from taichimd.observables.transport.job import run_kappa
    from taichimd.observables.transport.settings import KappaSettings

    if quiet:
        warnings.simplefilter("ignore")
    make_settings(
        {"backend": backend, "precision": precision, "decomposition": decomposition, "output": output}
    )
    span = parse_fit(plateau, "plateau")
    settings = KappaSettings(
        temperature, method, supercell, runs, parse_time(equilibrate), parse_time(time),
        None if window is None else parse_time(window),
        None if span is None else (1000.0 * span[0], 1000.0 * span[1]),
        every, time_or_number(timestep), seed, driving_force, direction, backend, precision,
        decomposition, thickness,
    )  # fmt: skip
    code = run_kappa(structure, potential, settings, Path(output), overwrite, Console(quiet), plot_format)
    if code:
        raise typer.Exit(code)
