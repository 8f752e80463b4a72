"""`taichimd demo`: a first run, from nothing but the installed package."""

from typing import Annotated

import typer

from taichimd.cli.numbers import whole
from taichimd.cli.options import Backend, Output

CELLS = 5
TEMPERATURE = 600.0
STEPS = 4000


def demo(
    output: Output = "demo-output",
    backend: Backend = "auto",
    steps: Annotated[int, typer.Option(help="Steps of 1 fs.", parser=whole)] = STEPS,
) -> int:
    """Run 1,000 silicon atoms with a shipped potential, and draw the result.

    Also writes the structure, and prints a command that repeats the run.
    """
    from pathlib import Path

    from ase.build import bulk

    from taichimd.app.console import Console
    from taichimd.app.driver import run_job
    from taichimd.app.job import prepare_job
    from taichimd.io.files import writing
    from taichimd.io.structures import write_structure
    from taichimd.settings.config import make_settings

    folder, console = Path(output), Console()
    structure = folder / "silicon.extxyz"
    flags = {
        "structure": str(structure),
        "potential": "Si.tersoff",
        "temperature": TEMPERATURE,
        "steps": steps,
        "every": 50,
        "backend": backend,
        "output": output,
        "overwrite": structure.exists(),  # the demo's own earlier output, never somebody else's run
    }
    make_settings(flags)  # a wrong number of steps is refused before anything is written
    with writing(structure):
        folder.mkdir(parents=True, exist_ok=True)
    crystal = bulk("Si", "diamond", a=5.432, cubic=True) * (CELLS, CELLS, CELLS)
    write_structure(structure, crystal, overwrite=True)
    code = run_job(prepare_job(flags), console)
    if code:
        return code
    console.print(
        "\nThe crystal starts at rest on its lattice, so half of the drawn kinetic energy\n"
        f"goes into the bonds: {TEMPERATURE:.0f} K become about {TEMPERATURE / 2:.0f} K.\n"
        "The same run by hand:\n"
        f"taichimd run {structure} --potential Si.tersoff --temperature {TEMPERATURE:.0f} "
        f"--steps {steps} --output my-run",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return 0
