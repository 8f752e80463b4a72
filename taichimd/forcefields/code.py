"""The code of a function and of everything that it uses, as a number that says whether it has changed.

The source of each function counts, without comments, docstrings, blank lines and decorators: the text that
`ast.unparse` makes of its syntax tree, which is steadier between versions of Python than `ast.dump` or
bytecode. Then comes what its names stand for: globals, attributes of imported modules and variables of
enclosing functions; functions by their code, numbers by their digits. The runtime, NumPy, SciPy, SymPy and
Python's own library count by name. Names of files, folders and modules do not count.
"""

import ast
import builtins
import dis
import hashlib
import inspect
import json
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from taichimd.core.kernel_cache import RUNTIMES

_BY_NAME = (*RUNTIMES, "numpy", "scipy", "sympy", "mpmath", "ase")
_HOST = ("taichimd.core.runtime", "taichimd.core.arguments", "taichimd.core.warm_start")
"""Modules that compile and launch kernels, whatever these compute."""
_STDLIB = sysconfig.get_paths()["stdlib"]
_USER, _DERIVED = "taichimd_user_", "taichimd_derived_"
_SHOWN = 60
"""Characters of a constant that a record shows; of longer ones it keeps the digest."""


@dataclass(frozen=True)
class Code:
    """What a function computes."""

    digest: str  # SHA-256 of the function and of everything that it uses
    # each function (digest of its own source) and each constant (its value) by name; of taichimd's own a
    # digest a module
    parts: dict[str, str]


def code_of(function: Any) -> Code:
    """The code of a compiled or plain function, or of a dataclass of functions."""
    walk = _Walk()
    token = walk.token(function, "function")
    return Code(_digest(token), _by_module(walk.parts))


def label(function: Any) -> str:
    """`module:function` for a record; of a dataclass of functions all of them."""
    if is_dataclass(function):
        return ", ".join(label(getattr(function, part.name)) for part in fields(function))
    plain = _plain(function)
    return f"{_module(plain)}:{plain.__qualname__}"


def _by_module(parts: dict[str, str]) -> dict[str, str]:
    """A reader knows the user's functions and constants by name; of ours the module is enough."""
    found: dict[str, str] = {}
    ours: dict[str, list[str]] = {}
    for name, part in sorted(parts.items()):
        if name.startswith("taichimd."):
            module = name
            while module not in sys.modules:
                module = module.rpartition(".")[0]
            ours.setdefault(module, []).append(f"{name} {part}")
        else:
            found[name] = part
    return found | {module: f"sha256:{_digest(json.dumps(own))[:16]}" for module, own in ours.items()}


class _Walk:
    """Follows names from one function to the next."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self._done: dict[int, str] = {}
        self._open: list[int] = []
        self._kept: list[Any] = []  # while objects live, their ids are theirs alone

    def token(self, value: Any, name: str) -> str:
        """Text that is equal for values that compute the same; notes constants under `name`."""
        value = _plain(value)
        if id(value) in self._open:
            return f"again {len(self._open) - self._open.index(id(value))}"
        self._open.append(id(value))
        try:
            return self._token(value, name)
        finally:
            self._open.pop()

    def _token(self, value: Any, name: str) -> str:
        if isinstance(value, FunctionType):
            return self._function(value)
        if (argument := self._argument(value)) is not None:
            return argument
        if isinstance(value, ModuleType):
            return f"module {_public(value.__name__) if _by_name(value) else 'of the user'}"
        if isinstance(value, BuiltinFunctionType | type) or _is_foreign(value):
            return self._named(value, name)
        if isinstance(value, MethodType):
            return self._several("method", [value.__func__, value.__self__], name)
        if isinstance(value, partial):
            return self._several("partial", [value.func, value.args, value.keywords], name)
        if is_dataclass(value):
            return self._several("fields", [getattr(value, part.name) for part in fields(value)], name)
        if _is_data(value):
            return self._constant(self._data(value, name), name)
        own = vars(value) if hasattr(value, "__dict__") else {}
        return f"object {type(value).__qualname__} {self._data(own, name)}"

    def _argument(self, value: Any) -> str | None:
        """Return the type of a declared argument of kernels, or the fields of a table: not what they mean."""
        from taichimd.core.arguments import ArrayField, Bundle, Number

        if isinstance(value, ArrayField | Number):
            return f"argument {value.type}"
        if isinstance(value, type) and issubclass(value, Bundle):
            return f"table {[(field, self.token(what, field)) for field, what in value.fields.items()]}"
        return None

    def _several(self, what: str, values: list[Any], name: str) -> str:
        return f"{what} {[self.token(value, name) for value in values]}"

    def _constant(self, text: str, name: str) -> str:
        self.parts[name] = text if len(text) <= _SHOWN else f"sha256:{_digest(text)[:16]}"
        return text

    def _data(self, value: Any, name: str) -> str:
        """Numbers with all digits; containers by what they hold."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, np.ndarray):
            little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
            return f"array {little.dtype.str} {value.shape} {hashlib.sha256(little.tobytes()).hexdigest()}"
        if isinstance(value, dict):
            return f"{{{', '.join(sorted(f'{key!r}: {self._inner(v, name)}' for key, v in value.items()))}}}"
        if isinstance(value, set | frozenset):
            return f"set {sorted(self._inner(v, name) for v in value)}"
        if isinstance(value, list | tuple):
            return f"({', '.join(self._inner(v, name) for v in value)})"
        return repr(value)

    def _inner(self, value: Any, name: str) -> str:
        plain = isinstance(value, list | tuple | dict | set | frozenset) or not _is_data(value)
        return self.token(value, f"{name}[...]") if plain else self._data(value, name)

    def _named(self, value: Any, name: str) -> str:
        """Classes, built-in functions and what libraries have made."""
        if isinstance(value, type) and not _foreign(value.__module__, None):
            return f"class {_source(value) or value.__qualname__}"
        if hasattr(value, "to_numpy"):
            return self._constant(self._data(np.asarray(value.to_numpy()), name), name)
        own = getattr(value, "__qualname__", None)
        if own is None:
            own = str(value) if " at 0x" not in str(value) else type(value).__qualname__
        return f"{_public(getattr(value, '__module__', None) or type(value).__module__)}.{own}"

    def _function(self, function: FunctionType) -> str:
        module = str(function.__globals__.get("__name__"))
        if _foreign(module, function.__globals__.get("__file__")):
            return f"{_public(module)}.{function.__qualname__}"
        if id(function) in self._done:
            return self._done[id(function)]
        own = f"{_module(function)}.{function.__qualname__}"
        text = _source(function.__code__) or _bytecode(function.__code__, function.__doc__)
        self.parts[own] = f"sha256:{_digest(text)[:16]}"
        used = {path: self.token(value, name) for path, value, name in _used(function)}
        defaults = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
        given = self.token(defaults, f"{own} defaults") if defaults else ""
        token = f"function {_digest(json.dumps([text, given, sorted(used.items())]))}"
        self._done[id(function)] = token
        self._kept.append(function)
        return token


