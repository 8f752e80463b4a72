"""`taichimd convert`: results of GPUMD as tables in the units of taichimd."""

from pathlib import Path
from typing import Annotated

import typer

from taichimd.cli.options import Quiet
from taichimd.cli.say import say


def convert(
    files: Annotated[
        list[str], typer.Argument(help="Files of GPUMD: shc.out, hac.out, kappa.out, compute.out.")
    ],
    volume: Annotated[
        float | None,
        typer.Option(help="Volume of the system or of the group of shc.out, Å³.", metavar="<Å3>"),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Temperature, for kappa(w) from shc.out of HNEMD, K.", metavar="<K>")
    ] = None,
    driving_force: Annotated[
        float | None, typer.Option(help="Driving force, for kappa(w) from shc.out of HNEMD.", metavar="<1/Å>")
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(help="Temperature difference, for G(w) from shc.out of NEMD.", metavar="<K>"),
    ] = None,
    lags: Annotated[
        int | None, typer.Option(help="Nc of compute_shc; default found from the times.", metavar="<int>")
    ] = None,
    quantities: Annotated[
        str | None,
        typer.Option(
            help="Quantities of compute.out: temperature, potential, force, virial, jp, jk, momentum.",
            metavar="<names>",
        ),
    ] = None,
    interval: Annotated[
        float | None, typer.Option(help="Time between rows of compute.out, fs.", metavar="<fs>")
    ] = None,
    output: Annotated[str, typer.Option(help="Folder of the tables.", metavar="<dir>")] = "taichimd-convert",
    quiet: Quiet = False,
) -> None:
    """Write results of GPUMD as tables with names and units of columns, as taichimd writes its own."""
    from taichimd.core.errors import OutputError
    from taichimd.io.analysis_files import write_table
    from taichimd.io.files import make_folder
    from taichimd.io.gpumd import GpumdRun, names_of, read_gpumd

    given = names_of((quantities or "").split(","))
    of = GpumdRun(volume, temperature, driving_force, difference, lags, given, interval)
    found = {}
    for name in files:
        for table, columns in read_gpumd(Path(name), of).items():
            if table in found:
                raise OutputError(
                    f"{name}: a second file gives the table {table}.csv; convert one after the "
                    "other, each with its own --output"
                )
            found[table] = columns
    folder = Path(output)
    make_folder(folder)
    for table, columns in found.items():
        write_table(folder / f"{table}.csv", columns)
        if not quiet:
            rows = len(next(iter(columns.values())))
            say(f"{folder / table}.csv  {rows:,} row{'s' * (rows != 1)}: {', '.join(columns)}")
