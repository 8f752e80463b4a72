"""A run from its first step to its last file, whatever stops it."""

import contextlib
import signal
from collections.abc import Callable
from typing import Any

from rich.console import Console

from taichimd.app.outputs import CheckpointKeeper, RunFiles
from taichimd.app.simulation import RunResult, Simulation
from taichimd.core.errors import TaichimdError
from taichimd.core.signals import StopRequest


def to_the_end(
    simulation: Simulation,
    files: RunFiles,
    keeper: CheckpointKeeper,
    console: Console,
    *,
    step: Callable[[StopRequest], RunResult],
    finish: Callable[[str, RunResult], Any],
    failed: Callable[[str], Any],
) -> int:
    """Run, and leave a checkpoint and closed files, also after a signal.

    Args:
        simulation: to be run.
        files: open ones.
        keeper: of checkpoints.
        console: told where the checkpoint is.
        step: runs, and looks at the request to stop.
        finish: writes results; called with the reason of the end.
        failed: writes the report of a run that an error has ended; called with the error's words.

    Returns:
        Exit code: 0 when finished, 130, 143 or 129 when stopped by Ctrl-C, SIGTERM or SIGHUP.

    Raises:
        TaichimdError: of the run; the message says where the last good checkpoint is.
    """
    try:
        with StopRequest() as stop:
            result = step(stop)
            stopped = None if result.finished else stop.received
            keeper.save(simulation)
            files.close()
            # Still within: who stops a run that has come to its end must not lose its results.
            finish("finished" if stopped is None else f"stopped by {signal.Signals(stopped).name}", result)
    except (TaichimdError, KeyboardInterrupt) as error:
        with contextlib.suppress(TaichimdError):
            files.close()
        with contextlib.suppress(TaichimdError):  # on a full disk the first message is the one to show
            failed(f"{type(error).__name__}: {error}")
        if isinstance(error, TaichimdError):
            error.args = (f"{error}; {keeper.note()}", *error.args[1:])
        else:
            console.print(keeper.note(), highlight=False, markup=False)
        raise
    return 0 if stopped is None else 128 + stopped
