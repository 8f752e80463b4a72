"""`taichimd run`: the main job."""

from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.cli.options import with_settings


@with_settings
def run(
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False, **flags: Any
) -> None:
    """Run molecular dynamics and write trajectory, thermo table, plot, checkpoint and report.

    A job file has the same names as the options; options win over it. Ctrl-C stops with a checkpoint.
    """
    from taichimd.app.console import Console
    from taichimd.app.driver import run_job
    from taichimd.app.job import prepare_job

    job_file, structure = None, flags["structure"]
    if structure is not None and structure.endswith(".toml"):
        job_file, flags["structure"] = Path(structure), None
    code = run_job(prepare_job(flags, job_file), Console(quiet))
    if code:
        raise typer.Exit(code)
