"""Generated modules: their source is known to Python, and never read from a file."""

import inspect
import linecache
import os
from pathlib import Path

import pytest

from taichimd.core.generated import imported

SOURCE = '"""A text."""\n\n\ndef twice(x):\n    return 2 * x\n'


def test_the_source_of_a_function_is_known_even_where_caches_were_emptied():
    twice = imported(SOURCE, "twice").twice
    assert twice(4) == 8
    assert imported(SOURCE, "twice").twice is twice
    for forget in (lambda: None, linecache.checkcache, linecache.clearcache):
        forget()
        assert inspect.getsource(twice) == "def twice(x):\n    return 2 * x\n"
        assert inspect.getsource(twice.__code__) == inspect.getsource(twice)


def test_no_file_is_read_or_written(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    module = imported(SOURCE + "\n\nTHERE = True\n", "twice")
    assert module.THERE
    assert list(tmp_path.rglob("*")) == []
    file = Path(module.__file__)
    assert not file.exists()
    with pytest.raises(OSError, match="Not a directory" if os.name == "posix" else ""):
        file.parent.mkdir(parents=True)
