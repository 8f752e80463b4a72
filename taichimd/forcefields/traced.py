"""A user's function as kernels call it: a mistake that the runtime finds becomes one line with its place."""

import re
import warnings
from functools import wraps
from typing import Any

import numpy as np

from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.core.printable import counted
from taichimd.core.runtime import described_type, reason_of, ti, told_before
from taichimd.forcefields.source import (
    Expected,
    Function,
    check_function,
    check_helpers,
    foreign_call,
    place,
    return_line,
    text_of_line,
)

_EXPECTED = "expected a real number"
_MAX_CHARACTERS = 160
"""Characters of a runtime's reason that are shown."""


def traced(function: Any, expected: Expected) -> Any:
    """The compiled function, which is checked now, and again whenever a kernel is compiled with it.

    It returns what the user's does, whole literals as floats, and one value as it is. SettingsError: it
    cannot be compiled, as can be seen already; with file and line.
    """
    check_function(function, expected)
    try:
        device = ti.func(function)
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise SettingsError(
            f"{place(function)} cannot be compiled: {reason}; leave out annotations of arguments"
        ) from error

    @wraps(device)
    def call(*args: Any) -> Any:
        check_helpers(function)
        try:
            with warnings.catch_warnings():
                # Plain helpers are fine as long as they do not decide, and others end in an error.
                warnings.simplefilter("ignore", SyntaxWarning)
                found = device(*args)
        except Exception as error:
            if told := told_before(error):
                raise told from None
            raise ParameterFileError(_reason(function, error)) from error
        return _checked(found, function, expected)

    call.is_traced = True  # type: ignore[attr-defined]
    return call


def _reason(function: Function, error: Exception) -> str:
    """One line: where a function cannot be compiled, and why."""
    file, line, name, reason = reason_of(error, function)
    here = file == function.__code__.co_filename
    if call := foreign_call(function, line) if here else None:
        own = call.split(".")[-1]
        return (
            f"{file} line {line}: {name} cannot be compiled: {call} is not for numbers of the device; take "
            f"{own} from taichimd.math, or write it in arithmetic"
        )
    if isinstance(error, OSError):
        reason = "its source cannot be read: write the function into a file"
    if re.match(r"$|AssertionError|assert |\+ ", reason):  # of the runtime's own assertions
        reason = f"`{text_of_line(file, line)}` cannot be done with numbers of the device"
    short = reason if len(reason) <= _MAX_CHARACTERS else f"{reason[:_MAX_CHARACTERS]}..."
    return f"{file} line {line}: {name} cannot be compiled: {short}; use arithmetic and taichimd.math"


def _checked(found: Any, function: Function, expected: Expected) -> Any:
    """The values that were returned, if their number and types are as expected."""
    wanted = expected.results
    at = place(function, return_line(function))
    if len(wanted) > 1 and re.match(rf"\[Tensor \({len(wanted)}\) f", described_type(found) or ""):
        return found  # a vector of as many numbers
    values = list(found) if isinstance(found, tuple | list) else [found]
    if found is None or len(values) != len(wanted):
        returned = "nothing" if found is None else counted(len(values), "value")
        if len(values) == 1 and found is not None and _what(found):
            returned = str(_what(found))
        hint = f", {expected.hint}" if expected.hint.startswith("or ") else ""
        raise ParameterFileError(f"{at} returns {returned}, expected {', '.join(wanted)}{hint}")
    for value, name in zip(values, wanted, strict=True):
        if wrong := _what(value):
            raise ParameterFileError(f"{at} returns {wrong} as {name}, {_EXPECTED}{_cure(wrong)}")
    numbers = [float(value) if type(value) is int else value for value in values]
    return numbers[0] if not isinstance(found, tuple | list) and len(wanted) == 1 else tuple(numbers)


def _what(value: Any) -> str | None:
    """What a value is that is no real number; None of one."""
    kind = described_type(value)
    if kind is None:
        if type(value) is int or isinstance(value, float | np.floating):
            return None
        if value is None:
            return "nothing"
        name = type(value).__name__
        return "all parameters" if name.startswith("Struct") else f"a {name}"
    if kind.startswith("f"):
        return None
    if kind.startswith("["):
        return "a vector"
    return "true or false" if kind == "u1" else "a whole number"


def _cure(wrong: str) -> str:
    if wrong == "a whole number":
        return ": a variable keeps the type of its first value; begin with 0.0, or multiply by 1.0"
    return ""
