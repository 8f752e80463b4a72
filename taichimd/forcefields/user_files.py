"""Modules of users' files: loaded from their text, found again by path and SHA-256."""

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from taichimd.core.errors import ParameterFileError, TaichimdError
from taichimd.forcefields.siblings import FromSource, siblings
from taichimd.forcefields.source import line_in

USER = "taichimd_user_"
"""Begins the name of a module that was loaded from a user's file."""
_modules: dict[tuple[str, str | None], ModuleType] = {}
"""Modules of users' files, by absolute path and SHA-256: what is unpickled needs the same functions."""


def module_of(path: str, sha256: str | None) -> ModuleType:
    """The module of a user's file, loaded once; a ParameterFileError if it is not that of the SHA-256."""
    if (path, sha256) in _modules:
        return _modules[path, sha256]
    if digest(path) != sha256:
        gone = "is not there" if not Path(path).is_file() else "has changed"
        raise ParameterFileError(
            f"{path} {gone}, and a pickled force field needs it as it was; load it again"
        )
    with siblings(Path(path).parent):
        return loaded(Path(path))


def digest(path: str | os.PathLike[str]) -> str | None:
    """SHA-256 of a file's bytes; None of what is no file."""
    file = Path(path)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def loaded(file: Path) -> ModuleType:
    """The module of a user's file, executed again."""
    # Absolute: the runtime reads the source later, when the current folder may be another one.
    path = file.resolve()
    module_name = f"{USER}{file.stem}"
    loader = FromSource(module_name, str(path))
    specification = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    key = str(path), digest(path)
    with told(file):
        sys.modules[module_name] = module
        loader.exec_module(module)
    _modules[key] = module
    return module


@contextmanager
def told(file: Path) -> Iterator[None]:
    """Turn what a user's file raises into one line with the file and the line."""
    try:
        yield
    except TaichimdError:
        raise  # says file and line itself
    except SystemExit as error:
        raise ParameterFileError(
            f"{_at(file, error)} ends the program while the file is read; put that below "
            'if __name__ == "__main__":'
        ) from error
    except Exception as error:
        raise ParameterFileError(f"{_at(file, error)}: {type(error).__name__}: {_text(error)}") from error


def _at(file: Path, error: BaseException) -> str:
    """The file, and the line of it that an exception went through."""
    line = line_in(error, str(file.resolve()))
    return str(file) if line is None else f"{file} line {line}"


def _text(error: Exception) -> str:
    """Return the text of an exception, for a `SyntaxError` without the place, which is said already."""
    return str(error.msg) if isinstance(error, SyntaxError) else str(error)
