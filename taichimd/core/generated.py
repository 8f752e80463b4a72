"""Modules whose source is written by the program: both runtimes read functions from files."""

import hashlib
import importlib.util
import os
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType


@cache
def imported(source: str, name: str) -> ModuleType:
    """The module of a source text, written to a file of the user's cache that stays readable.

    Args:
        source: Python.
        name: of the file, before a hash of the source.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    file = _folder() / f"{name}_{digest}.py"
    if not file.exists() or file.read_text() != source:
        # Another process may write the same file: the rename makes it appear whole.
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
            draft.write(source)
        os.replace(draft.name, file)
    specification = importlib.util.spec_from_file_location(f"taichimd_derived_{name}_{digest}", file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _folder() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for folder in (home / "taichimd" / "derived", Path(tempfile.gettempdir()) / "taichimd-derived"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="taichimd-"))
