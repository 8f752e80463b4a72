"""`taichimd relax`: a structure to its nearest minimum."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.app.declared import settings_of
from taichimd.cli.options import Backend, Decomposition, Potential, Precision, Quiet, with_options
from taichimd.relaxation.settings import RelaxSettings


@with_options(settings_of(RelaxSettings).values())
def relax(
    structure: Annotated[str, typer.Argument(help="Structure file that ASE reads.")],
    potential: Potential,
    output: Annotated[str, typer.Option(help="Folder for the results.")] = "taichimd-relax",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier relaxation.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print relax.json, and nothing else.")] = False,
    backend: Backend = "auto",
    precision: Precision = "float64",
    decomposition: Decomposition = "auto",
    quiet: Quiet = False,
    **flags: Any,
) -> None:
    """Relax atoms and, with --cell, the cell; write structure, log and report.

    Ends with exit code 1 if it has not converged. Ctrl-C stops with the structure so far.
    """
    from taichimd.app.config import make_settings
    from taichimd.app.console import Console
    from taichimd.app.setting_types import parse_potential
    from taichimd.io.structures import read_structure
    from taichimd.relaxation.job import RelaxJob, run_relax_job

    if json or quiet:
        warnings.simplefilter("ignore")
    make_settings(
        {"backend": backend, "precision": precision, "decomposition": decomposition, "output": output}
    )
    settings = RelaxSettings(**flags)
    job = RelaxJob(
        structure,
        parse_potential(potential),
        read_structure(structure),
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
