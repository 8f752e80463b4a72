"""`taichimd groups`: which atoms selections mean, in numbers and on a picture."""

from pathlib import Path
from typing import Annotated

import typer

from taichimd.cli.options import AtomStyle, InputUnits, Quiet
from taichimd.cli.say import say


def groups(
    structure: Annotated[
        str, typer.Argument(help="Structure file that ASE reads, or a TOML job file with its groups.")
    ],
    where: Annotated[
        list[str] | None, typer.Argument(help='Selections, such as "5 < x < 25" or "tag == 2".')
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help='A group by its name: "hot=5 < x < 25"; may be repeated.', metavar="<text>"),
    ] = None,
    picture: Annotated[
        str, typer.Option(help="Picture to write: png, pdf or svg; none for no picture.", metavar="<file>")
    ] = "groups.png",
    frame: Annotated[int | None, typer.Option(help="Frame of a trajectory; default the last.")] = None,
    input_units: InputUnits = None,
    atom_style: AtomStyle = None,
    quiet: Quiet = False,
) -> None:
    """Print how many atoms groups have and where they are, and draw them, before anything runs."""
    from taichimd.app.acting import groups_of
    from taichimd.io.group_picture import check_name, draw_groups

    if picture != "none":
        check_name(Path(picture))
    atoms, found, notes = groups_of(structure, where or (), group or (), frame, input_units, atom_style)
    for note in notes:
        say(f"note: {note}", err=True)
    rows = found.rows()
    width = max(len(row[0]) for row in rows)
    for name, counts, place in rows if not quiet else ():
        say(f"{name:<{width}}  {counts}")
        say(f"{'':<{width}}  {place}")
    if picture != "none":
        draw_groups(atoms, found, Path(picture))
        if not quiet:
            say(f"{picture}: each group in its colour, seen along z, y and x")
