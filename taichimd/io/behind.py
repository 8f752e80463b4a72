"""Files that are written by another thread, while the run continues.

Frames wait in a queue whose size is bounded. Where the disk is slower than the run, the run waits. An error
of the thread, such as a full disk, is raised in the run: at its next frame, or when the run asks for all that
was written, as it does before each checkpoint. After an error nothing more is written to this file.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

MAX_BYTES = 2**28
"""Most bytes of the frames of all files that wait; each file may have one more."""


@cache
def _thread(process: int) -> ThreadPoolExecutor:
    """The writer of a process: one, because one disk takes no more from several; a fork has its own."""
    return ThreadPoolExecutor(1, "taichimd-writer")


class Behind:
    """What is yet to be written to one file, in its order."""

    _bytes_of_all = 0

    def __init__(self) -> None:
        self._waiting: deque[tuple[Future[None], int]] = deque()
        self._failed = False

    def put(self, task: Callable[[], Any], size: int) -> None:
        """Have something of so many bytes done later; waits while too many wait. Raises an earlier error."""
        while self._waiting and (self._waiting[0][0].done() or Behind._bytes_of_all + size > MAX_BYTES):
            self._take_first()
        Behind._bytes_of_all += size
        self._waiting.append((_thread(os.getpid()).submit(self._do, task), size))

    def wait(self) -> None:
        """Wait until all is done; raises the first error, after which all tasks were left out."""
        error: BaseException | None = None
        while self._waiting:
            try:
                self._take_first()
            except Exception as found:
                error = error or found
        if error is not None:
            raise error

    def _take_first(self) -> None:
        future, size = self._waiting.popleft()
        try:
            future.result()
        finally:
            Behind._bytes_of_all -= size

    def _do(self, task: Callable[[], Any]) -> None:
        if self._failed:
            return
        try:
            task()
        except BaseException:
            self._failed = True
            raise
