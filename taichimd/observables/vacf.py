"""Velocity autocorrelation and vibrational density of states."""

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.units import PS, THZ
from taichimd.estimators.blocks import with_note
from taichimd.estimators.motion import (
    LINE_WIDTH,
    DensityOfStates,
    density_of_states,
    joint_note,
    spectrum,
    velocity_autocorrelation,
)
from taichimd.estimators.series import Mean, mean_of, running_integral
from taichimd.io.analysis_files import curves
from taichimd.observables.motion import Motion, missing_motion, relative
from taichimd.observables.numbers import OK, band, finding
from taichimd.observables.observable import Result, RunObservable, TrajectoryObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.plan import Plan
from taichimd.observables.trajectory import Trajectory

FOLDED = "may be folded back"
"""Status of a peak of vibrations that may be faster than the samples show."""
_FOLDED = 0.1
"""States in the last tenth of the frequencies, relative to as many evenly spread: more may be folded back."""


class Vacf(RunObservable, TrajectoryObservable):
    """Velocity autocorrelation and density of states of each species, and of all."""

    name, tables, picture = "vacf", ("vacf", "dos"), "vacf"
    correlated = True

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        self._motion = run.sampler("motion", Motion)

    @classmethod
    def check_system(
        cls, plan: Plan, symbols: list[str], masses: NDArray[np.float64], cell: NDArray[np.float64]
    ) -> None:
        """Raise a SettingsError if a species has several masses: sums of a run are those of a species."""
        for symbol in sorted(set(symbols)):
            different = len(np.unique(masses[np.array(symbols) == symbol]))
            if different > 1:
                raise SettingsError(
                    f"observe = vacf: atoms of {symbol} have {different} different masses; expected one: "
                    "observe something else, and use taichimd analyze --vacf on the trajectory"
                )

    def result(self) -> Result:
        """Result of the run, with errors over its blocks."""
        run, vacf = self.run, np.array(self._motion.vacf)
        correlations = {name: vacf[:, :, k] for k, name in run.that_move}
        found = {
            name: spectrum(correlations[name].sum(axis=2), int(run.n_free[k]), run.dt)
            for k, name in run.that_move
        }
        if len(found) > 1:
            kinds = [k for k, _ in run.that_move]
            weights = run.n_free[kinds] * np.array([run.engine.masses[run.kinds == k][0] for k in kinds])
            weighted = np.einsum("slkc,k->sl", vacf[:, :, kinds], weights)
            found["all"] = spectrum(weighted, int(run.n_free.sum()), run.dt)
        return _result(correlations, found, run.plan.interval, "take a smaller --observe-every")

    @classmethod
    def missing(cls, trajectory: Trajectory) -> str:
        """Atoms that move, frames, velocities, times."""
        return missing_motion(trajectory, velocities=True)

    @classmethod
    def of_trajectory(cls, trajectory: Trajectory) -> Result:
        """Result of all frames, with errors over blocks of frames."""
        frames, interval, window = trajectory.frames, trajectory.frame_time, trajectory.window()
        assert frames.velocities is not None
        velocities = relative(trajectory, frames.velocities)
        lags = round(window / interval)
        masks = {name: trajectory.atoms(name) for name in trajectory.that_move}
        correlations = {
            name: velocity_autocorrelation(velocities[:, mask], lags, blocks=trajectory.blocks)
            for name, mask in masks.items()
        }
        found = {
            name: density_of_states(
                velocities[:, mask], frames.masses[mask], interval * PS, window * PS, trajectory.blocks
            )
            for name, mask in (masks | {"all": ~frames.fixed} if len(masks) > 1 else masks).items()
        }
        return _result(correlations, found, interval, "write frames more often")


def _result(
    correlations: dict[str, Array], found: dict[str, DensityOfStates], interval: float, advice: str
) -> Result:
    """Tables and curves of correlations (samples, lags + 1, 3) of species; `advice`: to sample more."""
    lags = next(iter(correlations.values())).shape[1] - 1
    width = LINE_WIDTH / (lags * interval)
    f = next(iter(found.values())).frequency / THZ
    table: dict[str, Array] = {"time_ps": interval * np.arange(lags + 1.0)}
    spectra: dict[str, Array] = {"frequency_THz": f}
    result, lines, bands = Result([table, spectra], [], []), {}, {}
    folded = [name for name, dos in found.items() if _folds(dos)]
    noted: dict[str, list[str]] = {}
    for name, dos in found.items():
        density = Mean(dos.density.value * THZ, dos.density.error * THZ, dos.density.samples)
        noted.setdefault(dos.density.note, []).append(name)
        spectra |= {f"dos_{name}_per_THz": density.value, f"error_{name}_per_THz": density.error}
        bands[name] = band(density)
        top = int(density.value.argmax())
        total = running_integral(density.value, f[1])[-1]
        result.rows.append((f"DOS {name}", f"highest at {f[top]:.3g} THz, integral {total:.6g}"))
        status = FOLDED if name in folded else OK
        result.values[f"dos_{name}_position"] = finding(f[top], None, "THz", status, _resolved(width))
        if name in correlations:
            correlation = correlations[name].sum(axis=2)
            relative_to_first = with_note(
                mean_of(correlation / correlation[:, :1].mean()), joint_note(correlation)
            )
            table |= {f"vacf_{name}": relative_to_first.value, f"error_{name}": relative_to_first.error}
            lines[name] = band(relative_to_first)
    # The picture ends where the spectrum does, not where the spacing of the frames would let it.
    whole = next(reversed(bands.values()))[0]
    end = max(1.15 * float(f[np.flatnonzero(whole > 0.01 * whole.max())[-1]]), f[1])
    result.panels += [
        lambda axis: curves(axis, table["time_ps"], lines, "time (ps)", "velocity autocorrelation"),
        lambda axis: curves(axis, f, bands, "frequency (THz)", "density of states (1/THz)", end),
    ]
    reach = f"lines {width:.2g} THz wide; faster than {f[-1]:.3g} THz folds back"
    result.rows.append(("", reach))
    result.notes += [f"VACF and DOS {', '.join(names)}: {note}" for note, names in noted.items() if note]
    if folded:
        result.notes.append(
            f"DOS {', '.join(folded)}: states reach {f[-1]:.3g} THz, where the spacing of the samples folds "
            f"faster ones back: peaks may not be where they seem; {advice}"
        )
    return result


def _resolved(width: float) -> str:
    """What a place of a peak has instead of an error."""
    return f"no error: the place of a maximum, of lines {width:.2g} THz wide"


def _folds(dos: DensityOfStates) -> bool:
    """Whether vibrations seem to be faster than the spacing of the samples shows."""
    density, fastest = dos.density.value, dos.frequency[-1]
    even = running_integral(density, dos.frequency[1])[-1] / fastest
    return bool(density[dos.frequency >= 0.9 * fastest].mean() > _FOLDED * even)
