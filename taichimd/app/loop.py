"""The loop of a run: pieces of steps short enough to stay responsive, samples and reports in between."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from taichimd.app.observer import Observer, Sampler
from taichimd.core.errors import SettingsError
from taichimd.core.units import FS

if TYPE_CHECKING:
    from taichimd.app.simulation import Simulation
    from taichimd.program.batch import Batch
    from taichimd.program.engine import Engine

TARGET_SECONDS = 0.2
"""Wall-clock length aimed at for one call of the engine: several a second, so that Ctrl-C feels immediate,
and yet long against the host's part of a call (well below a millisecond)."""
_MAX_GROWTH = 10


@dataclass(frozen=True)
class RunResult:
    """What one call of `Simulation.run` did.

    Attributes:
        first_step: step counter before.
        last_step: step counter after.
        stepping_seconds: wall-clock seconds in the stepping loop alone: no compilation, reports or files.
        finished: False when `should_stop` ended it early.
        sampling_seconds: in samplers; what they leave the device to do may count with the next steps.
        output_seconds: in totals and observers: rows, frames, checkpoints, what a user sees.
    """

    first_step: int
    last_step: int
    stepping_seconds: float
    finished: bool
    sampling_seconds: float = 0.0
    output_seconds: float = 0.0


class Pace:
    """Chooses how many steps to hand to the engine at once, from the speed seen so far."""

    def __init__(self, target_seconds: float = TARGET_SECONDS) -> None:
        self._target = target_seconds
        self._steps = 1

    def next(self) -> int:
        """Steps for the next piece; starts with one, because a step of a huge system may take seconds."""
        return self._steps

    def record(self, steps: int, seconds: float) -> None:
        """Learn from a piece of `steps` that took `seconds`."""
        if steps < self._steps and seconds < self._target:
            return  # cut short by a report; says nothing against the present length
        per_step = max(seconds / steps, 1e-9)
        self._steps = max(1, min(int(self._target / per_step), self._steps * _MAX_GROWTH))


@dataclass
class Watched:
    """A simulation, and what looks at it.

    Attributes:
        observers: told of reports and pieces. samplers: called at multiples of their own `every`.
    """

    simulation: "Simulation"
    observers: Sequence[Observer] = ()
    samplers: Sequence[Sampler] = ()

    def sample(self) -> None:
        """Take samples that are due."""
        for sampler in self.samplers:
            if self.simulation.step % sampler.every == 0:
                sampler.sample(self.simulation)

    def report(self, every: int | None = None) -> None:
        """Totals, and observers told of them: all, or those whose own or this rhythm has come."""
        step = self.simulation.step
        due = [one for one in self.observers if every is None or step % (one.every or every) == 0]
        if due:
            thermo = self.simulation.thermo()
            for observer in due:
                observer.report(self.simulation, thermo)

    def tick(self) -> None:
        """Observers told of a piece."""
        for observer in self.observers:
            observer.tick(self.simulation)


def check_length(steps: int, every: int) -> None:
    """Raise a SettingsError if they are not whole numbers above 0."""
    for name, value in (("steps", steps), ("every", every)):
        if int(value) != value or value <= 0:
            raise SettingsError(f"{name} = {value}: expected a whole number above 0")


def run_loop(
    stepper: "Engine | Batch",
    watched: Sequence[Watched],
    steps: int,
    *,
    every: int,
    should_stop: Callable[[], bool],
    report_first: bool,
    going: Callable[[Watched], bool] = lambda one: True,
) -> RunResult:
    """Advance by `steps`; arguments as of `Simulation.run`.

    Args:
        stepper: advances all simulations, which have one step counter and one time step.
        watched: the simulations.
        steps: of this call.
        every: steps between reports, or an observer's own.
        should_stop: asked after each piece.
        report_first: whether to report before the first step.
        going: whether a simulation goes on; one that has stopped is neither sampled nor reported. The run
            ends when none is left.
    """
    first, last = stepper.step, stepper.step + int(steps)
    timestep = watched[0].simulation.timestep * FS
    for one in watched:
        one.simulation.last_step = last
    alive = [one for one in watched if going(one)]
    pace, seconds, ticked = Pace(), 0.0, 0.0
    output = _each(alive, Watched.report) if report_first else 0.0
    sampling = _each(alive, Watched.sample)
    while alive and stepper.step < last and not should_stop():
        now = stepper.step
        boundary = _next(now, {o.every or every for one in alive for o in one.observers}, last)
        rhythms = {sampler.every for one in alive for sampler in one.samplers}
        piece = min(pace.next(), _next(now, rhythms, boundary) - now)
        started = time.perf_counter()
        stepper.advance(piece, timestep)
        elapsed = time.perf_counter() - started
        pace.record(piece, elapsed)
        seconds += elapsed
        alive = [one for one in alive if going(one)]
        sampling += _each(alive, Watched.sample)
        now = stepper.step
        if now == boundary:
            output += _each(alive, partial(Watched.report, every=None if now == last else every))
        # Samples may come thousands of times a second; ticks need not.
        if not rhythms or now == last or time.perf_counter() - ticked >= TARGET_SECONDS:
            ticked = time.perf_counter()
            output += _each(alive, Watched.tick)
    return RunResult(first, stepper.step, seconds, stepper.step >= last, sampling, output)


def _next(now: int, rhythms: set[int], last: int) -> int:
    """The first step behind `now` that belongs to a rhythm; `last` at most."""
    return min([last, *((now // rhythm + 1) * rhythm for rhythm in rhythms)])


def _each(watched: Sequence[Watched], do: Callable[[Watched], None]) -> float:
    """Do it with each of them; the seconds it took."""
    begin = time.perf_counter()
    for one in watched:
        do(one)
    return time.perf_counter() - begin
