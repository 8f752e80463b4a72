"""One thread at a time in the runtime, and no forked process: neither Taichi nor quadrants bears more."""

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from taichimd.core.errors import BackendError

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Process:
    """The lock of the runtime; whether it runs in this process, or ran in its parent before a fork."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.started = self.forked = False

    def after_fork(self) -> None:
        """In the child: the runtime's threads are not there, and another thread may have held the lock."""
        self.lock, self.forked = threading.RLock(), self.started


PROCESS = _Process()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=PROCESS.after_fork)


def check_process() -> None:
    """Raise a BackendError in a fork of a process in which the runtime ran: a kernel would wait for ever."""
    if PROCESS.forked:
        raise BackendError(
            "this process was forked after taichimd had computed in its parent, and the runtime's threads "
            'stayed there; use spawn: multiprocessing.get_context("spawn"), or compute nothing before'
        )


def exclusive(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let one thread at a time into this function and all others of the kind; the others wait."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check_process()
        with PROCESS.lock:
            return function(*args, **kwargs)

    return call
