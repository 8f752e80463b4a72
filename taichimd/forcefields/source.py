"""What can be told from a declared function's source, before anything is compiled."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from taichimd.core.errors import SettingsError

RESULTS = {
    2: ("u", "du/dr"),
    3: ("h", "dh/dr_ij", "dh/dr_ik", "dh/dcos"),
}
"""What a function of n atoms returns when its slopes are written by hand."""


def check_returns(function: Callable[..., Any], order: int, derive: bool) -> None:
    """One return, at the end, of as many values as are expected.

    Args:
        function: as the user wrote it.
        order: 2 or 3 atoms.
        derive: whether it returns the energy alone.

    Raises:
        SettingsError: naming file and line.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        body = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError):
        return  # no source to look at
    if not isinstance(body, ast.FunctionDef):
        return
    returns = [node for node in ast.walk(body) if isinstance(node, ast.Return)]
    last = body.body[-1]
    if derive and len(returns) > 1:
        return  # derivation has more to say about branches

    def where(line: int) -> str:
        return f"{function.__code__.co_filename} line {first + line - 1}: {function.__name__}"

    if not isinstance(last, ast.Return) or len(returns) != 1:
        line = min((node.lineno for node in returns if node is not last), default=body.lineno)
        raise SettingsError(
            f"{where(line)} needs exactly one return, at its end; inside a branch, set a variable instead"
        )
    expected = RESULTS[order][:1] if derive else RESULTS[order]
    # A name or a call may stand for several values; arithmetic cannot.
    several = isinstance(last.value, ast.Tuple)
    count = len(last.value.elts) if isinstance(last.value, ast.Tuple) else 1
    known = several or isinstance(last.value, ast.BinOp | ast.UnaryOp | ast.Constant)
    if known and count != len(expected):
        hint = "" if derive else ", or the energy alone with derive=True"
        returned = f"{count} value{'s' * (count > 1)}"
        raise SettingsError(f"{where(last.lineno)} returns {returned}, expected {', '.join(expected)}{hint}")
