"""`taichimd relax`: a structure to its nearest minimum."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.app.declared import settings_of
from taichimd.cli.options import Output, Potential, Quiet, with_options
from taichimd.relaxation.settings import RelaxSettings


@with_options(settings_of(RelaxSettings).values())
def relax(
    structure: Annotated[str, typer.Argument(help="Structure file that ASE reads.")],
    potential: Potential,
    output: Output = "taichimd-relax",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier relaxation.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print relax.json, and nothing else.")] = False,
    quiet: Quiet = False,
    **flags: Any,
) -> None:
    """Relax atoms and, with --cell, the cell; write structure, log and report.

    Ends with exit code 1 if it has not converged. Ctrl-C stops with the structure so far.
    """
    from taichimd.app.console import Console
    from taichimd.app.setting_types import parse_potential
    from taichimd.io.structures import read_structure
    from taichimd.relaxation.job import RelaxJob, run_relax_job

    if json or quiet:
        warnings.simplefilter("ignore")
    settings, named = RelaxSettings(**flags), parse_potential(potential)
    job = RelaxJob(structure, named, read_structure(structure), settings, Path(output), overwrite)
    code, _ = run_relax_job(job, Console(quiet=json or quiet))
    if json:
        typer.echo(job.files["report"].read_text(encoding="utf-8").rstrip())
    if code:
        raise typer.Exit(code)
