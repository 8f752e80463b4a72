"""Help without the Python types of switches and arguments, which say nothing to a reader."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class _Plain:
    """Mix-in of a command or a group."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Parameters of a command, `--help` as well; switches have no "<bool>", arguments no "<str>"."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if one.param_type_name == "argument":
                one.display_type_rich = _nothing
            elif getattr(one, "is_flag", False) and one.metavar is None:
                one.metavar = ""
        return found


def _nothing(ctx: Any) -> None:
    """No type."""


class PlainCommand(_Plain, TyperCommand):
    """A command."""


class PlainGroup(_Plain, TyperGroup):
    """A group of commands."""
