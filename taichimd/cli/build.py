"""`taichimd build`: a crystal to start from."""

from pathlib import Path
from typing import Annotated

import typer


def build(
    lattice: Annotated[str, typer.Argument(help="silica, silicon, argon or rocksalt.")],
    cells: Annotated[int, typer.Option(help="Cubic cells in each direction.")],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; its suffix says the format, as in ASE. Default: LATTICE.extxyz."),
    ] = None,
    lattice_constant: Annotated[
        float | None, typer.Option(help="Å; default 7.16, 5.431, 5.26 or 5.64.", show_default=False)
    ] = None,
    elements: Annotated[
        str | None, typer.Option(help="Other elements: Ge, or Mg,O; default Si,O, Si, Ar or Na,Cl.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Kelvin, of velocities to draw; default: none are written.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the velocities.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a cube of crystal: cells x cells x cells cubic cells, periodic."""
    from taichimd.io.structures import write_structure
    from taichimd.lattices import build_lattice
    from taichimd.velocities import set_temperature

    chosen = None if elements is None else tuple(e.strip() for e in elements.split(","))
    atoms = build_lattice(lattice, cells, a=lattice_constant, elements=chosen)
    if temperature is not None:
        set_temperature(atoms, temperature, seed)
    out = out or Path(f"{lattice}.extxyz")
    write_structure(out, atoms, overwrite=overwrite)
    typer.echo(f"{out}: {len(atoms)} atoms, {atoms.get_chemical_formula()}, cell {atoms.cell[0, 0]:g} Å wide")
