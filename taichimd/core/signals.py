"""Ctrl-C, SIGTERM, SIGHUP: exceptions while a program starts; then a wish, so that it ends after a step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_HANGUP = getattr(signal, "SIGHUP", None)  # not on Windows
_WATCHED = [signal.SIGINT, signal.SIGTERM] + ([_HANGUP] if _HANGUP else [])
_received = 0


@contextmanager
def keep_interrupts() -> Iterator[None]:
    """Context in which SIGINT, SIGTERM and SIGHUP raise `KeyboardInterrupt`, and are kept beside.

    So a program that is stopped while it starts can tidy up. Imports of compiled modules turn the exception
    into an ImportError, callbacks of C++ swallow it.
    """
    global _received
    before = {}
    # Only the main thread may have handlers.
    if threading.current_thread() is threading.main_thread():
        # Whoever ignores a signal, or has another handler, keeps that.
        usual = (signal.SIG_DFL, signal.default_int_handler)
        before = {number: signal.getsignal(number) for number in _WATCHED}
        before = {number: handler for number, handler in before.items() if handler in usual}
    for number in before:
        signal.signal(number, _keep)
    try:
        yield
    finally:
        _received = 0
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep(number: int, frame: FrameType | None) -> None:
    global _received
    _received = number
    raise KeyboardInterrupt


def interrupted() -> int:
    """The signal that came within `keep_interrupts`, or 0; not one that `StopRequest` has noted."""
    return _received


def end_of(number: int) -> tuple[str, int]:
    """What to say of a signal that has ended the program, and the exit code; 0: an interrupt."""
    if number in (0, signal.SIGINT):
        return "interrupted", 128 + signal.SIGINT
    return f"stopped by {signal.Signals(number).name}", 128 + number


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
                if number != _HANGUP or signal.getsignal(number) in (signal.SIG_DFL, _keep):
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
