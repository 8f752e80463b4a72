"""The loop of a run: pieces of steps short enough to stay responsive, samples and reports in between."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from taichimd.app.observer import Observer, Sampler
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import SettingsError
from taichimd.core.units import FS
from taichimd.program.results import Thermo

TARGET_SECONDS = 0.2
"""Wall-clock length aimed at for one call of the engine: several a second, so that Ctrl-C feels immediate,
and yet long against the host's part of a call (well below a millisecond)."""
TICK_SECONDS = 0.05
"""Least wall-clock time between ticks: rows that wait come to the host before each of them."""
_MAX_GROWTH = 10


@dataclass(frozen=True)
class RunResult:
    """What one call of `Simulation.run` did."""

    first_step: int  # step counter before
    last_step: int  # step counter after
    stepping_seconds: float  # wall-clock seconds in the stepping loop alone: no compilation, reports or files
    finished: bool  # False when `should_stop` ended it early
    # in samplers; what they leave the device to do may count with the next steps
    sampling_seconds: float = 0.0
    output_seconds: float = 0.0  # in totals and observers: rows, frames, checkpoints, what a user sees

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from taichimd.app.notebook import result_html

        return result_html(self)


class Stepper(Protocol):
    """What advances systems: an `Engine`, a `Batch` or a Markov chain."""

    @property
    def step(self) -> int:
        """Steps done, of all systems."""

    def advance(self, n_steps: int, timestep: float) -> None:
        """Do steps; the time step is in internal units."""

    def recorder(self) -> Any:
        """What has totals reported later (`program.recorder.Recorder`); None: they are reported at once."""


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
    """A system, and what looks at it."""

    simulation: SimulatedSystem
    observers: Sequence[Observer] = ()  # told of reports and pieces
    samplers: Sequence[Sampler] = ()  # called at multiples of their own `every`

    def report(self, recorder: Any, every: int | None = None) -> None:
        """Compute totals and report them to observers: to all, or to those that are due.

        They are told at once if one of them looks at more than totals, and if there is no recorder.
        """
        due = self._due(every)
        if not due:
            return
        if recorder is not None and all(one.totals_only for one in due):
            recorder.add(partial(self._tell, due))
            return
        if recorder is not None:
            recorder.flush()
        self._tell(due)

    def report_now(self, every: int) -> None:
        """Report totals, as they are shown, to the observers that are due."""
        if due := self._due(every):
            self._tell(due)

    def _due(self, every: int | None) -> list[Observer]:
        step = self.simulation.step
        return [one for one in self.observers if every is None or step % (one.every or every) == 0]

    def _tell(self, due: Sequence[Observer]) -> None:
        thermo = self.simulation.thermo()
        for observer in due:
            observer.report(self.simulation, thermo)

    def needs_reports(self) -> bool:
        """Whether an observer's tick waits for all reports; asks each of them."""
        return any([one.needs_reports() for one in self.observers])

    def tick(self) -> None:
        """Tell observers that a piece of steps is done."""
        for observer in self.observers:
            observer.tick(self.simulation)

    def ended(self) -> None:
        """Tell observers that the run ends."""
        for observer in self.observers:
            observer.ended()


def check_length(steps: int, every: int) -> None:
    """Raise a SettingsError if they are not whole numbers above 0."""
    for name, value in (("steps", steps), ("every", every)):
        if int(value) != value or value <= 0:
            raise SettingsError(f"{name} = {value}: expected a whole number above 0")


class RunGroup:
    """Systems that step together, as one system for an observer of all, such as a `ProgressObserver`.

    Attributes:
        engine: this itself. timestep: fs. last_step: where the run ends.
    """

    def __init__(self, systems: Sequence[SimulatedSystem]) -> None:
        self._systems = systems
        self.timestep, self.engine, self.last_step = systems[0].timestep, self, 0

    @property
    def step(self) -> int:
        """MD step counter."""
        return self._going[0].step

    @property
    def time_ps(self) -> float:
        """Simulated time; all have the same time step."""
        return self._going[0].time_ps

    @property
    def n_atoms(self) -> int:
        """Number of atoms of the systems that continue."""
        return sum(one.engine.n_atoms for one in self._going)

    @property
    def _going(self) -> list[SimulatedSystem]:
        return [one for one in self._systems if one.engine.error is None]

    def thermo(self) -> Thermo:
        """Sums of energies (none is conserved once a system has stopped), and the mean temperature."""
        each = [one.thermo() for one in self._going]
        kept = [one.conserved for one in each if one.conserved is not None]
        return Thermo(
            self.step,
            sum(one.potential for one in each),
            sum(one.kinetic for one in each),
            float(np.mean([one.temperature for one in each])),
            None,
            None,
            None,
            sum(kept) if len(kept) == len(self._systems) else None,
        )


def run_loop(
    stepper: Stepper,
    systems: Sequence[Watched],
    steps: int,
    *,
    every: int,
    should_stop: Callable[[], bool],
    report_first: bool,
    of_all: Sequence[Observer] = (),
    stopped: Callable[[int], None] = lambda number: None,
) -> RunResult:
    """Advance one or several systems by `steps`; arguments as of `Simulation.run`.

    The stepper advances all systems, which have one step counter and one time step. One that has stopped is
    neither sampled nor reported; `stopped` gets its number; the run ends when none is left. `of_all`:
    observers that are told of all systems as one, after the systems' own.
    """
    recorder = stepper.recorder()
    try:
        return _run(
            stepper,
            systems,
            int(steps),
            every=every,
            should_stop=should_stop,
            report_first=report_first,
            of_all=of_all,
            stopped=stopped,
            recorder=recorder,
        )
    except BaseException:
        # What was before the failure is reported; the failure is what the user must see.
        if recorder is not None:
            with suppress(Exception):
                recorder.flush()
        raise
    finally:
        if recorder is not None:
            recorder.close()


