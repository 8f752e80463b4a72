"""`taichimd validate`: every check of a force field, a table and a certificate."""

import os
import sys
from typing import Annotated, Any

import typer

from taichimd.cli.given import look_for
from taichimd.cli.options import (
    AtomStyle,
    InputUnits,
    Output,
    PotentialArgument,
    PotentialInstead,
    Quiet,
    with_options,
)
from taichimd.cli.say import say
from taichimd.settings.declared import settings_of
from taichimd.validation.settings import ValidationSettings

AMOUNT = "quick: less than a minute on two cores; full: minutes, for results that you keep."


@with_options(settings_of(ValidationSettings).values())
def validate(
    potentials: PotentialArgument = None,
    potential: PotentialInstead = None,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Check all shipped parameter files, one after the other.")
    ] = False,
    structure: Annotated[
        str | None,
        typer.Option(help="Structure file that ASE reads; default a crystal of the elements, relaxed."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick/--full", help=AMOUNT)] = False,
    output: Output = "taichimd-validation",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier validation.")] = False,
    input_units: InputUnits = None,
    atom_style: AtomStyle = None,
    json: Annotated[bool, typer.Option("--json", help="Print only validation.json.")] = False,
    quiet: Quiet = False,
    **flags: Any,
) -> int:
    """Check a force field on this machine: derivatives, symmetries, dynamics, bits, comparison with LAMMPS.

    Prints a table of values and limits. Writes validation.json and validation.html, a page that needs no
    network. The exit code is 1 if a check failed. A check that cannot run here is "not run".
    """
    if quick and "taichimd.core.runtime" not in sys.modules:
        os.environ.setdefault("TAICHIMD_QUICK_COMPILE", "1")  # the same bits, and kernels come sooner
    from pathlib import Path

    from taichimd.app.console import Console
    from taichimd.cli.check import symbols_of
    from taichimd.core.errors import SettingsError
    from taichimd.settings.run import SETTINGS
    from taichimd.settings.types import parse_potential

    given = [*(potentials or ()), *(potential or ())]
    if shipped and given:
        raise SettingsError("--shipped validates each shipped file; leave out the potential, or --shipped")
    if not (shipped or given):
        raise SettingsError(
            f"no potential given: expected {SETTINGS['potential'].values.expected}; or --shipped for all"
        )
    settings = ValidationSettings(**flags)
    look_for([structure], given)

    from taichimd.validation.job import REPORT, ValidationJob, all_shipped, run_validation

    options = {
        "quick": quick,
        "only": settings.checks,
        "elements": symbols_of(settings.elements),
        "temperature": settings.temperature,
        "seed": settings.seed,
        "backend": settings.backend,
    }
    job = ValidationJob(
        all_shipped() if shipped else [parse_potential(given)],
        Path(output),
        structure,
        {"units": input_units, "atom_style": atom_style},
        options,
        overwrite,
    )
    code, _ = run_validation(job, Console(quiet=json or quiet))
    if json:
        say((Path(output) / REPORT).read_text(encoding="utf-8").rstrip())
    return code
