"""Kernels are traced sooner: what the runtimes look up in source files for each inlined call is kept.

Device functions are inlined, and for each call both runtimes find and tokenise the function's source again,
and word, for every node, where in the source it stands, should an error have to say so. quadrants also traces
each kernel twice, to see first which fields of dataclasses it uses. What is found stays the same.
Both runtimes make two variables of `x = y`, and their first pass over a kernel takes a time that is quadratic
in the number of variables; here they make one.
Both runtimes also put the whole Python stack into words for each array that is made; here they do not.
"""

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from types import CodeType, FrameType, SimpleNamespace
from typing import Any


def keep_lookups(runtime: str) -> None:
    """Replace the lookups of "taichi" or "quadrants" by ones that remember; call it once."""
    kernels = import_module(f"{runtime}.lang.kernel_impl")
    _with_quick_frames(kernels)
    utils = import_module(f"{runtime}.lang.ast.ast_transformer_utils")
    if runtime == "quadrants":
        base = import_module("quadrants.lang._func_base")
        _keep(base, "get_source_info_and_src")
        _keep_wrapped(base)
        context, words = utils.ASTTransformerFuncContext, "memoized_get_pos_info"
        _leave_trees_without_structs(import_module("quadrants.lang._kernel_impl_dataclass"))
        _trace_once(import_module("quadrants.lang.kernel").Kernel)
    else:
        for name in ("getsourcelines", "getsourcefile"):
            _keep(kernels, name)
        _keep_wrapped(kernels)
        context, words = utils.ASTTransformerContext, "get_pos_info"
    setattr(context, words, _kept_positions(getattr(context, words)))
    _assign_once(import_module(f"{runtime}.lang.ast.ast_transformer"))
    for name in ("_ndarray", "matrix"):
        arrays: Any = import_module(f"{runtime}.lang.{name}")
        arrays.get_traceback = str


def uses_no_structs(kernel: Any, key: Any) -> set[str] | None:
    """No fields of dataclasses, so that quadrants traces once; None if an argument may be one."""
    if not all(_is_plain(one.annotation) for one in kernel.arg_metas):
        return None
    used: set[str] = set()
    kernel.used_py_dataclass_parameters_by_key_enforcing[key] = used
    return used


def _is_plain(annotation: Any) -> bool:
    """Whether an argument is a number, a vector, a matrix or an array."""
    kinds = {one.__name__ for one in type(annotation).__mro__}
    return bool(kinds & {"DataTypeCxx", "NdarrayType", "MatrixType"})


def _trace_once(kernel: Any) -> None:
    """Let the class of quadrants' kernels trace each kernel without structs once."""
    needed = "used_py_dataclass_parameters_by_key_enforcing"
    look_up = getattr(kernel, "_try_load_fastcache", None)
    if look_up is None or needed not in kernel.materialize.__code__.co_names:
        return

    @wraps(look_up)
    def found(self: Any, arguments: tuple[Any, ...], key: Any) -> set[str] | None:
        used: set[str] | None = look_up(self, arguments, key)
        return uses_no_structs(self, key) if used is None else used

    kernel._try_load_fastcache = found


def _leave_trees_without_structs(module: Any) -> None:
    """Let quadrants look through a syntax tree for fields of dataclasses only if there are dataclasses."""
    unpack = getattr(module, "unpack_ast_struct_expressions", None)
    if unpack is None:
        return

    @wraps(unpack)
    def unpacked(tree: Any, struct_locals: set[str]) -> Any:
        return unpack(tree, struct_locals=struct_locals) if struct_locals else tree

    module.unpack_ast_struct_expressions = unpacked


def _assign_once(module: Any) -> None:
    """Let an assignment copy its value once: the runtimes copy it into a variable without a name first.

    The runtimes need that variable if there are two targets, if a target changes what is still to be read, or
    if the value is a vector or matrix of Python, of which the first copy is no variable.
    """
    transformer = module.ASTTransformer
    of_runtime = transformer.build_Assign
    known = (import_module(module.__name__.partition(".")[0] + ".lang.expr").Expr, int, float)

    def build(context: Any, node: Any) -> None:
        target = node.targets[0]
        several = isinstance(target, ast.Tuple)
        new = [isinstance(one, ast.Name) and not context.is_var_declared(one.id) for one in _parts(target)]
        calls = any(isinstance(part, ast.Call) for part in ast.walk(target))
        if len(node.targets) > 1 or (several and not all(new)) or calls:
            of_runtime(context, node)
            return
        module.build_stmt(context, node.value)
        value = node.value.ptr
        called: Any = node.value.func if isinstance(node.value, ast.Call) else None
        static = called is not None and called.ptr is module.impl.static
        made = all(isinstance(part, known) for part in (value if isinstance(value, tuple) else [value]))
        if not static and (not made or (several and not isinstance(value, tuple))):
            value = module.impl.expr_init(value)
        transformer.build_assign_unpack(context, target, value, static)

    transformer.build_Assign = staticmethod(build)


def _parts(target: ast.expr) -> list[ast.expr]:
    """The targets of an assignment to one or several."""
    return target.elts if isinstance(target, ast.Tuple) else [target]


def _keep_wrapped(module: Any) -> None:
    """Let a module remember the lines of source that it has wrapped, and the texts that it has dedented."""
    module.textwrap = SimpleNamespace(fill=cache(textwrap.fill), dedent=cache(textwrap.dedent))


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
    """`describe` (context, node) with a memory for all closures of a factory."""
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
