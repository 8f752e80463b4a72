"""The digest of everything that a kernel is compiled from.

A kernel's function reaches other functions, and values in closures, globals and attributes. All of these are
written into one text, in the order in which they are met. Two kernels with the same text compile to the same
code. What has no text that is sure to differ when the code differs raises `UnsureError`.
"""

import enum
import hashlib
import inspect
import os
import sys
import sysconfig
import time
from dataclasses import is_dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

import taichimd

_BEGUN = time.time()
_PACKAGE = Path(taichimd.__file__).parent
_STDLIB = sysconfig.get_paths()["stdlib"]
_LIBRARIES = ("builtins", "quadrants", "taichi", "numpy", "scipy", "sympy", "mpmath", "ase")
"""Modules whose code counts by the name of a function and the version of the library."""
_HOST = tuple(
    f"taichimd.core.{name}" for name in ("arguments", "captured", "launches", "runtime", "warm_start")
)
"""Modules whose functions count by name: what they know of the process is part of `setting`."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_BY_REPR = (np.dtype, PurePath, range, slice)
_RUNTIME_TYPES = ("VectorType", "MatrixType", "NdarrayType", "Template", "StructType")
"""Classes of the runtime whose attributes say everything."""
OWN = "TAICHIMD_WARM_START"
"""The environment variable that turns records on or off; names that begin like it do not count."""
_UNCOUNTED = (OWN, "TAICHIMD_THREADS")
"""Beginnings of names that do not count; threads do as far as the compiler's settings depend on them."""


class UnsureError(Exception):
    """A kernel captures a value that has no sure text."""


def digest_of(*captured: Any) -> str:
    """SHA-256 of values, all that they reach, the package's code and the versions, or an UnsureError."""
    walk = _Walk()
    try:
        walk.take(captured)
    except RecursionError as error:
        raise UnsureError("functions are nested too deeply") from error
    text = "\n".join([_surroundings(), *walk.text])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@cache
