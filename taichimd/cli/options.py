"""Options of the command line, made from the declarations of settings."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING
from typing import Annotated, Any

import typer

from taichimd.cli.numbers import PARSERS
from taichimd.settings.declared import Setting
from taichimd.settings.run import SETTINGS
from taichimd.settings.trust_option import HELP, OPTION


def parameter(one: Setting, kind: Any = None) -> Any:
    """What typer must know of a setting, whose text becomes a `kind`; None: that of the setting."""
    if one.option == "structure":
        return typer.Argument(help=one.help, show_default=False)
    names = [f"--{one.option.replace('_', '-')}"] if one.values.option is bool else []
    return typer.Option(
        *names,
        help=one.help,
        metavar=f"<{one.values.symbol}>" if one.values.symbol else None,
        parser=PARSERS.get(kind or one.values.option),
        show_default=False,
        rich_help_panel=one.topic or None,
    )


def _shared(option: str, meaning: str | None = None) -> Any:
    """As `parameter`, of a setting of `run` that another command has, too; its value is read and checked."""
    found = parameter(SETTINGS[option])
    found.rich_help_panel, found.callback = None, SETTINGS[option].read
    if meaning is not None:
        found.help, found.show_default = meaning, True
    return found


Potential = Annotated[list[str], typer.Option(help=SETTINGS["potential"].help, metavar="<file>")]
Output = Annotated[str, _shared("output", "Folder for the results.")]
Backend = Annotated[str, _shared("backend")]
Precision = Annotated[str, _shared("precision")]
Decomposition = Annotated[str, _shared("decomposition")]
InputUnits = Annotated[str | None, _shared("input_units")]
AtomStyle = Annotated[str | None, _shared("atom_style")]
PlotFormat = Annotated[str, _shared("plot_format")]
Trust = Annotated[bool, typer.Option(OPTION, help=HELP)]
PotentialArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="file.py:name of a force field, a parameter file or a shipped name; several are added up.",
        show_default=False,
    ),
]
PotentialInstead = Annotated[
    list[str] | None,
    typer.Option(help="Instead of the argument, as in the other commands.", metavar="<file>"),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
CommonNoise = Annotated[
    bool,
    typer.Option(
        "--common-noise",
        help="Use the same seeds for each value, to compare potentials; default different seeds.",
    ),
]


def with_options(
    settings: Collection[Setting], other: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `(..., **flags)` an option for each setting; what is not given is no flag.

    What a command returns is the exit code. `other`: types of options that take several values.
    """
    types = {one.option: one.values.option for one in settings} | dict(other or {})

    def changed(command: Callable[..., Any]) -> Callable[..., Any]:
        def called(**flags: Any) -> Any:
            return command(**{name: value for name, value in flags.items() if value is not None})

        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        made = [
            inspect.Parameter(
                one.option,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if one.default is MISSING else None,
                annotation=Annotated[types[one.option] | None, parameter(one, types[one.option])],
            )
            for one in settings
        ]
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__signature__ = inspect.Signature([*own, *made])  # type: ignore[attr-defined]
        return called

    return changed
