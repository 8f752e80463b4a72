"""`taichimd relax`: a structure to its nearest minimum."""

import warnings
from pathlib import Path
from typing import Annotated

import typer


def relax(
    structure: Annotated[str, typer.Argument(help="Structure file that ASE reads.")],
    potential: Annotated[
        list[str],
        typer.Option(
            help="Parameter file, shipped name (taichimd potentials) or file.py:name; several are added up."
        ),
    ],
    fmax: Annotated[float, typer.Option(help="Largest force that counts as none, eV/Å.")] = 0.01,
    steps: Annotated[int, typer.Option(help="Most steps.")] = 10_000,
    cell: Annotated[str, typer.Option(help="none, isotropic, orthorhombic or full.")] = "none",
    axes: Annotated[
        str | None,
        typer.Option(
            help="Of x, y, z those along which the cell may change: xy; default: the periodic ones."
        ),
    ] = None,
    pressure: Annotated[float, typer.Option(help="GPa, for the cell to reach.")] = 0.0,
    smax: Annotated[float, typer.Option(help="Largest deviation from it of the stress, GPa.")] = 0.01,
    output: Annotated[str, typer.Option(help="Folder for the results.")] = "taichimd-relax",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier relaxation.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print relax.json, and nothing else.")] = False,
    backend: Annotated[str, typer.Option(help="auto, cuda or cpu.")] = "auto",
    precision: Annotated[str, typer.Option(help="float64, mixed or float32.")] = "float64",
    decomposition: Annotated[str, typer.Option(help="particle, tuple or auto.")] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Relax atoms and, with --cell, the cell; write structure, log and report.

    Ends with exit code 1 if it has not converged. Ctrl-C stops with the structure so far.
    """
    from taichimd.app.config import make_settings
    from taichimd.app.console import Console
    from taichimd.app.setting_types import parse_potential
    from taichimd.io.structures import read_structure
    from taichimd.relaxation.job import RelaxJob, run_relax_job
    from taichimd.relaxation.settings import RelaxSettings

    if json or quiet:
        warnings.simplefilter("ignore")
    make_settings(
        {"backend": backend, "precision": precision, "decomposition": decomposition, "output": output}
    )
    settings = RelaxSettings(fmax, steps, cell, axes, pressure, smax)
    atoms = read_structure(structure)
    job = RelaxJob(
        structure,
        parse_potential(potential),
        atoms,
        settings,
        backend,
        precision,
        Path(output),
        overwrite,
        decomposition,
    )
    code, _ = run_relax_job(job, Console(quiet=json or quiet))
    if json:
        typer.echo(job.files["report"].read_text(encoding="utf-8").rstrip())
    if code:
        raise typer.Exit(code)
