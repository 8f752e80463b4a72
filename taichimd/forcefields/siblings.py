"""Modules that lie beside a user's file, importable while that file is loaded, and by it alone."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def siblings(folder: Path) -> Iterator[None]:
    """Let `import my_helper` find the modules of a folder, as Python does for a script in it.

    Behind it `sys.path` is as before, and the folder's modules are no longer known by their names: a file in
    another folder finds its own module of the same name. What has been imported keeps them.

    Args:
        folder: absolute.
    """
    before = set(sys.modules)
    hidden = {name: sys.modules.pop(name) for name in _of_another_folder(folder)}
    path, writes = list(sys.path), sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    # Bytecode files know their source by whole seconds: a module edited just now would be the old one.
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = path
        sys.dont_write_bytecode = writes
        own = {name for name in sys.modules if _top_lies_in(folder, name)}
        for name in own - (before - set(hidden)):
            del sys.modules[name]
        sys.modules.update(hidden)


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
    return folder is not None and folder.name in ("site-packages", "dist-packages")


def _folder_of(module: ModuleType) -> Path | None:
    """Where a module or a package lies; None of what is in no file."""
    places = [Path(place) for place in getattr(module, "__path__", ())]
    file = getattr(module, "__file__", None)
    if places:
        return places[0].resolve().parent
    return None if file is None else Path(file).resolve().parent
