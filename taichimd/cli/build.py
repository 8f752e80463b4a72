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
            help="Cells in each direction, each of 4 to 24 atoms; of a sheet in x and y.", parser=whole
        ),
    ] = 4,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; its suffix says the format, as in ASE. Default: LATTICE.extxyz."),
    ] = None,
    lattice_constant: Annotated[
        float | None,
        typer.Option(help="Å; default: that of the elements, for those that are known.", parser=number),
    ] = None,
    elements: Annotated[
        str | None, typer.Option(help="Other elements, as Ge or Mg,O; default those of silicon, SiC, GaN ...")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Kelvin, of velocities to draw; default: none are written.", parser=number),
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
