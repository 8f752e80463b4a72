"""Kernel arguments, declared once: tables of arrays and numbers, from which signatures and calls are written.

A table is a subclass of `Bundle`. Each of its fields says type, length and meaning:

    class Atoms(Bundle):
        pos: Any = ArrayField("vec", "n", "positions, angstrom")

A kernel names the tables that it takes. Its function is written for bundles, and sees them as `atoms.pos`:

    @kernel(types, atoms=Atoms, control=CONTROL, dt=Number("real", "time step"))
    def drift(atoms, control, dt):
        for i in atoms.pos: ...

    drift(state, control, 0.5)

The host passes any objects that have the fields as attributes. Both runtimes know flat arrays alone:
dataclasses exist under quadrants only, argpacks under Taichi only; each is slower. So a kernel of flat
arguments is written, once per signature, and calls the function. Two arrays cannot be swapped, and nobody
counts arguments.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taichimd.core.errors import SettingsError
from taichimd.core.exclusive import exclusive
from taichimd.core.generated import imported
from taichimd.core.launches import launches_of
from taichimd.core.runtime import NAME, backend, ti
from taichimd.core.warm_start import remember

MAX_ARGUMENTS = 64 if NAME == "taichi" else 1024
"""Most arguments of one kernel, numbers included."""
COMPILED_GRAPHS = NAME == "taichi"
"""Whether repeated calls, and on CUDA those of many arguments, are queued as compiled graphs."""
MANY = 6


@dataclass(frozen=True)
class ArrayField:
    """A field that is an array of one dimension; with the length "", a single element of none."""

    type: str  # key of the types that a kernel is made for
    length: str  # number of elements, in words
    meaning: str  # what it holds, with its unit


@dataclass(frozen=True)
class Number:
    """A field that is a number, or a small vector, passed by value."""

    type: str  # key of the types that a kernel is made for
    meaning: str  # what it is, with its unit


class Bundle:
    """Several arrays or numbers as one argument of device functions; given in order or by name, else None."""

    # Having these, whatever they say, keeps the runtimes from warning of a call of something foreign.
    _is_taichi_function = _is_quadrants_function = False
    fields: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        own = {k: v for k, v in vars(cls).items() if isinstance(v, ArrayField | Number) or _is_table(v)}
        cls.fields = {**cls.fields, **own}
        ti.data_oriented(cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self.fields, values, strict=False)) | named
        if unknown := given.keys() - self.fields.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        for name in self.fields:
            setattr(self, name, given.get(name))

    @classmethod
    def only(cls, *names: str, **parts: Any) -> "Selection":
        """The table with some of its fields, or parts of fields that are tables.

        A kernel gets None for others.
        """
        if unknown := {*names, *parts} - cls.fields.keys():
            raise TypeError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
        taken = {name: parts.get(name, cls.fields[name]) for name in cls.fields if name in {*names, *parts}}
        return Selection(cls, tuple((name, what) for name, what in taken.items() if what is not None))

    def at(self, pos: Any) -> Any:
        """The same with other positions."""
        there: Any = copy(self)
        there.pos = pos
        return there


class View:
    """Arguments put together at the compilation of a kernel, as one argument of device functions."""

    _is_taichi_function = _is_quadrants_function = False

    def __init_subclass__(cls) -> None:
        ti.data_oriented(cls)

    def __init__(self, **named: Any) -> None:
        vars(self).update(named)


def device_helper(function: Any) -> Any:
    """Decorator of a Python function that kernels call at their compilation, not on the device."""
    function._is_taichi_function = function._is_quadrants_function = False
    return function


@dataclass(frozen=True)
class Selection:
    """Some fields of a table."""

    table: type[Bundle]
    fields: tuple[tuple[str, Any], ...]


def _is_table(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Bundle)


class KernelQueue:
    """Kernels that are queued one after the other, each with those of the named arguments that it takes."""

    def __init__(self, names: Collection[str], kernels: Collection["Kernel"]) -> None:
        self.names, self.kernels = tuple(names), tuple(kernels)
        self._graphs: dict[int, Any] = {}

    def __call__(self, *args: Any) -> None:
        """Queue them."""
        for one, its in self._given(args):
            one(*its)

    def repeat(self, times: int, *args: Any) -> None:
        """Queue them several times, with the same arguments.

        Under Taichi each array costs a call much more than it costs a kernel of a compiled graph: there calls
        are queued as graphs of 16, 8, 4 and 2 (docs/decisions, 002).
        """
        if COMPILED_GRAPHS and times > 1:
            named = self._named(args)
            for length in (16, 8, 4, 2):
                while times >= length:
                    self._graph(length).run(named)
                    times -= length
        for _ in range(times):
            self(*args)

    def _given(self, args: Any) -> Iterator[tuple["Kernel", list[Any]]]:
        given = dict(zip(self.names, args, strict=True))
        for one in self.kernels:
            yield one, [given[name] for name in one.names]

    def _named(self, args: Any) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for one, its in self._given(args):
            values = (v.item() if isinstance(v, np.generic) else v for v in one.flatten(*its))
            named |= zip(map(_flat_name, one.arguments), values, strict=True)
        return named

    def _graph(self, length: int) -> Any:
        if length not in self._graphs:
            builder = ti.graph.GraphBuilder()
            for one in length * self.kernels:
                builder.dispatch(one.compiled, *one.symbols())
            self._graphs[length] = builder.compile()
        return self._graphs[length]


class Kernel(KernelQueue):
    """A kernel that takes bundles.

    Attributes:
        names: of its arguments.
        compiled: the runtime's kernel of flat arguments.
        arguments: paths of these, such as "atoms.pos".
    """

    def __init__(
        self,
        names: Collection[str],
        compiled: Any,
        flatten: Callable[..., list[Any]],
        arguments: dict[str, Any],
        types: dict[str, Any],
    ) -> None:
        super().__init__(names, (self,))
        self.compiled, self.flatten, self.arguments = compiled, flatten, list(arguments)
        self._fields, self._types = arguments, types
        self._numbers = [k for k, field in enumerate(arguments.values()) if isinstance(field, Number)]
        self._last: list[Any] = [None] * len(self.arguments)
        numbers = [types[field.type] if isinstance(field, Number) else None for field in arguments.values()]
        self._launches = launches_of(compiled, numbers)

    @exclusive
    def __call__(self, *args: Any) -> None:
        """Queue it.

        Numbers that are those of the last call are passed as the same objects: by their addresses quadrants
        knows what it has compiled for, which is quicker than by types.
        """
        if COMPILED_GRAPHS and backend() == "cuda" and len(self.arguments) >= MANY:
            self._graph(1).run(self._named(args))
            return
        flat, last = self.flatten(*args), self._last
        if self._launches and self._launches.again(flat):
            return
        for k in self._numbers:
            number, before = flat[k], last[k]
            if type(number) is type(before) and type(number) in (int, float) and number == before:
                flat[k] = before
            else:
                last[k] = number
        self.compiled(*flat)
        if self._launches:
            self._launches.remember(flat)

    def symbols(self) -> list[Any]:
        """The flat arguments, as a compiled graph takes them."""
        return [self._symbol(path, field) for path, field in self._fields.items()]

    def _symbol(self, path: str, field: ArrayField | Number) -> Any:
        dtype, kinds = self._types[field.type], ti.graph.ArgKind
        if isinstance(field, Number):
            kind = kinds.MATRIX if hasattr(dtype, "n") else kinds.SCALAR
            return ti.graph.Arg(kind, _flat_name(path), dtype)
        return ti.graph.Arg(kinds.NDARRAY, _flat_name(path), dtype, ndim=1 if field.length else 0)


def fit(**arguments: Any) -> bool:
    """Whether a kernel can take them: there are no more than the runtime knows. As for `kernel`."""
    flat: dict[str, Any] = {}
    for name, what in arguments.items():
        _passed(what, name, flat, {})
    return len(flat) <= MAX_ARGUMENTS


def kernel(types: dict[str, Any], *, graph: bool = False, **arguments: Any) -> Callable[..., Kernel]:
    """Decorator of a kernel's function.

    Args:
        types: the runtime's type of each word that fields name.
        graph: many parallel loops, called again and again: under quadrants they become one CUDA graph, which
            costs the host less than launching each, and may loop on the device.
        **arguments: of the function, by name and in its order: a table, a `Selection` of its fields, a tuple
            of those, an `ArrayField`, a `Number`, or None (the function gets None).

    Raises:
        TypeError: the function takes others.
        SettingsError: there are more flat arguments than the runtime knows, as with a term of passes of many
            numbers.
    """

    def decorate(body: Any) -> Kernel:
        names = list(inspect.signature(body).parameters)
        if names != list(arguments):
            raise TypeError(f"{body.__name__} takes {', '.join(names)}; declared are {', '.join(arguments)}")
        flat: dict[str, Any] = {}
        tables: dict[str, type[Bundle]] = {}
        passed = [_passed(what, name, flat, tables) for name, what in arguments.items()]
        if len(flat) > MAX_ARGUMENTS:
            raise SettingsError(
                f"too many arrays in one potential: {body.__name__} takes {len(flat)} arguments, {NAME} at "
                f"most {MAX_ARGUMENTS}; set TAICHIMD_RUNTIME=quadrants, or keep fewer numbers with each atom"
            )
        known = {_word(field): _type(types, field) for field in flat.values()}
        source = _SOURCE.format(
            name=body.__name__,
            known="".join(f", {word}" for word in [*known, *tables]),
            signature=", ".join(f"{_flat_name(path)}: {_word(field)}" for path, field in flat.items()),
            passed=", ".join(passed),
            names=", ".join(names),
            paths=", ".join(flat),
        )
        module = imported(source, f"kernel_{body.__name__}")
        # Templates, so that the function sees the kernel's own arguments.
        body.__annotations__ = dict.fromkeys(names, ti.template())
        made = ti.kernel(graph=True) if graph and NAME == "quadrants" else ti.kernel
        compiled = module.make(made, ti.func(body), **known, **tables)
        remember(compiled, lambda: (source, body, known, tables))
        return Kernel(names, compiled, module.flatten, flat, types)

    return decorate


_SOURCE = """\
def make(_decorate, _body{known}):
    @_decorate
    def {name}({signature}):
        _body({passed})

    return {name}


