"""The commands. Only those that a command line names are loaded, because their options take long to make."""

from collections.abc import Collection
from importlib import import_module

import typer

from taichimd import __version__
from taichimd.cli.plain import PlainCommand, PlainGroup
from taichimd.cli.say import say

COMMANDS = {
    "run": "Run molecular dynamics and write trajectory, thermo table, plot, checkpoint and report.",
    "sweep": "Run a job for all combinations of some settings; write one table and one picture.",
    "mc": "Sample an ensemble with Metropolis Monte Carlo; write trajectory, table, checkpoint and report.",
    "relax": "Relax atoms and, with --cell, the cell; write structure, log and report.",
    "build": (
        "Write a periodic crystal of cells x cells x cells rectangular cells, or a sheet of cells x cells."
    ),
    "groups": "Print how many atoms groups have and where they are, and draw them, before anything runs.",
    "analyze": "Analyze a trajectory: RDF, bonds, diffusion, vibrations, as CSV and pictures, with errors.",
    "kappa": "Thermal conductivity by independent runs, with error bars, as JSON, CSV and a picture.",
    "convert": (
        "Write results of GPUMD as tables with names and units of columns, as taichimd writes its own."
    ),
    "lammps": (
        "Run a LAMMPS script with this force field: LAMMPS divides space, moves atoms and writes files."
    ),
    "plot": "Draw thermo.png (or .pdf, .svg) again, also of a run that is still going on or was killed.",
    "report": "Write a self-contained HTML page: settings, charts, results with errors, 3D view, commands, "
    "citations.",
    "view": "Write an HTML page with a 3D view of a trajectory, which plays in any browser.",
    "energy": "Print energy, stress and the ten largest forces of a structure, with all digits.",
    "potentials": "List the shipped parameter files with their elements, papers, ranges and warnings.",
    "check": "Check forces and virial of a force field against finite differences, and its smoothness at "
    "cutoffs.",
    "validate": "Check a force field on this machine: derivatives, symmetries, dynamics, bits, comparison "
    "with LAMMPS.",
    "info": "Show the backend, the device and the versions, for a bug report.",
    "demo": "Run 1,000 silicon atoms with a shipped potential, and draw the result.",
    "cssp": "Score residue sequences with labels of secondary structure (no coordinates, no forces).",
}
"""First sentence of each command, in the order of the help."""
_MODULES = {"view": "report"}
"""Of commands whose module has another name."""


def program(words: Collection[str]) -> typer.Typer:
    """The parser of a command line of these words: all commands for its help, options of those it names."""
    made = typer.Typer(
        cls=PlainGroup,
        help="Molecular dynamics with many-body potentials, on GPU and CPU.",
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    made.callback()(_options)
    for name, sentence in COMMANDS.items():
        if name not in words:
            made.command(name, cls=PlainCommand, help=sentence)(_not_loaded)
            continue
        found = import_module(f"taichimd.cli.{_MODULES.get(name, name)}")
        if hasattr(found, name):
            made.command(cls=PlainCommand)(getattr(found, name))
        else:
            made.add_typer(found.app, name=name)
    return made


def _not_loaded() -> None:
    """In the place of a command that the command line does not name."""


def _version(wanted: bool) -> None:
    if wanted:
        say(f"taichimd {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Molecular dynamics with many-body potentials, on GPU and CPU."""
