"""Where the runtimes keep compiled kernels: the user's cache folder if it is private, else a temporary one.

Who can write there decides what this process executes. And a runtime that finds no place to write aborts the
process at its end, even if it was told to keep nothing.
"""

import atexit
import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

try:
    import grp
    import pwd
except ImportError:  # not on Windows
    grp = pwd = None  # type: ignore[assignment]

RUNTIMES = ("taichi", "quadrants")
_PLACES = {"taichi": ("taichi", "ticache"), "quadrants": ("quadrants", "qdcache")}
"""Folders of the runtimes in the user's cache folder."""
_ROOM = 64 * 2**20
"""Bytes free that a cache needs: on a full disk a runtime aborts the process."""


def settle_home() -> None:
    """Give the process a HOME, and no XDG_CACHE_HOME that counts for nothing: the runtimes abort without."""
    if not os.path.isabs(os.environ.get("XDG_CACHE_HOME", os.sep)):
        del os.environ["XDG_CACHE_HOME"]
    if not os.path.isabs(os.environ.get("HOME", "")):
        os.environ.pop("HOME", None)
        home = os.path.expanduser("~")
        os.environ["HOME"] = home if os.path.isabs(home) else os.sep


def cache_folder(runtime: str) -> Path:
    """Where a runtime, "taichi" or "quadrants", keeps compiled kernels by default."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")
    return Path(home, *_PLACES[runtime])


def private(folder: Path) -> str:
    """Make a folder that only this user can write, and the two above it; why it is none, or ""."""
    above = folder.parents[1]
    try:
        above.mkdir(parents=True, exist_ok=True)
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
        flaws = [_flaw(above, own=False), _flaw(folder.parent), _flaw(folder)]
        with tempfile.TemporaryFile(dir=folder):
            pass
        if shutil.disk_usage(folder).free < _ROOM:
            flaws.append(f"the disk of {folder} is full")
    except OSError as error:
        return f"{folder} cannot be written ({error.strerror or error})"
    return next((flaw for flaw in flaws if flaw), "")


def _flaw(folder: Path, own: bool = True) -> str:
    """Why others could replace what is in a folder, own or shared as /tmp is; "" if they cannot."""
    if pwd is None:
        return ""
    user, found = os.geteuid(), folder.stat()
    owners = (user,) if own else (user, 0)
    if found.st_uid not in owners or folder.lstat().st_uid not in (user, 0):
        return f"{folder} belongs to another user"
    writers = found.st_mode & (stat.S_IWOTH | (0 if _alone(found.st_gid) else stat.S_IWGRP))
    if writers and (own or not found.st_mode & stat.S_ISVTX):
        return f"others can write in {folder}, if none has, chmod go-w {shlex.quote(str(folder))}"
    return ""


def _alone(group: int) -> bool:
    """Whether a group is this user's own, as many systems make one for each user."""
    try:
        name, members = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return members.gr_name == name and set(members.gr_mem) <= {name}


def place_for_kernels(runtime: str, reset: Callable[[], None]) -> tuple[Path | None, str]:
    """Where a runtime is to keep its kernels in this process: None (the default), or a folder, and why.

    A temporary folder goes with the process, after `reset` has ended the runtime. BackendError: there is
    none.
    """
    folder = cache_folder(runtime)
    why = private(folder)
    if not why:
        return None, ""
    try:
        temporary = Path(tempfile.mkdtemp(prefix="taichimd-"))
    except OSError:
        from taichimd.core.errors import BackendError

        raise BackendError(
            f"compiled kernels need a folder: {why}, and there is no temporary folder either; set "
            "XDG_CACHE_HOME or TMPDIR to a folder that can be written"
        ) from None
    process = os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            reset()
            shutil.rmtree(temporary, ignore_errors=True)

    atexit.register(remove)
    return temporary, (
        f"compiled kernels are not kept, so each start compiles again: {why}; XDG_CACHE_HOME can name "
        "another folder"
    )