def flatten({names}):
    return [{paths}]
"""


def _passed(what: Any, path: str, flat: dict[str, Any], tables: dict[str, type[Bundle]]) -> str:
    """The text that makes an argument of the function out of the kernel's; these are added to `flat`."""
    if what is None:
        return "None"
    if isinstance(what, tuple):
        parts = [_passed(one, f"{path}[{k}]", flat, tables) for k, one in enumerate(what)]
        return f"({''.join(part + ', ' for part in parts)})"
    if isinstance(what, ArrayField | Number):
        flat[path] = what
        return _flat_name(path)
    table, fields = (what.table, what.fields) if isinstance(what, Selection) else (what, what.fields.items())
    if tables.setdefault(table.__name__, table) is not table:
        raise TypeError(f"two tables are named {table.__name__}")
    parts = [f"{name}={_passed(field, f'{path}.{name}', flat, tables)}" for name, field in fields]
    return f"{table.__name__}({', '.join(parts)})"


def _flat_name(path: str) -> str:
    return re.sub(r"\W+", "_", path)


def _word(field: ArrayField | Number) -> str:
    suffix = "" if isinstance(field, Number) else "_array" if field.length else "_element"
    return f"_{field.type}{suffix}"


def _type(types: dict[str, Any], field: ArrayField | Number) -> Any:
    if isinstance(field, Number):
        return types[field.type]
    return ti.types.ndarray(dtype=types[field.type], ndim=1 if field.length else 0)


def types_of(real: Any, term: Any = None, searched: Any = None) -> dict[str, Any]:
    """The types behind the words of tables; `searched`: of copies of positions that a search compares."""
    term, searched = term or real, searched or real
    scalars = {
        "i32": ti.i32,
        "i64": ti.i64,
        "f32": ti.f32,
        "f64": ti.f64,
        "real": real,
        "term": term,
        "searched": searched,
    }
    vectors = {"ivec": ti.i32, "vec": real, "term_vec": term, "double_vec": ti.f64}
    threes = {word: ti.types.vector(3, scalar) for word, scalar in vectors.items()}
    return scalars | threes | {"vec4": ti.types.vector(4, real), "double_mat": ti.types.matrix(3, 3, ti.f64)}
