"""The terminal of a command, and what becomes of a run whose terminal is gone: it continues."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from taichimd.core.printable import printable


class Console(RichConsole):
    """Prints to standard output as long as somebody reads; rich would end the run, without a checkpoint.

    Control characters in what it prints are written out: names and notes come from files.

    Args:
        quiet: print nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        stream: Any = _Unread(sys.stdout)
        super().__init__(file=stream, quiet=quiet)
        self.push_render_hook(_Printable())


class _Printable(RenderHook):
    """Takes what is to be printed, and makes its text printable; rich's own control codes stay."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Rendered(one) for one in renderables]


class _Rendered:
    def __init__(self, what: ConsoleRenderable) -> None:
        self._what = what

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._what, options):
            yield Segment(text if control else printable(text), style, control)


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
