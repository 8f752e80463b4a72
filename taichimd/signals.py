"""Ctrl-C and SIGTERM as a wish that the loop looks at, so that a run ends after a whole step."""

import signal
import threading
from types import FrameType
from typing import Any

_WATCHED = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Context in which the first SIGINT or SIGTERM sets `received`; a second one acts as usual.

    Attributes:
        received: the signal's number, or None.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        # Python allows handlers in the main thread only; elsewhere signals stay with whoever has them.
        if threading.current_thread() is threading.main_thread():
            for number in _WATCHED:
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
