"""Parsers of the command line's numbers: plain digits only, not the digits of all scripts."""

from collections.abc import Callable
from typing import Any

import typer

from taichimd.core.numerals import number_of, whole_of


def _parser(read: Callable[[str], Any], name: str, least: int | None = None) -> Callable[[Any], Any]:
    """A parser of options that `read` reads; `name` says what that is, and `least` its smallest value."""

    def parse(value: Any) -> Any:
        try:
            value = read(value) if isinstance(value, str) else value  # a default is a number already
        except ValueError:
            raise typer.BadParameter(f"{value!r} is not a valid {name}.") from None
        if least is not None and value < least:
            raise typer.BadParameter(f"{value} is not in the range x>={least}.")
        return value

    parse.__name__ = name
    return parse


whole, number = _parser(whole_of, "integer"), _parser(number_of, "float")
positive = _parser(whole_of, "integer", 1)
"""A whole number above 0."""
PARSERS = {int: whole, float: number, tuple[int, int, int]: whole}
"""By the types of options."""
