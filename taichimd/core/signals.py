"""Ctrl-C, SIGTERM and SIGHUP as a wish that the loop looks at, so that a run ends after a whole step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_HANGUP = getattr(signal, "SIGHUP", None)  # not on Windows
_WATCHED = [signal.SIGINT, signal.SIGTERM] + ([_HANGUP] if _HANGUP else [])
_interrupted = False


@contextmanager
def keep_interrupts() -> Iterator[None]:
    """Context in which a Ctrl-C raises `KeyboardInterrupt`, as ever, and is kept beside.

    Imports of compiled modules turn the exception into an ImportError, callbacks of C++ swallow it.
    """
    global _interrupted
    # Whoever ignores the signal, or has another handler, keeps that; only the main thread may have one.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _keep)
    try:
        yield
    finally:
        _interrupted = False
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _keep(number: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def interrupted() -> bool:
    """Whether a Ctrl-C came within `keep_interrupts`; not one that `StopRequest` has noted."""
    return _interrupted


class StopRequest:
    """Context in which the first SIGINT, SIGTERM or SIGHUP sets `received`; a second one acts as usual.

    A SIGHUP that is ignored, as under `nohup`, stays ignored.

    Attributes:
        received: the signal's number, or None.

    Raises:
        KeyboardInterrupt: on entry, if a Ctrl-C before was lost.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if interrupted():
            raise KeyboardInterrupt
        # Python allows handlers in the main thread only; elsewhere signals stay with whoever has them.
        if threading.current_thread() is threading.main_thread():
            for number in _WATCHED:
                if number != _HANGUP or signal.getsignal(number) == signal.SIG_DFL:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        self._restore()

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.received is not None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        self._restore()

    def _restore(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)
