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

    from taichimd.core.runtime import info as runtime_info
    from taichimd.core.runtime import start
    from taichimd.io.report import host, versions

    start(backend)
    content: dict[str, Any] = {**runtime_info(), **host(), **versions()}
    if json:
        say(dumps(content, indent=2, default=str))
        return
    for key, value in content.items():
        say(f"{key:<12} {value}")
