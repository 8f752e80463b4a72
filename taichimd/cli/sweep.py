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
            "--set",
            help="A setting and its values; several --set make all combinations.",
            metavar="<key=a,b>",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Runs of each combination; seeds count up.", parser=positive, min=1)
    ] = 1,
    output: Annotated[
        str | None,
        typer.Option(help="Folder of the folders; default that of the job file.", metavar="<folder>"),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(help="Most runs in one launch; default all that go together.", parser=positive, min=1),
    ] = None,
    processes: Annotated[int, typer.Option(help="Processes on this machine.", parser=positive, min=1)] = 1,
    part: Annotated[
        str | None,
        typer.Option(help="Only part k of n, for jobs of a cluster: 1/4, 2/4 ...", metavar="<k/n>"),
    ] = None,
    common_noise: CommonNoise = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier sweep.")] = False,
    quiet: Quiet = False,
) -> int:
    """Run a job for all combinations of some settings; then one table and one picture.

    Each run has a folder of its own. Runs that can, go in one launch. The same command goes on with what is
    unfinished, and adds what is new.
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
