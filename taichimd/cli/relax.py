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
    structures: Annotated[
        list[str], typer.Argument(help="Structure files that ASE reads.", metavar="STRUCTURE")
    ],
    potential: Potential,
    output: Output = "taichimd-relax",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier relaxation.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print relax.json, and nothing else.")] = False,
    quiet: Quiet = False,
    **flags: Any,
) -> None:
    """Relax atoms and, with --cell, the cell; write structure, log and report.

    Several structures relax in one launch, each in a folder of its own below --output. Ends with exit code 1
    if one has not converged. Ctrl-C stops with the structures so far.
    """
    from taichimd.app.console import Console
    from taichimd.app.setting_types import parse_potential
    from taichimd.io.structures import read_structure
    from taichimd.relaxation.job import RelaxJob, run_relax_job
    from taichimd.relaxation.jobs import jobs_of, run_relax_jobs

    if json or quiet:
        warnings.simplefilter("ignore")
    settings, named = RelaxSettings(**flags), parse_potential(potential)
    console, first = Console(quiet=json or quiet), structures[0]
    if len(structures) == 1:
        job = RelaxJob(first, named, read_structure(first), settings, Path(output), overwrite)
        code, _ = run_relax_job(job, console)
        text = job.files["report"].read_text(encoding="utf-8").rstrip() if json else ""
    else:
        jobs = jobs_of(structures, named, settings, Path(output), overwrite)
        code, _ = run_relax_jobs(jobs, console)
        texts = [one.files["report"].read_text(encoding="utf-8").rstrip() for one in jobs] if json else []
        text = "[" + ",\n".join(texts) + "]"
    if json:
        typer.echo(text)
    if code:
        raise typer.Exit(code)
