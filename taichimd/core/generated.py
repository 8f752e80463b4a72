"""Modules whose source is written by the program: both runtimes ask Python for the source of a function.

The source stays in memory. A file that others can write, or bytecode beside it, could be replaced.
"""

import hashlib
import importlib.util
import linecache
import os
import sys
from functools import cache
from importlib.abc import ExecutionLoader
from types import ModuleType

_FOLDER = f"{os.devnull}/taichimd"
"""Folder in the names of these modules: no file can ever be there."""


class _FromText(ExecutionLoader):
    """Loads a module from a text, and gives the text to whoever asks for its source."""

    def __init__(self, file: str, source: str) -> None:
        self._file, self._source = file, source

    def get_filename(self, fullname: str) -> str:
        return self._file

    def get_source(self, fullname: str) -> str:
        return self._source


@cache
def imported(source: str, name: str) -> ModuleType:
    """The module of a source text, which `inspect.getsource` knows; a hash comes behind its name."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    module_name, file = f"taichimd_derived_{name}_{digest}", f"{_FOLDER}/{name}_{digest}.py"
    loader = _FromText(file, source)
    specification = importlib.util.spec_from_file_location(module_name, file, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    # Without a time of change the lines are kept for good.
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    sys.modules[module_name] = module
    loader.exec_module(module)
    return module
