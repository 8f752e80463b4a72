"""Compiled kernels are kept where nobody else can write; without such a place a process runs all the same."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from taichimd.core import kernel_cache
from taichimd.core.errors import BackendError
from taichimd.core.kernel_cache import cache_folder, place_for_kernels, private, settle_home

KERNEL = """
import numpy as np
from taichimd.core.runtime import start, ti
start("cpu")

@ti.kernel
def add(a: ti.types.ndarray()):
    for i in a:
        a[i] += 1

numbers = np.zeros(3)
add(numbers)
print(numbers.sum())
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "taichi" / "ticache"


@pytest.fixture
def exits(monkeypatch):
    """What would be called at the end of the process."""
    found = []
    monkeypatch.setattr(kernel_cache.atexit, "register", found.append)
    return found


def _chmod(path, mode):
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode)


def test_a_new_folder_is_private(folder):
    assert private(folder) == ""
    for one in (folder, folder.parent):
        assert stat.S_IMODE(one.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
def test_a_folder_that_others_can_write_is_not_trusted(folder, mode):
    for one in (folder, folder.parent):
        _chmod(one, mode)
        assert private(folder).startswith(f"others can write in {one}, if none has, chmod go-w {one}")
        one.chmod(0o700)
    assert private(folder) == ""


def test_above_it_only_a_folder_like_tmp_may_be_shared(folder):
    _chmod(folder.parents[1], 0o1777)
    assert private(folder) == ""
    folder.parents[1].chmod(0o777)
    assert "others can write" in private(folder)


def test_a_group_may_write_if_it_is_of_this_user_alone(folder, monkeypatch):
    _chmod(folder, 0o770)
    monkeypatch.setattr(kernel_cache, "_alone", lambda group: True)
    assert private(folder) == ""
    monkeypatch.setattr(kernel_cache, "_alone", lambda group: False)
    assert "others can write" in private(folder)


def test_the_folder_of_another_user_is_not_trusted(folder, monkeypatch):
    assert private(folder) == ""
    monkeypatch.setattr(kernel_cache.os, "geteuid", lambda: os.getuid() + 1)
    assert "belongs to another user" in private(folder)


def test_without_a_place_a_temporary_folder_serves_and_goes(tmp_path, monkeypatch, exits):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    monkeypatch.setattr(kernel_cache.tempfile, "tempdir", str(tmp_path))
    ended = []
    place, why = place_for_kernels("taichi", lambda: ended.append(True))
    assert place.parent == tmp_path
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert "/proc/none/taichi/ticache cannot be written" in why
    assert "XDG_CACHE_HOME" in why
    (place / "kernel").write_text("compiled")
    (end,) = exits
    monkeypatch.setattr(kernel_cache.os, "getpid", lambda: 1)
    end()
    assert place.exists(), "a forked process must leave it to its parent"
    monkeypatch.undo()
    end()
    assert ended == [True]
    assert not place.exists()


def test_a_full_disk_is_no_place(tmp_path, monkeypatch, exits):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert place_for_kernels("quadrants", lambda: None) == (None, "")
    monkeypatch.setattr(kernel_cache, "_ROOM", 2**62)
    assert "the disk of" in place_for_kernels("quadrants", lambda: None)[1]


def test_no_place_at_all_is_one_line(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    monkeypatch.setattr(kernel_cache.tempfile, "tempdir", "/proc/none")
    with pytest.raises(BackendError, match="set XDG_CACHE_HOME or TMPDIR to a folder that can be written"):
        place_for_kernels("taichi", lambda: None)


def test_a_home_is_found_or_made_up(monkeypatch):
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, "relative")
    settle_home()
    assert "XDG_CACHE_HOME" not in os.environ
    assert os.environ["HOME"] == str(Path("~").expanduser())
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(kernel_cache.os.path, "expanduser", lambda path: path)
    settle_home()
    assert os.environ["HOME"] == "/"
    assert cache_folder("quadrants") == Path("/.cache/quadrants/qdcache")


@pytest.mark.both
@pytest.mark.parametrize("home", [None, "/proc/none"])
def test_a_process_without_home_ends_well(tmp_path, home):
    environment = {key: value for key, value in os.environ.items() if key not in ("HOME", "XDG_CACHE_HOME")}
    temporary, program = tmp_path / "temporary", tmp_path / "add.py"
    temporary.mkdir()
    program.write_text(KERNEL)
    environment |= {"TMPDIR": str(temporary)} | ({} if home is None else {"HOME": home})
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("3.0", 0)
    assert ("TaichimdWarning: compiled kernels are not kept" in done.stderr) == (home is not None)
    assert list(temporary.iterdir()) == []