def _code_of_package() -> str:
    digest = hashlib.sha256()
    files = sorted(_PACKAGE.rglob("*.py"))
    if not files:
        raise UnsureError("the package has no files")
    for file in files:
        if file.stat().st_mtime > _BEGUN:
            raise UnsureError(f"{file} has changed since the process started")
        content = file.read_bytes()
        digest.update(f"{file.relative_to(_PACKAGE)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _surroundings() -> str:
    """The package's code, versions, and the settings of the environment."""
    prefixes = ("TAICHIMD_", "QD_", "TI_")
    environment = sorted(
        (k, v) for k, v in os.environ.items() if k.startswith(prefixes) and not k.startswith(_UNCOUNTED)
    )
    return f"{sys.version} {np.__version__} {version('quadrants')} {environment} {_code_of_package()}"


class _Walk:
    """The text of objects that refer to each other: an object is written once, afterwards by its number.

    What cannot change is written each time: factories are cached, so which of two equal tuples a function
    has depends on what was made before.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # while objects live, their ids are theirs alone

    def take(self, value: Any) -> None:
        """Write a value and all that it reaches."""
        kind = type(value)
        if kind in _PLAIN:
            self.text.append(f"{kind.__name__} {value!r}")
        elif (number := self._numbers.get(id(value))) is not None:
            self.text.append(f"again {number}")
        else:
            if not _is_value(value, kind):
                self._numbers[id(value)] = len(self._kept)
                self._kept.append(value)
            self._new(value, kind)

    def _several(self, name: str, *values: Any) -> None:
        self.text.append(f"{name} {len(values)}")
        for value in values:
            self.take(value)

    def _new(self, value: Any, kind: type) -> None:
        if self._data(value, kind) or self._code(value, kind):
            return
        module = kind.__module__
        if isinstance(value, ModuleType):
            if not _library(value.__name__):
                raise UnsureError(f"the module {value.__name__} as a value")
            self.text.append(f"module {value.__name__}")
        elif module == "taichimd.core.arguments" and kind.__name__ in ("Kernel", "KernelQueue"):
            self.text.append("kernel")  # device code cannot call it
        elif module.split(".")[0] == "quadrants":
            self._of_runtime(value, kind)
        elif kind.__name__ == "SimpleNamespace" or not _library(module):
            self._object(value, kind)
        else:
            raise UnsureError(f"{module}.{kind.__qualname__}")

    def _data(self, value: Any, kind: type) -> bool:
        """Write a container, an array or a constant of a library; whether it is one."""
        put = self.text.append
        if kind is tuple or kind is list:
            self._several(kind.__name__, *value)
        elif kind is dict:
            self._several("dict", *value.keys(), *value.values())
        elif kind in (set, frozenset):
            if not all(type(one) in _PLAIN for one in value):
                raise UnsureError(f"a set of objects: {value}")
            put(f"set {sorted(map(repr, value))}")
        elif kind is np.ndarray or isinstance(value, np.generic):
            if value.dtype.hasobject:
                raise UnsureError("an array of objects")
            put(f"array {value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
        elif isinstance(value, _BY_REPR) or (
            kind.__module__ in ("typing", "types") and "Alias" in kind.__name__
        ):
            put(f"{kind.__name__} {value!r}")
        elif isinstance(value, enum.Enum):
            self._several("enum", kind, value.name, value.value)
        else:
            return False
        return True

    def _code(self, value: Any, kind: type) -> bool:
        """Write what can be called, a class or a property; whether it is one."""
        if kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            self._several("method", value.__func__, value.__self__)
        elif kind is partial:
            self._several("partial", value.func, value.args, value.keywords)
        elif kind is property:
            self._several("property", value.fget)
        elif isinstance(value, type):
            self._class(value)
        elif kind is BuiltinFunctionType or kind is np.ufunc:
            self._builtin(value)
        elif kind.__name__ == "_lru_cache_wrapper":
            self._several("cached", value.__wrapped__)
        else:
            return False
        return True

    def _builtin(self, value: Any) -> None:
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, ModuleType | type):
            raise UnsureError(f"a method of {type(owner)}")
        owner = getattr(owner, "__qualname__", getattr(owner, "__name__", None))
        self.text.append(f"builtin {getattr(value, '__module__', None)} {owner} {value.__name__}")

    def _object(self, value: Any, kind: type) -> None:
        """By its class and its attributes."""
        own = dict(getattr(value, "__dict__", {}))
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            names = (slots,) if isinstance(slots, str) else slots
            own |= {name: getattr(value, name) for name in names if hasattr(value, name)}
        if isinstance(value, tuple):
            own["tuple"] = tuple(value)
        elif isinstance(value, list | dict | set | frozenset | int | float | str | bytes):
            raise UnsureError(f"a subclass of a builtin: {kind.__qualname__}")
        elif not own and not hasattr(value, "__dict__"):
            raise UnsureError(f"{kind.__qualname__} has no attributes")
        self._several("object", kind, own)

    def _of_runtime(self, value: Any, kind: type) -> None:
        name = kind.__name__
        if name == "QuadrantsCallable":
            self.text.append(f"device function {value._is_real_function} {value._qd_requires_top_level}")
            self._several("", value.fn, value.fn.__annotations__)
        elif name == "DataTypeCxx":
            self.text.append(f"type {value.to_string()}")
        elif name in ("Vector", "Matrix"):
            self._several(name, value.to_list())
        elif name in _RUNTIME_TYPES:
            self._several(name, vars(value))
        else:
            raise UnsureError(f"{kind.__module__}.{name}")

    def _class(self, value: type) -> None:
        self.text.append(f"class {value.__module__}.{value.__qualname__}")
        if _library(value.__module__) or (_ours(value.__module__) and "<locals>" not in value.__qualname__):
            return  # its text belongs to the package or the library
        self.text.append(_source(value))
        members = {k: getattr(v, "__func__", v) for k, v in vars(value).items() if not k.startswith("__data")}
        if is_dataclass(value):  # what it has written itself follows from its source
            members = {k: v for k, v in members.items() if not _is_written(k, v)}
        taken = (FunctionType, property, *_PLAIN, tuple, list, dict)
        self._several("", *value.__bases__, {k: v for k, v in members.items() if isinstance(v, taken)})

    def _function(self, function: FunctionType) -> None:
        code, module = function.__code__, str(function.__globals__.get("__name__"))
        library, ours = _library(module), _ours(module)
        self.text.append(
            f"function {module if library or ours else ''} {function.__qualname__} {_bytecode(code)}"
        )
        if not (library or ours):
            self.text.append(_source(code))
        names = _names(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.text.append(f"variable {name}")
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._read(value, names)
        if library or (module in _HOST and "<locals>" not in function.__qualname__):
            return
        marks = {name: value for name, value in vars(function).items() if type(value) in _PLAIN}
        self._several("defaults", function.__defaults__, function.__kwdefaults__, marks)
        for name in names:
            if name in function.__globals__:
                self.text.append(f"global {name}")
                self._read(function.__globals__[name], names)

    def _read(self, value: Any, names: tuple[str, ...]) -> None:
        """A module counts by the attributes whose names the function has."""
        if not isinstance(value, ModuleType) or _library(value.__name__):
            self.take(value)
            return
        for name in names:
            if hasattr(value, name):
                self.text.append(f"attribute {name}")
                self._read(getattr(value, name), names)


def _is_value(value: Any, kind: type) -> bool:
    if kind in (tuple, frozenset, np.ndarray) or kind.__name__ in ("DataTypeCxx", *_RUNTIME_TYPES):
        return True
    parameters = getattr(kind, "__dataclass_params__", None)
    return isinstance(value, np.generic | enum.Enum) or (parameters is not None and parameters.frozen)


def _is_written(name: str, value: Any) -> bool:
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return name.startswith("__") and code is not None and code.co_filename == "<string>"


@cache
def _names(code: CodeType) -> tuple[str, ...]:
    """Names of globals and attributes that a function reads; its texts count, too, for `getattr`."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= dict.fromkeys(_names(constant))
        elif isinstance(constant, str) and constant.isidentifier():
            found[constant] = None
    return tuple(found)


@cache
def _bytecode(code: CodeType) -> str:
    constants = [_constant(one) for one in code.co_consts]
    parts = code.co_firstlineno, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _bytecode(value)
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _source(value: Any) -> str:
    """The text that a runtime would compile."""
    try:
        return inspect.getsource(value)
    except (OSError, TypeError) as error:
        raise UnsureError(f"no source of {value}") from error


def _ours(module: str) -> bool:
    return module == "taichimd" or module.startswith("taichimd.")


@cache
def _library(module: str) -> bool:
    root = module.split(".")[0]
    if root in _LIBRARIES:
        return True
    if root not in sys.stdlib_module_names or module == "__main__":
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or file.startswith(_STDLIB)  # a user's file may have the name of one of Python's own
