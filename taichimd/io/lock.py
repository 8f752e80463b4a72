"""A lock on an output folder, so that two processes never write there at the same time.

The lock is a file that says who holds it. On one host the system's own lock on this file (`flock`) tells
whether the holder lives: it ends with the process, however that ends. Another host's process cannot be asked,
and some network file systems know no such lock: there the file alone counts, until somebody removes it.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from taichimd.core.errors import OutputError
from taichimd.io.files import make_folder, open_own, remove_stale_parts, writing

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

NAME = ".taichimd-lock"
_LONGEST = 4096
"""Bytes of a lock that are read."""
_TRIES, _PAUSE = 20, 0.05
"""How often, and after how many seconds, to look again at a lock that is just being made or removed."""
_WAIT, _SILENT = 60.0, 2.0
"""Seconds for which a lock that its holder needs only briefly is waited for, and of them without a word."""


@contextmanager
def locked(folder: Path, *, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is not there; an OutputError if another process has it.

    `tell` prints a line; it is given where the lock is needed only briefly, as while a table is drawn.
    Another process that also holds the lock briefly is waited for, and after two seconds a line says so.
    """
    path = folder / NAME
    with writing(folder):
        handle = _take(path, tell)
    remove_stale_parts(folder)
    try:
        yield
    finally:
        if fcntl is None:
            os.close(handle)  # Windows removes no open file
        # The name goes before the lock of the system: who gets that looks whether the name is still there.
        with suppress(OSError):
            path.unlink()
        if fcntl is not None:
            os.close(handle)


def _take(path: Path, tell: Callable[[str], None] | None) -> int:
    """Open lock file, now ours."""
    owner: dict[str, Any] = {}
    begin, said, tries = time.monotonic(), False, 0
    brief = tell is not None
    while tries < _TRIES or (brief and owner.get("brief") and time.monotonic() - begin < _WAIT):
        make_folder(path.parent)
        with suppress(FileNotFoundError):
            try:
                return _write_owner(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644), path, brief)
            except FileExistsError:
                if path.is_symlink():
                    raise OutputError(
                        f"{path} is a symbolic link, which is not followed; remove it"
                    ) from None
                owner = _read_owner(path)
                # Who was killed before it could say who it is leaves no word; who is about to needs a moment.
                handle = _take_over(path, owner, brief) if owner or tries >= _TRIES // 2 else None
                if handle is not None:
                    return handle
        if tell is not None and not said and time.monotonic() - begin > _SILENT:
            tell(f"waiting for another process, which writes to {path.parent}")
            said = True
        tries += 1
        time.sleep(_PAUSE)
    raise OutputError(_refusal(path, owner))


def _write_owner(handle: int, path: Path, brief: bool) -> int:
    """The handle of a lock file, after it was locked and says that this process has it."""
    try:
        if _flock(handle) is False:
            raise FileExistsError(path)
        owner = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "brief": brief,
        }
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps(owner).encode())
    except BaseException as error:
        os.close(handle)
        if not isinstance(error, FileExistsError):
            path.unlink(missing_ok=True)  # ours, and without a word of whose it is
        raise
    return handle


def _take_over(path: Path, owner: dict[str, Any], brief: bool) -> int | None:
    """Handle of the lock of a process of this host that has ended, or of none; None if it may live."""
    if owner and owner.get("host") != socket.gethostname():
        return None
    handle = open_own(path, "r+")
    # Of several who come at once one gets the system's lock, and it may be on a file that has lost its name.
    same = _flock(handle) and path.exists() and os.path.samestat(os.fstat(handle), path.stat())
    if not same or _read_owner(path).get("host") != owner.get("host"):
        os.close(handle)
        return None
    return _write_owner(handle, path, brief)


def _flock(handle: int) -> bool | None:
    """Whether the system's lock is ours now; None where there is none to be had."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _read_owner(path: Path) -> dict[str, Any]:
    """Who holds the lock; empty if the file does not say, as while it is written."""
    try:
        with open(path, "rb") as file:
            owner = json.loads(file.read(_LONGEST))
    except (ValueError, RecursionError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _refusal(path: Path, owner: dict[str, Any]) -> str:
    who = "process {pid} on {host}, since {since}".format_map({"pid": "?", "host": "?", "since": "?"} | owner)
    return (
        f"{path.parent} is in use by another run ({who}); wait for its end or give another --output; if that "
        f"process has crashed, remove {path}"
    )
