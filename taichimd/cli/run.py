"""`taichimd run`: the main job."""

from pathlib import Path
from typing import Annotated

import typer


def run(
    structure: Annotated[
        str | None,
        typer.Argument(
            help="Structure file that ASE reads, or a TOML job file (*.toml).", show_default=False
        ),
    ] = None,
    potential: Annotated[
        str | None,
        typer.Option(help="Parameter file, shipped name (taichimd potentials) or file.py:name."),
    ] = None,
    ensemble: Annotated[str | None, typer.Option(help="Only nve so far.")] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Kelvin, for drawing velocities when the file has none; default 300."),
    ] = None,
    timestep: Annotated[float | None, typer.Option(help="Femtoseconds; default 1.0.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of this run.")] = None,
    time: Annotated[str | None, typer.Option(help='Instead of --steps: "500fs", "10ps", "1ns".')] = None,
    output: Annotated[
        str | None,
        typer.Option(help="Folder for the results; default taichimd-run; of a restart, its own."),
    ] = None,
    every: Annotated[int | None, typer.Option(help="Steps between rows and frames; default 100.")] = None,
    backend: Annotated[str | None, typer.Option(help="auto, cuda or cpu; default auto.")] = None,
    precision: Annotated[str | None, typer.Option(help="float64 or float32; default float64.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the velocities; default 1.")] = None,
    restart: Annotated[
        str | None,
        typer.Option(help="Checkpoint to go on from; what is not given comes from it."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run's files.")] = False,
    checkpoint_interval: Annotated[
        float | None, typer.Option(help="Seconds between checkpoints; default 60.")
    ] = None,
) -> None:
    """Run molecular dynamics and write trajectory, thermo table, plot, checkpoint and report.

    A job file has the same names as the options; options win over it. Ctrl-C stops with a checkpoint.
    """
    from rich.console import Console

    from taichimd.driver import prepare_job, run_job

    job_file = Path(structure) if structure is not None and structure.endswith(".toml") else None
    flags = {
        "structure": structure if job_file is None else None,
        "potential": potential,
        "ensemble": ensemble,
        "temperature": temperature,
        "timestep": timestep,
        "steps": steps,
        "time": time,
        "output": output,
        "every": every,
        "backend": backend,
        "precision": precision,
        "seed": seed,
        "restart": restart,
        "overwrite": overwrite or None,
        "checkpoint_interval": checkpoint_interval,
    }
    code = run_job(prepare_job(flags, job_file), Console())
    if code:
        raise typer.Exit(code)
