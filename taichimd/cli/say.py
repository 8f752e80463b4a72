"""What commands print besides tables: text whose control characters are written out."""

from typing import Any

import typer

from taichimd.core.printable import printable


def say(text: Any, err: bool = False) -> None:
    """Print a text on standard output, or on the error stream."""
    typer.echo(printable(str(text)), err=err)
