"""Mean square displacement and diffusion."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError, SettingsError
from taichimd.core.units import CM2_PER_S, PS
from taichimd.estimators.motion import Diffusion, at_mean_cell, diffusion_from_msd, fit_diffusion, unwrapped
from taichimd.io.analysis_files import curves
from taichimd.observables.motion import Motion, missing_motion, relative
from taichimd.observables.numbers import Finding, band, finding, joined, never_negative
from taichimd.observables.observable import Result, RunObservable, TrajectoryObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOT_DIFFUSIVE = "not diffusive"
"""Status of a slope that is no diffusion coefficient."""
_BOUND = 0.2
"""Share of diffusion in a mean square displacement, 6 D t, below which motion about fixed places makes it."""


class Msd(RunObservable, TrajectoryObservable):
    """Mean square displacement and diffusion of each species."""

    name, tables, picture = "msd", ("msd",), "msd"
    correlated = True

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        self._motion = run.sampler("motion", Motion)

    @classmethod
    def check_window(cls, lags: int, window: float, interval: float) -> None:
        """Raise a SettingsError if there is no line to fit."""
        if lags < 2:
            raise SettingsError(
                f"observe_window = {window:g} fs spans one sample: msd needs two or more for the slope of "
                f"its line, {2 * interval:g} fs; take a longer window, or samples more often"
            )

    def result(self) -> Result:
        """Result of the run, with errors over its blocks."""
        msd = np.array(self._motion.msd)
        result = _result({name: fit_diffusion(msd[:, :, k], self.run.dt) for k, name in self.run.that_move})
        if np.ptp(self.run.volumes) > 0.0:
            result.notes.append(
                "msd: the cell changes, and displacements contain its strain: observe with a fixed cell, or "
                "use taichimd analyze --msd on the trajectory, which takes the strain out"
            )
        return result

    @classmethod
    def missing(cls, trajectory: Trajectory) -> str:
        """Atoms that move, frames, times."""
        return missing_motion(trajectory)

    @classmethod
    def of_trajectory(cls, trajectory: Trajectory) -> Result:
        """Result of all frames, with errors over blocks of frames."""
        fit, interval = _fit(trajectory), trajectory.frame_time
        positions = relative(trajectory, _continuous(trajectory))
        return _result({
            name: diffusion_from_msd(
                positions[:, trajectory.atoms(name)], interval * PS, trajectory.window() * PS,
                None if fit is None else (fit[0] * PS, fit[1] * PS), trajectory.blocks,
            )
            for name in trajectory.that_move
        })  # fmt: skip


def _fit(trajectory: Trajectory) -> tuple[float, float] | None:
    """Times between which the line through the mean square displacement lies, ps; None: the default."""
    window, fit, interval = trajectory.window(), trajectory.request.fit_ps, trajectory.frame_time
    lags = round(window / interval)
    if fit is None:
        if lags < 2:
            raise AnalysisError(
                f"window of {window:g} ps spans one frame: MSD needs two or more for the slope of its "
                f"line, {2 * interval:g} ps; take a longer window, or fewer blocks"
            )
        return None
    first, last = (round(time / interval) for time in fit)
    if not 0 <= first < last <= lags:
        raise AnalysisError(
            f"fit from {fit[0]:g} to {fit[1]:g} ps: expected two times in rising order within the window of "
            f"{window:g} ps, a frame ({interval:g} ps) or more apart; choose others, or another window"
        )
    return fit


def _continuous(trajectory: Trajectory) -> Array:
    """Positions without the folding of atoms into the cell."""
    frames, notes = trajectory.frames, trajectory.notes
    positions = frames.positions
    if frames.wrapped:
        positions, jumps = unwrapped(positions, frames.cells, frames.pbc)
        if jumps:
            notes.append(f"{jumps:,} jumps of more than half a cell between frames were taken for wrapping")
    farthest = np.abs(np.diff(frames.positions, axis=0)).max(initial=0.0)
    if not frames.pbc.any() and farthest > 0.5 * np.ptp(frames.positions[0], axis=0).max() > 0.0:
        notes.append(
            "the file has no cell, and atoms jump by more than half of the system between frames: if "
            "they were folded into a cell, displacements are wrong; write the cell to the file"
        )
    if np.ptp(frames.cells, axis=0).max() > 1e-9 * np.abs(frames.cells).max():
        notes.append("the cell changes: displacements are those at the mean cell, without its strain")
        positions = at_mean_cell(positions, frames.cells, frames.pbc)
    return positions


def _result(found: dict[str, Diffusion]) -> Result:
    columns: dict[str, Array] = {}
    result, lines = Result([columns], [], []), {}
    for name, one in found.items():
        columns.setdefault("time_ps", one.time / PS)
        columns |= {f"msd_{name}_A2": one.total.value, f"error_{name}_A2": one.total.error}
        columns |= {f"msd_{name}_{axis}_A2": one.msd.value[:, k] for k, axis in enumerate("xyz")}
        first, last = (t / PS for t in one.fit)
        d = _coefficient(one)
        result.rows.append((f"D {name}", f"{d.number}, slope from {first:.3g} to {last:.3g} ps{d.doubt}"))
        result.values[f"D_{name}"] = d
        lines[f"{name}: D = {d.label}"] = band(one.total)

    def displacements(axis: "Axes") -> None:
        curves(axis, columns["time_ps"], lines, "time (ps)", "mean square displacement (Å²)")
        for k, one in enumerate(found.values()):
            axis.plot(*_fitted(one), color="black", linewidth=0.8, label="" if k else "fit", zorder=3)
        axis.legend(frameon=False, fontsize=8)

    result.panels.append(displacements)
    if told := {one.mean.note for one in found.values()} - {""}:
        result.notes.append(f"MSD: {'; '.join(sorted(told))}")
    return result


def _coefficient(found: Diffusion) -> Finding:
    """D, and whether it means anything."""
    first, last = (round(time / found.time[1]) for time in found.fit)
    # Over the whole line: an oscillator's displacement at its end may be zero.
    reached = found.total.value[first : last + 1].mean()
    d = finding(found.mean.value / CM2_PER_S, found.mean.error / CM2_PER_S, "cm²/s", note=found.mean.note)
    if not found.diffusive:
        doubt = "the window ends in the ballistic regime"
    elif 6.0 * found.mean.value * found.fit[1] < _BOUND * reached:
        doubt = "atoms stay near their places; in a solid the slope means nothing"
    else:
        return never_negative(d)
    return never_negative(replace(d, status=NOT_DIFFUSIVE, note=joined(doubt, d.note)))


def _fitted(found: Diffusion) -> tuple[Array, Array]:
    """The two ends of the line whose slope gives D: times (ps) and displacements (angstrom^2)."""
    ends: Array = np.array(found.fit)
    first, last = np.rint(ends / found.time[1]).astype(int)
    middle = found.total.value[first : last + 1].mean()
    return ends / PS, middle + 6.0 * found.mean.value * (ends - ends.mean())
