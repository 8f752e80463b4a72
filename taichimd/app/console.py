"""The terminal of a command, and what becomes of a run whose terminal is gone: it goes on."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console as RichConsole


class Console(RichConsole):
    """Prints to standard output as long as somebody reads; rich would end the run, without a checkpoint.

    Args:
        quiet: print nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        stream: Any = _Unread(sys.stdout)
        super().__init__(file=stream, quiet=quiet)


class _Unread:
    """A stream that does not mind a closed pipe or a terminal that is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._unread():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._unread():
            self._stream.flush()

    @contextmanager
    def _unread(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            # What is left in the buffer is written when the process ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
