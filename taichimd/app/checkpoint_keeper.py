"""The observer that writes checkpoints of a run, and says where the last good one is."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from taichimd.app.observer import Observer
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.io.checkpoint import Checkpoint, write_checkpoint
from taichimd.program.results import Thermo


class CheckpointKeeper(Observer):
    """Writes a checkpoint at the first report, then on demand; it knows when a checkpoint is due.

    Args:
        path: the checkpoint file.
        make: builds the checkpoint of a simulation's present state.
        before: called first: rows and frames must be on the disk before a checkpoint that counts on them.
        interval: seconds.
        saved_step: step of a checkpoint that is already there, or None.
    """

    def __init__(
        self,
        path: Path,
        make: Callable[[SimulatedSystem], Checkpoint],
        before: Callable[[], None],
        interval: float,
        saved_step: int | None,
    ) -> None:
        self.path = path
        self.saved_step = saved_step
        self._make, self._before, self._interval = make, before, interval
        self._saved_at = time.monotonic()

    def report(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        """The first report of a new run is saved, so that there is a checkpoint whatever happens next."""
        if self.saved_step is None:
            self.save(simulation)

    @property
    def totals_only(self) -> bool:  # type: ignore[override]
        """Whether a report saves nothing."""
        return self.saved_step is not None

    @property
    def due(self) -> bool:
        """Whether the interval has passed."""
        return time.monotonic() - self._saved_at >= self._interval

    def save(self, simulation: SimulatedSystem) -> None:
        """Save now; a state that is not finite never replaces a good checkpoint."""
        checkpoint = self._make(simulation)
        if not (np.isfinite(checkpoint.positions).all() and np.isfinite(checkpoint.velocities).all()):
            return
        self._before()
        write_checkpoint(self.path, checkpoint)
        self.saved_step = checkpoint.step
        self._saved_at = time.monotonic()

    @property
    def there(self) -> bool:
        """Whether a good checkpoint was written, and has not been removed since."""
        return self.saved_step is not None and self.path.exists()

    def note(self) -> str:
        """Where the last good checkpoint is, for messages."""
        if self.saved_step is None:
            return "no checkpoint had been written"
        if not self.there:
            return f"{self.path}, written at step {self.saved_step}, has been removed since"
        return f"the last good checkpoint is {self.path} (step {self.saved_step})"


class SavedTogether(Observer):
    """Saves checkpoints of all systems when it is time: after a kill they are of two steps at most.

    Args:
        going: keepers of the systems that continue, with their simulations.
    """

    totals_only = True

    def __init__(self, going: Callable[[], Sequence[tuple[CheckpointKeeper, SimulatedSystem]]]) -> None:
        self._going, self._due = going, False

    def needs_reports(self) -> bool:
        """Whether the first of them is due: rows must be in their tables before a checkpoint."""
        self._due = self._going()[0][0].due
        return self._due

    def tick(self, simulation: SimulatedSystem) -> None:
        """Save, if it is time."""
        if self._due:
            for keeper, one in self._going():
                keeper.save(one)


def note_of(keepers: Sequence[CheckpointKeeper]) -> str:
    """Where the last good checkpoints of one run, or of several runs together, are, for messages."""
    if len(keepers) == 1:
        return keepers[0].note()
    without = [one for one in keepers if not one.there]
    if not without:
        return "each folder has its last good checkpoint"
    if len(without) < len(keepers):
        there = len(keepers) - len(without)
        return f"{there} of {len(keepers)} folders have their last good checkpoint, but {without[0].note()}"
    return f"no folder has a checkpoint: {without[0].note()}"
