"""`taichimd run`: the main job."""

from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.cli.given import look_at, look_for
from taichimd.cli.numbers import positive
from taichimd.cli.options import CommonNoise, Quiet, Trust, with_options
from taichimd.core import started
from taichimd.settings.axes import values_of
from taichimd.settings.run import SETTINGS


@with_options(SETTINGS.values(), other={"structure": list[str], "temperature": str})
def run(
    quiet: Quiet = False,
    replicas: Annotated[
        int,
        typer.Option(
            help="Runs of each structure and temperature, each with its own seed.",
            parser=positive,
            min=1,
            metavar="<int>",
        ),
    ] = 1,
    trust: Trust = False,
    common_noise: CommonNoise = False,
    **flags: Any,
) -> int:
    """Run molecular dynamics and write trajectory, thermo table, plot, checkpoint and report.

    Several structures, --temperature 300,400 or --replicas make several runs, each in its own folder below
    --output. A job file has the same settings, in tables with the names of the panels below; options on the
    command line replace them. Ctrl-C stops with a checkpoint.
    """
    structures = flags.pop("structure", None) or []
    job_file = None
    if len(structures) == 1 and structures[0].endswith(".toml"):
        from taichimd.settings.job_file import read_toml

        job_file = Path(structures.pop())
        read_toml(job_file)
    if jobs := [one for one in structures if one.endswith(".toml")]:
        from taichimd.core.errors import SettingsError

        raise SettingsError(
            f"{jobs[0]} is a job file, which is given alone; several structures of a job are a sweep: "
            f"taichimd sweep {jobs[0]} --set structure=a.extxyz,b.extxyz"
        )
    axes = {"structure": structures, "temperature": values_of("temperature", flags.pop("temperature", ""))}
    axes = {key: values for key, values in axes.items() if values}
    several = replicas > 1 or any(len(values) > 1 for values in axes.values())
    if not several:
        look_at(flags, SETTINGS)
        look_for(structures, flags.get("potential"))
        if started.program:
            _begin(flags, job_file)

    from taichimd.app.console import Console
    from taichimd.app.driver import run_job
    from taichimd.app.job import prepare_job
    from taichimd.app.run_set import is_several
    from taichimd.app.trust import check_use
    from taichimd.core.errors import SettingsError

    console, restart = Console(quiet), flags.get("restart")
    if job_file is None:
        check_use(trust, restart)
    if restart is not None and is_several(restart):
        from taichimd.app.several import restart_several

        asked = {"replicas": replicas > 1 and replicas, "common_noise": common_noise}
        more = {key: value for key, value in asked.items() if value}
        return restart_several(flags | more, console, trust=trust)
    if several:
        from taichimd.app.several import start_several

        return start_several(flags, axes, job_file, replicas, console, common_noise=common_noise)
    if common_noise:
        raise SettingsError("--common-noise is for several runs; give several temperatures or structures")
    one = {key: value for key, (value,) in axes.items()}
    return run_job(prepare_job({**flags, **one}, job_file, trust=trust), console)


def _begin(flags: dict[str, Any], job_file: Path | None) -> None:
    """Begin what takes time and needs no Python of this process, while modules load."""
    from taichimd.core.cuda_driver import begin_context
    from taichimd.io.artist import prepare

    if not flags.get("observe"):  # whose pictures this process draws
        prepare()
    # Where a job file or a checkpoint may say CPU, no device is taken.
    if flags.get("backend") in (None, "auto", "cuda") and job_file is None and not flags.get("restart"):
        begin_context()
