"""`taichimd run`: the main job."""

from pathlib import Path
from typing import Any

import typer

from taichimd.app.settings import SETTINGS
from taichimd.cli.options import Quiet, with_options


@with_options(SETTINGS.values())
def run(quiet: Quiet = False, **flags: Any) -> None:
    """Run molecular dynamics and write trajectory, thermo table, plot, checkpoint and report.

    A job file has the same settings, in tables as here; options win over it. Ctrl-C stops with a checkpoint.
    """
    from taichimd.app.console import Console
    from taichimd.app.driver import run_job
    from taichimd.app.job import prepare_job

    is_job = str(flags.get("structure")).endswith(".toml")
    job_file = Path(flags.pop("structure")) if is_job else None
    code = run_job(prepare_job(flags, job_file), Console(quiet))
    if code:
        raise typer.Exit(code)
