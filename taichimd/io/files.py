"""Writing files so that a full disk or a missing permission ends in one line, and never half a file."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from taichimd.core.errors import OutputError, TaichimdError

_FULL = (errno.ENOSPC, errno.EDQUOT)
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


_made: list[Path] = []


def make_folder(path: Path) -> None:
    """Make a folder and its parents; `remove_empty_folders` takes them away again if nothing came there."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    _made.extend(missing)


def remove_empty_folders() -> None:
    """Of a command that was refused after it had made its folder."""
    for folder in _made:
        with suppress(OSError):
            folder.rmdir()
    _made.clear()


def _reason(error: OSError) -> str:
    if error.errno in _FULL:
        return "the disk is full; free some space or choose another folder with --output"
    if error.errno in _DENIED:
        return "no permission; choose another folder with --output"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "a file is in the way of the folder; choose another folder with --output"
    return error.strerror or str(error)


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file completely or not at all: a reader finds the old content or the new, never a part.

    The temporary file is in the same folder, because a rename is atomic only within one file system.

    Args:
        path: the file to make or replace.
        write: called with the open binary file.

    Raises:
        OutputError: it cannot be written; `path` is then as it was before.
    """
    temporary = path.with_name(f".{path.name}.part")
    with writing(path):
        try:
            with open(temporary, "wb") as file:
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


class AppendedFile:
    """A text file that grows piece by piece, each piece flushed: a killed run loses none that was reported.

    Args:
        path: the file.
        keep: gives the number of leading bytes to keep of a file that is there; None starts a new one.
        header: first text of a new file.

    Raises:
        OutputError: it cannot be written.
    """

    def __init__(self, path: Path, keep: Callable[[], int] | None, header: str = "") -> None:
        self.path = path
        with writing(path):
            if keep is not None and path.exists():
                os.truncate(path, keep())
                self._file = open(path, "a", encoding="utf-8", newline="\n")
            else:
                self._file = open(path, "w", encoding="utf-8", newline="\n")
                self._file.write(header)
                self._file.flush()

    def append(self, text: str) -> None:
        """Write a piece and hand it to the system."""
        with writing(self.path):
            self._file.write(text)
            self._file.flush()

    def sync(self) -> None:
        """Force what was written onto the disk."""
        with writing(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        with writing(self.path):
            self._file.close()
