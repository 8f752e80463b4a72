"""`taichimd relax`: a structure to its nearest minimum."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.cli.given import look_for
from taichimd.cli.options import AtomStyle, InputUnits, Output, Potential, Quiet, with_options
from taichimd.cli.say import say
from taichimd.relaxation.settings import RelaxSettings
from taichimd.settings.declared import settings_of


@with_options(settings_of(RelaxSettings).values())
def relax(
    structures: Annotated[
        list[str], typer.Argument(help="Structure files that ASE reads.", metavar="STRUCTURE")
    ],
    potential: Potential,
    output: Output = "taichimd-relax",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier relaxation.")] = False,
    input_units: InputUnits = None,
    atom_style: AtomStyle = None,
    json: Annotated[bool, typer.Option("--json", help="Print only relax.json.")] = False,
    quiet: Quiet = False,
    **flags: Any,
) -> int:
    """Relax atoms and, with --cell, the cell; write structure, log and report.

    Several structures relax in one launch, each in its own folder below --output. The exit code is 1 if a
    structure has not converged. Ctrl-C stops and writes the present structures.
    """
    settings = RelaxSettings(**flags)
    look_for(structures if len(structures) == 1 else (), potential)

    from taichimd.app.console import Console
    from taichimd.relaxation.job import jobs_of, run_relax_jobs
    from taichimd.settings.types import parse_potential

    if json or quiet:
        warnings.simplefilter("ignore")
    read = {"units": input_units, "atom_style": atom_style}
    jobs = jobs_of(structures, parse_potential(potential), settings, Path(output), overwrite, read)
    code, _ = run_relax_jobs(jobs, Console(quiet=json or quiet))
    if json:
        texts = [one.files["report"].read_text(encoding="utf-8").rstrip() for one in jobs]
        say(texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]")
    return code
