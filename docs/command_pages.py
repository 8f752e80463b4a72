"""Pages of the commands, from the program: typer writes the text, one page a command."""

import re
from collections.abc import Iterator

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from taichimd.cli.commands import COMMANDS, program


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of each page, the overview first."""
    made = get_command(program(COMMANDS))
    context = typer.Context(made, info_name="taichimd")
    text = get_docs_for_click(obj=made, ctx=context, name="taichimd")
    head, *commands = re.split(r"^(?=## `taichimd )", text, flags=re.MULTILINE)
    named = {command.split("`")[1].removeprefix("taichimd "): command for command in commands}
    listed = "\n".join(named)
    tree = f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    yield "docs/commands/index.md", head.replace("# `taichimd`", "# Commands", 1) + tree
    for name, command in named.items():
        yield f"docs/commands/{name}.md", re.sub(r"^#(#+ )", r"\1", command, flags=re.MULTILINE)
