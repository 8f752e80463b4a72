"""`taichimd sweep`: a job for all combinations of some settings."""

from pathlib import Path
from typing import Annotated

import typer

from taichimd.cli.numbers import positive
from taichimd.cli.options import CommonNoise, Quiet


def sweep(
    job: Annotated[Path, typer.Argument(help="TOML job file, as for run.")],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Values of a setting; several --set make all combinations.", metavar="<key=a,b>"
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            help="Runs of each combination, each with its own seed.", parser=positive, min=1, metavar="<int>"
        ),
    ] = 1,
    output: Annotated[
        str | None,
        typer.Option(help="Folder of all runs; default the folder in the job file.", metavar="<folder>"),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            help="Largest number of runs in one launch; default as many as possible.",
            parser=positive,
            min=1,
            metavar="<int>",
        ),
    ] = None,
    processes: Annotated[
        int, typer.Option(help="Processes on this machine.", parser=positive, min=1, metavar="<int>")
    ] = 1,
    part: Annotated[
        str | None,
        typer.Option(
            help="Run only part k of n, for a job array of a cluster: 1/4, 2/4 ...", metavar="<k/n>"
        ),
    ] = None,
    common_noise: CommonNoise = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier sweep.")] = False,
    quiet: Quiet = False,
) -> int:
    """Run a job for all combinations of some settings; write one table and one picture.

    Each run has its own folder. If possible, runs share one launch. The same command continues unfinished
    runs and adds new runs.
    """
    from taichimd.app.console import Console
    from taichimd.app.sweep import Sweep, run_sweep
    from taichimd.core.errors import SettingsError
    from taichimd.core.processes import take_device

    if part is not None and (processes > 1 or overwrite):
        raise SettingsError("--part is one process's share: give it without --processes and --overwrite")
    console = Console(quiet)
    # Before the runtime starts: each process on a GPU of its own.
    remark = take_device() if part is not None else ""
    if remark:
        console.print(f"note: {remark}", highlight=False)
    wanted = Sweep(job, tuple(set_ or ()), seeds, output, part, processes, at_once, overwrite, common_noise)
    return run_sweep(wanted, console)
