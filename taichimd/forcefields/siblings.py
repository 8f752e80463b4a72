"""Modules that lie beside a user's file, importable while that file is loaded, and by it alone.

They come from their texts. Bytecode beside them is not looked at: it can be of another text than the one
whose hash is recorded.
"""

import importlib
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType

_INSTALLED = ("site-packages", "dist-packages")
_STDLIB = sysconfig.get_paths()["stdlib"]


class FromSource(SourceFileLoader):
    """Loads a module from its text, never from bytecode."""

    def get_code(self, fullname: str) -> CodeType:
        """The compiled text."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


@contextmanager
def siblings(folder: Path) -> Iterator[None]:
    """Let `import my_helper` find the modules of a folder, as Python does for a script in it.

    Behind it `sys.path` is as before, and the folder's modules are no longer known by their names: a file in
    another folder finds its own module of the same name. What has been imported keeps them.
    """
    before = set(sys.modules)
    hidden = {name: sys.modules.pop(name) for name in _of_another_folder(folder)}
    path, hooks, writes = list(sys.path), list(sys.path_hooks), sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True

    def finder(place: str) -> FileFinder:
        if not _is_users(Path(place), folder):
            raise ImportError
        return FileFinder(place, (ExtensionFileLoader, EXTENSION_SUFFIXES), (FromSource, SOURCE_SUFFIXES))

    sys.path_hooks.insert(0, finder)
    _forget_finders(folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:], sys.path_hooks[:], sys.dont_write_bytecode = path, hooks, writes
        _forget_finders(folder)
        own = [name for name in set(sys.modules) - (before - set(hidden)) if _top_lies_in(folder, name)]
        for name in own:
            del sys.modules[name]
        sys.modules.update(hidden)


def _is_users(place: Path, folder: Path) -> bool:
    """Whether a place is a folder or below it, without what is installed there."""
    place = place.resolve()
    inside = place.is_relative_to(folder) and not place.is_relative_to(_STDLIB)
    return inside and not any(part in _INSTALLED for part in place.parts)


def _forget_finders(folder: Path) -> None:
    """Let Python ask again how to import from a folder."""
    for place in [one for one in sys.path_importer_cache if _is_users(Path(one), folder)]:
        del sys.path_importer_cache[place]


def imported_beside(folder: Path, before: set[str]) -> list[Path]:
    """Files of the modules in a folder that were imported since `before` were the names of all."""
    files = {
        getattr(sys.modules[name], "__file__", None)
        for name in set(sys.modules) - before
        if _top_lies_in(folder, name)
    }
    return sorted(Path(file).resolve() for file in files if file)


def _of_another_folder(folder: Path) -> list[str]:
    """Loaded modules that have the name of one in the folder and lie in another one of the user's."""
    beside = {entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    roots = {
        name
        for name in beside & set(sys.modules)
        if name not in sys.stdlib_module_names
        and name != "taichimd"
        and not _is_installed(sys.modules[name])
        and _folder_of(sys.modules[name]) not in (None, folder)
    }
    return [name for name in sys.modules if name.split(".")[0] in roots]


def _top_lies_in(folder: Path, name: str) -> bool:
    top = sys.modules.get(name.split(".")[0])
    return top is not None and _folder_of(top) == folder and top.__name__ == name.split(".")[0]


def _is_installed(module: ModuleType) -> bool:
    folder = _folder_of(module)
    return folder is not None and folder.name in _INSTALLED


def _folder_of(module: ModuleType) -> Path | None:
    """Where a module or a package lies; None of what is in no file."""
    places = [Path(place) for place in getattr(module, "__path__", ())]
    file = getattr(module, "__file__", None)
    if places:
        return places[0].resolve().parent
    return None if file is None else Path(file).resolve().parent
