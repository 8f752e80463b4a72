"""Options of the command line, made from the declarations of settings."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from taichimd.app.settings import SETTINGS, Setting


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give `command(..., **flags)` an option for each setting of a run, and the structure as an argument.

    What is not given is None.
    """
    parameters = inspect.signature(command).parameters.values()
    own = [one for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
    made = [
        inspect.Parameter(
            one.option,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[one.values.option | None, _parameter(one)],
        )
        for one in SETTINGS.values()
    ]
    command.__signature__ = inspect.Signature([*own, *made])  # type: ignore[attr-defined]
    return command


def _parameter(one: Setting) -> Any:
    if one.option == "structure":
        return typer.Argument(help=one.help, show_default=False)
    names = [f"--{one.option}"] if one.values.option is bool else []
    metavar = f"<{one.values.symbol}>" if one.values.symbol else None
    return typer.Option(*names, help=one.help, metavar=metavar, rich_help_panel=one.topic)
