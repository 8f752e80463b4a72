"""`taichimd potentials`: the shipped parameter files."""

from typing import Any


def potentials() -> None:
    """List the shipped parameter files with their elements, papers, ranges and warnings."""
    from rich.markup import escape
    from rich.table import Table

    from taichimd.app.console import Console
    from taichimd.forcefields.library import shipped

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("name", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("elements")
    table.add_column("paper, range, warnings", overflow="fold")
    for file in shipped():
        told = [_paper(file), f"range: {file.header.valid_range}"]
        told += [f"warning: {text}" for text in file.header.warnings]
        table.add_row(file.name, file.kind, " ".join(file.elements), escape("\n".join(told)))
    console = Console()
    console.print(table)
    console.print("\nuse one by its name: taichimd run STRUCTURE --potential NAME", style="dim")


def _paper(file: Any) -> str:
    header = getattr(file, "header", file)
    citation, doi = getattr(header, "citation", None), getattr(header, "doi", None)
    return " ".join(part for part in (citation, f"doi:{doi}" if doi else None) if part)
