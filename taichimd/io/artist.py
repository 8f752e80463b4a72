"""A second process that draws the picture of a run.

The process loads Matplotlib while the run starts, so that the run does not wait for it after its last step.
Without such a process, or if it fails, the run draws the picture itself. With many processors, panels of the
picture are drawn at the same time, each in a process of its own.
"""

import atexit
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

from taichimd.core.processes import of_machine, same_module

MANY_CORES = 4
"""From so many processors on the run does not notice that this process draws something beforehand."""
_DONE = b"drawn\n"
_waiting: subprocess.Popen[bytes] | None = None


def _cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare() -> None:
    """Start the process, if there is a processor for it."""
    global _waiting
    if _waiting is not None or _cores() < 2 or of_machine()[1] > 1 or "matplotlib" in sys.modules:
        return
    try:
        # In a session of its own: Ctrl-C is for the run, which then wants its picture.
        _waiting = subprocess.Popen(
            same_module("taichimd.io.artist"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return
    atexit.register(_waiting.kill)


def draw(table: Path, picture: Path, report: Mapping[str, Any]) -> Callable[[], None]:
    """Begin to draw the picture of a run (`plots.plot_run`).

    Returns a function that waits until it is written.
    """
    global _waiting
    process, _waiting = _waiting, None
    asked = process is not None and _ask(process, (table.absolute(), picture.absolute(), dict(report)))

    def wait() -> None:
        if not (asked and process is not None and _answer(process) == _DONE):
            from taichimd.io.plots import plot_run

            plot_run(table, picture, report)

    return wait


def _answer(process: subprocess.Popen[bytes]) -> bytes:
    """What the process says when it has drawn; empty if it has failed. The process then ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    answer = process.stdout.readline()
    with suppress(OSError):
        process.stdin.close()
    process.stdout.close()
    process.wait()
    return answer


def _ask(process: subprocess.Popen[bytes], what: Any) -> bool:
    """Hand over what to draw; whether the process took it."""
    assert process.stdin is not None
    try:
        pickle.dump(what, process.stdin)
        process.stdin.flush()
    except (OSError, ValueError, TypeError, AttributeError, pickle.PicklingError):
        process.kill()
        return False
    return True


def _serve() -> None:
    """Load Matplotlib, then draw what the run asks for; end without it if the run ends."""
    gc.disable()  # this process ends with its picture
    import matplotlib.backends.backend_agg  # noqa: F401

    from taichimd.io import forked_panels
    from taichimd.io.plots import plot_run, rehearse

    if _cores() >= MANY_CORES and sys.platform != "win32":
        forked_panels.together = sys.platform == "linux"
        if not select([sys.stdin], [], [], 0.0)[0]:
            rehearse()
    try:
        table, picture, report = pickle.load(sys.stdin.buffer)
    except EOFError:
        return
    plot_run(table, picture, report)
    sys.stdout.buffer.write(_DONE)
    sys.stdout.flush()
    # Python takes long to unload what this process has loaded, and the run waits for its end.
    os._exit(0)


if __name__ == "__main__":
    _serve()
