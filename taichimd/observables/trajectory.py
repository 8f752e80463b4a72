"""A trajectory, for what is to be computed from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.printable import counted
from taichimd.estimators.average import production_start
from taichimd.estimators.blocks import pieces_of
from taichimd.io.frames import Frames
from taichimd.observables.request import Request

BLOCKS = 5
"""Pieces of a run, for errors; fewer if there are not four frames for each."""
FEWEST = 4
"""Samples for a correlation: a window of two, and two time origins."""
TWO_ORIGINS = "two time origins to average over"


@dataclass(frozen=True)
class Production:
    """The frames that averages are over."""

    method: str  # "equilibrate" or "skip", as the user says; "detected"; or "all": nothing tells
    left_out: int  # frames before it, after those of `skip`
    frames: int  # those that are used
    # time of its first frame after the first of the file, or None if frames have no times
    start_ps: float | None
    decided_by: tuple[str, ...]  # series that it was detected from

    def __str__(self) -> str:
        """For the summary."""
        where = f"{self.frames:,} frames" if self.start_ps is None else f"from {self.start_ps:g} ps on"
        if self.method == "equilibrate":
            return f"{where}, as --equilibrate says"
        if self.method == "skip":
            return f"{where}, as --skip says"
        if self.method == "all":
            return "all frames"
        by = ", ".join(self.decided_by)
        if self.left_out:
            return f"{where}: the first {self.left_out:,} frames are equilibration (found from {by})"
        return f"all frames: no equilibration found (from {by})"


def _series(frames: Frames) -> dict[str, Array]:
    """What tells whether a trajectory is stationary, frame by frame; empty if nothing does."""
    found: dict[str, Array] = {}
    if frames.energies is not None:
        found["potential energy"] = frames.energies
    if frames.velocities is not None:
        found["temperature"] = np.einsum("fac,fac,a->f", frames.velocities, frames.velocities, frames.masses)
    volumes = np.abs(np.linalg.det(frames.cells))
    if frames.pbc.all() and np.ptp(volumes) > 1e-9 * volumes.max():
        found["volume"] = volumes
    return found


class Trajectory:
    """Frames with what follows from them and the request.

    Raises:
        AnalysisError: fewer frames than blocks, or an interval that is not the file's.

    Attributes:
        frames: at equal times. interval: ps between them, None if unknown.
        blocks: for errors of motion. pieces: for errors of structure.
        production: which frames averages are over; the others are left out.
        uneven: why they are not at equal times; empty if they are.
        species: symbols, sorted. that_move: those of which some atom is not fixed.
        notes: what the reader should know.
    """

    def __init__(self, frames: Frames, request: Request) -> None:
        self.frames, self.request = frames, request
        self.notes: list[str] = []
        self.uneven = ""
        self.interval = self._interval()
        self.production = self._production()
        n = len(self.frames.positions)
        self.blocks = max(1, min(BLOCKS, n // 4)) if request.blocks is None else request.blocks
        if self.blocks > n:
            raise AnalysisError(f"{n} frames make no {self.blocks} blocks; take fewer blocks or a longer run")
        # Of structure, whose errors come from the autocorrelation of short pieces.
        self.pieces = 1 if request.blocks == 1 else pieces_of(n)
        self.species = sorted(set(frames.symbols.tolist()))
        self.that_move = sorted(set(frames.symbols[~frames.fixed].tolist()))

    def _interval(self) -> float | None:
        """Time between frames, ps; drops frames at other times."""
        times, given, frames = self.frames.times, self.request.interval_ps, self.frames
        self.notes += frames.notes
        if frames.backward:
            self.uneven = (
                f"needs frames in the order of time, but {frames.backward}; analyse one run at a time"
            )
            return None
        clock = frames.clock if times is None else times
        if clock is None or len(clock) < 2:
            if given is None and frames.interval is not None:
                self.notes.append(
                    f"frames are taken to be {1000 * frames.interval:g} fs apart, as the header of the file "
                    "says; give --interval if some were left out"
                )
            return given if given is not None else frames.interval
        # A run that ends, or was stopped, between two frames wrote one at another time.
        beat = float(np.median(np.diff(clock)))
        unit = "ps" if times is not None else "steps" if frames.counted else "(its clock)"
        place = (clock - clock[0]) / beat if beat > 0 else np.full(len(clock), np.nan)
        keep = np.abs(place - np.round(place)) < 1e-4
        even = np.array_equal(np.round(place[keep]), np.arange(np.count_nonzero(keep)))
        # What is left out may be between the others; it may not be the rest of the record.
        if not (even and place[-1] - place[keep][-1] < 1.0):
            self.uneven = (
                f"needs frames equally spaced in time, but not all are {beat:g} {unit} apart; leave some out "
                "with --skip, or analyse one run at a time"
            )
            return None
        if times is not None and given is not None and abs(given - beat) > 1e-3 * beat:
            raise AnalysisError(f"interval of {given:g} ps, but the file says {beat:g} ps; leave it out")
        if not keep.all():
            self.notes.append(
                f"left out, because their times are no multiples of {beat:g} {unit}: "
                f"{counted(int(np.count_nonzero(~keep)), 'frame')}"
            )
            self.frames = self.frames.only(keep)
        return given if times is None else beat

    def _production(self) -> Production:
        """Where production begins; drops the frames before it."""
        frames, request = self.frames, self.request
        n, given = len(frames.positions), request.equilibrate_ps
        begin, series = 0, _series(frames)
        if given is not None:
            if given > 0.0:
                begin = int(np.count_nonzero(self._elapsed(given) < given - 1e-9 * max(1.0, given)))
            if begin >= n:
                raise AnalysisError(
                    f"equilibrate = {given:g} ps leaves none of the {n} frames; choose a shorter time"
                )
            method = "equilibrate"
        elif request.skip:
            method = "skip"
        elif n >= FEWEST and series and not self.uneven:
            begin, method = production_start(list(series.values())), "detected"
        else:
            method = "all"
            if self.uneven and series:
                self.notes.append(
                    "the start of production is not looked for, because frames are not evenly spaced: all "
                    "are used; leave equilibration out with --equilibrate 5ps"
                )
            elif n >= FEWEST:
                self.notes.append(
                    "nothing in the file says where production begins (neither energies nor velocities nor a "
                    "changing volume): all frames are used; leave equilibration out with --equilibrate 5ps"
                )
        self.frames = frames.only(np.arange(n) >= begin)
        decided_by = tuple(series) if method == "detected" else ()
        start = None if self.interval is None else begin * self.interval
        return Production(method, begin, n - begin, start, decided_by)

    def _elapsed(self, given: float) -> Array:
        """Time of each frame after the first, ps, or an AnalysisError."""
        frames = self.frames
        if frames.times is not None and not frames.backward:
            return np.asarray(frames.times - frames.times[0])
        if self.interval is None:
            why = self.uneven or "needs the time between frames, which the file does not say"
            raise AnalysisError(f"equilibrate = {given:g} ps {why}; leave frames out with --skip")
        return self.interval * np.arange(float(len(frames.positions)))

    def length(self) -> str:
        """For the summary."""
        if self.interval is None:
            return ""
        steps = len(self.frames.positions) - 1
        return f", {steps * self.interval:g} ps in steps of {1000 * self.interval:g} fs"

    @property
    def frame_time(self) -> float:
        """Between frames, ps, where it is known."""
        assert self.interval is not None
        return self.interval

    def window(self) -> float:
        """Longest time difference, ps, of a frame at least, with two time origins in each block."""
        n = len(self.frames.positions)
        each = n // self.blocks
        block = f"the run of {n} frames" if self.blocks == 1 else f"a block ({self.blocks} of {n} frames)"
        longest = each - 2
        if longest < 1:
            raise AnalysisError(f"{block} is too short for any window: expected 3 frames; take fewer blocks")
        if self.request.window_ps is None:
            return self.frame_time * max(1, each // 2)
        if not 1 <= round(self.request.window_ps / self.frame_time) <= longest:
            raise AnalysisError(
                f"window of {self.request.window_ps:g} ps: expected {self.frame_time:g} to "
                f"{longest * self.frame_time:g} ps, which leaves {block} {TWO_ORIGINS}; choose another "
                "window or take a longer run"
            )
        return self.request.window_ps

    def atoms(self, species: str) -> Any:
        """Mask of the atoms of a species that are not fixed."""
        return (self.frames.symbols == species) & ~self.frames.fixed
