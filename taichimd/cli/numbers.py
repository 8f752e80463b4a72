"""Parsers of the command line's numbers: plain digits only, not the digits of all scripts."""

from collections.abc import Callable
from typing import Any

import typer

from taichimd.core.numerals import number_of, whole_of


def _parser(
    read: Callable[[str], Any], name: str, expected: str, least: int | None = None
) -> Callable[[Any], Any]:
    """A parser of options that `read` reads; `name` is shown in the help, `least` is the smallest value."""

    def parse(value: Any) -> Any:
        try:
            value = read(value) if isinstance(value, str) else value  # a default is a number already
        except ValueError:
            raise typer.BadParameter(f"{value!r}; expected {expected}") from None
        if least is not None and value < least:
            raise typer.BadParameter(f"{value}; expected {expected}")
        return value

    parse.__name__ = name
    return parse


whole, number = _parser(whole_of, "integer", "a whole number"), _parser(number_of, "float", "a number")
positive = _parser(whole_of, "integer", "a whole number above 0", 1)
"""A whole number above 0."""
PARSERS = {int: whole, float: number, tuple[int, int, int]: whole}
"""By the types of options."""