def _run(
    stepper: Stepper,
    systems: Sequence[Watched],
    steps: int,
    *,
    every: int,
    should_stop: Callable[[], bool],
    report_first: bool,
    of_all: Sequence[Observer],
    stopped: Callable[[int], None],
    recorder: Any,
) -> RunResult:
    """`run_loop`, with a recorder or None."""
    first, last = stepper.step, stepper.step + steps
    timestep = systems[0].simulation.timestep * FS
    whole: list[Watched] = []
    if of_all and len(systems) > 1:
        group: Any = RunGroup([one.simulation for one in systems])
        whole = [Watched(group, of_all)]
    elif of_all:
        systems = [replace(systems[0], observers=(*systems[0].observers, *of_all))]
    for one in (*systems, *whole):
        one.simulation.last_step = last
    numbers, watched = _going(systems, whole)
    flush = (lambda: None) if recorder is None else recorder.flush
    pace, seconds, ticked = Pace(), 0.0, time.perf_counter()
    output = _each(watched, partial(Watched.report, recorder=recorder)) if report_first else 0.0
    sampling = _sample(watched)
    while watched and stepper.step < last and not should_stop():
        now = stepper.step
        boundary = _next(now, {o.every or every for one in watched for o in one.observers}, last)
        rhythms = {sampler.every for one in watched for sampler in one.samplers}
        piece = min(pace.next(), _next(now, rhythms, boundary) - now)
        most = 1 if recorder is None else min(pace.next() // piece, recorder.most_runs(piece))
        runs = _runs(watched, every, now, piece, last, most if now + piece == boundary else 1)
        started = time.perf_counter()
        boundary = _advance(stepper, recorder, watched, timestep, every, piece, runs) or boundary
        elapsed = time.perf_counter() - started
        pace.record(stepper.step - now, elapsed)
        seconds += elapsed
        before, (numbers, watched) = numbers, _going(systems, whole)
        if before != numbers:
            flush()
        for number in sorted(before - numbers):
            stopped(number)
        sampling += _sample(watched)
        now = stepper.step
        begin = time.perf_counter()
        if now == boundary:
            _each(watched, partial(Watched.report, recorder=recorder, every=None if now == last else every))
        # Samples and rows may come thousands of times a second; ticks need not.
        if now == last or begin - ticked >= TICK_SECONDS:
            ticked = begin
            needed = any([one.needs_reports() for one in watched])
            if recorder is not None:
                recorder.before_tick(needed or now == last)
            _each(watched, Watched.tick)
        output += time.perf_counter() - begin
    begin = time.perf_counter()
    flush()
    output += time.perf_counter() - begin + _each([*systems, *whole], Watched.ended)
    return RunResult(first, stepper.step, seconds, stepper.step >= last, sampling, output)


def _going(systems: Sequence[Watched], whole: list[Watched]) -> tuple[set[int], list[Watched]]:
    """Numbers of the systems that continue; these systems, and all of them as one if any continues."""
    numbers = [number for number, one in enumerate(systems) if one.simulation.engine.error is None]
    return set(numbers), [systems[number] for number in numbers] + (whole if numbers else [])


def _next(now: int, rhythms: set[int], last: int) -> int:
    """The first step after `now` that belongs to a rhythm; `last` at most."""
    return min([last, *((now // rhythm + 1) * rhythm for rhythm in rhythms)])


def _advance(
    stepper: Any,
    recorder: Any,
    watched: Sequence[Watched],
    timestep: float,
    every: int,
    piece: int,
    runs: int,
) -> int:
    """Do a piece of steps, or several with rows between; the step that several have reached, or 0."""
    if runs == 1:
        stepper.advance(piece, timestep)
        return 0
    report = partial(_each, watched, partial(Watched.report_now, every=every))
    with recorder.rows_between(runs, piece, report) as between:
        stepper.advance(piece, timestep, between)
    return stepper.step


def _runs(watched: Sequence[Watched], every: int, now: int, piece: int, last: int, most: int) -> int:
    """How many pieces, `most` at most, end at rows of which all but the last need totals alone."""
    observers = [(one.every or every, one.totals_only) for each in watched for one in each.observers]
    looks = {rhythm for rhythm, totals_only in observers if not totals_only}
    end = _next(now, looks | {sampler.every for one in watched for sampler in one.samplers}, last)
    runs, at, rows = 1, now + piece, {rhythm for rhythm, _ in observers}
    while runs < most and at < end and _next(at, rows, last) == at + piece:
        runs, at = runs + 1, at + piece
    return runs


def _sample(watched: Sequence[Watched]) -> float:
    """Take samples that are due, those of all systems together; the seconds it took."""
    begin = time.perf_counter()
    due: dict[tuple[int, type[Sampler]], list[tuple[Any, SimulatedSystem]]] = {}
    for one in watched:
        for place, sampler in enumerate(one.samplers):
            if one.simulation.step % sampler.every == 0:
                due.setdefault((place, type(sampler)), []).append((sampler, one.simulation))
    for (_place, kind), each in due.items():
        # What has the methods of a sampler without its base class is one, too.
        getattr(kind, "sample_all", Sampler.sample_all)(each)
    return time.perf_counter() - begin


def _each(watched: Sequence[Watched], do: Callable[[Watched], None]) -> float:
    """Do it with each of them; the seconds it took."""
    begin = time.perf_counter()
    for one in watched:
        do(one)
    return time.perf_counter() - begin
