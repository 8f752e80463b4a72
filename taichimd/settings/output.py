"""Settings of what a run writes, a topic of `settings.run`."""

from dataclasses import dataclass, replace
from typing import Literal

from taichimd.settings import types
from taichimd.settings.declared import Settings, setting

ROWS, FRAMES = 1000, 200
"""Rows and frames of a run after the first one, if neither an interval nor a number is given."""
LEAST_INTERVAL = 10
"""Steps between them at least, if nothing is given: vibrations are slower than this."""
FEWEST_FRAMES = 10
LARGEST_TRAJECTORY = 500_000_000
"""Bytes that the frames take at most if no number of frames is given, unless `FEWEST_FRAMES` take more."""
BYTES_OF_AN_ATOM = {"extxyz": 180, "netcdf": 36, "traj": 72, "none": 1}
"""About what an atom takes in a frame, by format."""


def interval(steps: int, number: int, least: int = 1) -> int:
    """Steps between so many rows or frames, after the first one, but not below `least`.

    It divides the steps of the run if that leaves at least four fifths of the number. Then all gaps are the
    same; else the last one is shorter.
    """
    if steps <= least * number:
        return least
    for count in range(number, number - number // 5 - 1, -1):
        if steps % count == 0:
            return steps // count
    return -(-steps // number)


@dataclass(frozen=True)
class OutputSettings(Settings, topic="output"):
    """What a run writes."""

    folder: types.Folder = setting(
        "taichimd-run", "Folder for the results; a restart keeps its folder", "output"
    )
    every: types.Steps | None = setting(
        None, f"Steps between rows of the table; default {ROWS} rows, at least {LEAST_INTERVAL} steps apart"
    )
    n_rows: types.Count | None = setting(
        None, "Number of rows after the first row, evenly spaced; instead of --every"
    )
    frames: Literal["extxyz", "netcdf", "traj", "none"] = setting(
        "extxyz",
        "Format of the trajectory: extxyz (text), netcdf (binary, of AMBER; most programs read it), traj "
        "(binary, of ASE) or none",
    )
    frames_every: types.Steps | None = setting(
        None,
        "Steps between frames; default the value of --every if it is given, otherwise "
        f"{FRAMES} frames, at least {LEAST_INTERVAL} steps apart, and fewer if they took more than 500 MB",
    )
    n_frames: types.Count | None = setting(
        None, "Number of frames after the first frame, evenly spaced; instead of --frames-every"
    )
    per_atom: types.PerAtom = setting(
        None,
        "Values of each atom in frames: energy, virial (3x3, its sum is -stress x V) or energy,virial; or "
        "none",
    )
    terms: types.Flag = setting(
        False, "Write the energy of each potential of a sum, and of each term of ReaxFF, to table and frames"
    )
    plot_format: types.PlotFormat = setting("png", "Format of pictures")
    checkpoint_interval: types.Seconds = setting(60.0, "Seconds between checkpoints")
    overwrite: types.Flag = setting(False, "Replace an earlier run's files")
    profile: types.Flag = setting(False, "Print where the time goes, and how large the neighbour lists are")

    @property
    def steps_between_rows(self) -> int:
        """`every`, once it is known (`with_intervals`)."""
        return LEAST_INTERVAL if self.every is None else self.every

    @property
    def steps_between_frames(self) -> int:
        """`frames_every`, or else `every`."""
        return self.steps_between_rows if self.frames_every is None else self.frames_every

    def with_intervals(self, steps: int, n_atoms: int) -> "OutputSettings":
        """These settings with the intervals that numbers of rows and frames mean in a run.

        Large systems have fewer frames by default.
        """
        every, frames_every = self.every, self.frames_every
        if every is None:
            every = (
                interval(steps, ROWS, LEAST_INTERVAL) if self.n_rows is None else interval(steps, self.n_rows)
            )
        if frames_every is None and self.n_frames is not None:
            frames_every = interval(steps, self.n_frames)
        elif frames_every is None and self.every is None:
            fit = LARGEST_TRAJECTORY // (BYTES_OF_AN_ATOM[self.frames] * n_atoms)
            frames_every = interval(steps, min(FRAMES, max(fit, FEWEST_FRAMES)), LEAST_INTERVAL)
        return replace(self, every=every, frames_every=frames_every)
