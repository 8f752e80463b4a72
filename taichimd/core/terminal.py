"""Standard output and standard error of the program, which may be closed, full, or read by nobody."""

import errno
import io
import os
import sys
from typing import Any

_READ_ENOUGH = (errno.EPIPE, errno.EIO)
"""A pipe whose reader has ended, as `head`, and a terminal that is gone: nobody misses what is not shown."""


class _Raw(io.FileIO):
    """A file that keeps the first `error` of a write and continues, as if nobody had read the text."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data) if self.error is None else len(data)
        except OSError as error:
            self.error = error
            return len(data)


class Streams:
    """The streams of the process, whose writes raise no errors; made at the start of the program.

    What was closed is opened as a file that cannot be written, lest a file of results takes its number.
    """

    def __init__(self) -> None:
        for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, flags)  # takes the lowest free number
        self._raw: list[_Raw] = []
        sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = getattr(sys, name)
            # Somebody else's, as a test's, stays.
            if stream is None or (stream is getattr(sys, f"__{name}__") and stream.fileno() == number):
                made = self._forgiving(stream, number)
                # The runtimes compare the two, and announce that they differ.
                for one in (name, f"__{name}__"):
                    setattr(sys, one, made)

    def _forgiving(self, stream: Any, number: int) -> io.TextIOWrapper:
        if stream is not None:
            stream.flush()
        raw = _Raw(number, "w", closefd=False)
        self._raw.append(raw)
        return io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding="utf-8" if stream is None else stream.encoding,
            errors="replace",  # an Å must not end a run on a terminal that lacks it
            line_buffering=number == 2 or os.isatty(number),
            write_through=stream is not None and stream.write_through,
        )

    def lost(self) -> str:
        """Why standard output could not be written; "" if it could, or if nobody wanted more of it."""
        sys.stdout.flush()
        sys.stderr.flush()
        errors = [raw.error for raw in self._raw if raw.fileno() == 1 and raw.error is not None]
        return next((str(error.strerror) for error in errors if error.errno not in _READ_ENOUGH), "")
