"""The output folder of a run: names of its files, and which of them may be replaced or continued."""

from dataclasses import dataclass
from pathlib import Path

from taichimd.core.errors import OutputError
from taichimd.io.analysis_files import PICTURES
from taichimd.io.binary_trajectory import cut_frames
from taichimd.io.files import cut_file, writing
from taichimd.io.netcdf_trajectory import cut_netcdf
from taichimd.io.stress_strain import STRESS_STRAIN
from taichimd.io.trajectory import offset_of_step
from taichimd.settings.types import NONE

_FILES = {"extxyz": "trajectory.extxyz", "netcdf": "trajectory.nc", "traj": "trajectory.traj"}
"""Names of trajectories by the format of frames."""


@dataclass(frozen=True)
class OutputFolder:
    """Names of the files of a run."""

    path: Path  # the folder
    observed: tuple[str, ...] = ()  # names of the files of what the run observes
    frames: str = "extxyz"  # format of the trajectory: extxyz, netcdf, traj or none
    plot_format: str = "png"  # of pictures: png, pdf or svg

    @property
    def trajectories(self) -> list[Path]:
        """A trajectory of each format; a run has one of them at most."""
        return [self.path / name for name in _FILES.values()]

    @property
    def trajectory(self) -> Path | None:
        """Frames; None without any."""
        return None if self.frames == NONE else self.path / _FILES[self.frames]

    @property
    def thermo(self) -> Path:
        """Rows of energies and temperature."""
        return self.path / "thermo.csv"

    @property
    def checkpoint(self) -> Path:
        """Where to continue from."""
        return self.path / "checkpoint.npz"

    @property
    def report(self) -> Path:
        """Settings, versions and figures."""
        return self.path / "run.json"

    @property
    def plot(self) -> Path:
        """Picture of the thermo rows."""
        return self.path / f"thermo.{self.plot_format}"

    @property
    def stress_strain(self) -> Path:
        """Picture of the stress of a deformed cell against its strain."""
        return self.path / f"{STRESS_STRAIN}.{self.plot_format}"

    def files(self) -> list[Path]:
        """All of them, in the order in which a summary lists them."""
        own = [*self.trajectories, self.thermo, self.plot, self.stress_strain, self.checkpoint, self.report]
        return [*own, *(self.path / name for name in self.observed)]

    def check(self, *, overwrite: bool) -> None:
        """Raise an OutputError if an earlier run's files are there, unless they may be overwritten."""
        there = [file.name for file in self.files() if file.exists()]
        if there and not overwrite:
            raise OutputError(
                f"{self.path} holds an earlier run ({', '.join(there)}); give --overwrite to replace it, "
                f"--restart {self.checkpoint} to continue it, or another --output"
            )

    def check_format(self) -> None:
        """Raise an OutputError if a restart would write frames beside those of another format."""
        for file in self.trajectories if self.trajectory is not None else []:
            if file != self.trajectory and file.exists():
                own = next(name for name, there in _FILES.items() if there == file.name)
                raise OutputError(
                    f"{file} exists: frames = {self.frames} cannot continue it; give --frames {own}, "
                    "or another --output"
                )

    def gap_in_frames(self, before: str | None, step: int) -> list[str]:
        """Remarks if a restart stops writing frames, or writes them again, `before` in another format."""
        there = [file.name for file in self.trajectories if file.exists()]
        if there and self.frames == NONE != before:
            return [f"{there[0]} is not continued: its frames end at step {step:,} or before"]
        if there and before == NONE != self.frames:
            return [f"{there[0]} is continued after a gap: the run before step {step:,} wrote no frames"]
        return []

    def drop_frames(self, step: int) -> None:
        """Drop frames at or after a step, which are of a run that is no longer this one."""
        for file in self.trajectories:
            if file.exists():
                cut_trajectory(file, step)

    def clear(self) -> None:
        """Remove an earlier run's files: late, when the new run is known to start."""
        for file in self.files():
            with writing(file):
                file.unlink(missing_ok=True)

    def clear_other_pictures(self) -> None:
        """Remove pictures in formats that this run does not write: they would show what was before."""
        for file in self.files():
            if file.suffix == f".{self.plot_format}":
                for other in set(PICTURES) - {self.plot_format}:
                    with writing(file):
                        file.with_suffix(f".{other}").unlink(missing_ok=True)


def cut_trajectory(path: Path, step: int) -> None:
    """Drop the frames of a trajectory at or after a step."""
    if path.suffix == ".traj":
        cut_frames(path, step)
    elif path.suffix == ".nc":
        cut_netcdf(path, step)
    else:
        with writing(path):
            cut_file(path, offset_of_step(path, step))