def _used(function: FunctionType) -> Iterator[tuple[str, Any, str]]:
    """Names that a function looks up outside itself: path as written, value, where the value lives."""
    code, own = function.__code__, f"{_module(function)}"
    closure = {
        name: cell.cell_contents
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        if _is_filled(cell)
    }
    for path in sorted(set(_paths(code, frozenset(code.co_freevars)))):
        first = path[0]
        if first in closure:
            value, place = closure[first], f"{own}.{function.__qualname__}: {first}"
        elif first in function.__globals__:
            value, place = function.__globals__[first], f"{own}.{first}"
        elif hasattr(builtins, first):
            value, place = getattr(builtins, first), first
        else:
            yield first, "undefined", f"{own}.{first}"
            continue
        taken = [first]
        for attribute in path[1:]:
            if not _opens(value) or not hasattr(value, attribute):
                break
            if isinstance(value, ModuleType):
                place = _module_name(value.__name__, getattr(value, "__file__", None))
            value, place = getattr(value, attribute), f"{place}.{attribute}"
            taken.append(attribute)
        yield ".".join(taken), value, place


def _paths(code: CodeType, free: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """("module", "attribute", ...) for every global and free variable that the code reads."""
    path: list[str] = []
    for step in dis.get_instructions(code):
        if path and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(step.argval)
            continue
        if step.opname in ("EXTENDED_ARG", "CACHE"):
            continue
        if path:
            yield tuple(path)
        is_global = step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        is_free = step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and step.argval in free
        path = [step.argval] if is_global or is_free else []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _paths(constant, free)


def _source(code: Any) -> str | None:
    """Normalised source of a function's code or of a class; None without a source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef | ast.ClassDef):
        return None  # a lambda: its line holds other things, too
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            node.decorator_list = []
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _bytecode(code: CodeType, doc: str | None) -> str:
    """What stands for the source of a function that has none: the same for one version of Python only."""
    constants = [
        _bytecode(constant, None) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
        if doc is None or constant != doc
    ]
    return json.dumps([code.co_code.hex(), constants, code.co_names, code.co_varnames])


def _plain(value: Any) -> Any:
    """The Python function behind one that a runtime compiles; anything else as it is."""
    while hasattr(value, "__wrapped__"):
        if getattr(value, "is_traced", False):  # `traced`: the user's function with its checks
            value = value.__wrapped__
            continue
        maker = (
            value.__globals__.get("__name__") if isinstance(value, FunctionType) else type(value).__module__
        )
        if str(maker).split(".")[0] not in RUNTIMES:
            break
        value = value.__wrapped__
    return value


def _opens(value: Any) -> bool:
    """Whether an attribute of it is what a function uses, rather than itself."""
    if isinstance(value, ModuleType):
        return not _by_name(value)
    return not (_is_data(value) or callable(value) or _is_foreign(value)) or isinstance(value, type)


def _is_data(value: Any) -> bool:
    kinds = (bool, int, float, complex, str, bytes, np.generic, np.ndarray, list, tuple, dict, set, frozenset)
    return value is None or isinstance(value, kinds)


def _is_foreign(value: Any) -> bool:
    """Whether an object is a library's, so that its name says what it is."""
    return (
        not _is_data(value)
        and _foreign(type(value).__module__, None)
        and not isinstance(value, FunctionType | MethodType | ModuleType | partial)
        and type(value).__module__ != "types"
    )


def _by_name(module: ModuleType) -> bool:
    return _foreign(module.__name__, getattr(module, "__file__", None))


def _foreign(module: str, file: str | None) -> bool:
    """Whether code of this module counts by its name."""
    root = module.split(".")[0]
    if root in _BY_NAME or module in _HOST:
        return True
    # A user's file may have the name of one of Python's own.
    return root in sys.stdlib_module_names and (file is None or file.startswith(_STDLIB))


def _public(module: str) -> str:
    """Both runtimes by one name, wherever they keep a thing."""
    return RUNTIMES[0] if module.split(".")[0] in RUNTIMES else module


def _module(function: Any) -> str:
    code = getattr(function, "__code__", None)  # not of a class
    return _module_name(str(function.__module__), code and code.co_filename)


def _module_name(name: str, file: str | None) -> str:
    """A module for a reader, without what loading has put before it."""
    if name.startswith(_DERIVED):
        return "derived"
    return Path(file or name).stem if name.startswith(_USER) or name == "__main__" else name


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
