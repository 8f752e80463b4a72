"""Writing files so that a full disk or a missing permission ends in one line, and never half a file."""

import ctypes
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from taichimd.core.errors import OutputError, TaichimdError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_LINK = (errno.ELOOP, errno.EMLINK)
_FLAGS = {
    "a": os.O_WRONLY | os.O_APPEND,
    "r+": os.O_RDWR,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
}
_EXACT = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""No link is followed, and a pipe in the place of a file waits for no reader; Windows has no such flags."""
_STALE_SECONDS = 3600.0
"""After which a temporary file is of a process that was killed: none takes so long to write."""
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn any `OSError` raised inside into an `OutputError` that names `path` and the cause."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {_reason(error)}") from error


@contextmanager
def all_or_none(files: list[Path]) -> Iterator[None]:
    """Remove those of the files that an error inside has left; what was there before stays."""
    fresh = [file for file in files if not file.exists()]
    try:
        yield
    except TaichimdError:
        for file in fresh:
            file.unlink(missing_ok=True)
        raise


def allow_open_files(wanted: int) -> None:
    """Let this process have so many more files open, as far as the system lets it; Windows has no limit."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = soft + wanted if hard == resource.RLIM_INFINITY else min(soft + wanted, hard)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


_WRITE_OUT = 2
"""SYNC_FILE_RANGE_WRITE of Linux: begin to write, wait for nothing."""
WRITE_OUT_BYTES = 2**23
"""Bytes of a file after which it is worth a call."""


def begin_to_write_out(handle: int) -> None:
    """Let the disk begin with what a file has in memory, so that a later `fsync` has less to wait for.

    Linux leaves up to a tenth of the memory unwritten for half a minute. Elsewhere nothing is done.
    """
    call = getattr(ctypes.CDLL(None), "sync_file_range", None) if os.name == "posix" else None
    if call is not None:
        # All of the file; what is on the disk already costs nothing. An error is one of `fsync`, too.
        call(ctypes.c_int(handle), ctypes.c_int64(0), ctypes.c_int64(0), ctypes.c_uint(_WRITE_OUT))


_made: list[Path] = []


def make_folder(path: Path) -> None:
    """Make a folder and its parents; `remove_empty_folders` takes them away again if nothing came there."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    _made.extend(missing)


def remove_empty_folders() -> None:
    """Remove the empty folder of a command that was refused or stopped."""
    for folder in sorted(_made, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):
            folder.rmdir()
    _made.clear()


def _reason(error: OSError) -> str:
    if error.errno in _FULL:
        return "the disk is full; free some space or choose another folder with --output"
    if error.errno in _DENIED:
        return "no permission; choose another folder with --output"
    if error.errno in _LINK:
        return "a symbolic link is in its place, and none is followed; remove it, or choose another --output"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "a file is in the way of the folder; choose another folder with --output"
    return error.strerror or str(error)


def open_own(path: Path, mode: str) -> int:
    """Descriptor of a file of an output folder; a link in its place, which may lead anywhere, is an OSError.

    Modes: "a" appends, "r+" changes, "w" begins again, "x" makes a file that must not be there.
    """
    handle = os.open(path, _FLAGS[mode] | _EXACT, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file; remove it, or choose another --output")
    return handle


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path is below a folder once all links are followed."""
    return path.resolve().is_relative_to(folder.resolve())


def cut_file(path: Path, size: int) -> None:
    """Keep the first bytes of a file of an output folder."""
    with os.fdopen(open_own(path, "r+"), "r+b") as file:
        file.truncate(size)


def remove_stale_parts(folder: Path) -> None:
    """Remove temporary files that processes left which were killed while they wrote."""
    for file in folder.glob(".*.part"):
        with suppress(OSError):
            if time.time() - file.lstat().st_mtime > _STALE_SECONDS:
                file.unlink()


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file completely or not at all: a reader finds the old content or the new, never a part.

    The temporary file is in the same folder, because a rename is atomic only within one file system. Its name
    is random and the file must be new, so that no link in its place leads elsewhere.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with writing(path):
        try:
            with os.fdopen(open_own(temporary, "x"), "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut, where the system can (not on Windows)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems refuse; the rename is done all the same
    finally:
        os.close(handle)


class OwnFile:
    """A file that is open for writing."""

    path: Path
    _file: IO[bytes]

    def sync(self) -> None:
        """Force what was written onto the disk."""
        with writing(self.path):
            os.fsync(self._handle())

    def write_out(self) -> None:
        """Let the disk begin with what was written (`begin_to_write_out`)."""
        begin_to_write_out(self._handle())

    def _handle(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        """Close the file."""
        with writing(self.path):
            self._file.close()


class AppendedFile(OwnFile):
    """A file that grows piece by piece, each piece flushed: a killed run loses none that was reported.

    `keep` gives the number of leading bytes to keep of a file that is there; None starts a new one with
    `header`.
    """

    def __init__(self, path: Path, keep: Callable[[], int] | None, header: str = "") -> None:
        self.path = path
        with writing(path):
            if keep is not None and path.exists():
                self._file = self._opened("a")
                self._file.truncate(keep())
            else:
                self._file = self._opened("w")
                self._file.write(header.encode())
                self._file.flush()

    def _opened(self, mode: str) -> IO[bytes]:
        return os.fdopen(open_own(self.path, mode), f"{mode}b")

    def append(self, text: str | bytes) -> None:
        """Write a piece and hand it to the system."""
        with writing(self.path):
            self._file.write(text.encode() if isinstance(text, str) else text)
            self._file.flush()
