"""`taichimd cssp`: scores of residue sequences with labels of secondary structure."""

from pathlib import Path
from typing import Annotated, Any

import typer

from taichimd.cli.numbers import whole
from taichimd.cli.options import Backend, Quiet
from taichimd.cli.plain import PlainCommand, PlainGroup
from taichimd.cli.say import say
from taichimd.core.numerals import number_of

app = typer.Typer(
    cls=PlainGroup,
    help="Score residue sequences with labels of secondary structure (no coordinates, no forces).",
)

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="CHAINS",
        help="CSV files (chain,sequence,states), or PDB and mmCIF files.",
        show_default=False,
    ),
]
TableFile = Annotated[str, typer.Option("--table", help="JSON file of counts.")]
SkipShort = Annotated[bool, typer.Option("--skip-short", help="Leave out chains shorter than a fragment.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
_PSEUDO = "Counts of the reference added to each cell of singlets, doublets, triplets."
_REFERENCE = "Reference state: background or independent."


@app.command(cls=PlainCommand)
def train(
    chains: Files,
    table: TableFile = "cssp.json",
    fragment: Annotated[int, typer.Option(help="Residues of a fragment.", parser=whole)] = 7,
    pseudo_counts: Annotated[str, typer.Option(help=_PSEUDO)] = "1,300,1000",
    reference: Annotated[str, typer.Option(help=_REFERENCE)] = "background",
    skip_short: SkipShort = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Count labels of chains with known secondary structure, and write the counts."""
    from taichimd.app.console import Console
    from taichimd.sequences.counts import Shape
    from taichimd.sequences.table import train as work
    from taichimd.sequences.table import write_table

    path, shape = _free(table, overwrite), Shape(fragment)
    kept = _kept(chains, fragment, skip_short)
    made = work(kept, shape, _numbers(pseudo_counts), reference)
    write_table(path, made)
    labels = "".join(one.states for one in kept)
    console = Console(quiet)
    shares = ", ".join(f"{labels.count(s)} {s}" for s in "CEH")
    console.print(f"{len(kept)} chains, {len(labels)} residues ({shares}), fragments of {fragment}")
    rows = [
        (name, cells, filled, counts, f"{counts / cells:.1f}") for name, cells, filled, counts in made.rows()
    ]
    _print_table(console, ("order", "cells", "with counts", "counts", "counts a cell"), rows)
    console.print(f"wrote {path}: pseudo-counts {pseudo_counts}, reference {reference}")


@app.command(cls=PlainCommand)
def score(
    chains: Files,
    table: TableFile = "cssp.json",
    fragment: Annotated[
        int | None, typer.Option(help="Residues of a fragment, as in the training.", parser=whole)
    ] = None,
    pseudo_counts: Annotated[str | None, typer.Option(help=_PSEUDO + " [default: the table's]")] = None,
    reference: Annotated[str | None, typer.Option(help=_REFERENCE + " [default: the table's]")] = None,
    method: Annotated[
        str, typer.Option(help="forward, windows or direct-windows; all scores are bitwise identical.")
    ] = "forward",
    output: Annotated[str | None, typer.Option(help="CSV file of the scores.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    skip_short: SkipShort = False,
    overwrite: Overwrite = False,
    backend: Backend = "auto",
    quiet: Quiet = False,
) -> None:
    """Score chains in kT: a lower score means that the labels fit the sequence better."""
    from dataclasses import replace
    from json import dumps

    from taichimd.app.console import Console
    from taichimd.core.runtime import start
    from taichimd.sequences.chains import write_rows
    from taichimd.sequences.score import Scorer
    from taichimd.sequences.table import read_table

    path = None if output is None else _free(output, overwrite)
    found = read_table(table)
    found.check_fragment(fragment, table)
    if pseudo_counts is not None:
        found = replace(found, pseudo_counts=_numbers(pseudo_counts))
    if reference is not None:
        found = replace(found, reference=reference)
    kept = _kept(chains, found.shape.fragment, skip_short)
    start(backend)
    scores = Scorer(found, method)(kept)
    names = ("chain", "residues", "singlets", "doublets", "triplets", "total", "per_residue")
    rows = [
        (one.name, len(one), *sums.tolist(), float(sums.sum()), float(sums.sum()) / len(one))
        for one, sums in zip(kept, scores, strict=True)
    ]
    if path:
        write_rows(path, [names, *rows])
    if json:
        scored = [dict(zip(names, row, strict=True)) for row in rows]
        settings = {"pseudo_counts": found.pseudo_counts, "reference": found.reference}
        say(dumps({"units": "kT", "fragment": found.shape.fragment, **settings, "chains": scored}, indent=2))
        return
    console = Console(quiet)
    _print_table(
        console, (*names[:-1], "per residue"), [(*row[:2], *(f"{x:.4f}" for x in row[2:])) for row in rows]
    )
    console.print("scores in kT" + (f"; wrote {path}" if path else ""))


def _kept(files: list[str], fragment: int, skip_short: bool) -> list[Any]:
    from taichimd.core.errors import SequenceError
    from taichimd.sequences.structures import read_all

    chains = read_all(files)
    kept = [one for one in chains if len(one) >= fragment or not skip_short]
    if not kept:
        raise SequenceError(f"{', '.join(files)}: no chain has {fragment} residues or more")
    return kept


def _numbers(text: str) -> tuple[float, ...]:
    from taichimd.core.errors import SettingsError

    try:
        return tuple(number_of(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"--pseudo-counts {text}: expected three numbers, as 1,300,1000") from None


def _free(name: str, overwrite: bool) -> Path:
    from taichimd.core.errors import OutputError

    path = Path(name)
    if path.exists() and not overwrite:
        raise OutputError(f"{path} already exists; give another name, or --overwrite")
    return path


def _print_table(console: Any, header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for k, name in enumerate(header):
        table.add_column(name, justify="right" if k else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)
