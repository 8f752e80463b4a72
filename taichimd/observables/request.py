"""What to compute from a trajectory, and whether it can be."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taichimd.core.errors import AnalysisError, SettingsError
from taichimd.io.frames import Frames

BLOCKS = 5
"""Pieces of a run, for errors; fewer if there are not four frames for each."""
FEWEST = 4
"""Samples for a correlation: a window of two, and two time origins."""
TWO_ORIGINS = "two time origins to average over"
KINDS = ("rdf", "msd", "vacf")
"""What is computed where nothing is picked. "angles" is not: no bond length fits every system."""


@dataclass(frozen=True)
class Request:
    """What to compute, and how.

    Attributes:
        kinds: of KINDS, or "angles"; empty: all of KINDS that the trajectory allows.
        r_max: Å, of the RDF. bins: of the RDF.
        bond_length: Å, of "angles": atoms closer than that are bonded.
        window: longest time difference, ps; None: half of a block.
        fit: ps, where the line through the mean square displacement lies; None: 0.2 to 1 times the window,
            without the ballistic part (`taichimd.observables.estimators.motion.fit_diffusion`).
        interval: ps between frames, for files that do not say.
        blocks: pieces of the run, for errors; None: BLOCKS, or fewer for a short run.
        plot_format: of the pictures: png, pdf or svg.
    """

    kinds: tuple[str, ...] = ()
    r_max: float = 8.0
    bins: int = 200
    bond_length: float | None = None
    window: float | None = None
    fit: tuple[float, float] | None = None
    interval: float | None = None
    blocks: int | None = None
    plot_format: str = "png"


class Run:
    """Frames with what follows from them and the request.

    Raises:
        AnalysisError: fewer frames than blocks, or an interval that is not the file's.

    Attributes:
        frames: at equal times. interval: ps between them, None if unknown. blocks: for errors.
        species: symbols, sorted. notes: what the reader should know.
    """

    def __init__(self, frames: Frames, request: Request) -> None:
        self.frames, self.request = frames, request
        self.notes: list[str] = []
        self._uneven = ""
        self.interval = self._interval()
        n = len(self.frames.positions)
        self.blocks = max(1, min(BLOCKS, n // 4)) if request.blocks is None else request.blocks
        if self.blocks < 1:
            raise AnalysisError(f"blocks = {self.blocks}: expected 1 or more")
        if request.bond_length is not None and not request.bond_length > 0:
            raise AnalysisError(f"angles = {request.bond_length:g}: expected a bond length above 0 (Å)")
        if self.blocks > n:
            raise AnalysisError(f"{n} frames make no {self.blocks} blocks; take fewer blocks or a longer run")
        self.species = sorted(set(frames.symbols.tolist()))
        self.that_move = sorted(set(frames.symbols[~frames.fixed].tolist()))

    def missing(self, kind: str) -> str:
        """Why a kind cannot be computed; empty if it can."""
        frames = self.frames
        if kind == "rdf":
            volume = np.abs(np.linalg.det(frames.cells)).min()
            whole = frames.pbc.all() and volume > 1e-6
            return "" if whole else "needs a cell that is periodic in three directions"
        if frames.fixed.all():
            return "needs atoms that are not fixed"
        if len(frames.positions) < FEWEST:
            return f"needs {FEWEST} frames or more, the file has {len(frames.positions)}"
        if kind == "vacf" and frames.velocities is None:
            return "needs velocities (ASE's momenta) in every frame"
        if self._uneven:
            return self._uneven
        if self.interval is None:
            return "needs the time between frames, which the file does not say: give --interval 10fs"
        return ""

    def _interval(self) -> float | None:
        """Time between frames, ps; drops frames off the beat."""
        times, given = self.frames.times, self.request.interval
        if times is None or len(times) < 2:
            return given
        # A run that ends, or was stopped, between two frames wrote one off the beat.
        beat = float(np.median(np.diff(times)))
        place = (times - times[0]) / beat if beat > 0 else np.full(len(times), np.nan)
        keep = np.abs(place - np.round(place)) < 1e-4
        if not np.array_equal(np.round(place[keep]), np.arange(np.count_nonzero(keep))):
            self._uneven = (
                f"needs frames equally spaced in time, but not all are {beat:g} ps apart; leave some "
                "out with --skip, or analyse one run at a time"
            )
            return None
        if given is not None and abs(given - beat) > 1e-3 * beat:
            raise AnalysisError(f"interval of {given:g} ps, but the file says {beat:g} ps; leave it out")
        if not keep.all():
            self.notes.append(f"{np.count_nonzero(~keep)} frames off the beat of {beat:g} ps were left out")
            self.frames = self.frames.only(keep)
        return beat

    def length(self) -> str:
        """For the summary."""
        if self.interval is None:
            return ""
        steps = len(self.frames.positions) - 1
        return f", {steps * self.interval:g} ps in steps of {1000 * self.interval:g} fs"

    def window(self) -> float:
        """Longest time difference, ps.

        Raises:
            AnalysisError: it is shorter than a frame, or does not leave two time origins in each block.
        """
        assert self.interval is not None
        n = len(self.frames.positions)
        each = n // self.blocks
        block = f"the run of {n} frames" if self.blocks == 1 else f"a block ({self.blocks} of {n} frames)"
        longest = each - 2
        if longest < 1:
            raise AnalysisError(f"{block} is too short for any window: expected 3 frames; take fewer blocks")
        if self.request.window is None:
            return self.interval * max(1, each // 2)
        if not 1 <= round(self.request.window / self.interval) <= longest:
            raise AnalysisError(
                f"window of {self.request.window:g} ps: expected {self.interval:g} to "
                f"{longest * self.interval:g} ps, which leaves {block} {TWO_ORIGINS}; choose another window "
                "or take a longer run"
            )
        return self.request.window

    def fit(self) -> tuple[float, float] | None:
        """Times between which the line through the mean square displacement lies, ps; None: the default.

        Raises:
            AnalysisError: they are not within the window, or that is too short for a line.
        """
        assert self.interval is not None
        window, fit = self.window(), self.request.fit
        lags = round(window / self.interval)
        if fit is None:
            if lags < 2:
                raise AnalysisError(
                    f"window of {window:g} ps spans one frame: MSD needs two or more for the slope of its "
                    f"line, {2 * self.interval:g} ps; take a longer window, or fewer blocks"
                )
            return None
        first, last = (round(time / self.interval) for time in fit)
        if not 0 <= first < last <= lags:
            raise AnalysisError(
                f"fit from {fit[0]:g} to {fit[1]:g} ps: expected two times in rising order within the window "
                f"of {window:g} ps, a frame ({self.interval:g} ps) or more apart; choose others, or another "
                "window"
            )
        return fit

    def atoms(self, species: str) -> Any:
        """Mask of the atoms of a species that are not fixed."""
        return (self.frames.symbols == species) & ~self.frames.fixed


def parse_fit(text: str | None, name: str = "fit") -> tuple[float, float] | None:
    """Two times in ps of a text such as "1ps,5ps".

    Args:
        text: of the option; None gives None.
        name: of the option, for the message.

    Raises:
        SettingsError: not two times with units.
    """
    from taichimd.app.setting_types import parse_time

    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise SettingsError(f'{name} {text!r}: expected two times, such as "1ps,5ps"')
    first, last = (parse_time(part.strip()) / 1000.0 for part in parts)
    return first, last
