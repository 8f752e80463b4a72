"""A run from its first step to its last file, whatever stops it."""

import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from taichimd.app.checkpoint_keeper import CheckpointKeeper, note_of
from taichimd.app.loop import RunResult
from taichimd.app.outputs import RunFiles
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import TaichimdError
from taichimd.core.signals import StopRequest


@dataclass
class Supervised:
    """A run that is brought to its end."""

    simulation: SimulatedSystem  # to be run
    files: RunFiles  # open ones
    keeper: CheckpointKeeper  # of checkpoints
    finish: Callable[[str, RunResult], Any]  # writes results; called with the reason of the end
    # writes the report of a run that an error has ended; called with the error's words
    failed: Callable[[str], Any]
    # called after the last step, before checkpoint and files are completed; or None
    stepped: Callable[[], Any] | None = None
    ended: bool = False  # whether one of them was called

    def fail(self, error: BaseException) -> None:
        """Close files, and say in the report why."""
        self.ended = True
        with contextlib.suppress(TaichimdError):
            self.files.close()
        with contextlib.suppress(TaichimdError):  # on a full disk the first message is the one to show
            self.failed(f"{type(error).__name__}: {error}")


def to_the_end(runs: Sequence[Supervised], console: Console, step: Callable[[StopRequest], RunResult]) -> int:
    """Run what steps together, and leave checkpoints and closed files, also after a signal.

    Exit code: 0 when finished, 130, 143 or 129 when stopped by Ctrl-C, SIGTERM or SIGHUP. An error says where
    the last good checkpoint is.
    """
    try:
        with StopRequest() as stop:
            result = step(stop)
            stopped = None if result.finished else stop.received
            reason = "finished" if stopped is None else f"stopped by {signal.Signals(stopped).name}"
            left, begin = [run for run in runs if not run.ended], time.perf_counter()
            for run in left:
                if run.stepped is not None:
                    run.stepped()
                run.keeper.save(run.simulation)
                run.files.close()
            closing = time.perf_counter() - begin  # frames that were still waiting are written
            result = replace(result, output_seconds=result.output_seconds + closing)
            # Still within: who stops a run that has come to its end must not lose its results.
            for run in left:
                run.finish(reason, result)
                run.ended = True
    except (TaichimdError, KeyboardInterrupt) as error:
        for run in runs:
            if not run.ended:
                run.fail(error)
        note = note_of([run.keeper for run in runs])
        if isinstance(error, TaichimdError):
            error.args = (f"{error}; {note}", *error.args[1:])
        else:
            console.print(note, highlight=False, markup=False)
        raise
    return 0 if stopped is None else 128 + stopped
