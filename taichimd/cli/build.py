"""`taichimd build`: a crystal to start from."""

from pathlib import Path
from typing import Annotated

import typer

from taichimd.cli.numbers import number, whole
from taichimd.cli.options import Quiet
from taichimd.cli.say import say


def build(
    lattice: Annotated[
        str, typer.Argument(help="silica, silicon, argon, rocksalt, zincblende, wurtzite or graphene.")
    ],
    cells: Annotated[
        int,
        typer.Option(
            help="Cells in each direction, each of 4 to 24 atoms; a sheet has cells in x and y.", parser=whole
        ),
    ] = 4,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; its suffix sets the format, as in ASE; default LATTICE.extxyz."),
    ] = None,
    lattice_constant: Annotated[
        float | None,
        typer.Option(help="Lattice constant, Å; default a known value for the elements.", parser=number),
    ] = None,
    elements: Annotated[
        str | None, typer.Option(help="Elements, such as Ge or Mg,O; default those of silicon, SiC, GaN ...")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Temperature of velocities to draw, K; default no velocities.", parser=number),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the velocities.", parser=whole)] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a periodic crystal of cells x cells x cells rectangular cells, or a sheet of cells x cells."""
    from taichimd.io.structures import write_structure
    from taichimd.system.lattices import build_lattice
    from taichimd.system.velocities import set_temperature

    chosen = None if elements is None else tuple(e.strip() for e in elements.split(","))
    atoms = build_lattice(lattice, cells, a=lattice_constant, elements=chosen)
    if temperature is not None:
        set_temperature(atoms, temperature, seed)
    out = out or Path(f"{lattice}.extxyz")
    write_structure(out, atoms, overwrite=overwrite)
    if not quiet:
        size = " x ".join(f"{length:g}" for length in atoms.cell.lengths())
        say(f"{out}: {len(atoms)} atoms, {atoms.get_chemical_formula()}, cell {size} Å")
