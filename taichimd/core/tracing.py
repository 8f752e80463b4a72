"""Kernels are traced sooner: what the runtimes look up in source files for each inlined call is kept.

Device functions are inlined, and for each call both runtimes find and tokenise the function's source again;
Taichi also words, for every node of every call, where in the source it stands, should an error have to say
so. What is found stays the same.
"""

import inspect
import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from types import CodeType, FrameType
from typing import Any


def keep_lookups(runtime: str) -> None:
    """Replace the lookups of "taichi" or "quadrants" by ones that remember; call it once."""
    if runtime == "quadrants":
        _keep(import_module("quadrants.lang._func_base"), "get_source_info_and_src")
        _with_quick_frames(import_module("quadrants.lang.kernel_impl"))
        return
    _with_quick_frames(import_module("taichi.lang.kernel_impl"))
    for name in ("getsourcelines", "getsourcefile"):
        _keep(import_module("taichi.lang.kernel_impl"), name)
    context = import_module("taichi.lang.ast.ast_transformer_utils").ASTTransformerContext
    context.get_pos_info = _kept_positions(context.get_pos_info)


def _keep(module: Any, name: str) -> None:
    """Let a module's lookup of a Python function remember.

    Closures of one factory share their code object, and a file that is loaded again makes another: the key is
    the object itself, kept alive so that none takes its place.
    """
    look_up = getattr(module, name)
    known: dict[int, tuple[CodeType, Any]] = {}

    @wraps(look_up)
    def kept(function: Any) -> Any:
        code = function.__code__
        if id(code) not in known:
            known[id(code)] = code, look_up(function)
        return known[id(code)][1]

    setattr(module, name, kept)


@contextmanager
def quick_frames() -> Iterator[None]:
    """Inside, `inspect.getframeinfo` reads one line: its search through all modules takes seconds.

    Both runtimes call it for each of their device functions and ours, to see whether a class is around it.
    """
    slow = inspect.getframeinfo
    inspect.getframeinfo = _one_line  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getframeinfo = slow


def _one_line(frame: FrameType, context: int = 1) -> inspect.Traceback:
    """What `inspect.getframeinfo` finds with one line of context."""
    code, number = frame.f_code, frame.f_lineno
    line = linecache.getline(code.co_filename, number, frame.f_globals)
    return inspect.Traceback(code.co_filename, number, code.co_name, [line] if line else None, 0)


def _with_quick_frames(module: Any) -> None:
    """The same for what a module of a runtime decorates from now on."""
    look = getattr(module, "_inside_class", None)
    if look is None:
        return

    def inside(level_of_class_stackframe: int) -> bool:
        with quick_frames():
            found: bool = look(level_of_class_stackframe + 1)
            return found

    module._inside_class = inside


def _kept_positions(describe: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
    """`describe` (context, node) with a memory: quadrants has one of its own."""
    known: dict[int, tuple[CodeType, dict[Any, str]]] = {}

    @wraps(describe)
    def kept(context: Any, node: Any) -> str:
        code = context.func.func.__code__
        _, places = known.setdefault(id(code), (code, {}))
        place = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, type(node)
        if place not in places:
            places[place] = describe(context, node)
        return places[place]

    return kept
