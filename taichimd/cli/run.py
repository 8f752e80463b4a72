"""`taichimd run`: the main job."""

from pathlib import Path
from typing import Annotated

import typer


def run(
    structure: Annotated[
        str | None,
        typer.Argument(
            help="Structure file that ASE reads, checkpoint or folder of a run; or a TOML job file (*.toml).",
            show_default=False,
        ),
    ] = None,
    from_frame: Annotated[
        int | None,
        typer.Option(help="Frame of a trajectory to start from: 0 is the first, -1 the last (default)."),
    ] = None,
    potential: Annotated[
        list[str] | None,
        typer.Option(
            help="Parameter file, shipped name (taichimd potentials) or file.py:name; several are added up."
        ),
    ] = None,
    ensemble: Annotated[
        str | None,
        typer.Option(
            help="nve (default), nvt-langevin, nvt-berendsen, nvt-bussi, nvt-nose-hoover, npt-berendsen, "
            "npt-scr or npt-mtk."
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Kelvin: of velocities drawn, and of the thermostat; default 300."),
    ] = None,
    velocities: Annotated[
        str | None,
        typer.Option(
            help="auto (default): the structure's if it has any, else drawn; file: they must be there; "
            "draw: Maxwell-Boltzmann, in a restart, too."
        ),
    ] = None,
    final_temperature: Annotated[
        float | None, typer.Option(help="Kelvin: the thermostat's at the end of the run, linearly.")
    ] = None,
    coupling_time: Annotated[
        str | None, typer.Option(help='Of the thermostat: fs, or with a unit as "0.1ps"; default 100.')
    ] = None,
    pressure: Annotated[
        str | None, typer.Option(help='GPa, of the barostat: a number, or "x,y,z"; default 0.')
    ] = None,
    final_pressure: Annotated[
        str | None, typer.Option(help="GPa: the barostat's at the end of the run, linearly.")
    ] = None,
    pressure_coupling_time: Annotated[
        str | None, typer.Option(help='Of the barostat: fs, or with a unit as "1ps"; default 1000.')
    ] = None,
    bulk_modulus: Annotated[
        float | None,
        typer.Option(help="GPa, an estimate for npt-berendsen and npt-scr; default 50."),
    ] = None,
    cell_control: Annotated[
        str | None, typer.Option(help="isotropic (default), orthorhombic or triclinic.")
    ] = None,
    cell_axes: Annotated[
        str | None, typer.Option(help='Axes whose pressure is controlled, such as "xy"; default xyz.')
    ] = None,
    barostat_period: Annotated[
        int | None, typer.Option(help="Steps between actions of npt-berendsen and npt-scr; default 10.")
    ] = None,
    timestep: Annotated[
        str | None, typer.Option(help='Femtoseconds, or with a unit as "1fs"; default 1.0.')
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of this run.")] = None,
    time: Annotated[str | None, typer.Option(help='Instead of --steps: "500fs", "10ps", "1ns".')] = None,
    output: Annotated[
        str | None,
        typer.Option(help="Folder for the results; default taichimd-run; of a restart, its own."),
    ] = None,
    every: Annotated[int | None, typer.Option(help="Steps between rows of the table; default 100.")] = None,
    frames: Annotated[
        str | None, typer.Option(help="Trajectory: extxyz (default), traj (ASE's binary format) or none.")
    ] = None,
    frames_every: Annotated[
        int | None, typer.Option(help="Steps between frames; default those of --every.")
    ] = None,
    per_atom: Annotated[
        str | None,
        typer.Option(
            help="Also in frames: energy, virial or energy,virial (3x3, its sum is -stress x V); or none."
        ),
    ] = None,
    plot_format: Annotated[str | None, typer.Option(help="Of pictures: png (default), pdf or svg.")] = None,
    observe: Annotated[
        str | None,
        typer.Option(
            help="While it runs, some of rdf,msd,vacf,heat,viscosity; with tables and pictures. Or none."
        ),
    ] = None,
    observe_every: Annotated[int | None, typer.Option(help="Steps between samples; default 10.")] = None,
    observe_window: Annotated[
        str | None, typer.Option(help='Longest correlation time: "5ps"; default half of a fifth of the run.')
    ] = None,
    observe_r_max: Annotated[
        float | None, typer.Option(help="Largest distance of the RDF, Å; default 8.")
    ] = None,
    backend: Annotated[str | None, typer.Option(help="auto, cuda or cpu; default auto.")] = None,
    precision: Annotated[str | None, typer.Option(help="float64, mixed or float32; default float64.")] = None,
    decomposition: Annotated[
        str | None,
        typer.Option(help="Threads for atoms or for pairs and triplets: particle, tuple or auto (default)."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of velocities and noise; default 1.")] = None,
    restart: Annotated[
        str | None,
        typer.Option(help="Checkpoint to go on from, or its folder; what is not given comes from it."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run's files.")] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Say where the time went, and how large the lists are.")
    ] = False,
    checkpoint_interval: Annotated[
        float | None, typer.Option(help="Seconds between checkpoints; default 60.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run molecular dynamics and write trajectory, thermo table, plot, checkpoint and report.

    A job file has the same names as the options; options win over it. Ctrl-C stops with a checkpoint.
    """
    from taichimd.app.console import Console
    from taichimd.app.driver import run_job
    from taichimd.app.job import prepare_job

    job_file = Path(structure) if structure is not None and structure.endswith(".toml") else None
    flags = {
        "structure": structure if job_file is None else None,
        "from_frame": from_frame,
        "potential": potential or None,
        "ensemble": ensemble,
        "temperature": temperature,
        "velocities": velocities,
        "final_temperature": final_temperature,
        "coupling_time": coupling_time,
        "pressure": pressure,
        "final_pressure": final_pressure,
        "pressure_coupling_time": pressure_coupling_time,
        "bulk_modulus": bulk_modulus,
        "cell_control": cell_control,
        "cell_axes": cell_axes,
        "barostat_period": barostat_period,
        "timestep": timestep,
        "steps": steps,
        "time": time,
        "output": output,
        "every": every,
        "frames": frames,
        "frames_every": frames_every,
        "per_atom": per_atom,
        "plot_format": plot_format,
        "observe": observe,
        "observe_every": observe_every,
        "observe_window": observe_window,
        "observe_r_max": observe_r_max,
        "backend": backend,
        "precision": precision,
        "decomposition": decomposition,
        "seed": seed,
        "restart": restart,
        "overwrite": overwrite or None,
        "profile": profile or None,
        "checkpoint_interval": checkpoint_interval,
    }
    code = run_job(prepare_job(flags, job_file), Console(quiet))
    if code:
        raise typer.Exit(code)
