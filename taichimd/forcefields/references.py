"""Compiled functions by where they are found, so that force fields can be pickled: functions cannot.

A function is named by its module and what leads to it there: `PAIRS[False]`, or `function` of a declared
potential, or a term of a force field. A module of a user's file is named by the file and its SHA-256.
"""

import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.forcefields.user_files import USER, digest, module_of

_MADE = "()"


@dataclass(frozen=True)
class Reference:
    """Where a function is."""

    module: str | None  # its name, or None of a user's file
    file: str | None  # path, or None
    sha256: str | None  # of the file
    # from the module to the function: ("name", name), ("key", key), or (_MADE, None) for a call
    steps: tuple[tuple[str, Any], ...]

    def resolved(self) -> Any:
        """The function; a ParameterFileError if file or module have changed, or lack it."""
        where = self.file or self.module
        try:
            found: Any = (
                importlib.import_module(str(self.module))
                if self.file is None
                else module_of(self.file, self.sha256)
            )
            for kind, name in self.steps:
                if kind == _MADE:
                    found = found()
                else:
                    found = found[name] if kind == "key" else getattr(found, name)
        except (ImportError, AttributeError, KeyError, IndexError) as error:
            raise ParameterFileError(
                f"a pickled force field needs a function of {where}, which is not there ({error})"
            ) from error
        return found


def reference_to(value: Any, name: str) -> Any:
    """A `Reference` to a function, or to a dataclass of functions of a potential; None of None.

    SettingsError: no name of a module leads to it.
    """
    if value is None:
        return None
    for space in _spaces(value):
        for steps, found in _candidates(space):
            if found is value:
                return _reference(space, steps)
        kind = type(value)
        if is_dataclass(value) and space.get(kind.__name__) is kind and _is_default(value):
            return _reference(space, (("name", kind.__name__), (_MADE, None)))
    raise SettingsError(
        f"{name} cannot be pickled, because its function is declared inside another function: declare it at "
        "the top of a module or file, or pass file.py:name"
    )


def _reference(space: Mapping[str, Any], steps: tuple[tuple[str, Any], ...]) -> Reference:
    module = str(space["__name__"])
    if not module.startswith(USER):
        return Reference(module, None, None, steps)
    return Reference(None, str(space["__file__"]), digest(space["__file__"]), steps)


def _spaces(value: Any) -> Iterator[Mapping[str, Any]]:
    """Names of the modules in which a function may be found."""
    seen: set[int] = set()
    for function in _functions(value):
        if declared := getattr(function, "declared_in", None):
            seen.add(id(declared))
            yield declared
        plain = inspect.unwrap(function)
        held = [cell.cell_contents for cell in getattr(plain, "__closure__", None) or () if _filled(cell)]
        for one in (plain, *(inspect.unwrap(other) for other in held if callable(other))):
            space = getattr(one, "__globals__", None)
            if space is not None and "__name__" in space and id(space) not in seen:
                seen.add(id(space))
                yield space
    if is_dataclass(value):
        yield vars(importlib.import_module(type(value).__module__))


def _functions(value: Any) -> Iterator[Any]:
    """The functions in a value."""
    if is_dataclass(value):
        for part in fields(value):
            yield from _functions(getattr(value, part.name))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _functions(one)
    elif callable(value) and not isinstance(value, type):
        yield value


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _candidates(space: Mapping[str, Any]) -> Iterator[tuple[tuple[tuple[str, Any], ...], Any]]:
    """What names of a module lead to, one step further where that may hold functions of terms."""
    for name, found in list(space.items()):
        first = ("name", name)
        yield (first,), found
        if isinstance(found, dict):
            yield from (((first, ("key", key)), one) for key, one in found.items())
            continue
        for inner in ("function", "program"):  # of a declared potential, of one of passes
            if inner in getattr(found, "__dict__", {}):
                yield (first, ("name", inner)), getattr(found, inner)
        if type(found).__name__ == "ForceField":
            for number, term in enumerate(found.terms):
                steps = (first, ("name", "terms"), ("key", number))
                yield (*steps, ("name", "function")), term.function
                yield (*steps, ("name", "table"), ("name", "mix")), term.table.mix


def _is_default(value: Any) -> bool:
    """Whether a dataclass is as its class makes it."""
    return all(getattr(value, part.name) is part.default for part in fields(value))


def restored(kind: Any, state: Mapping[str, Any]) -> Any:
    """An object of a class with these arguments, references resolved: what unpickling calls."""
    known = {
        name: value.resolved() if isinstance(value, Reference) else value for name, value in state.items()
    }
    return kind(**known)
