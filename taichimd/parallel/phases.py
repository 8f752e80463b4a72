"""How long the phases of a step take on the device of a process, for measurements.

On a GPU events are recorded between the kernels, in their stream, so that the host waits no more often than
without them; the report reads them. Elsewhere, or without CuPy, the host waits at the end of each phase.
"""

import time
from typing import Any

from taichimd.core.runtime import backend, ti


class Phases:
    """Adds up times between marks. The time since the last mark belongs to the phase that a mark names."""

    def __init__(self) -> None:
        self._events = _events() if backend() == "cuda" else None
        self._marks: list[tuple[str, Any]] = []
        self.ms: dict[str, float] = {}
        self.times: dict[str, int] = {}

    def mark(self, phase: str) -> None:
        """A phase ends here; the first mark of all only begins to count."""
        self._marks.append((phase, self._now()))

    def report(self) -> dict[str, Any]:
        """Milliseconds and number of each phase so far; waits for the device."""
        ti.sync()
        for (_, begin), (phase, end) in zip(self._marks, self._marks[1:], strict=False):
            self.ms[phase] = self.ms.get(phase, 0.0) + self._between(begin, end)
            self.times[phase] = self.times.get(phase, 0) + 1
        self._marks = self._marks[-1:]
        return {
            "clock": "host" if self._events is None else "events",
            "ms": {name: self.ms[name] for name in sorted(self.ms)},
            "times": {name: self.times[name] for name in sorted(self.times)},
        }

    def _now(self) -> Any:
        if self._events is None:
            ti.sync()
            return time.perf_counter()
        event = self._events.Event()
        event.record()
        return event

    def _between(self, begin: Any, end: Any) -> float:
        if self._events is None:
            return float(1e3 * (end - begin))
        end.synchronize()
        return float(self._events.get_elapsed_time(begin, end))


class NoPhases:
    """Nobody measures."""

    def mark(self, phase: str) -> None:
        """See `Phases`."""


def _events() -> Any:
    """CuPy's module of events, or None."""
    try:
        import cupy
    except ImportError:
        return None
    return cupy.cuda
