"""`taichimd lammps`: a LAMMPS script with a taichimd force field, in several processes."""

from typing import Annotated

import typer

from taichimd.cli.numbers import whole
from taichimd.cli.options import Backend, Potential, Precision


def lammps(
    script: Annotated[str, typer.Argument(help="LAMMPS script with the line: pair_style taichimd")],
    potential: Potential,
    np: Annotated[
        int, typer.Option("--np", help="MPI processes, each with a part of space.", parser=whole)
    ] = 1,
    restart_every: Annotated[
        int,
        typer.Option(
            help="Steps between restart files, taichimd.restart.a and .b in turn; 0: none.", parser=whole
        ),
    ] = 0,
    backend: Backend = "auto",
    precision: Precision = "float64",
    arguments: Annotated[
        list[str] | None, typer.Argument(help="After --, options of LAMMPS: -- -var T 300 -log run.log")
    ] = None,
) -> None:
    """Run a LAMMPS script with this force field: LAMMPS divides space, moves atoms and writes files.

    Replace the pair lines of the script by pair_style taichimd and pair_coeff * * with the elements of the
    types.
    """
    from taichimd.lammps.launch import Launch, launch

    options = {"backend": backend, "precision": precision}
    launch(Launch(script, potential, np, restart_every, options, arguments or ()))
