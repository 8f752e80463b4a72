"""`taichimd info`: backend, device and versions."""

from typing import Annotated, Any

import typer

from taichimd.cli.options import Backend
from taichimd.cli.say import say


def info(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    backend: Backend = "auto",
) -> None:
    """Show the backend, the device and the versions, for a bug report."""
    from json import dumps

    from taichimd.core import chosen
    from taichimd.core.machine import host, versions

    content: dict[str, Any] = {**chosen.info(chosen.backend_for(backend)), **host(), **versions()}
    if json:
        say(dumps(content, indent=2, default=str))
        return
    for key, value in content.items():
        say(f"{key:<12} {value}")
